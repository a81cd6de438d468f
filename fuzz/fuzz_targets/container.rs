//! Any bytes are refused as a program, or run without harm.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gpu_run_differential::targets::container_repaired(bytes));
