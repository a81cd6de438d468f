//! What a module exports, and random calls of it.

use fastrand::Rng;
use wasmparser::{CompositeInnerType, ExternalKind, Parser, Payload, RefType, ValType};

use crate::case::Call;
use crate::engine::Value;
use crate::instrument::FUEL;
use crate::mutate::EDGES;

/// What an instrumented module exports. A module without instrumentation has nothing of it but
/// functions.
#[derive(Default)]
pub struct Shape {
    /// Functions with their parameters.
    pub funcs: Vec<(String, Vec<ValType>)>,
    /// Functions that show a table.
    pub tables: Vec<String>,
    /// Globals.
    pub globals: Vec<String>,
    /// Memories.
    pub memories: Vec<String>,
    /// Whether there is fuel.
    pub fuel: bool,
}

impl Shape {
    /// Reads the exports of a module.
    ///
    /// # Errors
    ///
    /// It is no module.
    pub fn of(wasm: &[u8]) -> Result<Shape, String> {
        Shape::read(wasm).map_err(|error| error.to_string())
    }

    fn read(wasm: &[u8]) -> Result<Shape, wasmparser::Error> {
        let mut shape = Shape::default();
        let mut types = Vec::new();
        let mut funcs = Vec::new();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::TypeSection(section) => {
                    for group in section {
                        for ty in group?.into_types() {
                            types.push(match ty.composite_type.inner {
                                CompositeInnerType::Func(ty) => ty.params().to_vec(),
                                _ => Vec::new(),
                            });
                        }
                    }
                }
                Payload::FunctionSection(section) => {
                    for ty in section {
                        funcs.push(ty?);
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        shape.add(export, &types, &funcs);
                    }
                }
                Payload::CodeSectionStart { .. } => break,
                _ => {}
            }
        }
        // wasm-smith and real programs have exports of their own for the same functions.
        if shape.fuel {
            shape.funcs.retain(|(name, _)| name.starts_with("f:"));
            shape.globals.retain(|name| name.starts_with("g:"));
            shape.memories.retain(|name| name.starts_with("m:"));
        }
        Ok(shape)
    }

    fn add(&mut self, export: wasmparser::Export<'_>, types: &[Vec<ValType>], funcs: &[u32]) {
        let name = export.name.to_owned();
        match export.kind {
            ExternalKind::Func if name.starts_with("t:") => self.tables.push(name),
            ExternalKind::Func => {
                let ty = funcs.get(export.index as usize);
                let params = ty.and_then(|ty| types.get(*ty as usize));
                self.funcs.push((name, params.cloned().unwrap_or_default()));
            }
            ExternalKind::Global if name == FUEL => self.fuel = true,
            ExternalKind::Global => self.globals.push(name),
            ExternalKind::Memory => self.memories.push(name),
            _ => {}
        }
    }

    /// Calls of functions, `each` of them per function, in random order with random arguments.
    pub fn calls(&self, rng: &mut Rng, each: usize, pointers: bool) -> Vec<Call> {
        let mut calls = Vec::new();
        if self.funcs.is_empty() {
            return calls;
        }
        for _ in 0..each * self.funcs.len() {
            let (name, params) = &self.funcs[rng.usize(..self.funcs.len())];
            let args = params.iter().map(|ty| argument(*ty, rng, pointers)).collect();
            calls.push(Call {
                name: name.clone(),
                args,
            });
        }
        calls
    }
}

/// Floats that matter to instructions.
const FLOATS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    -0.9,
    2147483647.0,
    2147483648.0,
    -2147483649.0,
    4294967296.0,
    9.223_372_036_854_776e18,
    1.844_674_407_370_955_2e19,
    1e-310,
    1e-40,
    3.4e38,
    1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn argument(ty: ValType, rng: &mut Rng, pointers: bool) -> Value {
    let edge = EDGES[rng.usize(..EDGES.len())];
    let integer = match rng.u32(..if pointers { 8 } else { 4 }) {
        0 => rng.i64(..),
        1 => rng.i64(-20..200),
        2 | 3 => edge,
        // Addresses of a real program's stack and data.
        4 | 5 => rng.i64(0..1 << 17) * 8,
        6 => (1 << 20) - rng.i64(0..1 << 10) * 8,
        _ => (1 << 20) + rng.i64(0..1 << 10) * 8,
    };
    let float = FLOATS[rng.usize(..FLOATS.len())];
    let plain = rng.bool();
    match ty {
        ValType::I32 => Value::I32(integer as i32),
        ValType::I64 => Value::I64(integer),
        ValType::F32 if plain => Value::F32((float as f32).to_bits()),
        ValType::F32 => Value::f32(rng.u32(..)),
        ValType::F64 if plain => Value::F64(float.to_bits()),
        ValType::F64 => Value::f64(rng.u64(..)),
        ValType::V128 => Value::V128((rng.u64(..) as u128) << 64 | integer as u64 as u128),
        ValType::Ref(reference) if reference.is_func_ref() => Value::FuncRef(false),
        ValType::Ref(reference) if reference == RefType::EXNREF => Value::ExnRef(false),
        ValType::Ref(_) => Value::ExternRef(plain.then(|| rng.u32(..1000))),
    }
}
