//! Handles of what a store has: functions, memories, globals, tables.

use std::marker::PhantomData;

use gpu_run_bytecode::FuncType;

use super::error::{Error, Result};
use super::outcome::{Launch, Outcome};
use super::store::{Handle, Store};
use super::values::{Val, WasmValues};

/// A function of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Func(pub(super) Handle);

impl Func {
    /// The function's type.
    ///
    /// # Errors
    ///
    /// The handle is another store's.
    pub fn ty<T>(&self, store: &Store<T>) -> Result<FuncType> {
        Ok(store.vm.func_type(self.0.in_store(store.id)?).clone())
    }

    /// Calls the function on one thread.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`], [`Error::Host`], [`Error::Exit`], [`Error::TimedOut`] and [`Error::Interrupted`] say how the
    /// program ended; the others why it was not called.
    pub fn call<T: Send>(&self, store: &mut Store<T>, args: &[Val]) -> Result<Vec<Val>> {
        let launch = self.run(store, 1, args)?.returned()?;
        Ok(launch.results.into_iter().next().unwrap_or_default())
    }

    /// Runs the function on `threads` threads, with these arguments for each. The outcome says how that ended, also where the
    /// program failed, and what was counted.
    ///
    /// # Errors
    ///
    /// Why it was not run.
    pub fn run<T: Send>(&self, store: &mut Store<T>, threads: u32, args: &[Val]) -> Result<Outcome> {
        store.run(*self, threads, args)
    }

    /// The function with its types.
    ///
    /// # Errors
    ///
    /// The function has other types, or is another store's.
    pub fn typed<Params: WasmValues, Results: WasmValues, T>(
        &self,
        store: &Store<T>,
    ) -> Result<TypedFunc<Params, Results>> {
        let (wanted, found) = (self.ty(store)?, type_of::<Params, Results>());
        if wanted != found {
            return Err(Error::Type {
                wanted: wanted.to_string(),
                found: found.to_string(),
            });
        }
        Ok(TypedFunc {
            func: *self,
            types: PhantomData,
        })
    }
}

fn type_of<Params: WasmValues, Results: WasmValues>() -> FuncType {
    FuncType {
        params: Params::types(),
        results: Results::types(),
    }
}

/// A function of known types.
#[derive(Clone, Copy, Debug)]
pub struct TypedFunc<Params, Results> {
    func: Func,
    types: PhantomData<fn(Params) -> Results>,
}

impl<Params: WasmValues, Results: WasmValues> TypedFunc<Params, Results> {
    /// Calls the function on one thread.
    ///
    /// # Errors
    ///
    /// As [`Func::call`].
    pub fn call<T: Send>(&self, store: &mut Store<T>, params: Params) -> Result<Results> {
        Ok(Results::from_vals(&self.func.call(store, &params.to_vals())?))
    }

    /// The function without its types.
    pub fn func(&self) -> Func {
        self.func
    }
}

/// An export to be run on many threads, which share the instance's memory.
///
/// Each thread has its own stack, and its own copy of the instance's globals. `gpu_std::thread::index()`, or the import
/// `gpu_run_v1.gid`, is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(pub(super) Func);

impl Kernel {
    /// Runs the kernel on `threads` threads, with these arguments for each, until all have returned.
    ///
    /// # Errors
    ///
    /// As [`Func::call`].
    pub fn launch<T: Send>(&self, store: &mut Store<T>, threads: u32, args: &[Val]) -> Result<Launch> {
        self.0.run(store, threads, args)?.returned()
    }

    /// The kernel's function.
    pub fn func(&self) -> Func {
        self.0
    }
}

/// A linear memory of a store. Between calls the host may read and write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory(pub(super) Handle);

impl Memory {
    /// The memory's size in bytes.
    ///
    /// # Errors
    ///
    /// The device failed, or the handle is another store's.
    pub fn data_size<T>(&self, store: &mut Store<T>) -> Result<u64> {
        let memory = self.0.in_store(store.id)?;
        Ok(store.vm.memory_size(memory)?)
    }

    /// The memory's size in pages of 64 KiB.
    ///
    /// # Errors
    ///
    /// As [`Memory::data_size`].
    pub fn size<T>(&self, store: &mut Store<T>) -> Result<u64> {
        Ok(self.data_size(store)? / PAGE)
    }

    /// Reads the bytes from an address on.
    ///
    /// # Errors
    ///
    /// The bytes are not all in memory. The device failed, or the handle is another store's.
    pub fn read<T>(&self, store: &mut Store<T>, address: u64, bytes: &mut [u8]) -> Result<()> {
        let memory = self.0.in_store(store.id)?;
        match store.vm.read_memory(memory, address, bytes)? {
            true => Ok(()),
            false => Err(outside(address, bytes.len())),
        }
    }

    /// Writes bytes from an address on.
    ///
    /// # Errors
    ///
    /// As [`Memory::read`].
    pub fn write<T>(&self, store: &mut Store<T>, address: u64, bytes: &[u8]) -> Result<()> {
        let memory = self.0.in_store(store.id)?;
        match store.vm.write_memory(memory, address, bytes)? {
            true => Ok(()),
            false => Err(outside(address, bytes.len())),
        }
    }

    /// Grows the memory by `pages` pages of zeros. Returns how many it had before.
    ///
    /// # Errors
    ///
    /// It would be larger than its type or the store's limits allow. After a call on several threads that may already be so:
    /// memory that only the device's heap makes larger has its last size from then on. The device failed, or the handle is
    /// another store's.
    pub fn grow<T>(&self, store: &mut Store<T>, pages: u64) -> Result<u64> {
        let memory = self.0.in_store(store.id)?;
        store.vm.grow_memory(memory, pages)?.ok_or(Error::Grow { pages })
    }
}

/// Bytes of a page.
const PAGE: u64 = 65536;

fn outside(address: u64, len: usize) -> Error {
    Error::OutOfBounds { address, len }
}

/// A global of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global(pub(super) Handle);

impl Global {
    /// The global's value.
    ///
    /// # Errors
    ///
    /// The device failed, or the handle is another store's.
    pub fn get<T>(&self, store: &mut Store<T>) -> Result<Val> {
        let global = self.0.in_store(store.id)?;
        Ok(Val::lift(store.vm.global(global)?, store.id))
    }

    /// Sets the global's value.
    ///
    /// # Errors
    ///
    /// The global is immutable or of another type. The device failed, or the handle is another store's.
    pub fn set<T>(&self, store: &mut Store<T>, value: Val) -> Result<()> {
        let global = self.0.in_store(store.id)?;
        let value = value.lower(store.id).ok_or(Error::WrongStore)?;
        let ty = store.vm.global_type(global);
        if !ty.mutable || ty.ty != value.ty() {
            return Err(Error::Global);
        }
        Ok(store.vm.set_global(global, value)?)
    }
}

/// A table of a store, to be passed on to other instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table(pub(super) Handle);

/// Something that an instance exports, and that a [`Linker`](crate::Linker) may define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extern {
    /// A function.
    Func(Func),
    /// A memory.
    Memory(Memory),
    /// A global.
    Global(Global),
    /// A table.
    Table(Table),
}

macro_rules! from_handle {
    ($($name:ident)*) => {$(
        impl From<$name> for Extern {
            fn from(handle: $name) -> Extern {
                Extern::$name(handle)
            }
        }
    )*};
}

from_handle! { Memory Global Table }
