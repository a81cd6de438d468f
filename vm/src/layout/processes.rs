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
        child: u32,
        program: u32,
        pad: [u32; 2],
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
        program: u32,
        process: u32,
        refused: u64,
        left: u32,
        told: u32,
    }
    struct ProcessProgram {
        model: Ptr,
        pieces: Ptr,
        memory_size: u64,
        tables: Ptr,
        table_units: Ptr,
        data: Ptr,
        elems: Ptr,
        piece_count: u32,
        table_count: u32,
        data_count: u32,
        elem_count: u32,
        instance: u32,
        name_len: u32,
        name: Ptr,
    }
    struct Process {
        lock: u32,
        state: u32,
        pid: u32,
        root: u32,
        parent: u32,
        first_child: u32,
        next: u32,
        previous: u32,
        link: u32,
        program: u32,
        slot: u32,
        killed: u32,
        orphan: u32,
        kind: u32,
        value: u32,
        handles: u32,
        ends: [u32; 3],
        streams: [u32; 3],
        child: u32,
        number: u32,
        input: Ptr,
        input_len: u64,
        input_position: Ptr,
        args: Strings,
        environment: Strings,
        refused: u64,
    }
    struct PipeEnd {
        holders: u32,
        owner: u32,
        next: u32,
    }
    struct Pipe {
        lock: u32,
        link: u32,
        ends: [PipeEnd; 2],
        read: u64,
        written: u64,
    }
    struct ProcessTable {
        processes: Ptr,
        strings: Ptr,
        pipes: Ptr,
        bytes: Ptr,
        free: u64,
        ready: u64,
        free_pipes: u64,
        capacity: u32,
        pipe_count: u32,
        most_roots: u32,
        roots: u32,
        live: u32,
        started: u32,
    }
    struct Batch {
        slots: Ptr,
        programs: Ptr,
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
        globals: Ptr,
        global_count: u32,
        program_count: u32,
        table_count: u32,
        table_room: u32,
        data_count: u32,
        elem_count: u32,
        elements: Ptr,
        own_tables: Ptr,
        own_pointers: Ptr,
        own_data: Ptr,
        own_elems: Ptr,
        table: Ptr,
    }
}
