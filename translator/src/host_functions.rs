//! Calls of host functions: imports that become stubs, defined functions that ask the host by requests.
//!
//! A stub sends its arguments, does what the host function wants of memory, and takes the results: its half of the
//! protocol that [`gpu_run_bytecode::wasi::host`] describes. It is WebAssembly, so every engine runs it as it runs the
//! module's own functions.

use std::cell::Cell;

use gpu_run_bytecode::wasi::host::{AGAIN, ARGUMENTS, KIND, Step};
use gpu_run_bytecode::{FuncType, HostFunction, ValType, wasi};
use wasmparser::{Operator, TypeRef};

use crate::lower::{GPU_MODULE, OLD_WASI, WASI_SPAWN};
use crate::module::{Func, Module};
use crate::rewrite::code::Code;

const I32: wasmparser::ValType = wasmparser::ValType::I32;
const I64: wasmparser::ValType = wasmparser::ValType::I64;

/// The module's functions by which a stub asks the host.
struct Requests {
    call: u32,
    send: u32,
    receive: u32,
    word: u32,
}

/// How a module's memory 0 is addressed, if it has one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    None,
    Narrow,
    Wide,
}

/// Makes stubs of the imported functions that are no part of gpu-run and have neither references as parameters nor as
/// results. Returns them in the order of their numbers.
pub(crate) fn call_host_functions(module: &mut Module<'_>) -> Vec<HostFunction> {
    let is_own = |module: &str| [GPU_MODULE, OLD_WASI].contains(&module) || wasi::MODULES.contains(&module);
    let imports = module.imports.iter().filter_map(|import| match import.ty {
        TypeRef::Func(ty) | TypeRef::FuncExact(ty) => Some((import, ty)),
        _ => None,
    });
    let (mut indices, mut types, mut functions) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (import, ty)) in imports.enumerate() {
        if is_own(import.module) || (import.module, import.name) == WASI_SPAWN {
            continue;
        }
        if let Some(signature) = plain_types(&module.types[ty as usize]) {
            indices.push(index as u32);
            types.push(ty);
            functions.push(HostFunction {
                module: import.module.to_owned(),
                name: import.name.to_owned(),
                ty: signature,
            });
        }
    }
    if functions.is_empty() {
        return functions;
    }
    let mut arguments = vec![I32, I32];
    arguments.extend([I64; ARGUMENTS]);
    let signatures: [(&str, &[wasmparser::ValType]); 4] = [
        ("call", &arguments),
        ("send", &[I32, I32]),
        ("receive", &[I32, I32]),
        ("word", &[]),
    ];
    let added = signatures.map(|(name, params)| (wasi::HOST_MODULE, name, module.intern_type(params, &[I32])));
    module.append_func_imports(added);
    module.drop_func_imports(&indices);
    let first = module.imported_funcs.len() as u32 - 4;
    let requests = Requests {
        call: first,
        send: first + 1,
        receive: first + 2,
        word: first + 3,
    };
    let memory = match module.memory0() {
        None => Memory::None,
        Some(ty) if ty.memory64 => Memory::Wide,
        Some(_) => Memory::Narrow,
    };
    for (number, (function, ty)) in functions.iter().zip(types).enumerate() {
        module
            .func_names
            .insert(module.func_count(), format!("{}.{}", function.module, function.name));
        module.original_index.push(None);
        let body = stub(number as i32, &function.ty, &requests, memory).into_body();
        module.funcs.push(Func { ty, body });
    }
    functions
}

/// The type, if none of its values is a reference.
fn plain_types(ty: &wasmparser::FuncType) -> Option<FuncType> {
    let list = |types: &[wasmparser::ValType]| {
        let plain = |ty: &wasmparser::ValType| match ty {
            wasmparser::ValType::I32 => Some(ValType::I32),
            wasmparser::ValType::I64 => Some(ValType::I64),
            wasmparser::ValType::F32 => Some(ValType::F32),
            wasmparser::ValType::F64 => Some(ValType::F64),
            wasmparser::ValType::V128 => Some(ValType::V128),
            _ => None,
        };
        types.iter().map(plain).collect::<Option<Vec<_>>>()
    };
    Some(FuncType {
        params: list(ty.params())?,
        results: list(ty.results())?,
    })
}

