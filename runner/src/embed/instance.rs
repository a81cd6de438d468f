//! Instances.

use gpu_run_bytecode::KERNEL_PREFIX;
use gpu_run_vm::{Extern as Item, InstanceId};

use super::error::{Error, Result};
use super::func::{Extern, Func, Global, Kernel, Memory, Table, TypedFunc};
use super::store::{Store, StoreId};
use super::values::WasmValues;

/// An instance of a module in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    pub(super) store: StoreId,
    pub(super) id: InstanceId,
}

impl Instance {
    /// What it exports by a name; `None` too for a tag, or with another store than its own.
    pub fn get_export<T>(&self, store: &Store<T>, name: &str) -> Option<Extern> {
        if self.store != store.id {
            return None;
        }
        Some(match store.vm.export(self.id, name)? {
            Item::Func(index) => Extern::Func(Func(store.id.handle(index))),
            Item::Memory(index) => Extern::Memory(Memory(store.id.handle(index))),
            Item::Global(index) => Extern::Global(Global(store.id.handle(index))),
            Item::Table(index) => Extern::Table(Table(store.id.handle(index))),
            Item::Tag(_) => return None,
        })
    }

    /// A function that it exports.
    pub fn get_func<T>(&self, store: &Store<T>, name: &str) -> Option<Func> {
        match self.get_export(store, name)? {
            Extern::Func(func) => Some(func),
            _ => None,
        }
    }

    /// A function that it exports, with its types.
    ///
    /// # Errors
    ///
    /// There is none of that name, or its types are others.
    pub fn get_typed_func<T, Params: WasmValues, Results: WasmValues>(
        &self,
        store: &Store<T>,
        name: &str,
    ) -> Result<TypedFunc<Params, Results>> {
        self.found("function", store, name, self.get_func(store, name))?
            .typed(store)
    }

    /// A memory that it exports.
    pub fn get_memory<T>(&self, store: &Store<T>, name: &str) -> Option<Memory> {
        match self.get_export(store, name)? {
            Extern::Memory(memory) => Some(memory),
            _ => None,
        }
    }

    /// A global that it exports.
    pub fn get_global<T>(&self, store: &Store<T>, name: &str) -> Option<Global> {
        match self.get_export(store, name)? {
            Extern::Global(global) => Some(global),
            _ => None,
        }
    }

    /// A kernel: what `gpu_std::kernel!` has made of a function of that name, or any function that is exported by it.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn get_kernel<T>(&self, store: &Store<T>, name: &str) -> Result<Kernel> {
        let kernel = self.get_func(store, &format!("{KERNEL_PREFIX}{name}"));
        let func = kernel.or_else(|| self.get_func(store, name));
        self.found("kernel", store, name, func).map(Kernel)
    }

    fn found<T, X>(&self, what: &'static str, store: &Store<T>, name: &str, found: Option<X>) -> Result<X> {
        if self.store != store.id {
            return Err(Error::WrongStore);
        }
        let name = name.to_owned();
        found.ok_or(Error::UnknownExport { what, name })
    }
}
