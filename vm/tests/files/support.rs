//! Guests that run a script of calls, and what came of it.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpu_run_bytecode::wasi::Function;
use gpu_run_vm::{
    CallingRun, Cpu, End, Environment, Extern, HostCall, HostReply, InstanceId, Limits, RequestCounts, RunOptions,
    Services, Store, StoreError, Stream, Wasi, WasiBuilder,
};
use tempfile::TempDir;

pub const GUEST: &str = include_str!("guest.wat");

/// What services that are made of a `Wasi` answer as it does.
macro_rules! as_its_wasi {
    () => {
        fn positions(&self) -> Vec<(u32, u64)> {
            self.wasi.positions()
        }

        fn streams(&self) -> Vec<(u32, gpu_run_vm::Stream)> {
            self.wasi.streams()
        }

        fn tmpfs_files(&self) -> Option<gpu_run_vm::TmpfsFiles<'_>> {
            self.wasi.tmpfs_files()
        }
    };
}
pub(crate) use as_its_wasi;

/// A function, and what is done when it was served for the first time.
type First = (Function, Box<dyn FnOnce() + Send>);

/// The services of a guest that has a folder, and what they were asked.
pub struct Watched {
    wasi: Wasi,
    asked: Mutex<Vec<Function>>,
    first: Mutex<Option<First>>,
}

impl Watched {
    pub fn of(wasi: Wasi) -> Arc<Watched> {
        Arc::new(Watched {
            wasi,
            asked: Mutex::default(),
            first: Mutex::default(),
        })
    }

    /// What a file below the first directory holds, as the host sees it.
    pub fn read(&self, name: &str) -> Vec<u8> {
        let call = |function, args: &[u64], input: &[u8], capacity| {
            let request = HostCall {
                function,
                thread: 0,
                child: 0,
                args,
                input,
                capacity,
                run: CallingRun::default(),
            };
            let reply = self.wasi.call(&request);
            assert_eq!(reply.errno, 0, "{function:?}");
            reply
        };
        let open = [3, 0, 0, name.len() as u64, 0, 2, 0, 0, 0];
        let fd = call(Function::PathOpen, &open, name.as_bytes(), 0).results;
        let fd = u64::from(u32::from_le_bytes(fd.try_into().unwrap()));
        call(Function::FdRead, &[fd, 0, 1, 0], &[], 1 << 26).data
    }

    /// Has something done when a function was served for the first time.
    pub fn after_first(&self, function: Function, act: impl FnOnce() + Send + 'static) {
        *self.first.lock().unwrap() = Some((function, Box::new(act)));
    }
}

impl Services for Watched {
    fn call(&self, request: &HostCall<'_>) -> HostReply {
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

    fn may_wait(&self, request: &HostCall<'_>) -> bool {
        self.wasi.may_wait(request)
    }

    as_its_wasi!();
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
        Watched::of(WasiBuilder::new().dir(self.path(), "/", false).unwrap().build())
    }

    /// Runs functions one after the other, each the body of one that has `$fd` and `$i` as locals.
    pub fn run(&self, bodies: &[&str]) -> Ran {
        run(&self.services(), 1, bodies)
    }
}

pub fn run(services: &Arc<Watched>, threads: u32, bodies: &[&str]) -> Ran {
    Program::new(GUEST, bodies)
        .run(services, threads)
        .expect("the program runs to its end")
}

/// Functions that run one after the other: each the body of one that has `$fd` and `$i` as locals, after the text of
/// a guest.
pub struct Program {
    program: Arc<gpu_run_bytecode::Program>,
    functions: usize,
}

impl Program {
    pub fn new(guest: &str, bodies: &[&str]) -> Program {
        let functions: String = bodies
            .iter()
            .enumerate()
            .map(|(number, body)| format!("(func (export \"run{number}\") (local $fd i32) (local $i i32) {body})\n"))
            .collect();
        let wasm = wat::parse_str(format!("(module {guest} {functions})")).expect("a module's text");
        let translation = gpu_run_translator::translate(&wasm, &Default::default()).expect("a valid module");
        Program {
            program: Arc::new(translation.program),
            functions: bodies.len(),
        }
    }

    pub fn run(&self, services: &Arc<Watched>, threads: u32) -> Result<Ran, StoreError> {
        self.run_for(services, threads, Duration::from_secs(60))
    }

    pub fn run_for(&self, services: &Arc<Watched>, threads: u32, most: Duration) -> Result<Ran, StoreError> {
        let environment = Environment::new(services.clone());
        let ran = self.run_in(environment, threads, most)?;
        Ok(Ran {
            asked: std::mem::take(&mut *services.asked.lock().unwrap()),
            ..ran
        })
    }

    /// Runs it in a store of its own; what it asks of the host is not told.
    pub fn run_in(&self, environment: Environment, threads: u32, most: Duration) -> Result<Ran, StoreError> {
        let mut loaded = self.load(environment, threads, most)?;
        for number in 0..self.functions {
            loaded.run(number)?;
        }
        loaded.ran()
    }

    /// Has it in a store of its own.
    pub fn load(&self, environment: Environment, threads: u32, most: Duration) -> Result<Loaded, StoreError> {
        let mut store = Store::new(Box::new(Cpu::new()), Limits::default())?;
        let options = RunOptions {
            timeout: Some(most),
            environment: Some(environment),
            threads: 1,
            ..RunOptions::default()
        };
        let sink = &mut |_: Stream, _: u32, _: &[u8]| {};
        let instance = store.instantiate(self.program.clone(), |_, _| None, &options, sink)?;
        Ok(Loaded {
            store,
            instance,
            options: RunOptions { threads, ..options },
            requests: RequestCounts::default(),
            output: Vec::new(),
        })
    }
}

/// A program in its store.
pub struct Loaded {
    store: Store,
    instance: InstanceId,
    options: RunOptions,
    requests: RequestCounts,
    /// What it has written to standard output.
    pub output: Vec<u8>,
}

impl Loaded {
    /// Runs one of the functions.
    pub fn run(&mut self, number: usize) -> Result<(), StoreError> {
        let Some(Extern::Func(func)) = self.store.export(self.instance, &format!("run{number}")) else {
            panic!("no function")
        };
        let output = &mut self.output;
        let sink = &mut |stream: Stream, _: u32, text: &[u8]| {
            if stream == Stream::Stdout {
                output.extend_from_slice(text);
            }
        };
        let outcome = self.store.run(func, &[], &self.options, sink)?;
        if !matches!(outcome.end, End::Returned) {
            return Err(StoreError::Ended(Box::new(outcome.end)));
        }
        self.requests = outcome.requests;
        Ok(())
    }

    /// What came of it.
    pub fn ran(mut self) -> Result<Ran, StoreError> {
        let Some(Extern::Memory(memory)) = self.store.export(self.instance, "memory") else {
            panic!("no memory")
        };
        let memory = self.store.memory(memory)?;
        let log = memory[4096..65536].chunks_exact(4);
        Ok(Ran {
            log: log.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect(),
            data: memory[65536..].to_vec(),
            requests: self.requests,
            asked: Vec::new(),
        })
    }
}
