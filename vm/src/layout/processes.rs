//! Processes of a batch: see `kernel/processes.h`.

use bytemuck::{Pod, Zeroable};

#[cfg(test)]
use super::Twin;
use super::{BACKTRACE, Control, Instance, Launch, Memory, Ptr, Requests, Strings};

twins! { PROCESS_TWINS:
    struct ProcessInput {
        args: Strings,
        environment: Strings,
        input: Ptr,
        input_len: u64,
    }
    struct ImagePiece {
        bytes: Ptr,
        at: u64,
        len: u64,
    }
    struct ProcessEnd {
        kind: u32,
        value: u32,
        pc: u32,
        depth: u32,
        frames: u32,
        stopped: u32,
        refused: u64,
        memory: u64,
        time: u64,
        backtrace: [u32; BACKTRACE],
    }
    struct ProcessSlot {
        memory: Memory,
        launch: Launch,
        instance: Instance,
        requests: Requests,
        control: Control,
        memories: [Ptr; 1],
        began: u64,
        pad: u64,
    }
    struct Batch {
        slots: Ptr,
        model: Ptr,
        memories: Ptr,
        memory_stride: u64,
        slot_count: u32,
        count: u32,
        closed: u32,
        taken: u32,
        lost: u32,
        stop: u32,
        warp_lanes: u32,
        input_room: u32,
        inputs: Ptr,
        current: Ptr,
        ring: Ptr,
        clock_start: u64,
        pieces: Ptr,
        piece_count: u32,
        global_count: u32,
        globals: Ptr,
        memory_size: u64,
        tables: Ptr,
        table_units: Ptr,
        table_count: u32,
        data_count: u32,
        elem_count: u32,
        table_room: u32,
        elements: Ptr,
        own_tables: Ptr,
        own_pointers: Ptr,
        data: Ptr,
        elems: Ptr,
        own_data: Ptr,
        own_elems: Ptr,
    }
}
