//! Embeds a module with a host function.

use gpu_run::{Caller, Engine, Error, Linker, Module, Store};

const MODULE: &str = r#"(module
    (import "host" "log" (func $log (param i32 i32)))
    (memory 1) (data (i32.const 0) "hello from the GPU")
    (func (export "run") (call $log (i32.const 0) (i32.const 18))))"#;

fn main() -> Result<(), Error> {
    let engine = Engine::default(); // the first GPU, or else the CPU
    let module = Module::new(&engine, MODULE)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "log", |mut caller: Caller<'_, u32>, address: u32, len: u32| {
        println!("{}", caller.read_string(address, len)?);
        *caller.data_mut() += 1;
        Ok::<(), Error>(())
    })?;
    let mut store = Store::new(&engine, 0)?;
    let instance = linker.instantiate(&mut store, &module)?;
    let run = instance.get_typed_func::<_, (), ()>(&store, "run")?;
    run.call(&mut store, ())?;
    assert_eq!(*store.data(), 1);
    Ok(())
}
