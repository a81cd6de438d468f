//! Guests that run a script of calls, and what came of it.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpu_run_bytecode::wasi::Function;
use gpu_run_vm::{
    Cpu, End, Environment, Extern, Limits, Reply, Request, RequestCounts, RunOptions, Services, Store, Stream, Wasi,
    WasiBuilder,
};
use tempfile::TempDir;

const GUEST: &str = include_str!("guest.wat");

/// A function, and what is done when it was served for the first time.
type First = (Function, Box<dyn FnOnce() + Send>);

/// The services of a guest that has a folder, and what they were asked.
pub struct Watched {
    wasi: Wasi,
    asked: Mutex<Vec<Function>>,
    first: Mutex<Option<First>>,
}

impl Watched {
    /// Has something done when a function was served for the first time.
    pub fn after_first(&self, function: Function, act: impl FnOnce() + Send + 'static) {
        *self.first.lock().unwrap() = Some((function, Box::new(act)));
    }
}

impl Services for Watched {
    fn call(&self, request: &Request<'_>) -> Reply {
        self.asked.lock().unwrap().push(request.function);
        let reply = self.wasi.call(request);
        let mut first = self.first.lock().unwrap();
        if first
            .as_ref()
            .is_some_and(|(function, _)| *function == request.function)
        {
            let (_, act) = first.take().unwrap();
            act();
        }
        reply
    }

    fn may_wait(&self, request: &Request<'_>) -> bool {
        self.wasi.may_wait(request)
    }
}

/// What came of a script.
pub struct Ran {
    pub log: Vec<u32>,
    pub data: Vec<u8>,
    pub requests: RequestCounts,
    pub asked: Vec<Function>,
}

impl Ran {
    /// How often a function was asked for.
    pub fn count(&self, function: Function) -> usize {
        self.asked.iter().filter(|asked| **asked == function).count()
    }
}

pub struct Folder(TempDir);

impl Folder {
    /// A folder with `file`.
    pub fn with(content: &[u8]) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), content).unwrap();
        Folder(folder)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self) -> std::path::PathBuf {
        self.path().join("file")
    }

    pub fn services(&self) -> Arc<Watched> {
        Arc::new(Watched {
            wasi: WasiBuilder::new().dir(self.path(), "/", false).unwrap().build(),
            asked: Mutex::default(),
            first: Mutex::default(),
        })
    }

    /// Runs functions one after the other, each the body of one that has `$fd` and `$i` as locals.
    pub fn run(&self, bodies: &[&str]) -> Ran {
        run(&self.services(), 1, bodies)
    }
}

pub fn run(services: &Arc<Watched>, threads: u32, bodies: &[&str]) -> Ran {
    let functions: String = bodies
        .iter()
        .enumerate()
        .map(|(number, body)| format!("(func (export \"run{number}\") (local $fd i32) (local $i i32) {body})\n"))
        .collect();
    let wasm = wat::parse_str(format!("(module {GUEST} {functions})")).expect("a module's text");
    let translation = gpu_run_translator::translate(&wasm, &Default::default()).expect("a valid module");
    let mut store = Store::new(Box::new(Cpu::new()), Limits::default()).expect("a store");
    let options = RunOptions {
        timeout: Some(Duration::from_secs(60)),
        environment: Some(Environment::new(services.clone())),
        threads: 1,
        ..RunOptions::default()
    };
    let sink = &mut |_: Stream, _: u32, _: &[u8]| {};
    let instance = store
        .instantiate(Arc::new(translation.program), |_, _| None, &options, sink)
        .expect("no imports");
    let mut requests = RequestCounts::default();
    for number in 0..bodies.len() {
        let Some(Extern::Func(func)) = store.export(instance, &format!("run{number}")) else {
            panic!("no function")
        };
        let options = RunOptions {
            threads,
            ..options.clone()
        };
        let outcome = store.run(func, &[], &options, sink).expect("it runs");
        assert!(matches!(outcome.end, End::Returned), "{:?}", outcome.end);
        requests = outcome.requests;
    }
    let Some(Extern::Memory(memory)) = store.export(instance, "memory") else {
        panic!("no memory")
    };
    let memory = store.memory(memory).expect("the memory is read");
    let log = memory[4096..65536].chunks_exact(4);
    Ran {
        log: log.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect(),
        data: memory[65536..].to_vec(),
        requests,
        asked: std::mem::take(&mut *services.asked.lock().unwrap()),
    }
}
