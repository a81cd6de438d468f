//! Host functions: closures, and how they are called while a program runs.

mod call;

use std::sync::Arc;

use gpu_run_bytecode::FuncType;

use super::error::{BoxError, Result};
use super::values::{Val, WasmTy, WasmValues};
use call::Session;
pub(super) use call::{Calls, Failure, Table};

/// A call of a host function, as the function sees it: the store's data, and the memory of the program that calls.
pub struct Caller<'c, T> {
    data: &'c mut T,
    session: &'c mut Session,
}

impl<T> Caller<'_, T> {
    /// The store's data.
    pub fn data(&self) -> &T {
        self.data
    }

    /// The store's data, to be changed.
    pub fn data_mut(&mut self) -> &mut T {
        self.data
    }

    /// The number of the program's thread that calls.
    pub fn thread(&self) -> u32 {
        self.session.thread()
    }

    /// Reads the bytes of the program's memory 0 from `address` on.
    ///
    /// The calling thread sends them, so this works while the program runs, also on a GPU. Each 8 KiB are a round trip. Other threads may write there at the same time.
    ///
    /// # Errors
    ///
    /// They are not all in memory, or the run has ended meanwhile.
    pub fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<()> {
        self.session.read(address, bytes)
    }

    /// Writes bytes to the program's memory 0, from `address` on. The calling thread takes them, as with
    /// [`Caller::read`].
    ///
    /// # Errors
    ///
    /// They are not all in memory, or the run has ended meanwhile. Of more than 8 KiB some may be written by then.
    pub fn write(&mut self, address: u32, bytes: &[u8]) -> Result<()> {
        self.session.write(address, bytes)
    }

    /// Reads a text of `len` bytes from the program's memory 0. What is not UTF-8 is replaced.
    ///
    /// # Errors
    ///
    /// As [`Caller::read`].
    pub fn read_string(&mut self, address: u32, len: u32) -> Result<String> {
        let mut bytes = Vec::new();
        // No more than there is: the length is the program's.
        for at in (0..len).step_by(gpu_run_bytecode::wasi::host::MOST) {
            let mut piece = vec![0; (len - at).min(gpu_run_bytecode::wasi::host::MOST as u32) as usize];
            let out = super::error::Error::OutOfBounds {
                address: address.into(),
                len: len as usize,
            };
            self.session.read(address.checked_add(at).ok_or(out)?, &mut piece)?;
            bytes.extend(piece);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// What a closure returns.
pub(super) type Returned = Result<Vec<Val>, BoxError>;

type PlainFn = dyn Fn(&[Val]) -> Returned + Send + Sync;
type CallerFn<T> = dyn Fn(Caller<'_, T>, &[Val]) -> Returned + Send + Sync;

/// A closure. Those without a [`Caller`] are called at the same time, the others one after the other.
pub(super) enum HostFn<T> {
    Plain(Arc<PlainFn>),
    WithCaller(Arc<CallerFn<T>>),
}

impl<T> Clone for HostFn<T> {
    fn clone(&self) -> HostFn<T> {
        match self {
            HostFn::Plain(function) => HostFn::Plain(function.clone()),
            HostFn::WithCaller(function) => HostFn::WithCaller(function.clone()),
        }
    }
}

/// A function that may be called by programs: what [`Linker::func_wrap`](crate::Linker::func_wrap) takes.
#[doc(hidden)]
pub struct Wrapped<T> {
    pub(super) ty: FuncType,
    pub(super) function: HostFn<T>,
}

/// What a host function may return: nothing, a [`WasmTy`], a tuple of them, or a `Result` of these.
pub trait HostResult {
    #[doc(hidden)]
    type Values: WasmValues;
    #[doc(hidden)]
    fn into_values(self) -> Result<Self::Values, BoxError>;
}

impl<V: WasmValues> HostResult for V {
    type Values = V;
    fn into_values(self) -> Result<V, BoxError> {
        Ok(self)
    }
}

impl<V: WasmValues, E: Into<BoxError>> HostResult for std::result::Result<V, E> {
    type Values = V;
    fn into_values(self) -> Result<V, BoxError> {
        self.map_err(Into::into)
    }
}

/// A closure as a host function: of parameters that are [`WasmTy`]s, before which may come a [`Caller`].
pub trait IntoFunc<T, Params, Results> {
    #[doc(hidden)]
    fn into_func(self) -> Wrapped<T>;
}

fn type_of<R: HostResult>(params: Vec<gpu_run_bytecode::ValType>) -> FuncType {
    FuncType {
        params,
        results: R::Values::types(),
    }
}

macro_rules! into_func {
    ($($name:ident)*) => {
        #[allow(non_snake_case, unused_mut, unused_variables)]
        impl<T, F, R, $($name),*> IntoFunc<T, ($($name,)*), R> for F
        where
            F: Fn($($name),*) -> R + Send + Sync + 'static,
            R: HostResult,
            $($name: WasmTy,)*
        {
            fn into_func(self) -> Wrapped<T> {
                Wrapped {
                    ty: type_of::<R>(vec![$($name::TYPE),*]),
                    function: HostFn::Plain(Arc::new(move |vals| {
                        let mut vals = vals.iter();
                        $(let $name = $name::from_val(*vals.next().expect("a value of each type"));)*
                        Ok(self($($name),*).into_values()?.to_vals())
                    })),
                }
            }
        }

        #[allow(non_snake_case, unused_mut, unused_variables)]
        impl<T, F, R, $($name),*> IntoFunc<T, (Caller<'_, T>, $($name,)*), R> for F
        where
            F: Fn(Caller<'_, T>, $($name),*) -> R + Send + Sync + 'static,
            R: HostResult,
            $($name: WasmTy,)*
        {
            fn into_func(self) -> Wrapped<T> {
                Wrapped {
                    ty: type_of::<R>(vec![$($name::TYPE),*]),
                    function: HostFn::WithCaller(Arc::new(move |caller: Caller<'_, T>, vals: &[Val]| {
                        let mut vals = vals.iter();
                        $(let $name = $name::from_val(*vals.next().expect("a value of each type"));)*
                        Ok(self(caller, $($name),*).into_values()?.to_vals())
                    })),
                }
            }
        }
    };
}

into_func! {}
into_func! { P1 }
into_func! { P1 P2 }
into_func! { P1 P2 P3 }
into_func! { P1 P2 P3 P4 }
into_func! { P1 P2 P3 P4 P5 }
into_func! { P1 P2 P3 P4 P5 P6 }
into_func! { P1 P2 P3 P4 P5 P6 P7 }
into_func! { P1 P2 P3 P4 P5 P6 P7 P8 }
