//! Linkers.

use std::collections::HashMap;

use gpu_run_bytecode::FuncType;

use super::error::{BoxError, Error, Result};
use super::func::Extern;
use super::host::{Caller, HostFn, IntoFunc, Wrapped};
use super::instance::Instance;
use super::module::Module;
use super::store::{InstancePre, Store, Usage};
use super::values::Val;
use super::wasi::WasiCtx;

/// What a name of an import stands for.
pub(super) enum Definition<T> {
    Func(FuncType, HostFn<T>),
    Extern(Extern),
}

/// Definitions for the imports of modules: host functions, and memories, tables and globals of a store.
///
/// ```
/// use gpu_run::{Caller, Config, DeviceKind, Engine, Linker, Module, Store};
///
/// let engine = Engine::new(Config::new().device(DeviceKind::Cpu))?;
/// let module = Module::new(&engine, r#"(module
///     (import "host" "add" (func $add (param i32)))
///     (func (export "run") (call $add (i32.const 3)) (call $add (i32.const 4))))"#)?;
/// let mut linker = Linker::new(&engine);
/// linker.func_wrap("host", "add", |mut caller: Caller<'_, i32>, x: i32| *caller.data_mut() += x)?;
/// let mut store = Store::new(&engine, 0)?;
/// let instance = linker.instantiate(&mut store, &module)?;
/// instance.get_typed_func::<_, (), ()>(&store, "run")?.call(&mut store, ())?;
/// assert_eq!(*store.data(), 7);
/// # Ok::<(), gpu_run::Error>(())
/// ```
pub struct Linker<T> {
    definitions: HashMap<(String, String), Definition<T>>,
    wasi: Option<WasiCtx>,
}

impl<T> Linker<T> {
    /// A linker without definitions.
    pub fn new(_engine: &super::engine::Engine) -> Linker<T> {
        Linker {
            definitions: HashMap::new(),
            wasi: None,
        }
    }

    /// Defines a host function by a closure, whose types are those of the import. It may begin with a [`Caller`], and
    /// return a `Result`, whose error ends the run.
    ///
    /// Each call is a request to the host, on every device. Closures without a [`Caller`] may be called by several
    /// threads at the same time. Those with one are called one after the other, and never while another one waits for
    /// the program's memory. A closure should return soon: a few threads of the host serve all threads of the program.
    ///
    /// # Errors
    ///
    /// The name is defined.
    pub fn func_wrap<Params, Results>(
        &mut self,
        module: &str,
        name: &str,
        function: impl IntoFunc<T, Params, Results>,
    ) -> Result<&mut Linker<T>> {
        let Wrapped { ty, function } = function.into_func();
        self.add(module, name, Definition::Func(ty, function))
    }

    /// Defines a host function by a closure of values, for types that are known at run time only.
    ///
    /// # Errors
    ///
    /// The name is defined, or a type is that of a reference, which host functions have none of.
    pub fn func_new(
        &mut self,
        module: &str,
        name: &str,
        ty: FuncType,
        function: impl Fn(Caller<'_, T>, &[Val]) -> Result<Vec<Val>, BoxError> + Send + Sync + 'static,
    ) -> Result<&mut Linker<T>> {
        if ty.params.iter().chain(&ty.results).any(|ty| ty.is_ref()) {
            return Err(Error::Type {
                wanted: "numbers and vectors, as host functions have".into(),
                found: ty.to_string(),
            });
        }
        let function = HostFn::WithCaller(std::sync::Arc::new(function));
        self.add(module, name, Definition::Func(ty, function))
    }

    /// Defines a memory, table or global of the store in which modules will be instantiated.
    ///
    /// # Errors
    ///
    /// The name is defined.
    pub fn define(&mut self, module: &str, name: &str, item: impl Into<Extern>) -> Result<&mut Linker<T>> {
        self.add(module, name, Definition::Extern(item.into()))
    }

    /// Defines the functions of WASI and of gpu-run's network: what a program finds around it is that context. It is for
    /// one program; a second one would go on with the descriptors of the first.
    pub fn wasi(&mut self, wasi: WasiCtx) -> &mut Linker<T> {
        self.wasi = Some(wasi);
        self
    }

    fn add(&mut self, module: &str, name: &str, definition: Definition<T>) -> Result<&mut Linker<T>> {
        let key = (module.to_owned(), name.to_owned());
        if self.definitions.contains_key(&key) {
            let (module, name) = key;
            return Err(Error::Defined { module, name });
        }
        self.definitions.insert(key, definition);
        Ok(self)
    }

    /// What is defined for an import.
    pub(super) fn get(&self, module: &str, name: &str) -> Option<&Definition<T>> {
        self.definitions.get(&(module.to_owned(), name.to_owned()))
    }

    pub(super) fn wasi_context(&self) -> Option<&WasiCtx> {
        self.wasi.as_ref()
    }
}

impl<T: Send> Linker<T> {
    /// Instantiates a module in a store: links its imports, compiles it if that is how it is run, and runs its start
    /// function. The import `env.memory`, by which linkers have a shared memory made, gets a memory if it is not defined.
    ///
    /// # Errors
    ///
    /// As [`Linker::instantiate_pre`] and [`InstancePre::instantiate`].
    pub fn instantiate(&self, store: &mut Store<T>, module: &Module) -> Result<Instance> {
        self.instantiate_pre(store, module, &Usage::default())?.instantiate()
    }

    /// Does all of an instantiation but its last step: links the imports, chooses how the module is run, and compiles
    /// it if that is how. The less `usage` names, the less is compiled.
    ///
    /// # Errors
    ///
    /// An import that is not defined or has another type; an export of `usage` that is no function. The device has no
    /// room for a memory, or compiled code was asked for and cannot be made.
    pub fn instantiate_pre<'s>(
        &self,
        store: &'s mut Store<T>,
        module: &Module,
        usage: &Usage,
    ) -> Result<InstancePre<'s, T>> {
        InstancePre::new(self, store, module, usage)
    }
}
