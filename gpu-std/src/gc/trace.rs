//! Which pointers a value has.

use core::marker::PhantomData;
use core::sync::atomic;
use std::boxed::Box;
use std::string::String;
use std::vec::Vec;

use super::object::Tracer;
use super::pointers::{Field, Gc};

/// Values that can be objects of the heap, or parts of them. [`trace!`](super::trace!) implements it for structures.
///
/// # Safety
///
/// `trace` hands on to each part that has a [`Gc`] or a [`Field`], each time. Where a type has one in a lock or a cell, it
/// cannot be traced, because a pointer that changes must be a [`Field`]. The type does not implement [`Drop`] in a way that
/// follows a pointer.
///
/// `trace` does not panic: then the process is aborted, for what is not traced would be freed though it is alive.
pub unsafe trait Trace {
    /// Shows the tracer what this points to.
    fn trace(&self, tracer: &mut Tracer);
}

// SAFETY: the pointer itself.
unsafe impl<T> Trace for Gc<'_, T> {
    fn trace(&self, tracer: &mut Tracer) {
        tracer.visit(self.header());
    }
}

// SAFETY: the pointer itself.
unsafe impl<T> Trace for Field<'_, T> {
    fn trace(&self, tracer: &mut Tracer) {
        tracer.visit(self.header());
    }
}

/// Types without pointers of this heap: nothing that outlives all sessions has one.
macro_rules! without {
    ($([$($param:ident)?] $type:ty),* $(,)?) => {
        $(
            // SAFETY: it has none.
            unsafe impl$(<$param: 'static>)? Trace for $type {
                #[inline]
                fn trace(&self, _: &mut Tracer) {}
            }
        )*
    };
}

without! {
    [] (), [] bool, [] char, [] String, [] &'static str, [] f32, [] f64,
    [] u8, [] u16, [] u32, [] u64, [] u128, [] usize, [] i8, [] i16, [] i32, [] i64, [] i128, [] isize,
    [] atomic::AtomicBool, [] atomic::AtomicU8, [] atomic::AtomicU16, [] atomic::AtomicU32, [] atomic::AtomicU64,
    [] atomic::AtomicI8, [] atomic::AtomicI16, [] atomic::AtomicI32, [] atomic::AtomicI64, [] atomic::AtomicUsize,
    [T] crate::sync::Mutex<T>, [T] crate::sync::RwLock<T>, [T] crate::sync::OnceLock<T>, [T] crate::sync::Arc<T>,
}

/// Types that have what their parts have.
macro_rules! parts {
    ($(<$($param:ident $(: $bound:path)?),* $(; const $n:ident)?> $type:ty = |$value:ident, $tracer:ident| $trace:expr;)*) => {
        $(
            // SAFETY: each part is traced.
            unsafe impl<$($param: $($bound)?),* $(, const $n: usize)?> Trace for $type {
                #[inline]
                fn trace(&self, $tracer: &mut Tracer) {
                    let $value = self;
                    $trace
                }
            }
        )*
    };
}

parts! {
    <T> PhantomData<T> = |_value, _tracer| {};
    <T: Trace> Option<T> = |value, tracer| value.iter().for_each(|part| part.trace(tracer));
    <T: Trace> Box<T> = |value, tracer| (**value).trace(tracer);
    <T: Trace> Box<[T]> = |value, tracer| value.iter().for_each(|part| part.trace(tracer));
    <T: Trace> Vec<T> = |value, tracer| value.iter().for_each(|part| part.trace(tracer));
    <T: Trace; const N> [T; N] = |value, tracer| value.iter().for_each(|part| part.trace(tracer));
    <A: Trace, B: Trace> (A, B) = |value, tracer| {
        value.0.trace(tracer);
        value.1.trace(tracer);
    };
    <A: Trace, B: Trace, C: Trace> (A, B, C) = |value, tracer| {
        value.0.trace(tracer);
        value.1.trace(tracer);
        value.2.trace(tracer);
    };
}

/// Says which parts a structure has, so that its values can be objects of [`gc`](crate::gc): `trace!(Node<'s> { next, name
/// })`, all of them. The lifetime is that of the session; a structure without pointers has none.
#[doc(hidden)]
#[macro_export]
macro_rules! __gc_trace {
    ($name:ident $(<$session:lifetime>)? { $($part:ident),* $(,)? }) => {
        // SAFETY: all parts are traced: the pattern does not compile without one of them. The type has no `Drop`, or the
        // trait below would be implemented twice.
        unsafe impl$(<$session>)? $crate::gc::Trace for $name$(<$session>)? {
            fn trace(&self, tracer: &mut $crate::gc::Tracer) {
                let $name { $($part),* } = self;
                $($crate::gc::Trace::trace($part, tracer);)*
                _ = tracer;
            }
        }
        const _: () = {
            #[allow(dead_code)]
            trait HasNoDrop {}
            #[allow(drop_bounds)]
            impl<T: ::core::ops::Drop> HasNoDrop for T {}
            impl$(<$session>)? HasNoDrop for $name$(<$session>)? {}
        };
        $crate::__gc_trace!(@root $name $(<$session>)?);
    };
    (@root $name:ident) => {
        impl $crate::gc::Rootable for $name {
            type Of<'s> = $name;
        }
    };
    (@root $name:ident <$session:lifetime>) => {
        impl $crate::gc::Rootable for $name<'static> {
            type Of<$session> = $name<$session>;
        }
    };
}
