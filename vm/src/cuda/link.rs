//! Linking PTX to a cubin, by the compiler and linker in the driver.

mod parallel;

pub use parallel::compiles_in_parts;

use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cudarc::driver::sys::{self, CUjit_option, CUjitInputType};

use crate::cuda::check;
use crate::cuda::context::Context;
use crate::cuda::nvtx;
use crate::device::{DeviceError, DeviceResult};
use crate::ptx::few_registers;

/// `CU_JIT_SPLIT_COMPILE` of CUDA 12.5 and later, which the bindings for older drivers do not name.
/// It is how many threads compile, 0 for as many as there are processors.
const SPLIT_COMPILE: u32 = 34;

/// Bytes for each of the two logs. What does not fit is cut off by the driver.
const LOG: usize = 1 << 20;

/// Characters of a log that an error shows.
const SHOWN: usize = 4000;

/// How PTX is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkOptions {
    /// 0 to 4, as of ptxas.
    pub optimization: u32,
    /// The log tells registers, stack and spills of each function.
    pub verbose: bool,
    /// Compile on several threads, where the driver can.
    pub split: bool,
    /// Keep the lines that the PTX names.
    pub lines: bool,
}

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        LinkOptions {
            optimization: 4,
            verbose: false,
            split: true,
            lines: false,
        }
    }
}

/// What is to be linked.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// PTX.
    pub text: &'a str,
    /// The same as machine code for the device, if there is some.
    pub object: Option<&'a [u8]>,
    /// Registers that its functions may use at most. A kernel takes as many as any function that it may
    /// call, so that one with many makes it run on fewer lanes.
    pub registers: Option<u32>,
}

impl<'a> Input<'a> {
    /// What was compiled from a program: as many registers as it needs, unless its kernels need many lanes.
    pub fn program(text: &'a str) -> Input<'a> {
        Input {
            name: "program",
            text,
            object: None,
            registers: few_registers(text),
        }
    }

    /// The runtime. With 32 registers 2,048 lanes, as many as there can be, share a
    /// multiprocessor; left alone it takes 236, which is room for 256.
    pub fn runtime() -> Input<'static> {
        Input {
            name: "runtime",
            text: crate::ptx::RUNTIME,
            object: None,
            registers: Some(32),
        }
    }

    /// The interpreter for functions that are not compiled, with as many registers as its kernel has.
    pub fn mixed() -> Input<'static> {
        Input {
            name: "interpreter",
            text: crate::ptx::MIXED,
            object: None,
            registers: Some(64),
        }
    }
}

/// What came of linking.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The cubin.
    pub cubin: Vec<u8>,
    /// What the driver had to say.
    pub log: String,
    /// How long it took.
    pub time: Duration,
    /// Whether several threads compiled.
    pub split: bool,
}

impl Linked {
    /// The texts with a NUL between them, a large program in parts: what runs them meets what the driver does.
    pub(super) fn texts(inputs: &[Input]) -> Linked {
        let (program, others) = inputs.split_at(inputs.len().min(1));
        let mut texts: Vec<String> = program
            .iter()
            .flat_map(|input| parallel::in_parts(input.text))
            .collect();
        texts.extend(others.iter().map(|input| input.text.to_owned()));
        Linked {
            cubin: texts.join("\0").into_bytes(),
            log: String::new(),
            time: Duration::ZERO,
            split: false,
        }
    }
}

/// How far a compiler is that works on several parts of a program. Shared: each clone shows the same.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<(AtomicU32, AtomicU32)>);

impl Progress {
    /// Begins the work on so many parts.
    fn begin(&self, parts: usize) {
        // Relaxed, as below: the numbers are shown, and nothing depends on them.
        self.0.0.store(0, Ordering::Relaxed);
        self.0.1.store(parts as u32, Ordering::Relaxed);
    }

