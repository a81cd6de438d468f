//! From a program to machine code: compiled, linked, and kept in the cache.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_run_bytecode::{Program, encode};

use super::cache::{Cache, Key};
use super::link::{Input, LinkOptions, Linked, link};
use super::{COMPILER_VERSION, Compiled, Options, RUNTIME, Unit, compile};
use crate::device::{CODE_LINE, DeviceResult};

/// Hash of the compiler's own sources; see `build.rs`.
const COMPILER: &str = env!("GPU_RUN_COMPILER");

/// Word at which the code of a store's first instance begins: behind a line of the store's own.
pub const CODE_START: u32 = (CODE_LINE / 8) as u32;

/// What machine code is made for and by: a CUDA device and its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Ordinal of the device.
    pub ordinal: i32,
    /// Its compute capability.
    pub compute_capability: (i32, i32),
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Version of the driver, whose compiler it is.
    pub driver: String,
}

impl Target {
    /// Lanes that are resident at once even if each needs as many registers as there can be: every
    /// multiprocessor has 65,536 registers, and a lane takes at most 256 of them.
    pub fn lanes_at_least(&self) -> u32 {
        self.multiprocessors * 256
    }
}

/// What is to be compiled.
#[derive(Clone)]
pub struct Request {
    /// A verified program.
    pub program: Arc<Program>,
    /// Prefix of its symbols.
    pub prefix: String,
    /// Word of its first instruction in the store's code; see [`crate::Store::next_code_start`].
    pub code_start: u32,
    /// Functions (imports first) that will be started.
    pub entries: Vec<u32>,
    /// What else the code depends on.
    pub options: Options,
    /// For which device.
    pub target: Target,
}

/// Machine code of a program.
#[derive(Clone, Debug)]
pub struct Code {
    /// The cubin, in which the runtime is.
    pub cubin: Vec<u8>,
    /// Prefix of its symbols.
    pub prefix: String,
    /// Functions that can be started.
    pub entries: Vec<u32>,
    /// The native stack has to be set.
    pub needs_stack: bool,
    /// Where it came from.
    pub origin: Origin,
}

/// Where machine code came from.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Origin {
    /// From the cache.
    Cache,
    /// It was compiled.
    Compiler {
        /// Time for making the PTX.
        generate: Duration,
        /// Time in the driver's compiler and linker.
        link: Duration,
        /// Bytes of PTX, the runtime's left out.
        ptx: usize,
        /// Whether the driver compiled on several threads.
        split: bool,
        /// Why it could not be kept in the cache.
        unsaved: Option<String>,
    },
}

/// What the code of a program needs that is alone in its store and runs on `threads` threads with at
/// most `call_depth` open calls.
pub fn options(program: &Program, threads: u32, call_depth: u32) -> Options {
    Options {
        growth_by_others: threads > 1,
        // Calls that do not recurse are never deeper than there are functions.
        check_depth: (call_depth as usize) < program.meta.functions.len(),
        ..Options::default()
    }
}

/// What the code of a program needs that other programs in its store call, or may call, whatever they are.
pub fn options_of_linked() -> Options {
    Options {
        growth_by_others: true,
        exports: true,
        statuses: true,
        values: LINKED_VALUES,
        ..Options::default()
    }
}

/// Units of an exception's values, or of arguments of a tail call, from a program that is not known yet.
const LINKED_VALUES: u32 = 512;

impl Request {
    /// Under what its code is kept in a cache. Nothing is compiled for it.
    pub fn key(&self) -> Key {
        let target = &self.target;
        let text = format!(
            "{COMPILER_VERSION} {:?} {:?} {} {:?} {} {} {:?}",
            self.options,
            self.entries,
            self.code_start,
            target.compute_capability,
            target.driver,
            self.prefix,
            LinkOptions::default(),
        );
        let program = encode(&self.program);
        Key::of(&[COMPILER.as_bytes(), RUNTIME.as_bytes(), text.as_bytes(), &program])
    }

