//! A case: an instrumented module, and calls of its functions. Everything follows from a seed.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use fastrand::Rng;
use wasmparser::{CompositeInnerType, ExternalKind, Parser, Payload, ValType};

use crate::engine::Value;
use crate::generate;
use crate::instrument::{FUEL, Keep, Options, instrument};
use crate::mutate::{EDGES, Fixture, Mutate};
use crate::proposals::Proposal;

/// Where modules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// wasm-smith.
    Smith,
    /// Parts of real programs, changed.
    Fixtures,
}

/// A call of an exported function.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The export.
    pub name: String,
    /// Arguments.
    pub args: Vec<Value>,
}

/// What is done to a module so that only bugs of gpu-run make a difference.
#[derive(Clone, Copy, Debug, Default)]
pub struct Care {
    /// NaNs become canonical where instructions make them. Without this half of the cases have it.
    pub nans: bool,
    /// What wasmi is known to do wrong is kept out, see [`Options::apart`].
    pub wasmi: bool,
}

/// A module and what to do with it.
#[derive(Clone)]
pub struct Case {
    /// The instrumented module.
    pub wasm: Vec<u8>,
    /// Calls, in order.
    pub calls: Vec<Call>,
    /// Fuel of each call.
    pub fuel: i32,
    /// Whether memories are compared after each call, or after the last one only.
    pub memory_each_call: bool,
}

/// Fuel of a call of wasm-smith's modules, whose loops rarely do more in more rounds.
const SMITH_FUEL: i32 = 1_000;
/// Fuel of a call of a real program's function.
const FIXTURE_FUEL: i32 = 3_000;
/// Fuel where nothing else is known.
pub const REPLAY_FUEL: i32 = 10_000;

impl Case {
    /// The case of a seed.
    ///
    /// # Errors
    ///
    /// No valid module came of the seed.
    pub fn from_seed(
        seed: u64,
        source: Source,
        proposals: &[Proposal],
        fixtures: &[Fixture],
        care: Care,
    ) -> Result<Case, String> {
        let mut rng = Rng::with_seed(seed);
        match source {
            Source::Smith => {
                let wasm = generate::generate(&mut rng, proposals)?;
                Case::smith(&wasm, &mut rng, care)
            }
            Source::Fixtures => {
                let fixture = &fixtures[rng.usize(..fixtures.len())];
                let keep = fixture.choose(&mut rng);
                let canonicalize_nans = rng.bool() || care.nans;
                let rarity = [10, 50, 250, u32::MAX][rng.usize(..4)];
                let options = Options {
                    fuel: FIXTURE_FUEL,
                    canonicalize_nans,
                    apart: care.wasmi,
                    keep: Some(&keep),
                    growth: 2,
                    rewrite: &mut Mutate { rng: &mut rng, rarity },
                };
                let wasm = instrument(&fixture.wasm, options)?;
                let shape = Shape::of(&wasm)?;
                let calls = shape.calls(&mut rng, 6, true);
                Ok(Case {
                    wasm,
                    calls,
                    fuel: FIXTURE_FUEL,
                    memory_each_call: false,
                })
            }
        }
    }

    /// A case of a module that wasm-smith made.
    ///
    /// # Errors
    ///
    /// The module cannot be instrumented.
    pub fn smith(wasm: &[u8], rng: &mut Rng, care: Care) -> Result<Case, String> {
        let canonicalize_nans = rng.bool() || care.nans;
        let options = Options {
            fuel: SMITH_FUEL,
            canonicalize_nans,
            apart: care.wasmi,
            keep: None,
            growth: 1,
            rewrite: &mut Keep,
        };
        let wasm = instrument(wasm, options)?;
        let calls = Shape::of(&wasm)?.calls(rng, 10, false);
        Ok(Case {
            wasm,
            calls,
            fuel: SMITH_FUEL,
            memory_each_call: true,
        })
    }

    /// A case of a module as it is, with given calls.
    pub fn replay(wasm: Vec<u8>, calls: Vec<Call>) -> Case {
        Case {
            wasm,
            calls,
            fuel: REPLAY_FUEL,
            memory_each_call: true,
        }
    }
}

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
        ValType::Ref(_) => Value::ExternRef(plain.then(|| rng.u32(..1000))),
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::I32(value) => write!(f, "i32:{value}"),
            Value::I64(value) => write!(f, "i64:{value}"),
            Value::F32(bits) => write!(f, "f32:{bits:#x}"),
            Value::F64(bits) => write!(f, "f64:{bits:#x}"),
            Value::V128(bits) => write!(f, "v128:{bits:#x}"),
            Value::FuncRef(true) => write!(f, "func"),
            Value::FuncRef(false) => write!(f, "func:null"),
            Value::ExternRef(Some(number)) => write!(f, "extern:{number}"),
            Value::ExternRef(None) => write!(f, "extern:null"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.args.iter().try_for_each(|arg| write!(f, " {arg}"))
    }
}

impl FromStr for Value {
    type Err = String;

    fn from_str(text: &str) -> Result<Value, String> {
        let wrong = || format!("`{text}` is no value");
        let hex = |digits: &str| u128::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16);
        let (ty, value) = text.split_once(':').ok_or_else(wrong)?;
        match (ty, value) {
            ("i32", _) => value.parse().map(Value::I32).map_err(|_| wrong()),
            ("i64", _) => value.parse().map(Value::I64).map_err(|_| wrong()),
            ("f32", _) => hex(value).map(|bits| Value::F32(bits as u32)).map_err(|_| wrong()),
            ("f64", _) => hex(value).map(|bits| Value::F64(bits as u64)).map_err(|_| wrong()),
            ("v128", _) => hex(value).map(Value::V128).map_err(|_| wrong()),
            ("func", "null") => Ok(Value::FuncRef(false)),
            ("extern", "null") => Ok(Value::ExternRef(None)),
            ("extern", _) => value.parse().map(|n| Value::ExternRef(Some(n))).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }
}

impl FromStr for Call {
    type Err = String;

    /// Reads what `Display` writes.
    fn from_str(line: &str) -> Result<Call, String> {
        let mut words = line.split_whitespace();
        let name = words.next().ok_or("an empty line is no call")?.to_owned();
        let args = words.map(str::parse).collect::<Result<_, _>>()?;
        Ok(Call { name, args })
    }
}
