//! Any bytes go through the translator without a panic, and the bytecode is sound.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gpu_run_differential::targets::translate(bytes));
