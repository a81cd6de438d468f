//! What launches on several threads do with linear memory.

use gpu_run::{Engine, Instance, Linker, Module, Store, Val};

use super::engines;

/// A store with an instance of a module without imports but the device's.
fn instantiate(engine: &Engine, text: &str) -> (Store<()>, Instance) {
    let module = Module::new(engine, text).expect("a module");
    let mut store = Store::new(engine, ()).expect("a store");
    let instance = Linker::new(engine).instantiate(&mut store, &module);
    (store, instance.expect("an instance"))
}

/// A memory that only the heap makes larger has its last size from the first launch on several threads on. Each launch has
/// stacks of its own in it, however many threads there are, and blocks of a launch before stay as they are.
#[test]
fn launches_share_a_memory_that_has_its_last_size() {
    let text = r#"(module
        (import "gpu_run_v1" "gid" (func $gid (result i32)))
        (import "gpu_run_v1" "alloc" (func $alloc (param i32 i32) (result i32)))
        (memory (export "memory") 2 64)
        (global $__stack_pointer (mut i32) (i32.const 65536))
        (func (export "keep") (result i32) (local $block i32) (local $frame i32)
            (local.set $frame (i32.sub (global.get $__stack_pointer) (i32.const 16)))
            (global.set $__stack_pointer (local.get $frame))
            (i32.store (local.get $frame) (call $gid))
            (local.set $block (call $alloc (i32.const 64) (i32.const 4)))
            (i32.store (local.get $block) (i32.load (local.get $frame)))
            (global.set $__stack_pointer (i32.add (local.get $frame) (i32.const 16)))
            (local.get $block))
        (func (export "read") (param $at i32) (result i32) (i32.load (local.get $at))))"#;
    for engine in engines() {
        let (mut store, instance) = instantiate(&engine, text);
        let keep = instance.get_func(&store, "keep").expect("a function");
        let read = instance
            .get_typed_func::<_, i32, i32>(&store, "read")
            .expect("a function");
        let mut kept = Vec::new();
        for threads in [2, 40, 300, 40, 1, 300] {
            let outcome = keep.run(&mut store, threads, &[]).expect("it runs");
            let results = outcome.returned().expect("it returned").results;
            for (thread, result) in results.iter().enumerate() {
                let [Val::I32(block)] = result[..] else {
                    panic!("an address")
                };
                kept.push((thread as i32, block));
            }
        }
        let mut blocks: Vec<i32> = kept.iter().map(|(_, block)| *block).collect();
        blocks.sort_unstable();
        assert!(
            blocks.windows(2).all(|two| two[1] - two[0] >= 64),
            "no two share memory"
        );
        for (thread, block) in kept.into_iter().step_by(29) {
            assert_eq!(read.call(&mut store, block).expect("it is there"), thread);
        }
        let size = instance
            .get_memory(&store, "memory")
            .expect("a memory")
            .data_size(&mut store);
        assert_eq!(size.expect("a size"), 64 << 16);
    }
}

/// A launch whose threads need no memory of their own runs in a memory that has no page left.
#[test]
fn threads_without_stacks_need_no_memory() {
    let text = r#"(module
        (import "gpu_run_v1" "alloc" (func $alloc (param i32 i32) (result i32)))
        (memory 1 1)
        (func (export "keep") (result i32) (call $alloc (i32.const 64) (i32.const 4))))"#;
    for engine in engines() {
        let (mut store, instance) = instantiate(&engine, text);
        let keep = instance.get_func(&store, "keep").expect("a function");
        for threads in [2, 40] {
            let outcome = keep.run(&mut store, threads, &[]).expect("it runs");
            let results = outcome.returned().expect("it returned").results;
            assert!(results.iter().all(|result| matches!(result[..], [Val::I32(0)])));
        }
    }
}

/// A memory that another instance has too keeps growing: that instance may ask for it.
#[test]
fn a_memory_of_two_instances_grows_after_a_launch() {
    let owner = r#"(module
        (import "gpu_run_v1" "alloc" (func $alloc (param i32 i32) (result i32)))
        (memory (export "memory") 2 4096)
        (global $__stack_pointer (mut i32) (i32.const 65536))
        (func (export "keep") (result i32) (call $alloc (i32.const 64) (i32.const 4))))"#;
    let user = r#"(module
        (import "owner" "memory" (memory 2))
        (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))"#;
    for engine in engines() {
        let mut store = Store::new(&engine, ()).expect("a store");
        let mut linker = Linker::new(&engine);
        let owner = Module::new(&engine, owner).expect("a module");
        let owner = linker.instantiate(&mut store, &owner).expect("an instance");
        let memory = owner.get_memory(&store, "memory").expect("a memory");
        linker.define("owner", "memory", memory).expect("a new name");
        let user = Module::new(&engine, user).expect("a module");
        let user = linker.instantiate(&mut store, &user).expect("an instance");
        let keep = owner.get_func(&store, "keep").expect("a function");
        let grow = user.get_typed_func::<_, i32, i32>(&store, "grow").expect("a function");
        let mut before = 2;
        for threads in [2, 4] {
            let outcome = keep.run(&mut store, threads, &[]).expect("it runs");
            let results = outcome.returned().expect("it returned").results;
            assert!(results.iter().all(|result| !matches!(result[..], [Val::I32(0)])));
            let size = grow.call(&mut store, 3).expect("it runs");
            assert!(size > before, "{size} pages after {before}");
            before = size + 2;
        }
    }
}
