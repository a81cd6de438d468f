//! Host functions: one that reads the program's text and keeps it in the store's data, and one that ends the run.
//!
//! `cargo run --release -p gpu-run --example host_function [DEVICE]`, where DEVICE is `cpu`, `cuda` or `cuda:N`.

use gpu_run::{BoxError, Caller, Config, DeviceKind, Engine, Error, Linker, Module, Store};

const MODULE: &str = r#"(module
    (import "host" "log" (func $log (param i32 i32)))
    (import "host" "check" (func $check (param f64) (result f64)))
    (memory 1)
    (data (i32.const 16) "hello from the device")
    (func (export "run") (param f64) (result f64)
        (call $log (i32.const 16) (i32.const 21))
        (call $check (local.get 0))))"#;

/// The lines that the program has logged, and the message by which the host has ended its second run.
pub fn run(engine: &Engine) -> Result<(Vec<String>, String), BoxError> {
    let module = Module::new(engine, MODULE)?;
    let mut linker = Linker::new(engine);
    linker.func_wrap(
        "host",
        "log",
        |mut caller: Caller<'_, Vec<String>>, address: u32, len: u32| {
            let line = caller.read_string(address, len)?;
            caller.data_mut().push(line);
            Ok::<(), Error>(())
        },
    )?;
    linker.func_wrap("host", "check", |x: f64| match x >= 0.0 {
        true => Ok(x.sqrt()),
        false => Err(format!("{x} has no square root")),
    })?;
    let mut store = Store::new(engine, Vec::new())?;
    let instance = linker.instantiate(&mut store, &module)?;
    let function = instance.get_typed_func::<_, f64, f64>(&store, "run")?;
    println!("the square root of 2 is {}", function.call(&mut store, 2.0)?);
    let message = match function.call(&mut store, -1.0) {
        Err(Error::Host { source, .. }) => source.to_string(),
        other => format!("{other:?}"),
    };
    println!("{message}; logged: {:?}, by {}", store.data(), store.device_name());
    Ok((store.into_data(), message))
}

#[allow(dead_code)]
fn main() -> Result<(), BoxError> {
    let device = std::env::args().nth(1).or_else(|| std::env::var("GPU_RUN_DEVICE").ok());
    let device: DeviceKind = device.as_deref().unwrap_or("auto").parse()?;
    run(&Engine::new(Config::new().device(device))?).map(|_| ())
}
