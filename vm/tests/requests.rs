//! Requests to the host, from the guest's call to the services and back, on the CPU.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use gpu_run_bytecode::TrapKind;
use gpu_run_bytecode::wasi::Function;
use gpu_run_vm::{
    Cpu, End, Environment, Extern, HostCall, HostReply, Limits, Outcome, RunOptions, Services, Store, Stream, Value,
    WasiBuilder,
};

/// A guest that calls functions of WASI by exports named like them, which pass their arguments on.
const GUEST: &str = include_str!("requests.wat");

/// Slots of the queue, of which tests use more.
const SLOTS: u32 = 512;

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    function: Function,
    thread: u32,
    args: Vec<u64>,
    input: Vec<u8>,
    capacity: usize,
}

/// Services that a test makes of a function, and that note what they are asked.
struct Test<F> {
    asked: Mutex<Vec<Asked>>,
    answer: F,
    waits: fn(Function) -> bool,
}

impl<F: Fn(&HostCall<'_>) -> HostReply + Send + Sync> Services for Test<F> {
    fn call(&self, request: &HostCall<'_>) -> HostReply {
        self.asked.lock().unwrap().push(Asked {
            function: request.function,
            thread: request.thread,
            args: request.args.to_vec(),
            input: request.input.to_vec(),
            capacity: request.capacity,
        });
        (self.answer)(request)
    }

    fn may_wait(&self, request: &HostCall<'_>) -> bool {
        (self.waits)(request.function)
    }
}