    /// Words of bytecode, by which the time for compiling can be guessed.
    pub fn words(&self) -> usize {
        self.program.code.len()
    }

    fn compile(&self) -> Compiled {
        compile(&Unit {
            program: &self.program,
            prefix: self.prefix.clone(),
            code_start: self.code_start,
            entries: self.entries.clone(),
            options: self.options,
        })
    }

    fn link(&self, text: &str, options: LinkOptions) -> DeviceResult<Linked> {
        let inputs = [Input::program(text), Input::runtime()];
        link(self.target.ordinal, &inputs, options)
    }

    /// The code, if it is in the cache under `key`.
    pub fn cached(&self, cache: &Cache, key: Key) -> Option<Code> {
        let mut contents = cache.load(key)?;
        let needs_stack = contents.pop()? != 0;
        Some(Code {
            cubin: contents,
            prefix: self.prefix.clone(),
            entries: self.entries.clone(),
            needs_stack,
            origin: Origin::Cache,
        })
    }

    /// Compiles and links, and adds the code to the cache if there is one.
    ///
    /// # Errors
    ///
    /// The driver's. That the cache cannot be written is none: [`Origin`] tells it.
    pub fn build(&self, cache: Option<(&Cache, Key)>) -> DeviceResult<Code> {
        let begin = Instant::now();
        let mut compiled = self.compile();
        // What it calls in other programs may recurse.
        compiled.needs_stack |= self.options.exports;
        let generate = begin.elapsed();
        let linked = self.link(&compiled.text, LinkOptions::default())?;
        let unsaved = cache.and_then(|(cache, key)| {
            let mut contents = linked.cubin.clone();
            contents.push(compiled.needs_stack as u8);
            cache.save(key, &contents).err()
        });
        Ok(Code {
            cubin: linked.cubin,
            prefix: self.prefix.clone(),
            entries: self.entries.clone(),
            needs_stack: compiled.needs_stack,
            origin: Origin::Compiler {
                generate,
                link: linked.time,
                ptx: compiled.text.len(),
                split: linked.split,
                unsaved: unsaved.map(|error| error.to_string()),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        let mut program = Program::default();
        program.code.push(1);
        let options = options(&program, 1, 100);
        Request {
            program: Arc::new(program),
            prefix: "i0_".into(),
            code_start: 2,
            entries: vec![0],
            options,
            target: Target {
                ordinal: 0,
                compute_capability: (9, 0),
                multiprocessors: 132,
                driver: "13000".into(),
            },
        }
    }

    #[test]
    fn the_key_depends_on_all_that_the_code_does() {
        let key = request().key();
        assert_eq!(request().key(), key);
        let changes: [fn(&mut Request); 8] = [
            |r| r.prefix = "i1_".into(),
            |r| r.code_start = 3,
            |r| r.entries.push(1),
            |r| r.options.growth_by_others = true,
            |r| r.options.values = 1,
            |r| r.target.compute_capability = (8, 0),
            |r| r.target.driver = "13010".into(),
            |r| Arc::make_mut(&mut r.program).code.push(0),
        ];
        let mut keys = vec![key];
        for change in changes {
            let mut request = request();
            change(&mut request);
            assert!(!keys.contains(&request.key()));
            keys.push(request.key());
        }
    }

    #[test]
    fn the_key_is_the_same_on_every_device_of_a_kind() {
        let mut other = request();
        other.target.ordinal = 1;
        assert_eq!(other.key(), request().key());
    }

    #[test]
    fn cached_code_is_what_was_saved() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 1 << 20);
        let request = request();
        let key = request.key();
        assert!(request.cached(&cache, key).is_none());
        for needs_stack in [true, false] {
            cache.save(key, &[1, 2, 3, needs_stack as u8]).unwrap();
            let code = request.cached(&cache, key).unwrap();
            assert_eq!((code.cubin, code.needs_stack), (vec![1, 2, 3], needs_stack));
            assert_eq!(code.origin, Origin::Cache);
        }
    }
}
