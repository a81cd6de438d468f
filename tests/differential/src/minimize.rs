//! Makes a case with a difference small.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use wasm_shrink::WasmShrink;

use crate::case::{Call, Case};
use crate::compare::{Counts, Verdict, run};
use crate::engine::Engine;
use crate::shape::Shape;

/// Makes the calls few and the module small, as long as the engines do not agree. Writes the module
/// beside `path`, with the extension `min.wasm`.
///
/// # Errors
///
/// There is no difference, or the file cannot be written.
pub fn minimize(case: &Case, path: &Path, engines: &mut [Box<dyn Engine>]) -> Result<(), String> {
    let calls = fewer_calls(case, engines)?;
    let shrink = WasmShrink::default()
        .attempts(2_000)
        .run(case.wasm.clone(), |wasm: &[u8]| {
            Ok(calls_exist(wasm, &calls) && differs(&Case::replay(wasm.to_vec(), calls.clone()), engines))
        });
    let wasm = shrink.map_err(|error| error.to_string())?.output;
    let path = path.with_extension("min.wasm");
    let text: String = calls.iter().map(|call| format!("{call}\n")).collect();
    std::fs::write(&path, &wasm)
        .and_then(|()| std::fs::write(path.with_extension("calls"), text))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{} bytes, {} calls: {}", wasm.len(), calls.len(), path.display());
    Ok(())
}

fn calls_exist(wasm: &[u8], calls: &[Call]) -> bool {
    let Ok(shape) = Shape::of(wasm) else { return false };
    let params = |name: &str| {
        shape
            .funcs
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, params)| params.len())
    };
    calls.iter().all(|call| params(&call.name) == Some(call.args.len()))
}

fn differs(case: &Case, engines: &mut [Box<dyn Engine>]) -> bool {
    let verdict = catch_unwind(AssertUnwindSafe(|| run(case, engines, &mut Counts::default())));
    matches!(verdict, Ok(Verdict::Different(_)) | Err(_))
}

/// Leaves out calls one by one, from the first.
fn fewer_calls(case: &Case, engines: &mut [Box<dyn Engine>]) -> Result<Vec<Call>, String> {
    let mut calls = case.calls.clone();
    if !differs(case, engines) {
        return Err("there is no difference".into());
    }
    let mut at = 0;
    while at < calls.len() {
        let mut fewer = calls.clone();
        fewer.remove(at);
        match differs(&Case::replay(case.wasm.clone(), fewer.clone()), engines) {
            true => calls = fewer,
            false => at += 1,
        }
    }
    Ok(calls)
}
