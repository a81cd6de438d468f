//! Modules.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::wasi::{Function, HOST_MODULE};
use gpu_run_bytecode::{
    ExternKind, FuncType, GlobalType, MemoryType, NativeCode, Op, Program, TableType, decode, decode_native, encode,
    verify,
};
use gpu_run_translator::inline::InlineReport;
use gpu_run_translator::rewrite::RewriteReport;
use gpu_run_translator::{Options, Shared, Times};

use super::engine::Engine;
use super::error::{Error, Result};

/// The type of an import or export.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExternType {
    /// A function.
    Func(FuncType),
    /// A table.
    Table(TableType),
    /// A memory.
    Memory(MemoryType),
    /// A global.
    Global(GlobalType),
    /// A tag of exceptions, whose values are the parameters.
    Tag(FuncType),
}

/// An import of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportType {
    /// Module name.
    pub module: String,
    /// Field name.
    pub name: String,
    /// What it must be.
    pub ty: ExternType,
}

/// An export of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportType {
    /// Its name.
    pub name: String,
    /// What it is.
    pub ty: ExternType,
}

/// A module, translated to bytecode and verified. Clones are the same module.
///
/// ```
/// use gpu_run::{Config, DeviceKind, Engine, Module};
///
/// let engine = Engine::new(Config::new().device(DeviceKind::Cpu))?;
/// let module = Module::new(&engine, r#"(module (func (export "f")))"#)?;
/// let bytes = module.serialize();
/// let again = Module::deserialize(&engine, &bytes)?;
/// assert_eq!(again.exports().next().unwrap().name, "f");
/// # Ok::<(), gpu_run::Error>(())
/// ```
#[derive(Clone)]
pub struct Module {
    pub(super) program: Arc<Program>,
    wasi: Arc<[Function]>,
    report: Option<Arc<TranslationReport>>,
    /// Code that was compiled before.
    pub(super) native: Arc<[NativeCode]>,
}

/// What translating a module did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TranslationReport {
    /// Parts of std that were replaced, and warnings.
    pub rewrites: RewriteReport,
    /// Calls that were inlined.
    pub inlines: InlineReport,
    /// For each exported function, what its threads would share. Empty without [`ModuleOptions::shared`](Options).
    pub shared: Vec<(String, Shared)>,
    /// The time that each stage took.
    pub times: Times,
}