    /// One more is done.
    fn step(&self) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Parts that are done, and all; `None` if there are no parts, or none yet.
    pub fn parts(&self) -> Option<(u32, u32)> {
        let (done, all) = (self.0.0.load(Ordering::Relaxed), self.0.1.load(Ordering::Relaxed));
        (all > 0).then_some((done.min(all), all))
    }
}

/// Compiles PTX texts, each with its name for messages, for device `ordinal` and links them. A large text is compiled in
/// parts, on nearly all processors; `progress` shows how many of them are done.
///
/// # Errors
///
/// The driver's, with what its compiler and linker say of the texts.
pub fn link(ordinal: i32, inputs: &[Input], options: LinkOptions, progress: &Progress) -> DeviceResult<Linked> {
    let _range = nvtx::range("gpu-run: compile");
    // Linking takes a current context, on any thread.
    let _context = Context::any(ordinal)?;
    let begin = Instant::now();
    // Code that is found in the driver's cache has nothing to say for the log.
    let may_split = options.split && !options.verbose;
    let in_parts = may_split.then(|| parallel::link(ordinal, inputs, options, progress));
    let mut linked = in_parts
        .flatten()
        .map_or_else(|| Link::run_as_it_can(inputs, options), Ok);
    if linked.is_err() && inputs.iter().any(|input| input.object.is_some()) {
        // The driver may be older than the machine code.
        let texts = inputs.iter().map(|input| Input {
            object: input.object.filter(|_| input.text.is_empty()),
            ..*input
        });
        linked = Link::run_as_it_can(&texts.collect::<Vec<_>>(), options);
    }
    let mut linked = linked?;
    linked.time = begin.elapsed();
    Ok(linked)
}

/// A link under way. The driver writes into the logs and option values until it is destroyed.
struct Link {
    state: sys::CUlinkState,
    options: Vec<u32>,
    values: Vec<*mut c_void>,
    info: Vec<u8>,
    errors: Vec<u8>,
}

impl Drop for Link {
    fn drop(&mut self) {
        if !self.state.is_null() {
            // SAFETY: made by cuLinkCreate, and destroyed once.
            _ = unsafe { sys::cuLinkDestroy(self.state) };
        }
    }
}

impl Link {
    /// As asked, or on one thread if the driver does not know the option to split; anything else fails again.
    fn run_as_it_can(inputs: &[Input], options: LinkOptions) -> DeviceResult<Linked> {
        let alone = LinkOptions {
            split: false,
            ..options
        };
        match Link::run(inputs, options) {
            Err(_) if options.split => Link::run(inputs, alone),
            linked => linked,
        }
    }

    fn run(inputs: &[Input], options: LinkOptions) -> DeviceResult<Linked> {
        let mut link = Link::create(options)?;
        for input in inputs {
            link.add(input)?;
        }
        Ok(Linked {
            split: options.split,
            ..link.complete()?
        })
    }

