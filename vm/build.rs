//! Compiles the kernel source for the host.

fn main() {
    println!("cargo::rerun-if-changed=kernel");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .file("kernel/kernel.cpp")
        // Floats are wasm's: no contraction, and no errno that would make sqrt a call.
        .flag("-ffp-contract=off")
        .flag("-fno-math-errno")
        // Guest memory is accessed at many types.
        .flag("-fno-strict-aliasing")
        .flag("-fno-exceptions")
        .flag("-fno-rtti")
        .warnings(true)
        .extra_warnings(true)
        // An interpreter without optimization is of no use, in debug builds too.
        .opt_level(2)
        .compile("gpu_run_kernel");
}