fn services<F: Fn(&HostCall<'_>) -> HostReply + Send + Sync + 'static>(answer: F) -> Arc<Test<F>> {
    Arc::new(Test {
        asked: Mutex::default(),
        answer,
        waits: |_| false,
    })
}

struct Guest {
    store: Store,
    instance: gpu_run_vm::InstanceId,
    options: RunOptions,
    output: Vec<(Stream, u32, Vec<u8>)>,
}

impl Guest {
    fn new(services: Arc<dyn Services>) -> Guest {
        Guest::of(GUEST, Some(Environment::new(services)))
    }

    fn of(text: &str, environment: Option<Environment>) -> Guest {
        let wasm = wat::parse_str(text).expect("a module's text");
        let translation = gpu_run_translator::translate(&wasm, &Default::default()).expect("a valid module");
        let mut store = Store::new(Box::new(Cpu::new()), Limits::default()).expect("a store");
        let options = RunOptions {
            timeout: Some(Duration::from_secs(60)),
            environment,
            ..RunOptions::default()
        };
        let sink = &mut |_: Stream, _: u32, _: &[u8]| {};
        let instance = store
            .instantiate(Arc::new(translation.program), |_, _| None, &options, sink)
            .expect("no imports");
        Guest {
            store,
            instance,
            options,
            output: Vec::new(),
        }
    }

    fn run(&mut self, name: &str, args: &[Value]) -> Outcome {
        let Some(Extern::Func(func)) = self.store.export(self.instance, name) else {
            panic!("no function `{name}`")
        };
        let output = &mut self.output;
        let sink = &mut |stream: Stream, thread: u32, text: &[u8]| output.push((stream, thread, text.to_vec()));
        self.store.run(func, args, &self.options, sink).expect("it runs")
    }

    /// The i32 that a call on one thread returns.
    fn call(&mut self, name: &str, args: &[Value]) -> i32 {
        let outcome = self.run(name, args);
        match outcome.results[..] {
            [ref results] if matches!(results[..], [Value::I32(_)]) => match results[0] {
                Value::I32(value) => value,
                _ => unreachable!(),
            },
            _ => panic!("`{name}`: {:?}", outcome.end),
        }
    }

    fn trap(&mut self, name: &str, args: &[Value]) -> TrapKind {
        match self.run(name, args).end {
            End::Trapped(fault) => fault.kind,
            end => panic!("no trap: {end:?}"),
        }
    }

    fn memory(&mut self) -> Vec<u8> {
        let Some(Extern::Memory(memory)) = self.store.export(self.instance, "memory") else {
            panic!("no memory")
        };
        self.store.memory(memory).expect("the memory is read")
    }

    /// The u32 at an address.
    fn word(&mut self, at: usize) -> u32 {
        u32::from_le_bytes(self.memory()[at..at + 4].try_into().unwrap())
    }
}

/// Arguments, each an i32 or an i64.
macro_rules! values {
    ($($value:expr),*) => { [$(Argument::value($value)),*] };
}

trait Argument {
    fn value(self) -> Value;
}

impl Argument for i32 {
    fn value(self) -> Value {
        Value::I32(self)
    }
}

impl Argument for i64 {
    fn value(self) -> Value {
        Value::I64(self)
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Results as WASI has them: the bytes of an u32.
fn word(value: usize) -> Vec<u8> {
    (value as u32).to_le_bytes().to_vec()
}

const SIZES: [usize; 9] = [0, 1, 7, 4095, 4096, 4097, 8192, 100_000, 1 << 20];

#[test]
fn input_of_any_size_arrives() {
    for split in [0, 1, 4096, 5000] {
        let services = services(|request| HostReply {
            results: word(request.input.len()),
            ..HostReply::default()
        });
        let mut guest = Guest::new(services.clone());
        for size in SIZES {
            // The guest fills 1 MiB from 65536 on with the pattern, and writes it in two pieces.
            let split = split.min(size);
            assert_eq!(
                guest.call("write_two", &values![3, split as i32, (size - split) as i32]),
                0
            );
            assert_eq!(guest.word(16), size as u32);
            let asked = services.asked.lock().unwrap().pop().expect("one request");
            assert_eq!(asked.function, Function::FdPwrite);
            assert_eq!(asked.args[0], 3);
            assert_eq!(asked.args[3], 0x1_2345_6789, "an i64 argument");
            assert!(asked.input == pattern(size), "{size} bytes, split at {split}");
        }
    }
}

#[test]
fn data_of_any_size_comes_back() {
    for split in [0, 1, 4096, 5000] {
        let services = services(|request| HostReply {
            results: word(request.capacity),
            data: pattern(request.capacity),
            ..HostReply::default()
        });
        let mut guest = Guest::new(services);
        for size in SIZES {
            let split = split.min(size);
            // The second buffer lies in front of the first, and bytes around both must stay as they are.
            assert_eq!(
                guest.call("read_two", &values![3, split as i32, (size - split) as i32]),
                0
            );
            let (memory, expected) = (guest.memory(), pattern(size));
            assert_eq!(guest.word(16), size as u32);
            let (first, second) = (2 << 20, 65536);
            assert!(memory[first..first + split] == expected[..split], "{size} bytes");
            assert!(
                memory[second..second + size - split] == expected[split..],
                "{size} bytes"
            );
            assert_eq!(memory[first + split], 0xee);
            assert_eq!(memory[second - 1], 0xee);
            assert_eq!(memory[second + size - split], 0xee);
        }
    }
}

#[test]
fn more_than_is_served_at_once_is_served_in_part() {
    let services = services(|request| HostReply {
        results: word(request.input.len()),
        ..HostReply::default()
    });
    let mut guest = Guest::new(services);
    assert_eq!(guest.call("write_two", &values![3, 1 << 20, 12345]), 0);
    assert_eq!(guest.word(16), 1 << 20);
}

#[test]
fn paths_and_results_of_all_kinds() {
    let services = services(|request| HostReply {
        results: match request.function {
            Function::FdFilestatGet => (1..=64).collect(),
            Function::SockRecv => vec![1, 2, 3, 4, 5, 6],
            Function::FdSeek => vec![8, 7, 6, 5, 4, 3, 2, 1],
            _ => Vec::new(),
        },
        ..HostReply::default()
    });
    let mut guest = Guest::new(services.clone());
    assert_eq!(guest.call("path_rename", &values![3, 100, 4, 5, 200, 6]), 0);
    let asked = services.asked.lock().unwrap().pop().unwrap();
    assert_eq!(asked.args, [3, 100, 4, 5, 200, 6]);
    assert_eq!(asked.input, b"from/there");
    assert_eq!(guest.call("fd_filestat_get", &values![9, 1024]), 0);
    assert_eq!(guest.memory()[1024..1089], (1..=64).chain([0xee]).collect::<Vec<u8>>());
    assert_eq!(guest.call("fd_seek", &values![9, -5i64, 1, 1024]), 0);
    assert_eq!(services.asked.lock().unwrap().pop().unwrap().args[1], -5i64 as u64);
    assert_eq!(guest.memory()[1024..1032], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(guest.call("sock_recv", &values![9, 0, 0, 1, 2048, 2050 + 2]), 0);
    assert_eq!(guest.memory()[2048..2054], [1, 2, 3, 4, 5, 6]);
}

#[test]
fn nothing_is_written_if_there_is_an_errno() {
    let services = services(|_| HostReply {
        errno: 8,
        results: vec![1; 64],
        data: vec![1; 64],
        ..HostReply::default()
    });
    let mut guest = Guest::new(services);
    // Neither the pointers of results nor the buffers are looked at.
    assert_eq!(guest.call("fd_filestat_get", &values![9, -1]), 8);
    assert_eq!(guest.call("fd_filestat_get", &values![9, 1025]), 8);
    assert_eq!(guest.call("fd_prestat_dir_name", &values![9, -100, 50]), 8);
}

#[test]
fn wrong_pointers_trap_where_they_are_used() {
    let services = services(|request| HostReply {
        results: vec![1; 64],
        data: vec![1; request.capacity],
        ..HostReply::default()
    });
    let mut guest = Guest::new(services);
    assert_eq!(
        guest.trap("fd_filestat_get", &values![9, 1028]),
        TrapKind::UnalignedPointer
    );
    assert_eq!(
        guest.trap("fd_filestat_get", &values![9, -8]),
        TrapKind::MemoryOutOfBounds
    );
    assert_eq!(
        guest.trap("fd_prestat_dir_name", &values![9, -100, 50]),
        TrapKind::MemoryOutOfBounds
    );
    // The buffers' list.
    assert_eq!(
        guest.trap("fd_read", &values![9, 1026, 1, 0]),
        TrapKind::UnalignedPointer
    );
    assert_eq!(
        guest.trap("fd_read", &values![9, -4, 1, 0]),
        TrapKind::MemoryOutOfBounds
    );
    assert_eq!(
        guest.trap("fd_write", &values![9, 1024, -1, 0]),
        TrapKind::MemoryOutOfBounds
    );
    // Its buffers lie at 0xeeeeeeee.
    assert_eq!(
        guest.trap("fd_write", &values![9, 1024, 1, 0]),
        TrapKind::MemoryOutOfBounds
    );
    assert_eq!(
        guest.trap("path_rename", &values![3, -1, 4, 5, 200, 6]),
        TrapKind::MemoryOutOfBounds
    );
    assert_eq!(
        guest.trap("poll_oneoff", &values![1028, 2048, 2, 0]),
        TrapKind::UnalignedPointer
    );
    assert_eq!(
        guest.trap("clock_time_get", &values![0, 0i64, 1028]),
        TrapKind::UnalignedPointer
    );
    assert_eq!(guest.trap("random_get", &values![-10, 11]), TrapKind::MemoryOutOfBounds);
    // A list of no buffers may lie anywhere.
    assert_eq!(guest.call("fd_write", &values![9, -1, 0, 0]), 0);
    // The store goes on to work.
    assert_eq!(guest.call("fd_seek", &values![9, 0i64, 0, 1024]), 0);
}

#[test]
fn more_threads_than_slots_and_each_in_its_own_order() {
    const THREADS: u32 = 2 * SLOTS + 76;
    let services = services(|request| HostReply {
        results: word(request.args[0] as usize + 1),
        ..HostReply::default()
    });
    let mut guest = Guest::new(services.clone());
    guest.options.threads = THREADS;
    let outcome = guest.run("four_calls", &[]);
    assert!(matches!(outcome.end, End::Returned), "{:?}", outcome.end);
    assert!(outcome.results.iter().all(|results| results[..] == [Value::I32(0)]));
    let mut next = HashMap::new();
    for asked in services.asked.lock().unwrap().iter() {
        let expected = next.entry(asked.thread).or_insert(0u64);
        assert_eq!(asked.args[0], u64::from(asked.thread) * 4 + *expected);
        *expected += 1;
    }
    assert_eq!(next.len(), THREADS as usize);
    assert!(next.values().all(|count| *count == 4));
}

#[test]
fn directions_are_mixed_among_threads() {
    let services = services(|request| match request.function {
        Function::FdPwrite => HostReply {
            errno: if request.input == pattern(request.input.len()) {
                0
            } else {
                29
            },
            results: word(request.input.len()),
            ..HostReply::default()
        },
        _ => HostReply {
            results: word(request.capacity),
            data: pattern(request.capacity),
            ..HostReply::default()
        },
    });
    let mut guest = Guest::new(services);
    guest.options.threads = 64;
    let outcome = guest.run("mixed", &[]);
    assert!(matches!(outcome.end, End::Returned), "{:?}", outcome.end);
    assert!(
        outcome.results.iter().all(|results| results[..] == [Value::I32(0)]),
        "{:?}",
        outcome.results
    );
}

#[test]
fn a_blocked_call_lets_others_go_on() {
    let released = Arc::new((Mutex::new(0), Condvar::new()));
    let count = released.clone();
    // Every thread but the last waits for it.
    let answer = move |request: &HostCall<'_>| {
        let (lock, changed) = &*count;
        let mut arrived = lock.lock().unwrap();
        *arrived += 1;
        changed.notify_all();
        while *arrived < 16 && request.function == Function::FdSeek {
            arrived = changed.wait(arrived).unwrap();
        }
        HostReply {
            results: vec![0; 8],
            ..HostReply::default()
        }
    };
    let services = Arc::new(Test {
        asked: Mutex::default(),
        answer,
        waits: |function| function == Function::FdSeek,
    });
    let mut guest = Guest::new(services);
    guest.options.threads = 16;
    let outcome = guest.run("seek", &[]);
    assert!(matches!(outcome.end, End::Returned), "{:?}", outcome.end);
}

#[test]
fn a_run_ends_while_a_call_is_blocked_and_its_answer_goes_nowhere() {
    blocked_at_the_end(|_| true);
}

/// As with a pipe that no process opens for writing: `path_open` of it does not say that it may wait.
#[test]
fn a_run_ends_while_a_call_is_blocked_that_should_not_be() {
    blocked_at_the_end(|_| false);
}

fn blocked_at_the_end(waits: fn(Function) -> bool) {
    let blocked = Arc::new(AtomicBool::new(true));
    let wait = blocked.clone();
    let answer = move |request: &HostCall<'_>| {
        let first = request.args[0] == 7;
        while first && wait.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        HostReply {
            errno: if first { 76 } else { 0 },
            results: vec![request.args[0] as u8; 8],
            ..HostReply::default()
        }
    };
    let services = Arc::new(Test {
        asked: Mutex::default(),
        answer,
        waits,
    });
    let mut guest = Guest::new(services);
    guest.options.timeout = Some(Duration::from_millis(100));
    let begin = Instant::now();
    assert!(matches!(
        guest.run("fd_seek", &values![7, 0i64, 0, 1024]).end,
        End::TimedOut
    ));
    assert!(begin.elapsed() < Duration::from_secs(20));
    guest.options.timeout = Some(Duration::from_secs(60));
    blocked.store(false, Ordering::SeqCst);
    for _ in 0..100 {
        assert_eq!(guest.call("fd_seek", &values![5, 0i64, 0, 1024]), 0);
        assert_eq!(guest.memory()[1024], 5);
    }
}

#[test]
fn defects_of_services_are_errors_of_their_calls() {
    let services = services(|request| match request.args[0] {
        0 => panic!("a defect, of which this test wants to see that it goes no further"),
        // Too much, and too little.
        1 => HostReply {
            data: vec![7; request.capacity + 5000],
            ..HostReply::default()
        },
        _ => HostReply::default(),
    });
    let mut guest = Guest::new(services);
    assert_eq!(guest.call("fd_seek", &values![0, 0i64, 0, 1024]), 29);
    assert_eq!(guest.call("fd_prestat_dir_name", &values![1, 1024, 10]), 0);
    assert_eq!(guest.memory()[1024..1035], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0xee]);
    assert_eq!(guest.call("fd_seek", &values![2, 0i64, 0, 1024]), 0);
    assert_eq!(guest.memory()[1024..1032], [0; 8]);
}

#[test]
fn without_services_there_is_no_function() {
    let mut guest = Guest::of(GUEST, None);
    assert_eq!(guest.call("fd_seek", &values![0, 0i64, 0, 1024]), 52);
    assert_eq!(guest.call("random_get", &values![1024, 8]), 52);
}

#[test]
fn the_device_serves_clocks_arguments_and_random_bytes() {
    let services = services(|_| HostReply::error(76));
    let environment = |seed| Environment {
        args: vec![b"name".to_vec(), b"".to_vec(), b"three".to_vec()],
        variables: vec![b"A=1".to_vec()],
        seed,
        ..Environment::new(services.clone())
    };
    let mut guest = Guest::of(GUEST, Some(environment(Some(7))));
    assert_eq!(guest.call("args_sizes_get", &values![1024, 1028]), 0);
    assert_eq!((guest.word(1024), guest.word(1028)), (3, 12));
    assert_eq!(guest.call("args_get", &values![1024, 2049]), 0);
    assert_eq!(guest.memory()[2049..2062], *b"name\0\0three\0\0");
    assert_eq!(
        [guest.word(1024), guest.word(1028), guest.word(1032)],
        [2049, 2054, 2055]
    );
    assert_eq!(guest.call("environ_sizes_get", &values![1024, 1028]), 0);
    assert_eq!((guest.word(1024), guest.word(1028)), (1, 4));
    for (clock, errno) in [(0, 0), (1, 0), (2, 8), (3, 8), (4, 28), (-1, 28)] {
        assert_eq!(guest.call("clock_time_get", &values![clock, 0i64, 1024]), errno);
        assert_eq!(guest.call("clock_res_get", &values![clock, 1024]), errno);
    }
    let random = |guest: &mut Guest| {
        assert_eq!(guest.call("random_get", &values![3000, 10_000]), 0);
        guest.memory()[3000..13_001].to_vec()
    };
    let first = random(&mut guest);
    assert_eq!(first[10_000], 0xee);
    assert!(first[9_900..10_000].iter().any(|byte| *byte != 0xee));
    let second = random(&mut guest);
    assert!(first != second, "each run has a stream of its own");
    let mut other = Guest::of(GUEST, Some(environment(None)));
    assert!(random(&mut other) != random(&mut Guest::of(GUEST, Some(environment(None)))));
    let same = || random(&mut Guest::of(GUEST, Some(environment(Some(9)))));
    assert!(same() == same());
    assert!(services.asked.lock().unwrap().is_empty());
}

#[test]
fn a_poll_for_one_clock_sleeps() {
    let services = services(|_| HostReply::error(76));
    let mut guest = Guest::new(services.clone());
    let begin = Instant::now();
    assert_eq!(guest.call("sleep", &values![30_000_000i64]), 0);
    assert!(begin.elapsed() >= Duration::from_millis(30));
    assert_eq!(guest.word(1024), 0x1234, "what the subscription had as its mark");
    assert_eq!(guest.word(16), 1);
    assert!(services.asked.lock().unwrap().is_empty());
}

#[test]
fn writes_to_streams_go_to_the_ring_until_the_descriptor_is_closed() {
    let services = services(|request| HostReply {
        results: word(request.input.len()),
        ..HostReply::default()
    });
    let mut guest = Guest::new(services.clone());
    assert_eq!(guest.call("say", &values![1]), 0);
    assert_eq!(guest.word(16), 12);
    assert_eq!(
        guest.output,
        [(Stream::Stdout, 0, b"hello\nwithou".to_vec())],
        "at once, if there is one thread"
    );
    assert!(services.asked.lock().unwrap().is_empty());
    guest.output.clear();
    assert_eq!(guest.call("say_moved", &[]), 0);
    assert_eq!(
        guest.output,
        [(Stream::Stderr, 0, b"hello\nwithou".to_vec())],
        "stderr has stdout's number now"
    );
    let asked = services.asked.lock().unwrap();
    let functions: Vec<_> = asked.iter().map(|asked| (asked.function, asked.args[0])).collect();
    let expected = [
        (Function::FdRenumber, 2),
        (Function::FdWrite, 2),
        (Function::FdClose, 1),
        (Function::FdWrite, 1),
    ];
    assert_eq!(functions, expected);
}

#[test]
fn a_stream_that_was_closed_stays_closed_in_the_next_run() {
    let mut guest = Guest::new(Arc::new(WasiBuilder::new().build()));
    assert_eq!(guest.call("fd_close", &values![1]), 0);
    assert_eq!(guest.call("say", &values![1]), 8);
    assert_eq!(guest.call("say", &values![2]), 0);
}

#[test]
fn lines_of_many_threads_are_not_torn() {
    let mut guest = Guest::new(services(|_| HostReply::error(76)));
    guest.options.threads = 100;
    let outcome = guest.run("lines", &[]);
    assert!(matches!(outcome.end, End::Returned), "{:?}", outcome.end);
    let whole: Vec<_> = guest.output.iter().filter(|(_, _, text)| text == b"hello\n").collect();
    let rests: Vec<_> = guest.output.iter().filter(|(_, _, text)| text == b"withou").collect();
    let joined = guest
        .output
        .iter()
        .filter(|(_, _, text)| text == b"withouhello\n")
        .count();
    assert_eq!((whole.len(), joined, rests.len()), (100, 200, 100));
}

#[test]
fn functions_can_be_values() {
    let services = services(|_| HostReply {
        errno: 33,
        ..HostReply::default()
    });
    let mut guest = Guest::new(services.clone());
    assert_eq!(guest.call("fd_close", &values![99]), 33, "exported as it is imported");
    assert_eq!(guest.call("by_table", &values![98]), 33);
    assert_eq!(guest.call("by_reference", &values![97]), 33);
    let args: Vec<_> = services
        .asked
        .lock()
        .unwrap()
        .iter()
        .map(|asked| asked.args[0])
        .collect();
    assert_eq!(args, [99, 98, 97]);
    assert!(matches!(guest.run("exit_by_table", &values![5]).end, End::Exited(5)));
}