    /// Links what was added.
    fn complete(&mut self) -> DeviceResult<Linked> {
        let (mut cubin, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: a link of this process; the driver sets both.
        let completed = unsafe { sys::cuLinkComplete(self.state, &mut cubin, &mut size) };
        self.check("cuLinkComplete", completed)?;
        // SAFETY: the cubin is the link's until it is destroyed.
        let cubin = unsafe { std::slice::from_raw_parts(cubin.cast::<u8>(), size) }.to_vec();
        Ok(Linked {
            cubin,
            log: text_of(&self.info),
            time: Duration::ZERO,
            split: false,
        })
    }

    fn create(options: LinkOptions) -> DeviceResult<Link> {
        let mut link = Link {
            state: std::ptr::null_mut(),
            options: Vec::new(),
            values: Vec::new(),
            info: vec![0; LOG],
            errors: vec![0; LOG],
        };
        let number = |value: usize| value as *mut c_void;
        let (info, errors) = (link.info.as_mut_ptr().cast(), link.errors.as_mut_ptr().cast());
        link.option(CUjit_option::CU_JIT_INFO_LOG_BUFFER as u32, info);
        link.option(CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES as u32, number(LOG));
        link.option(CUjit_option::CU_JIT_ERROR_LOG_BUFFER as u32, errors);
        link.option(CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as u32, number(LOG));
        link.option(
            CUjit_option::CU_JIT_OPTIMIZATION_LEVEL as u32,
            number(options.optimization as usize),
        );
        link.option(
            CUjit_option::CU_JIT_LOG_VERBOSE as u32,
            number(options.verbose as usize),
        );
        if options.lines {
            link.option(CUjit_option::CU_JIT_GENERATE_LINE_INFO as u32, number(1));
        }
        if options.split {
            link.option(SPLIT_COMPILE, number(0));
        }
        // SAFETY: as many options as values; the driver reads the options as integers, of which it may
        // know more than the bindings. Both arrays and the logs live as long as the link.
        let created = unsafe {
            sys::cuLinkCreate_v2(
                link.options.len() as u32,
                link.options.as_mut_ptr().cast(),
                link.values.as_mut_ptr(),
                &mut link.state,
            )
        };
        check("cuLinkCreate", created)?;
        Ok(link)
    }

    fn option(&mut self, option: u32, value: *mut c_void) {
        self.options.push(option);
        self.values.push(value);
    }

    fn add(&mut self, input: &Input) -> DeviceResult<()> {
        let Input {
            name,
            text,
            object,
            registers,
        } = *input;
        let no_nul = |what| DeviceError::Driver {
            call: "cuLinkAddData",
            what: format!("{what} holds a NUL character"),
        };
        let file = CString::new(name).map_err(|_| no_nul("a name"))?;
        let text = CString::new(text).map_err(|_| no_nul(name))?;
        let (kind, bytes) = match object {
            Some(object) => (CUjitInputType::CU_JIT_INPUT_CUBIN, object),
            None => (CUjitInputType::CU_JIT_INPUT_PTX, text.as_bytes_with_nul()),
        };
        let registers = registers.filter(|_| object.is_none());
        let mut option = CUjit_option::CU_JIT_MAX_REGISTERS;
        let mut value = registers.unwrap_or(0) as usize as *mut c_void;
        // SAFETY: the driver reads the text, which ends with NUL, or the object, and the name during the call only.
        let added = unsafe {
            sys::cuLinkAddData_v2(
                self.state,
                kind,
                bytes.as_ptr().cast_mut().cast(),
                bytes.len(),
                file.as_ptr(),
                registers.is_some() as u32,
                &mut option,
                &mut value,
            )
        };
        self.check("cuLinkAddData", added)
    }

    /// The driver's error with the logs.
    fn check(&self, call: &'static str, result: sys::CUresult) -> DeviceResult<()> {
        check(call, result).map_err(|error| {
            let log = [text_of(&self.errors), text_of(&self.info)].join("\n");
            match error {
                DeviceError::Driver { call, what } if !log.trim().is_empty() => DeviceError::Driver {
                    call,
                    what: format!("{what}:\n{}", shortened(log.trim())),
                },
                error => error,
            }
        })
    }
}

/// The text in a buffer that the driver has written, up to its NUL.
fn text_of(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

/// The beginning of a log, as much as an error shows.
fn shortened(log: &str) -> String {
    match log.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &log[..end]),
        None => log.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_end_at_the_first_nul() {
        assert_eq!(text_of(b"ptxas info\0\0\0"), "ptxas info");
        assert_eq!(text_of(b"cut"), "cut");
        assert_eq!(text_of(b"\0rest"), "");
    }

    #[test]
    fn long_logs_are_shortened_between_characters() {
        let log = "é".repeat(SHOWN + 1);
        assert_eq!(shortened(&log), "é".repeat(SHOWN) + "…");
        assert_eq!(shortened("short"), "short");
    }
}