/// The stub of host function `number`.
fn stub(number: i32, ty: &FuncType, requests: &Requests, memory: Memory) -> Code {
    let first = ty.params.len() as u32;
    let [status, address, length] = [first, first + 1, first + 2];
    let mut code = Code::new();
    code.locals(3, I32);
    code.loop_();
    // A v128 is sent as two arguments, its low half first.
    let halves = |(index, ty): (u32, &ValType)| (0..ty.units().div_ceil(2) as u8).map(move |half| (index, half));
    let arguments: Vec<(u32, u8)> = (0..).zip(&ty.params).flat_map(halves).collect();
    // The last message may be one without arguments.
    let last = arguments.len().saturating_sub(1) / ARGUMENTS * ARGUMENTS;
    for begin in (0..=last).step_by(ARGUMENTS) {
        let step = if begin == last { Step::Call } else { Step::Arguments };
        code.i32(number).i32(step as i32);
        for index in begin..begin + ARGUMENTS {
            match arguments.get(index) {
                Some((index, half)) => as_bits(code.get(*index), ty.params[*index as usize], *half),
                None => code.i64(0),
            };
        }
        code.call(requests.call);
        match step {
            Step::Call => code.set(status),
            _ => code.op(Operator::Drop),
        };
    }
    code.get(status).i32(AGAIN.into()).op(Operator::I32Eq).br_if(0).end();
    let bare = |code: &mut Code, step: Step| {
        code.i32(number).i32(step as i32);
        (0..ARGUMENTS).for_each(|_| _ = code.i64(0));
        code.call(requests.call);
    };
    let kind = |code: &mut Code| _ = code.get(status).i32(KIND as i32).op(Operator::I32ShrU);
    code.loop_().get(status).if_();
    // Neither a read nor a write.
    kind(&mut code);
    code.op(Operator::I32Eqz).if_().op(Operator::Unreachable).end();
    if memory == Memory::None {
        code.op(Operator::Unreachable);
    } else {
        code.call(requests.word).set(address);
        code.get(status).i32((1 << KIND) - 1).op(Operator::I32And).set(length);
        code.get(address).op(Operator::I64ExtendI32U);
        code.get(length).op(Operator::I64ExtendI32U).op(Operator::I64Add);
        code.op(Operator::MemorySize { mem: 0 });
        if memory == Memory::Narrow {
            code.op(Operator::I64ExtendI32U);
        }
        code.i64(16).op(Operator::I64Shl).op(Operator::I64GtU).if_();
        bare(&mut code, Step::Outside);
        code.set(status).op(Operator::Else);
        kind(&mut code);
        code.i32(1).op(Operator::I32Eq).if_();
        code.get(address)
            .get(length)
            .call(requests.send)
            .set(status)
            .op(Operator::Else);
        code.get(address).get(length).call(requests.receive).op(Operator::Drop);
        bare(&mut code, Step::Next);
        code.set(status).end().end();
    }
    code.op(Operator::Br { relative_depth: 1 }).end().end();
    // The first word of the results is there already.
    let first = Cell::new(true);
    let word = |code: &mut Code| {
        if !first.replace(false) {
            bare(code, Step::Result);
            code.op(Operator::Drop);
        }
        code.call(requests.word);
    };
    let half = |code: &mut Code| {
        word(code);
        code.op(Operator::I64ExtendI32U);
        word(code);
        code.op(Operator::I64ExtendI32U)
            .i64(32)
            .op(Operator::I64Shl)
            .op(Operator::I64Or);
    };
    for ty in &ty.results {
        match ty {
            ValType::I64 => half(&mut code),
            ValType::F64 => {
                half(&mut code);
                code.op(Operator::F64ReinterpretI64);
            }
            ValType::V128 => {
                half(&mut code);
                code.op(Operator::I64x2Splat);
                half(&mut code);
                code.op(Operator::I64x2ReplaceLane { lane: 1 });
            }
            _ => word(&mut code),
        }
        if *ty == ValType::F32 {
            code.op(Operator::F32ReinterpretI32);
        }
    }
    code
}

/// Makes the value on the stack, of that type, 64 bits: of a v128 that half.
fn as_bits(code: &mut Code, ty: ValType, half: u8) -> &mut Code {
    match ty {
        ValType::F32 => code.op(Operator::I32ReinterpretF32).op(Operator::I64ExtendI32U),
        ValType::F64 => code.op(Operator::I64ReinterpretF64),
        ValType::I32 => code.op(Operator::I64ExtendI32U),
        ValType::V128 => code.op(Operator::I64x2ExtractLane { lane: half }),
        _ => code,
    }
}

#[cfg(test)]
mod tests {
    use wasmparser::{Validator, WasmFeatures};

    use super::*;

    /// The functions that a module calls the host for, once its stubs are valid.
    fn stubs(text: &str) -> Vec<HostFunction> {
        let bytes = wat::parse_str(text).expect("test input");
        let mut module = Module::parse(&bytes).expect("a valid module");
        let functions = call_host_functions(&mut module);
        let encoded = module.encode();
        Validator::new_with_features(WasmFeatures::all())
            .validate_all(&encoded)
            .expect("a valid module");
        crate::lower(&module, None).expect("a module that can be lowered");
        functions
    }

    #[test]
    fn stubs_are_valid_for_all_numbers_of_values_and_all_memories() {
        for memory in ["", "(memory 1)", "(memory i64 1)"] {
            for params in 0..12 {
                let types = ["i32", "i64", "f32", "v128", "f64"].iter().cycle();
                let types: String = types.take(params).map(|ty| format!("{ty} ")).collect();
                let text = format!(
                    r#"(module (import "e" "f" (func $f (param {types}) (result {types})))
                        {memory} (table funcref (elem $f)) (export "f" (func $f)))"#
                );
                assert_eq!(stubs(&text)[0].ty.params.len(), params);
            }
        }
    }

    #[test]
    fn functions_of_gpu_run_and_those_with_references_stay_imports() {
        let functions = stubs(
            r#"(module (import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))
                (import "e" "f" (func (param externref))) (import "e" "g" (func)))"#,
        );
        let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(names, ["g"]);
    }
}
