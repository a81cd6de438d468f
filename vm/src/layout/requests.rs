//! Requests to the host and the files that they are about: see `kernel/rpc/layout.h`.

use bytemuck::{Pod, Zeroable};

#[cfg(test)]
use super::Twin;
use super::{
    MESSAGE_WORDS, Ptr, REQUEST_BYTES, REQUEST_RESULTS, REQUEST_SLOTS, RESPONSE_WORDS, STREAM_DESCRIPTORS, TMPFS_DIRECT,
};

twins! { REQUEST_TWINS:
    struct RequestMessage {
        words: [u64; MESSAGE_WORDS],
    }
    struct Response {
        words: [u64; RESPONSE_WORDS],
    }
    struct RequestSlot {
        len: u32,
        total: u32,
        note: u32,
        file: u32,
        generation: u32,
        pad: [u32; 11],
        results: [u8; REQUEST_RESULTS],
        data: [u8; REQUEST_BYTES],
    }
    struct Strings {
        bytes: Ptr,
        len: u32,
        count: u32,
    }
    struct File {
        lock: u32,
        open: u32,
        position: u64,
        next: u64,
        start: u64,
        len: u32,
        window: u32,
        epoch: u32,
        wanted: u32,
        filled: u64,
        pad: u64,
    }
    struct TmpfsInode {
        lock: u32,
        generation: u32,
        size: u64,
        written: u64,
        wanted: u64,
        root: u32,
        levels: u32,
        next: u32,
        direct: [u32; TMPFS_DIRECT],
        pad: [u32; 5],
    }
    struct TmpfsDescriptor {
        target: u64,
        position: u64,
        moved: u64,
        lock: u32,
        pad: u32,
    }
    struct TmpfsAttributes {
        number: u64,
        links: u64,
        accessed: u64,
        modified: u64,
        changed: u64,
        written_then: u64,
        pad: [u64; 2],
        size: u64,
        written: u64,
        generation: u32,
        pad2: [u32; 11],
    }
    struct Tmpfs {
        blocks: Ptr,
        taken: Ptr,
        inodes: Ptr,
        descriptors: Ptr,
        attributes: Ptr,
        device: u64,
        words: u32,
        free_data: u32,
        free_index: u32,
        most_index: u32,
        cursor: u32,
        pad: u32,
    }
    struct Requests {
        sent: Ptr,
        answered: Ptr,
        slots: Ptr,
        output_errors: Ptr,
        args: Strings,
        environment: Strings,
        bell: u64,
        bell_context: u64,
        seed: [u32; 8],
        run: u32,
        epoch: u32,
        files: Ptr,
        blocks: Ptr,
        tmpfs: Ptr,
        slot_use: Ptr,
        own_slots: u32,
        process: u32,
        streams: [u32; STREAM_DESCRIPTORS],
        input: Ptr,
        input_len: u64,
        input_at: u64,
        nonce: u32,
        apart: u32,
        input_position: Ptr,
        child: u32,
        asked: u32,
    }
    struct SlotUse {
        first_look: u32,
        pad: [u32; 3],
        taken: [u32; REQUEST_SLOTS / 32],
        abandoned: [u32; REQUEST_SLOTS / 32],
        messages: [u32; REQUEST_SLOTS],
    }
}
