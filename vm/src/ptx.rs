//! The PTX compiler: bytecode as PTX, for native speed on CUDA.

pub mod template;
