//! A kernel over a buffer of the host's: each of many threads works on one of its elements.
//!
//! `cargo run --release -p gpu-run --example kernel [DEVICE]`, where DEVICE is `cpu`, `cuda` or `cuda:N`.

use gpu_run::{BoxError, Config, DeviceKind, Engine, Linker, Module, Store, Val};

const MODULE: &str = r#"(module
    (import "gpu_run_v1" "gid" (func $gid (result i32)))
    (memory (export "memory") 4)
    ;; y[i] = a * x[i] + y[i], where i is the thread; x and y lie at these addresses.
    (func (export "saxpy") (param $a f32) (param $x i32) (param $y i32)
        (local $at i32)
        (local.set $at (i32.shl (call $gid) (i32.const 2)))
        (f32.store (i32.add (local.get $y) (local.get $at))
            (f32.add
                (f32.mul (local.get $a) (f32.load (i32.add (local.get $x) (local.get $at))))
                (f32.load (i32.add (local.get $y) (local.get $at)))))))"#;

const COUNT: u32 = 10_000;

/// The elements after the kernel.
pub fn run(engine: &Engine) -> Result<Vec<f32>, BoxError> {
    let module = Module::new(engine, MODULE)?;
    let mut store = Store::new(engine, ())?;
    let instance = Linker::new(engine).instantiate(&mut store, &module)?;
    let memory = instance.get_memory(&store, "memory").ok_or("no memory is exported")?;
    let (x, y) = (0u32, COUNT * 4);
    let bytes = |value: fn(u32) -> f32| {
        (0..COUNT)
            .flat_map(move |i| value(i).to_le_bytes())
            .collect::<Vec<u8>>()
    };
    memory.write(&mut store, x.into(), &bytes(|i| i as f32))?;
    memory.write(&mut store, y.into(), &bytes(|_| 1.0))?;
    let kernel = instance.get_kernel(&store, "saxpy")?;
    let args = [Val::F32(2f32.to_bits()), Val::I32(x as i32), Val::I32(y as i32)];
    let launch = kernel.launch(&mut store, COUNT, &args)?;
    let mut result = vec![0; COUNT as usize * 4];
    memory.read(&mut store, y.into(), &mut result)?;
    let result: Vec<f32> = result
        .as_chunks()
        .0
        .iter()
        .map(|element| f32::from_le_bytes(*element))
        .collect();
    let last = result[COUNT as usize - 1];
    println!(
        "y[{}] = {last}, in {:?} by {}",
        COUNT - 1,
        launch.time,
        store.device_name()
    );
    Ok(result)
}

#[allow(dead_code)]
fn main() -> Result<(), BoxError> {
    let device = std::env::args().nth(1).or_else(|| std::env::var("GPU_RUN_DEVICE").ok());
    let device: DeviceKind = device.as_deref().unwrap_or("auto").parse()?;
    run(&Engine::new(Config::new().device(device))?).map(|_| ())
}
