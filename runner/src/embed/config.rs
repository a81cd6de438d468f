//! What an engine is made with.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use gpu_run_vm::cuda::cache::{Cache, DEFAULT_LIMIT};
use gpu_run_vm::ptx::{LocalFrames, Reconverge, Tuning};

use crate::embed::compile::{Compiling, Functions};

/// The machine that runs modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceKind {
    /// The first GPU, and where there is none the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU of this number.
    Cuda(i32),
    /// The emulator of PTX, for tests.
    #[cfg(feature = "emulator")]
    Emulator,
}

impl FromStr for DeviceKind {
    type Err = String;

    /// Reads `auto`, `cpu`, `cuda` or `cuda:N`.
    fn from_str(text: &str) -> Result<DeviceKind, String> {
        match text {
            "auto" => Ok(DeviceKind::Auto),
            "cpu" => Ok(DeviceKind::Cpu),
            #[cfg(feature = "emulator")]
            "emulator" => Ok(DeviceKind::Emulator),
            "cuda" => Ok(DeviceKind::Cuda(0)),
            _ => match text.strip_prefix("cuda:").and_then(|n| n.parse().ok()) {
                Some(n) if n >= 0 => Ok(DeviceKind::Cuda(n)),
                _ => Err("expected auto, cpu, cuda or cuda:N".into()),
            },
        }
    }
}

/// How a device runs modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Compiled where the code is in the cache, or is expected within about two seconds for several threads. Else a run
    /// begins interpreted, and goes on in code that is made meanwhile of what it does often.
    #[default]
    Auto,
    /// Interpreted.
    Interpreter,
    /// Compiled to PTX, on a GPU, however long that takes.
    Ptx,
}

/// Where compiled code is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CacheFolder {
    /// The user's, where the system has a place for it.
    Default,
    Folder(PathBuf),
    None,
}

/// What is told of the compiler's work.
#[derive(Clone, Default)]
pub(crate) struct Told(Option<Arc<dyn Fn(Option<Compiling>) + Send + Sync>>);

impl Told {
    /// How far the work is; `None`: it has ended.
    pub(crate) fn tell(&self, compiling: Option<Compiling>) {
        if let Some(tell) = &self.0 {
            tell(compiling);
        }
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Told").field(&self.0.is_some()).finish()
    }
}

/// What an [`Engine`](crate::Engine) is made with: the device, and how it runs modules.
///
/// ```
/// use gpu_run::{Config, DeviceKind, Engine, Strategy};
///
/// let mut config = Config::new();
/// config.device(DeviceKind::Cpu).strategy(Strategy::Interpreter);
/// let engine = Engine::new(&config)?;
/// # Ok::<(), gpu_run::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) device: DeviceKind,
    pub(crate) strategy: Strategy,
    pub(crate) tuning: Tuning,
    pub(crate) functions: Functions,
    pub(crate) compile_timeout: Duration,
    pub(crate) hot_after: Duration,
    pub(crate) told: Told,
    cache: CacheFolder,
    cache_size: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

impl Config {
    /// The first GPU or else the CPU, compiled or interpreted, whichever is ready sooner.
    pub fn new() -> Config {
        Config {
            device: DeviceKind::Auto,
            strategy: Strategy::Auto,
            tuning: Tuning {
                local_frames: LocalFrames::Auto,
                reconverge: Reconverge::Auto,
                line_info: false,
                region_words: None,
            },
            functions: Functions::Auto,
            compile_timeout: Duration::from_secs(60),
            hot_after: Duration::from_millis(100),
            told: Told::default(),
            cache: CacheFolder::Default,
            cache_size: DEFAULT_LIMIT,
        }
    }

    /// Sets the device.
    pub fn device(&mut self, device: DeviceKind) -> &mut Config {
        self.device = device;
        self
    }

    /// Sets how the device runs modules.
    pub fn strategy(&mut self, strategy: Strategy) -> &mut Config {
        self.strategy = strategy;
        self
    }

    /// Sets where compiled functions keep their frames of the shadow stack. Results are the same.
    pub fn local_frames(&mut self, local_frames: LocalFrames) -> &mut Config {
        self.tuning.local_frames = local_frames;
        self
    }

    /// Sets when lanes that took different ways meet at the ends of loops and after calls. Results are the same.
    pub fn reconverge(&mut self, reconverge: Reconverge) -> &mut Config {
        self.tuning.reconverge = reconverge;
        self
    }

    /// Sets how many words of bytecode are compiled of a function as one; `None`: as many as the assembler takes well. A
    /// larger function is compiled as several. Results are the same.
    pub fn region_words(&mut self, words: Option<u32>) -> &mut Config {
        self.tuning.region_words = words;
        self
    }

    /// Whether compiled code has the lines of the user's sources with it, for the tools that CUDA has: those that a module
    /// was translated with ([`ModuleOptions::lines`](crate::ModuleOptions)). What runs is the same.
    pub fn line_info(&mut self, line_info: bool) -> &mut Config {
        self.tuning.line_info = line_info;
        self
    }

    /// Sets what of a module is compiled, if it is. Results are the same.
    pub fn functions(&mut self, functions: Functions) -> &mut Config {
        self.functions = functions;
        self
    }

    /// Sets how long an instantiation waits for the compiler. What is not compiled by then is interpreted.
    pub fn compile_timeout(&mut self, timeout: Duration) -> &mut Config {
        self.compile_timeout = timeout;
        self
    }

    /// Sets how long a run is interpreted before what it does often is compiled for the rest of it, with
    /// [`Strategy::Auto`]. 100 ms if it is left alone.
    pub fn hot_after(&mut self, after: Duration) -> &mut Config {
        self.hot_after = after;
        self
    }

    /// Sets what is told of the compiler's work while an instantiation waits for it: several times a second how far it
    /// is, then `None` once. It is not called for code that is in the cache.
    pub fn on_compile(&mut self, tell: impl Fn(Option<Compiling>) + Send + Sync + 'static) -> &mut Config {
        self.told = Told(Some(Arc::new(tell)));
        self
    }

    /// Sets the folder in which compiled code is kept. Left alone, it is one of the user's, which the command shares.
    pub fn cache_folder(&mut self, folder: impl Into<PathBuf>) -> &mut Config {
        self.cache = CacheFolder::Folder(folder.into());
        self
    }

    /// Sets how many bytes of code are kept.
    pub fn cache_size(&mut self, bytes: u64) -> &mut Config {
        self.cache_size = bytes;
        self
    }

    /// Keeps no compiled code.
    pub fn no_cache(&mut self) -> &mut Config {
        self.cache = CacheFolder::None;
        self
    }

    /// Whether what is compiled may depend on what has run before.
    pub(crate) fn goes_by_profile(&self) -> bool {
        matches!(self.functions, Functions::Auto | Functions::Hot)
    }

    /// The cache, if there is one.
    pub(crate) fn cache(&self) -> Option<Cache> {
        let folder = match &self.cache {
            CacheFolder::Default => Cache::default_folder(),
            CacheFolder::Folder(folder) => Some(folder.clone()),
            CacheFolder::None => None,
        };
        folder.map(|folder| Cache::new(folder, self.cache_size))
    }
}
