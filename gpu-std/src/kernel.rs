//! Marking a function as a kernel: one that `gpu-run --threads N` runs on N threads.

mod sealed {
    pub trait Sealed {}
}

/// What a kernel may return: nothing, `i32`, `u32`, `i64`, `u64`, `f32` or `f64`.
///
/// These are the types of one wasm value. The trait is sealed.
///
/// ```
/// fn ok<T: gpu_std::KernelReturn>() {}
/// ok::<f64>();
/// ```
pub trait KernelReturn: sealed::Sealed {}

macro_rules! kernel_return {
    ($($ty:ty),*) => {
        $(
            impl sealed::Sealed for $ty {}
            impl KernelReturn for $ty {}
        )*
    };
}

kernel_return!((), i32, u32, i64, u64, f32, f64);

/// Fails to compile for a type that no kernel may return. Not part of the public interface.
#[doc(hidden)]
pub const fn check_return_type<T: KernelReturn>() {}

/// Marks functions as kernels.
///
/// A kernel takes no arguments: a thread finds its share of the work by
/// [`thread_id`](crate::thread_id). It returns nothing or a [`KernelReturn`]. It stays an ordinary
/// function that can be called; on `wasm32` it is exported too, as `gpu_run_v1.kernel.NAME`, which
/// is how `gpu-run --threads N` finds it. Names of kernels must be unique in a program.
///
/// The threads share one memory. Each has its own stack; a `static` is one for all of them, so it
/// is changed with the atomics of this crate only.
///
/// ```
/// gpu_std::kernel! {
///     /// The square of this thread's id.
///     pub fn square() -> u32 {
///         gpu_std::thread_id().pow(2)
///     }
/// }
///
/// assert_eq!(square(), 0);
/// ```
///
/// Other return types do not compile:
///
/// ```compile_fail
/// gpu_std::kernel! {
///     fn name() -> String { String::new() }
/// }
/// ```
#[macro_export]
macro_rules! kernel {
    ($(
        $(#[$meta:meta])*
        $vis:vis fn $name:ident() $(-> $ret:ty)? $body:block
    )*) => {
        $(
            $(#[$meta])*
            $vis fn $name() $(-> $ret)? $body

            const _: () = {
                $($crate::__check_return_type::<$ret>();)?

                #[cfg(target_arch = "wasm32")]
                #[unsafe(export_name = concat!("gpu_run_v1.kernel.", stringify!($name)))]
                extern "C" fn entry() $(-> $ret)? {
                    $name()
                }
            };
        )*
    };
}
