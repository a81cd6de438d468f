//! Connections and addresses, as in `std::net`.
//!
//! On `wasm32-unknown-unknown` std has no connections, and on `wasm32-wasip1` it makes none. There [`TcpStream`] and
//! [`ToSocketAddrs`], which have std's names and signatures, ask `gpu-run`. A program gets its connections back by one
//! changed line: `use gpu_std::net::TcpStream;` for `use std::net::TcpStream;`. Everything else is `std::net`, so a
//! [`TcpListener`] or [`UdpSocket`] fails there. On any other target this module is `std::net`.
//!
//! ```
//! use gpu_std::io::{self, Read, Write};
//! use gpu_std::net::{SocketAddr, TcpStream};
//!
//! fn get(host: &str, path: &str) -> io::Result<String> {
//!     let mut stream = TcpStream::connect((host, 80))?;
//!     write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
//!     let mut answer = String::new();
//!     stream.read_to_string(&mut answer)?;
//!     Ok(answer)
//! }
//!
//! let address: SocketAddr = "127.0.0.1:80".parse()?;
//! assert_eq!(address.port(), 80);
//! # let _ = get;
//! # Ok::<(), std::net::AddrParseError>(())
//! ```
//!
//! # In a guest
//!
//! A program may connect to what `gpu-run --allow-net HOST:PORT` names, and to nothing without that option. If HOST is
//! a name, the host resolves it once, before the program runs. Then [`TcpStream::connect`] finds that name, and may
//! reach the addresses that it had. Any other name, address or port fails with
//! [`PermissionDenied`](std::io::ErrorKind::PermissionDenied), and `gpu-run` says on stderr which option it needs.
//!
//! - Errors have the kinds that std has for them. A read that times out is
//!   [`WouldBlock`](std::io::ErrorKind::WouldBlock), as std has it on Unix.
//! - [`TcpStream::try_clone`] returns the same connection again: they share what was set.
//! - A read that waits keeps no other thread from running. But 512 calls of the host can be under way at once: with
//!   more connections than that, read with a timeout.

pub use std::net::*;

#[cfg(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))]
pub use crate::wasi::net::{TcpStream, ToSocketAddrs};
