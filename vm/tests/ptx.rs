//! What the checked-in PTX must hold whatever the compiler did.

const PTX: &str = include_str!("../kernel/generated/kernel.ptx");
/// The PTX compiler's: templates, and what compiled code calls.
const PURE: &str = include_str!("../kernel/generated/templates.ptx");
const RUNTIME: &str = include_str!("../kernel/generated/runtime.ptx");
const MIXED: &str = include_str!("../kernel/generated/mixed.ptx");
const PROCESSES: &str = include_str!("../kernel/generated/processes.ptx");

fn instructions<'a>(ptx: &'a str, name: &str) -> Vec<&'a str> {
    let lines = ptx.lines().flat_map(|line| line.split(';')).map(str::trim);
    lines.filter(|line| line.starts_with(name)).collect()
}

/// The compiler may drop order and scope of atomics; see `platform.h`.
#[test]
fn atomics_have_order_and_scope() {
    [PTX, RUNTIME, MIXED, PROCESSES]
        .into_iter()
        .for_each(check_order_and_scope);
    // Publishing the end of a run: the kernel's alone.
    assert!(!instructions(PTX, "st.release.sys.b64").is_empty());
}

/// Without the state space, which is no part of an order or a scope.
fn without_space(ptx: &str) -> String {
    ptx.replace(".gpu.global.", ".gpu.")
}

fn check_order_and_scope(ptx: &str) {
    let ptx = &without_space(ptx);
    let atomics = instructions(ptx, "atom.");
    assert!(!atomics.is_empty());
    // Counters in shared memory are the block's alone, and order nothing.
    for atomic in atomics.iter().filter(|atomic| !atomic.starts_with("atom.shared.")) {
        // The heap's are acquire or release alone where that is enough. What frees room in the output ring and what
        // counts the heap's pages orders nothing, and says so. What the compiler makes relaxed says nothing.
        let spelled = [
            "acq_rel.gpu.",
            "acq_rel.sys.",
            "acquire.gpu.",
            "release.gpu.",
            "relaxed.gpu.add.u",
        ]
        .iter()
        .any(|order| atomic["atom.".len()..].starts_with(order));
        assert!(spelled, "{atomic}");
    }
    // Other reductions are atomics whose result the compiler thought unused: they would be relaxed.
    // Ours say how they are ordered.
    let counts = |red: &&str| red.starts_with("red.relaxed.gpu.add.u") || red.starts_with("red.relaxed.gpu.max.u");
    assert!(instructions(ptx, "red.").iter().all(counts));
    for wanted in [
        "atom.acq_rel.gpu.cas.b64",
        "atom.acquire.gpu.cas.b64",
        "atom.acquire.gpu.or.b64",
        "atom.release.gpu.and.b64",
        "atom.acq_rel.gpu.add.u64",
        "atom.acq_rel.gpu.cas.b32",
        "ld.acquire.sys.b64",
        "ld.relaxed.sys.b32",
        "ld.acquire.gpu.b64",
        "st.release.sys.b32",
        "st.release.gpu.b32",
        "fence.sc.gpu",
    ] {
        assert!(!instructions(ptx, wanted).is_empty(), "no {wanted}");
    }
}

/// Guests' atomics are sequentially consistent: a fence before each operation, which acquires if it loads.
#[test]
fn atomics_of_guests_have_a_fence() {
    [PTX, RUNTIME].into_iter().for_each(check_fences);
}

fn check_fences(ptx: &str) {
    let ptx = &without_space(ptx);
    let after_fence: Vec<&str> = ptx
        .lines()
        .filter_map(|line| line.trim().strip_prefix("fence.sc.gpu; "))
        .collect();
    for wanted in [
        "ld.acquire.gpu.b32",
        "ld.acquire.gpu.b64",
        "st.relaxed.gpu.b32",
        "st.relaxed.gpu.b64",
        "atom.acquire.gpu.add.u32",
        "atom.acquire.gpu.add.u64",
        "atom.acquire.gpu.and.b32",
        "atom.acquire.gpu.and.b64",
        "atom.acquire.gpu.or.b32",
        "atom.acquire.gpu.or.b64",
        "atom.acquire.gpu.xor.b32",
        "atom.acquire.gpu.xor.b64",
        "atom.acquire.gpu.exch.b32",
        "atom.acquire.gpu.exch.b64",
        "atom.acquire.gpu.cas.b32",
        "atom.acquire.gpu.cas.b64",
    ] {
        let found = after_fence.iter().any(|rest| rest.starts_with(wanted));
        assert!(found, "no {wanted} behind a fence");
    }
    // `atomic.fence`, a fence alone.
    assert!(ptx.lines().any(|line| line.trim() == "fence.sc.gpu;"));
    // And none at another scope, which would order nothing with the others.
    assert_eq!(
        instructions(ptx, "fence.sc.").len(),
        instructions(ptx, "fence.sc.gpu").len()
    );
}

/// Floats are wasm's: rounded to nearest, never contracted, denormals kept.
#[test]
fn floats_are_exact() {
    [PTX, PURE].into_iter().for_each(check_floats);
}

fn check_floats(ptx: &str) {
    // Two of `i64.div_wide_u` are asked for, its estimates: upper half times 2^64, plus lower half.
    let (estimates, contracted): (Vec<_>, Vec<_>) = instructions(ptx, "fma.")
        .into_iter()
        .partition(|line| line.starts_with("fma.rn.f64") && line.contains("0d43F0000000000000"));
    assert_eq!((estimates.len(), contracted), (2, Vec::new()));
    let arithmetic = ["add", "sub", "mul", "div", "sqrt"].map(|op| [format!("{op}.rn.f32"), format!("{op}.rn.f64")]);
    for name in arithmetic.iter().flatten() {
        assert!(!instructions(ptx, name).is_empty(), "no {name}");
    }
    for line in ptx
        .lines()
        .filter(|line| line.contains(".f32") || line.contains(".f64"))
    {
        assert!(
            !line.contains(".ftz") && !line.contains(".approx") && !line.contains(".full"),
            "{line}"
        );
    }
}

/// The function that holds the interpreter's loop.
fn interpreter() -> &'static str {
    let mut functions = PTX.split("// -- Begin function ");
    functions
        .find(|function| function.starts_with("gpu_run_interpret"))
        .expect("the kernel's entry")
}

/// One dispatch: the interpreter's switch is a single jump table. The pages beside it have their own.
#[test]
fn the_switch_is_one_jump_table() {
    assert_eq!(interpreter().matches("brx.idx").count(), 1);
}

/// What the interpreter reads at every instruction stays in hardware registers. It would be in memory
/// if a function that is not inlined took its address.
#[test]
fn the_interpreter_rarely_reads_local_memory() {
    assert!(interpreter().matches("ld.local").count() < 30);
}
