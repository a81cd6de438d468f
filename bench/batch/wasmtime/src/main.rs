//! `pooled MODULE INPUTS OUTPUTS`: runs a module for WASI once for each file of a folder, with instances from wasmtime's
//! pool, on all cores. Prints the time from the first file that is read to the last that is written, in milliseconds.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use rayon::prelude::*;
use wasmtime::{Config, Engine, InstanceAllocationStrategy, Linker, Module, PoolingAllocationConfig, Store};
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::p2::pipe::{MemoryInputPipe, MemoryOutputPipe};
use wasmtime_wasi::preview1::{WasiP1Ctx, add_to_linker_sync};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, module, inputs, outputs] = &args[..] else {
        return Err("usage: pooled MODULE INPUTS OUTPUTS".into());
    };
    let mut pool = PoolingAllocationConfig::default();
    pool.total_core_instances(256).total_memories(256).total_tables(256).max_memory_size(256 << 20);
    let mut config = Config::new();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    let engine = Engine::new(&config)?;
    let module = Module::from_file(&engine, module)?;
    let mut linker: Linker<WasiP1Ctx> = Linker::new(&engine);
    add_to_linker_sync(&mut linker, |context| context)?;
    let ready = linker.instantiate_pre(&module)?;
    let mut files: Vec<PathBuf> = fs::read_dir(inputs)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.sort();
    fs::create_dir_all(outputs)?;
    let begin = Instant::now();
    files.par_iter().try_for_each(|file| -> Result<(), String> {
        let input = fs::read(file).map_err(|error| error.to_string())?;
        let stdout = MemoryOutputPipe::new(64 << 20);
        let context = WasiCtxBuilder::new()
            .arg("program")
            .stdin(MemoryInputPipe::new(input))
            .stdout(stdout.clone())
            .build_p1();
        let mut store = Store::new(&engine, context);
        let instance = ready.instantiate(&mut store).map_err(|error| error.to_string())?;
        let start = instance.get_typed_func::<(), ()>(&mut store, "_start").map_err(|error| error.to_string())?;
        // That a program exits is an error to it.
        _ = start.call(&mut store, ());
        drop(store);
        let name = file.file_name().unwrap_or_default();
        let path = PathBuf::from(outputs).join(name).with_extension("out");
        fs::write(path, stdout.contents()).map_err(|error| error.to_string())
    })?;
    println!("{:.3}", begin.elapsed().as_secs_f64() * 1e3);
    Ok(())
}
