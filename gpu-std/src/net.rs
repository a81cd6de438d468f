//! Addresses, as in `std::net`.
//!
//! On every target this module is `std::net`. On `wasm32-unknown-unknown` its sockets fail with
//! [`Unsupported`](std::io::ErrorKind::Unsupported): `gpu-run` gives guests no network yet.
//!
//! ```
//! use gpu_std::net::SocketAddr;
//!
//! let address: SocketAddr = "127.0.0.1:80".parse()?;
//! assert_eq!(address.port(), 80);
//! # Ok::<(), std::net::AddrParseError>(())
//! ```

pub use std::net::*;
