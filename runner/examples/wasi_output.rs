//! A program for WASI, with arguments and a file, whose output is kept.
//!
//! `cargo run --release -p gpu-run --example wasi_output [DEVICE]`, where DEVICE is `cpu`, `cuda` or `cuda:N`.

use gpu_run::{BoxError, Config, DeviceKind, Engine, Input, Linker, Module, Store, WasiCtxBuilder};

const MODULE: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (data (i32.const 32) "you said: ")
    (func (export "_start")
        ;; A buffer of 100 bytes for what is read, behind the greeting.
        (i32.store (i32.const 0) (i32.const 42))
        (i32.store (i32.const 4) (i32.const 100))
        (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (i32.store (i32.const 0) (i32.const 32))
        (i32.store (i32.const 4) (i32.add (i32.load (i32.const 8)) (i32.const 10)))
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
        (call $exit (i32.const 3))))"#;

/// What the program has written, and its exit code.
pub fn run(engine: &Engine) -> Result<(String, Option<i32>), BoxError> {
    let module = Module::new(engine, MODULE)?;
    let wasi = WasiCtxBuilder::new()
        .arg("greeter")
        .env("LANG", "C")
        .stdin(Input::Bytes(b"hello\n".to_vec()))
        .build();
    let mut linker = Linker::new(engine);
    linker.wasi(wasi);
    let mut store = Store::new(engine, ())?;
    let captured = store.capture();
    let instance = linker.instantiate(&mut store, &module)?;
    let start = instance.get_typed_func::<_, (), ()>(&store, "_start")?;
    let code = match start.call(&mut store, ()) {
        Ok(()) => None,
        // An exit is a value; a trap would go on as an error.
        Err(error) => Some(error.exit_code().ok_or(error)?),
    };
    let output = String::from_utf8(captured.stdout())?;
    println!("{output:?}, exit code {code:?}, by {}", store.device_name());
    Ok((output, code))
}

#[allow(dead_code)]
fn main() -> Result<(), BoxError> {
    let device = std::env::args().nth(1).or_else(|| std::env::var("GPU_RUN_DEVICE").ok());
    let device: DeviceKind = device.as_deref().unwrap_or("auto").parse()?;
    run(&Engine::new(Config::new().device(device))?).map(|_| ())
}
