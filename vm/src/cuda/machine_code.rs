//! The interpreters and the runtime as machine code, for the GPUs that people have: `kernel/build-cubins.sh` makes it.
//! For other GPUs, and older drivers, there is the PTX.

use std::io::Read;

use flate2::read::GzDecoder;

/// Machine code for one compute capability, compressed.
struct MachineCode {
    compute_capability: (i32, i32),
    kernel: &'static [u8],
    processes: &'static [u8],
    runtime: &'static [u8],
    mixed: &'static [u8],
}

macro_rules! machine_code {
    ($($major:literal $minor:literal $arch:literal;)*) => {
        &[$(MachineCode {
            compute_capability: ($major, $minor),
            kernel: include_bytes!(concat!("../../kernel/generated/machine_code/kernel.sm_", $arch, ".cubin.gz")),
            processes: include_bytes!(concat!("../../kernel/generated/machine_code/processes.sm_", $arch, ".cubin.gz")),
            runtime: include_bytes!(concat!("../../kernel/generated/machine_code/runtime.sm_", $arch, ".cubin.gz")),
            mixed: include_bytes!(concat!("../../kernel/generated/machine_code/mixed.sm_", $arch, ".cubin.gz")),
        }),*]
    };
}

/// In ascending order.
const MACHINE_CODE: &[MachineCode] = machine_code! {
    7 5 "75";
    8 0 "80";
    8 6 "86";
    8 9 "89";
    9 0 "90";
    10 0 "100";
    12 0 "120";
};

/// What a GPU runs: machine code of its major version, and of no later minor one.
fn of(compute_capability: (i32, i32)) -> Option<&'static MachineCode> {
    let runs = |code: &&MachineCode| {
        let (major, minor) = code.compute_capability;
        major == compute_capability.0 && minor <= compute_capability.1
    };
    MACHINE_CODE.iter().rev().find(runs)
}

fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The interpreter's cubin, if there is one.
pub(super) fn kernel(compute_capability: (i32, i32)) -> Option<Vec<u8>> {
    unpacked(of(compute_capability)?.kernel)
}

/// The interpreter's cubin for batches, if there is one.
pub(super) fn processes(compute_capability: (i32, i32)) -> Option<Vec<u8>> {
    unpacked(of(compute_capability)?.processes)
}

/// The runtime as an object to link, if there is one.
pub(super) fn runtime(compute_capability: (i32, i32)) -> Option<Vec<u8>> {
    unpacked(of(compute_capability)?.runtime)
}

/// The interpreter that compiled code calls as an object to link, if there is one.
pub(super) fn mixed(compute_capability: (i32, i32)) -> Option<Vec<u8>> {
    unpacked(of(compute_capability)?.mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_runs_code_of_its_major_version() {
        let found = |compute_capability| of(compute_capability).map(|code| code.compute_capability);
        assert_eq!(found((7, 5)), Some((7, 5)));
        assert_eq!(found((8, 7)), Some((8, 6)));
        assert_eq!(found((9, 0)), Some((9, 0)));
        assert_eq!(found((10, 3)), Some((10, 0)));
        assert_eq!(found((12, 1)), Some((12, 0)));
        assert_eq!(found((7, 0)), None);
        assert_eq!(found((11, 0)), None);
    }

    /// A lane that is at a meeting must let go of those that wait for it at a barrier of a caller: see `gpu_run_meet` in
    /// `kernel/runtime.cpp`. The encoding is that of compute capabilities 7.5 to 12.0.
    #[test]
    fn a_meeting_clears_all_barriers_that_callees_save() {
        use object::{Object, ObjectSection};

        const BMOV: u64 = 0x355;
        const CLEAR: u64 = 1 << 20;
        const SAVED: u64 = 6;
        const BRANCHES: [u64; 4] = [0x947, 0x143, 0x144, 0x348];
        for code in MACHINE_CODE {
            let object = unpacked(code.runtime).expect("it is compressed");
            let object = object::File::parse(&object[..]).expect("it is ELF");
            let section = object.section_by_name(".text.gpu_run_meet").expect("it is there");
            let data = section.data().expect("it is in the file");
            let words: Vec<u64> = data
                .chunks_exact(8)
                .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
                .collect();
            let first = words
                .chunks_exact(2)
                .take_while(|word| !BRANCHES.contains(&(word[0] & 0xfff)));
            let mut cleared: Vec<u64> = first
                .filter(|word| word[0] & 0xfff == BMOV && word[1] & CLEAR != 0)
                .map(|word| word[0] >> 24 & 0xff)
                .filter(|barrier| *barrier >= SAVED)
                .collect();
            cleared.sort_unstable();
            assert_eq!(cleared, [6, 7, 8, 9, 10, 11], "{:?}", code.compute_capability);
        }
    }

    #[test]
    fn all_of_it_is_elf() {
        for code in MACHINE_CODE {
            for of in [kernel, processes, runtime, mixed] {
                let bytes = of(code.compute_capability);
                assert!(
                    bytes.is_some_and(|bytes| bytes.starts_with(b"\x7fELF")),
                    "{:?}",
                    code.compute_capability
                );
            }
        }
    }
}
