//! The module that bytes stand for does the same in gpu-run as in wasmi.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gpu_run_differential::targets::differential(bytes));
