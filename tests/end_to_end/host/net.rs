//! Connections of programs for wasm32-unknown-unknown and wasm32-wasip1, by gpu-std, with a server of the test's.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Output, Stdio};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use crate::common::{self, run, text};
use crate::support::{EngineTest, Test, Tested, expect, wasm};

/// Where the program lies: a profile's folder, or that of programs for WASI.
const BUILDS: [(&str, &str); 5] = [
    ("release", "tcp"),
    ("lto", "tcp"),
    ("size", "tcp"),
    ("debug", "tcp"),
    ("wasi", "tcp_client"),
];

/// One of each target.
const TARGETS: [(&str, &str); 2] = [BUILDS[0], BUILDS[4]];

/// What the program prints, by its native build too.
const TALKED: &str = r#""one\n"
"two words\n"
"\n"
3145728 bytes, equal: true
written behind the end: error BrokenPipe
rest: "the last"
at the end: 0
"#;
const OPTIONS: &str = r#"peer: true
local: 127.0.0.1
shown: true
nodelay: false
nodelay: true, ttl: 42
timeouts: None None
no time: error InvalidInput
timeouts: Some(40ms) Some(2s)
read in time: error WouldBlock
read at once: error WouldBlock
peek: "ques"
read: "question"
error: None
"#;

/// Tests that need no engine.
pub fn general() -> Vec<Test> {
    vec![
        ("net/refuses_destinations", refuses_destinations),
        ("net/inspect", inspect),
    ]
}

/// Tests of an engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("net/talk", |device| prints(device, "talk", TALKED)),
        ("net/options", |device| prints(device, "options", OPTIONS)),
        ("net/http", http),
        ("net/threads/200", threads),
        ("net/futures/1", |device| futures(device, "1")),
        ("net/futures/100", |device| futures(device, "100")),
        ("net/closed_peer", closed_peer),
        ("net/names", names),
        ("net/no_listener", no_listener),
        ("net/not_allowed", not_allowed),
        ("net/stops_while_it_reads", stops),
    ]
}