impl Module {
    /// A module of WebAssembly, in binary or text form.
    ///
    /// # Errors
    ///
    /// It is not valid, or uses what this version does not run.
    pub fn new(engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<Module> {
        let wasm = assemble(bytes.as_ref(), None)?;
        let options = Options {
            host_functions: true,
            ..Options::full()
        };
        Module::from_binary(engine, &wasm, &options)
    }

    /// A module of WebAssembly in binary form, translated as the options say. Without
    /// [`ModuleOptions::host_functions`](Options), an import that gpu-run does not serve cannot be a host function.
    ///
    /// # Errors
    ///
    /// As [`Module::new`]; a recursion, where the options deny that.
    pub fn from_binary(_engine: &Engine, wasm: &[u8], options: &Options) -> Result<Module> {
        let translation = gpu_run_translator::translate(wasm, options)?;
        let report = TranslationReport {
            rewrites: translation.rewrites,
            inlines: translation.inlines,
            shared: translation.shared,
            times: translation.times,
        };
        Ok(Module {
            report: Some(Arc::new(report)),
            ..Module::of(translation.program)
        })
    }

    /// The module in a file: WebAssembly, in binary or text form, or a serialized module.
    ///
    /// # Errors
    ///
    /// As [`Module::new`] and [`Module::deserialize`]; the file cannot be read.
    pub fn from_file(engine: &Engine, path: impl AsRef<Path>) -> Result<Module> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| Error::File {
            path: path.display().to_string(),
            source,
        })?;
        match is_serialized(&bytes) {
            true => Module::deserialize(engine, &bytes),
            false => Module::new(engine, &bytes),
        }
    }

    /// A module of what [`Module::serialize`], `gpu-run translate` or `gpu-run compile` has made, in this version. It is
    /// verified, so that the bytes may come from anywhere. Code in there that was compiled before is left out: see
    /// [`Module::deserialize_precompiled`].
    ///
    /// # Errors
    ///
    /// The bytes are no such module.
    pub fn deserialize(_engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<Module> {
        let program = decode(bytes.as_ref())?;
        verify(&program)?;
        Ok(Module::of(program))
    }

    /// The same, with the code in there that was compiled before (`gpu-run compile`). It is taken where it fits a run.
    ///
    /// # Safety
    ///
    /// Nothing can verify machine code: it may do on the GPU whatever it likes. The bytes must come from where this
    /// program's own code does.
    ///
    /// # Errors
    ///
    /// As [`Module::deserialize`].
    pub unsafe fn deserialize_precompiled(engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<Module> {
        let native = decode_native(bytes.as_ref())?;
        Ok(Module {
            native: native.into(),
            ..Module::deserialize(engine, bytes)?
        })
    }

    /// Units of fuel with which each thread of its instances begins, if the module counts them: if it was translated with
    /// `ModuleOptions::fuel`.
    pub fn fuel(&self) -> Option<u64> {
        self.program.meta.fuel_units()
    }

    /// Has threads of instances that are made from now on begin with so many units. Returns whether the module counts them.
    pub fn set_fuel(&mut self, units: u64) -> bool {
        self.fuel().is_some() && Arc::make_mut(&mut self.program).meta.set_fuel(units)
    }

    /// The translated module as bytes, which are read faster than it is translated.
    pub fn serialize(&self) -> Vec<u8> {
        encode(&self.program)
    }

    pub(super) fn of(program: Program) -> Module {
        let mut wasi: Vec<Function> = instructions(&program.code)
            .filter_map(|(_, inst)| inst.ok())
            .filter(|inst| inst.op == Op::RequestQueue)
            .filter_map(|inst| Function::from_number(inst.args[0] as u16))
            .filter(|function| function.info().module != HOST_MODULE)
            .collect();
        wasi.sort_unstable();
        wasi.dedup();
        Module {
            program: Arc::new(program),
            wasi: wasi.into(),
            report: None,
            native: Arc::default(),
        }
    }

    /// Whether there is code that was compiled before.
    pub fn is_precompiled(&self) -> bool {
        !self.native.is_empty()
    }

    /// The program to which the module was translated, verified.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// What translating the module did; `None` of a deserialized one.
    pub fn translation(&self) -> Option<&TranslationReport> {
        self.report.as_deref()
    }

    /// The module's imports, without those that gpu-run serves on the device. Of WASI's functions, those that are called.
    pub fn imports(&self) -> impl Iterator<Item = ImportType> + '_ {
        let meta = &self.program.meta;
        let plain = meta.imports.iter().map(|import| ImportType {
            module: import.module.clone(),
            name: import.name.clone(),
            ty: self.extern_type(import.ty),
        });
        let host = meta.host_functions.iter().map(|function| ImportType {
            module: function.module.clone(),
            name: function.name.clone(),
            ty: ExternType::Func(function.ty.clone()),
        });
        let wasi = self.wasi.iter().map(|function| ImportType {
            module: function.info().module.to_owned(),
            name: function.info().name.to_owned(),
            ty: ExternType::Func(FuncType {
                params: function.param_types(),
                results: vec![gpu_run_bytecode::ValType::I32],
            }),
        });
        plain.chain(host).chain(wasi)
    }

    /// The module's exports.
    pub fn exports(&self) -> impl Iterator<Item = ExportType> + '_ {
        let meta = &self.program.meta;
        let funcs = meta.func_types();
        let (tables, memories, globals, tags) = (
            meta.table_types(),
            meta.memory_types(),
            meta.global_types(),
            meta.tag_types(),
        );
        meta.exports.iter().map(move |export| {
            let index = export.index as usize;
            ExportType {
                name: export.name.clone(),
                ty: match export.kind {
                    ExternKind::Func => ExternType::Func(meta.types[funcs[index] as usize].clone()),
                    ExternKind::Table => ExternType::Table(tables[index]),
                    ExternKind::Memory => ExternType::Memory(memories[index]),
                    ExternKind::Global => ExternType::Global(globals[index]),
                    ExternKind::Tag => ExternType::Tag(meta.types[tags[index] as usize].clone()),
                },
            }
        })
    }

    fn extern_type(&self, ty: gpu_run_bytecode::ExternType) -> ExternType {
        let types = &self.program.meta.types;
        match ty {
            gpu_run_bytecode::ExternType::Func(ty) => ExternType::Func(types[ty as usize].clone()),
            gpu_run_bytecode::ExternType::Table(ty) => ExternType::Table(ty),
            gpu_run_bytecode::ExternType::Memory(ty) => ExternType::Memory(ty),
            gpu_run_bytecode::ExternType::Global(ty) => ExternType::Global(ty),
            gpu_run_bytecode::ExternType::Tag(ty) => ExternType::Tag(types[ty as usize].clone()),
        }
    }

    /// A function of WASI or of the network that it calls.
    pub(super) fn wasi(&self) -> Option<Function> {
        self.wasi.first().copied()
    }
}

/// Whether a file's bytes are a serialized module.
pub fn is_serialized(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0gbc")
}

/// The binary form of a module in text form; binary bytes are returned as they are. A module's first byte is 0. Errors
/// name the file.
///
/// # Errors
///
/// The text is no module.
pub fn assemble<'b>(bytes: &'b [u8], path: Option<&Path>) -> Result<Cow<'b, [u8]>> {
    if bytes.first().is_none_or(|first| *first == 0) {
        return Ok(Cow::Borrowed(bytes));
    }
    let text = str::from_utf8(bytes).map_err(|error| Error::Text(format!("not UTF-8 text: {error}")))?;
    let assemble = || {
        let buffer = wast::parser::ParseBuffer::new(text)?;
        wast::parser::parse::<wast::Wat>(&buffer)?.encode()
    };
    assemble().map(Cow::Owned).map_err(|mut error| {
        if let Some(path) = path {
            error.set_path(path);
        }
        error.set_text(text);
        Error::Text(error.to_string())
    })
}
