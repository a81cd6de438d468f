//! Calls an export, and reads the memory that it has written.
//!
//! `cargo run --release -p gpu-run --example call_export [DEVICE]`, where DEVICE is `cpu`, `cuda` or `cuda:N`.

use gpu_run::{BoxError, Config, DeviceKind, Engine, Linker, Module, Store};

const MODULE: &str = r#"(module
    (memory (export "memory") 1)
    ;; Writes the first n Fibonacci numbers, and returns the last.
    (func (export "fibonacci") (param $n i32) (result i64)
        (local $i i32) (local $a i64) (local $b i64)
        (local.set $b (i64.const 1))
        (loop $next
            (i64.store (i32.shl (local.get $i) (i32.const 3)) (local.get $a))
            (i64.add (local.get $a) (local.get $b))
            (local.set $a (local.get $b))
            (local.set $b)
            (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
        (i64.load (i32.shl (i32.sub (local.get $n) (i32.const 1)) (i32.const 3)))))"#;

/// The numbers.
pub fn run(engine: &Engine) -> Result<Vec<u64>, BoxError> {
    let module = Module::new(engine, MODULE)?;
    let mut store = Store::new(engine, ())?;
    let instance = Linker::new(engine).instantiate(&mut store, &module)?;
    let fibonacci = instance.get_typed_func::<_, u32, u64>(&store, "fibonacci")?;
    let last = fibonacci.call(&mut store, 20)?;
    let memory = instance.get_memory(&store, "memory").ok_or("no memory is exported")?;
    let mut bytes = [0; 20 * 8];
    memory.read(&mut store, 0, &mut bytes)?;
    let numbers: Vec<u64> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|number| u64::from_le_bytes(*number))
        .collect();
    println!("{numbers:?}; the last is {last}, by {}", store.device_name());
    Ok(numbers)
}

#[allow(dead_code)]
fn main() -> Result<(), BoxError> {
    let device = std::env::args().nth(1).or_else(|| std::env::var("GPU_RUN_DEVICE").ok());
    let device: DeviceKind = device.as_deref().unwrap_or("auto").parse()?;
    run(&Engine::new(Config::new().device(device))?).map(|_| ())
}
