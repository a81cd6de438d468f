//! The host's services of WASI preview 1, called as the device calls them: every function, errno by errno.
#![cfg(target_os = "linux")]

#[path = "wasi/support.rs"]
mod support;

#[path = "wasi/attacks.rs"]
mod attacks;
#[path = "wasi/descriptors.rs"]
mod descriptors;
#[path = "wasi/files.rs"]
mod files;
#[path = "wasi/listing.rs"]
mod listing;
#[path = "wasi/paths.rs"]
mod paths;
#[path = "wasi/poll.rs"]
mod poll;
#[path = "wasi/requests.rs"]
mod requests;
#[path = "wasi/sandbox.rs"]
mod sandbox;
#[path = "wasi/sockets.rs"]
mod sockets;
#[path = "wasi/tmpfs.rs"]
mod tmpfs;
