//! What a program for WASI finds around it.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use gpu_run_vm::{Environment, Input, WasiBuilder};

use super::error::{Error, Result};
use super::events::{Events, LateWriter};

/// Builds a [`WasiCtx`]: arguments, variables, directories, the network.
///
/// Left alone, the program has no arguments and no directory, and standard input is at its end. What it writes to
/// standard output and error are [`Event`](crate::Event)s of its store.
pub struct WasiCtxBuilder {
    wasi: WasiBuilder,
    output: LateWriter,
    args: Vec<Vec<u8>>,
    variables: Vec<Vec<u8>>,
    seed: Option<u64>,
}

/// What one program for WASI finds around it; see [`Linker::wasi`](crate::Linker::wasi).
pub struct WasiCtx {
    environment: Environment,
    output: LateWriter,
}

impl Default for WasiCtxBuilder {
    fn default() -> WasiCtxBuilder {
        WasiCtxBuilder::new()
    }
}

impl WasiCtxBuilder {
    /// A program that has nothing.
    pub fn new() -> WasiCtxBuilder {
        let output = LateWriter::new();
        WasiCtxBuilder {
            wasi: WasiBuilder::new()
                .stdout(Box::new(output.clone()), false)
                .stderr(Box::new(output.of_errors()), false),
            output,
            args: Vec::new(),
            variables: Vec::new(),
            seed: None,
        }
    }

    /// Adds an argument. The first one is the program's name.
    pub fn arg(mut self, arg: impl AsRef<[u8]>) -> Self {
        self.args.push(arg.as_ref().to_vec());
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<[u8]>>(self, args: impl IntoIterator<Item = A>) -> Self {
        args.into_iter().fold(self, WasiCtxBuilder::arg)
    }

    /// Adds a variable. Neither its name nor its value need be UTF-8.
    pub fn env(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.variables.push([name.as_ref(), b"=", value.as_ref()].concat());
        self
    }

    /// Sets what the program reads as standard input.
    pub fn stdin(mut self, input: Input) -> Self {
        self.wasi = self.wasi.stdin(input);
        self
    }

    /// Sets where the host writes what the program writes to standard output, in place of the store's events. What the
    /// device takes by itself still becomes events. `terminal` is what the program is told of the stream.
    pub fn stdout(mut self, writer: impl Write + Send + 'static, terminal: bool) -> Self {
        self.wasi = self.wasi.stdout(Box::new(writer), terminal);
        self
    }

    /// The same as [`WasiCtxBuilder::stdout`] for standard error.
    pub fn stderr(mut self, writer: impl Write + Send + 'static, terminal: bool) -> Self {
        self.wasi = self.wasi.stderr(Box::new(writer), terminal);
        self
    }

    /// Adds a directory of the host, with all below it. The program knows it by the name `guest`.
    ///
    /// # Errors
    ///
    /// The directory cannot be opened.
    pub fn preopened_dir(self, host: impl AsRef<Path>, guest: &str, read_only: bool) -> Result<Self> {
        let path = host.as_ref().display().to_string();
        let wasi = self.wasi.dir(host, guest, read_only);
        let wasi = wasi.map_err(|source| Error::File { path, source })?;
        Ok(WasiCtxBuilder { wasi, ..self })
    }

    /// Adds an empty directory in memory of at most `size` bytes. The program knows it by the name `guest`.
    pub fn tmpfs(mut self, guest: &str, size: u64) -> Self {
        self.wasi = self.wasi.tmpfs(guest, size);
        self
    }

    /// Lets the program connect to `HOST:PORT`.
    ///
    /// # Errors
    ///
    /// It is no destination, or its name cannot be resolved.
    pub fn allow_net(self, destination: &str) -> Result<Self> {
        let wasi = self.wasi.allow_net(destination);
        let path = destination.to_owned();
        let wasi = wasi.map_err(|source| Error::File { path, source })?;
        Ok(WasiCtxBuilder { wasi, ..self })
    }

    /// Makes `random_get` return the same bytes in each run.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Opens the program's descriptors.
    pub fn build(self) -> WasiCtx {
        WasiCtx {
            environment: Environment {
                args: self.args,
                variables: self.variables,
                seed: self.seed,
                ..Environment::new(Arc::new(self.wasi.build()))
            },
            output: self.output,
        }
    }
}

impl WasiCtx {
    /// The value of a variable that the program has.
    pub fn var(&self, name: &str) -> Option<&[u8]> {
        let mut entries = self.environment.variables.iter();
        entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    }

    /// The environment of a program whose output becomes these events.
    pub(super) fn bind(&self, events: &Events) -> Environment {
        self.output.bind(events.clone());
        self.environment.clone()
    }
}
