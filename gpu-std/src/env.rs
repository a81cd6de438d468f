//! Arguments and environment, as in `std::env`.
//!
//! On `wasm32-unknown-unknown` std has neither. There [`args`], [`vars`], [`var`] and their kin return what `gpu-run`
//! was given: arguments after the module's name, and variables by `--env`. What is no Unicode has U+FFFD in its place.
//! [`current_dir`] is `/`, as in other WASI programs. Everything else is `std::env`, so [`set_var`] and
//! [`set_current_dir`] fail there. On any other target this module is `std::env`.
//!
//! ```
//! use gpu_std::env;
//!
//! let name = env::args().next().expect("the program's name");
//! println!("{name} was given {} arguments", env::args().len() - 1);
//! assert!(env::var("NO_SUCH_VARIABLE").is_err());
//! ```

pub use std::env::*;

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub use crate::wasi::env::{
    Args, ArgsOs, Vars, VarsOs, args, args_os, current_dir, temp_dir, var, var_os, vars, vars_os,
};