/// Serves each connection by a thread of its own, and returns the address. The threads end with this process.
fn serve(serve: impl Fn(TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> Result<String, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (address, serve) = (listener.local_addr()?.to_string(), Arc::new(serve));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    Ok(address)
}

/// Sends back what comes until its end, at once.
fn echo(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    std::io::copy(&mut stream.try_clone()?, &mut stream).map(drop)
}

/// Runs a build of the program for a server, with options before the module and arguments after it.
fn client(device: &str, build: (&str, &str), server: &str, options: &[&str], args: &[&str]) -> Result<Output, Failed> {
    let mut command = common::gpu_run_on(device);
    command.args(["--env", &format!("SERVER={server}")]).args(options);
    command.arg(wasm(build.0, build.1)).args(args);
    Ok(command.stdin(Stdio::null()).output()?)
}

/// Every build prints this, with a server that sends back what it gets. In the emulator, which is slow, it is one of
/// each target.
fn prints(device: &str, mode: &str, wanted: &str) -> Tested {
    let server = serve(echo)?;
    let all = device != "emulator";
    for build in BUILDS.into_iter().filter(|build| all || TARGETS.contains(build)) {
        let output = client(device, build, &server, &["--allow-net", &server], &[mode])?;
        let same = output.status.success() && text(&output.stdout) == wanted;
        expect(same, &format!("{}: it must print\n{wanted}", build.0), &output)?;
    }
    Ok(())
}

/// A server that closes when it has answered.
fn http(device: &str) -> Tested {
    let server = serve(|mut stream| {
        let (mut asked, mut byte) = (Vec::new(), [0]);
        while !asked.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? > 0 {
            asked.push(byte[0]);
        }
        let asked = String::from_utf8_lossy(&asked).into_owned();
        let path = asked.split(' ').nth(1).unwrap_or_default();
        let body: String = (0..2000).map(|line| format!("{path} {line}\n")).collect();
        write!(stream, "HTTP/1.0 200 OK\r\nServer: test\r\n\r\n{body}")
    })?;
    let body: String = (0..2000).map(|line| format!("/a/path {line}\n")).collect();
    for build in TARGETS {
        let output = client(device, build, &server, &["--allow-net", &server], &["get", "/a/path"])?;
        let wanted = format!("HTTP/1.0 200 OK\n{body}");
        expect(text(&output.stdout) == wanted, "all that the server sent", &output)?;
    }
    Ok(())
}

/// Threads that wait for their connections hold up no others: each is answered when several are connected.
fn threads(device: &str) -> Tested {
    const TOGETHER: usize = 8;
    let barrier = Arc::new(Barrier::new(TOGETHER));
    let server = serve(move |stream| {
        barrier.wait();
        echo(stream)
    })?;
    let options = ["--allow-net", &server, "--threads", "200", "--invoke", "threads"];
    let output = client(device, BUILDS[0], &server, &options, &[])?;
    expect(
        text(&output.stdout) == "Result: 0\n",
        "each thread must get what it sent",
        &output,
    )
}

/// Connections of futures, far more than workers and all open at once, lose and mix up nothing.
fn futures(device: &str, threads: &str) -> Tested {
    const CONNECTIONS: usize = 300;
    let server = serve(echo)?;
    let count = format!("CONNECTIONS={CONNECTIONS}");
    let options = [
        "--allow-net",
        &server,
        "--env",
        &count,
        "--threads",
        threads,
        "--invoke",
        "connections",
    ];
    let output = client(device, ("release", "tasks"), &server, &options, &[])?;
    let wanted = format!("right {CONNECTIONS}\n");
    expect(text(&output.stdout) == wanted, "each must get what it sent", &output)
}

/// The end of what comes is no error.
fn closed_peer(device: &str) -> Tested {
    let server = serve(|mut stream| {
        // What was not read would make a reset of the end.
        _ = stream.read(&mut [0; 1000])?;
        stream.shutdown(std::net::Shutdown::Write)?;
        std::thread::sleep(Duration::from_millis(500));
        Ok(())
    })?;
    for build in TARGETS {
        let output = client(device, build, &server, &["--allow-net", &server], &["get", "/"])?;
        let ended = output.status.success() && text(&output.stdout) == "nothing\n";
        expect(ended, "it must be at the end", &output)?;
    }
    Ok(())
}

/// A name is its addresses, for all ports if it says so. What the guest says in capitals is the same name.
fn names(device: &str) -> Tested {
    let server = serve(echo)?;
    let port = server.rsplit(':').next().unwrap_or_default();
    let named = format!("LOCALHOST:{port}");
    for (allowed, asked) in [
        (format!("localhost:{port}"), &named),
        ("localhost:*".into(), &named),
        ("localhost:*".into(), &server),
        ("127.0.0.1:*".into(), &server),
    ] {
        for build in TARGETS {
            let output = client(device, build, asked, &["--allow-net", &allowed], &["echo"])?;
            expect(
                text(&output.stdout) == "echo: true\n",
                &format!("{allowed} must allow {asked}"),
                &output,
            )?;
        }
    }
    Ok(())
}

fn no_listener(device: &str) -> Tested {
    // A client has the port, so no process can listen there.
    let holder = TcpStream::connect(serve(|mut stream| stream.read(&mut [0]).map(drop))?)?;
    let address = holder.local_addr()?.to_string();
    for build in TARGETS {
        let output = client(device, build, &address, &["--allow-net", &address], &["connect"])?;
        let told = output.status.code() == Some(1) && text(&output.stdout) == "error ConnectionRefused\n";
        expect(
            told && output.stderr.is_empty(),
            "the program is told, and nobody else",
            &output,
        )?;
    }
    Ok(())
}

/// What no destination names is refused, and a warning says what it needs.
fn not_allowed(device: &str) -> Tested {
    // It would see a connection.
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let (given, port) = (address.to_string(), address.port());
    let other_port = format!("127.0.0.1:{}", if port > 1 { port - 1 } else { 2 });
    let (named, mapped) = (format!("localhost:{port}"), format!("[::ffff:127.0.0.1]:{port}"));
    let any_host = format!("0.0.0.0:{port}");
    for (allowed, asked, told) in [
        (
            None,
            &given,
            format!("a connection to {given}: that needs --allow-net {given}"),
        ),
        (Some(&other_port), &given, format!("--allow-net {given}")),
        (
            Some(&given),
            &named,
            "the addresses of `localhost`: that needs --allow-net localhost:PORT".into(),
        ),
        (Some(&given), &mapped, format!("a connection to {mapped}")),
        (Some(&given), &any_host, format!("a connection to {any_host}")),
    ] {
        for build in TARGETS {
            let options: Vec<&str> = allowed.iter().flat_map(|allowed| ["--allow-net", allowed]).collect();
            let output = client(device, build, asked, &options, &["connect"])?;
            let stderr = text(&output.stderr);
            let refused = output.status.code() == Some(1) && text(&output.stdout) == "error PermissionDenied\n";
            expect(refused, "the program must be refused", &output)?;
            expect(
                stderr.contains(&told),
                &format!("the user must be told {told:?}"),
                &output,
            )?;
        }
    }
    match listener.accept() {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(()),
        accepted => Err(format!("there was a connection: {accepted:?}").into()),
    }
}

/// The server says nothing, and the time is over.
fn stops(device: &str) -> Tested {
    let server = serve(|mut stream| stream.read(&mut [0]).map(drop))?;
    for build in TARGETS {
        let begin = Instant::now();
        let options = ["--allow-net", &server, "--timeout", "300ms"];
        let output = client(device, build, &server, &options, &["wait"])?;
        let time = begin.elapsed();
        expect(output.status.code() == Some(124), "exit code must be 124", &output)?;
        expect(
            time < Duration::from_secs(60),
            &format!("ended after {time:?}"),
            &output,
        )?;
    }
    Ok(())
}

fn refuses_destinations() -> Tested {
    for (given, said) in [
        ("127.0.0.1", "HOST:PORT"),
        ("127.0.0.1:http", "from 1 to 65535"),
        ("::1:80", "[::1]:80"),
        ("no-such-host.invalid:80", "cannot be resolved"),
    ] {
        let output = run(["--device", "cpu", "--allow-net", given, &wasm("release", "tcp")]);
        let stderr = text(&output.stderr);
        expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
        let named = stderr.contains(&format!("--allow-net {given}: ")) && stderr.contains(said);
        expect(named, "the message must say what is wrong", &output)?;
    }
    Ok(())
}

fn inspect() -> Tested {
    let output = run(["inspect", &wasm("release", "tcp")]);
    expect(
        text(&output.stdout).contains("gpu_run_net_v1.tcp_connect (network, served by the host: see --allow-net)"),
        "it must show who serves the import",
        &output,
    )
}
