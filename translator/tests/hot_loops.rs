//! The hot loops of a program, of which inlining must leave no call.

use std::path::Path;

use gpu_run_bytecode::disassemble;
use gpu_run_translator::{BrTables, Module, Options, run_passes};
use wasmparser::Operator;

/// A fixture's module after rewriting and, if wanted, inlining.
fn mandelbrot<R>(profile: &str, inlined: bool, look: impl FnOnce(&Module<'_>) -> R) -> R {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../fixtures/wasm/{profile}/mandelbrot.wasm"));
    let bytes = std::fs::read(path).expect("the fixture is committed");
    let mut options = Options::full();
    if !inlined {
        options.inline = None;
    }
    let tables = BrTables::default();
    look(&run_passes(&bytes, &tables, &options).expect("it passes").module)
}

/// Index among the defined functions of the function with this name.
fn function(module: &Module<'_>, name: &str) -> usize {
    let first = module.imported_funcs.len();
    (0..module.funcs.len())
        .find(|i| module.func_display_name((first + i) as u32) == name)
        .unwrap_or_else(|| panic!("no function `{name}`"))
}

/// The instructions of each innermost loop of a function: from `loop` to its `end`.
fn innermost_loops<'m>(module: &'m Module<'_>, name: &str) -> Vec<Vec<Operator<'m>>> {
    let body: Vec<_> = module.funcs[function(module, name)]
        .instrs()
        .map(|instr| instr.op)
        .collect();
    let mut open = Vec::new();
    let mut loops = Vec::new();
    for (at, op) in body.iter().enumerate() {
        match op {
            Operator::Loop { .. } => {
                // What is around it is not innermost.
                open.iter_mut().for_each(|(_, innermost)| *innermost = false);
                open.push((at, true));
            }
            Operator::Block { .. } | Operator::If { .. } => open.push((at, false)),
            Operator::End => {
                if let Some((start, true)) = open.pop() {
                    loops.push(body[start..=at].to_vec());
                }
            }
            _ => {}
        }
    }
    loops
}

/// The innermost loops that compute: `z = z * z + c`.
fn hot_loops<'m>(module: &'m Module<'_>, name: &str) -> Vec<Vec<Operator<'m>>> {
    let multiplies = |op: &Operator<'_>| matches!(op, Operator::F32Mul | Operator::F64Mul);
    let mut loops = innermost_loops(module, name);
    loops.retain(|body| body.iter().any(multiplies));
    loops
}

fn calls(body: &[Operator<'_>]) -> usize {
    let is_call = |op: &&Operator<'_>| matches!(op, Operator::Call { .. } | Operator::CallIndirect { .. });
    body.iter().filter(is_call).count()
}

/// The functions of the mandelbrot fixture that hold its hot loops. rustc inlines all of it in a
/// release build, and nothing in a debug build, where the translator must do it.
const HOT: [(&str, &str); 2] = [("release", "mandelbrot::main"), ("debug", "mandelbrot::escape::<f32>")];

#[test]
fn mandelbrot_has_no_calls_in_its_hot_loops() {
    // A debug build calls `norm`, `mul` and `add`.
    let name = HOT[1].1;
    let before = mandelbrot("debug", false, |module| {
        let loops = innermost_loops(module, name);
        loops.iter().map(|body| calls(body)).sum::<usize>()
    });
    assert_eq!(before, 3, "calls before inlining");
    for (profile, name) in HOT {
        mandelbrot(profile, true, |module| {
            let loops = hot_loops(module, name);
            assert!(!loops.is_empty(), "{profile}: a loop in `{name}` multiplies");
            for body in loops {
                assert_eq!(calls(&body), 0, "{profile}: {body:#?}");
            }
        });
    }
}

/// As above, in the bytecode: no call between a branch back and its target.
#[test]
fn mandelbrot_has_no_calls_in_its_lowered_loops() {
    for (profile, name) in HOT {
        let program = mandelbrot(profile, true, |module| {
            gpu_run_translator::lower(module, None).expect("it lowers")
        });
        let text = disassemble(&program);
        let code = text.split("\n\n").find(|part| {
            let head = part.trim_start().lines().next().unwrap_or_default();
            head.starts_with("func ") && head.contains(&format!(" {name} "))
        });
        let lines: Vec<(u32, &str)> = code.expect("the function is there").lines().filter_map(word).collect();
        let back = lines.iter().filter_map(|(pc, line)| {
            let target = line.split('@').nth(1)?.split([',', ' ']).next()?.parse().ok()?;
            (target <= *pc).then_some((target, *pc))
        });
        let back: Vec<(u32, u32)> = back.collect();
        let innermost =
            |(from, to): &(u32, u32)| !back.iter().any(|(f, t)| (f, t) != (from, to) && f >= from && t <= to);
        let mut hot = 0;
        for (from, to) in back.iter().filter(|pair| innermost(pair)) {
            let body: Vec<&str> = lines
                .iter()
                .filter(|(pc, _)| (from..=to).contains(&pc))
                .map(|(_, line)| *line)
                .collect();
            if body.iter().any(|line| line.contains(".mul")) {
                hot += 1;
                assert!(
                    !body.iter().any(|line| line.starts_with("call")),
                    "{profile}: {}",
                    body.join("\n")
                );
            }
        }
        assert!(hot > 0, "{profile}: a loop of `{name}` multiplies");
    }
}

/// Word index and instruction of a line of a disassembly.
fn word(line: &str) -> Option<(u32, &str)> {
    let (pc, instruction) = line.split_once(": ")?;
    Some((pc.trim().parse().ok()?, instruction))
}
