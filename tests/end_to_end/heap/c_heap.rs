//! C's allocator by every engine: blocks of many threads, and what is said of mistakes.

use crate::common::{run, run_on, text};
use crate::heap::mistakes::{FOREIGN, LATE, OVERRUN, TWICE, heap_leak, heap_mistake};
use crate::support::{EngineTest, Tested, expect};

/// Tests of an engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("c_heap/churn/1", |device| churn(device, 1)),
        ("c_heap/churn/64", |device| churn(device, 64)),
        ("c_heap/mistakes", mistakes),
        ("c_heap/mistakes_unchecked", mistakes_unchecked),
        ("c_heap/leak", leak),
    ]
}

fn module() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/wasm/wasi/c_malloc.wasm").to_owned()
}

/// What inspecting a C program shows.
pub fn inspect() -> Tested {
    let output = run(["inspect", &module()]);
    let found = "c_allocator found: aligned_alloc, calloc, dlfree, dlmalloc, free, internal_memalign, malloc, \
                 malloc_usable_size, posix_memalign, realloc instant ";
    let shown = text(&output.stdout);
    let words: Vec<&str> = shown.split_whitespace().collect();
    expect(
        words.join(" ").contains(found),
        "it must show what is replaced",
        &output,
    )
}

/// Each thread looks at every byte of its blocks, and frees them all.
fn churn(device: &str, threads: u32) -> Tested {
    for check in [&[][..], &["--heap-check", "--leak-check"]] {
        let (threads, module) = (threads.to_string(), module());
        let options = [
            "--threads",
            &threads,
            "--stats=json",
            "--invoke",
            "churn",
            &module,
            "40",
        ];
        let output = run_on(device, check.iter().chain(&options));
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        expect(
            output.status.success() && ["0", "Result: 0"].contains(&stdout.trim()),
            "no thread may find a wrong byte",
            &output,
        )?;
        expect(
            stderr.contains("\"live\":0,\"live_bytes\":0") && !stderr.contains("\"allocated\":0,"),
            "blocks must be the heap's, and all given back",
            &output,
        )?;
    }
    Ok(())
}

fn mistakes(device: &str) -> Tested {
    for (name, message, block) in [
        ("double_free", TWICE, "block of 40 bytes was allocated by double_free ("),
        ("free_static", FOREIGN, "0: free_static "),
        ("free_inside", FOREIGN, "0: free_inside "),
        (
            "write_behind",
            OVERRUN,
            "block of 40 bytes was allocated by write_behind (",
        ),
        ("write_late", LATE, "block of 500 bytes was allocated by write_late ("),
        (
            "realloc_freed",
            TWICE,
            "block of 40 bytes was allocated by realloc_freed (",
        ),
    ] {
        heap_mistake(device, &["--heap-check"], &module(), name, &[message, block])?;
    }
    Ok(())
}

/// These are found in any run.
fn mistakes_unchecked(device: &str) -> Tested {
    for (name, message) in [
        ("double_free", TWICE),
        ("free_static", FOREIGN),
        ("free_inside", FOREIGN),
        ("realloc_freed", TWICE),
    ] {
        heap_mistake(device, &[], &module(), name, &[message])?;
    }
    Ok(())
}

fn leak(device: &str) -> Tested {
    heap_leak(device, &module(), "lose", "100 bytes in 1 blocks, allocated by lose")?;
    // What wasi-libc never frees is no leak of the program.
    let hello = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/wasm/wasi/c_hello.wasm");
    let output = run_on(device, ["--leak-check", "--heap-check", hello]);
    expect(output.status.success(), "nothing may be found", &output)
}
