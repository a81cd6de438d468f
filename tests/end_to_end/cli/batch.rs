//! `gpu-run batch`: processes have what is theirs, end alone, and all that they write is there once.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use libtest_mimic::Failed;
use serde_json::Value;

use crate::common::{fixture, gpu_run, options, text};
use crate::support::{EngineTest, Test, Tested, expect, fail, wasm};

/// The tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("batch/order", order),
        ("batch/out_file", out_file),
        ("batch/several_devices", several_devices),
        ("batch/resume", resume),
        ("batch/shards", shards),
        ("batch/objects", objects),
        ("batch/given_files", given_files),
        ("batch/fail_fast", fail_fast),
        ("batch/refuses", refuses),
        ("batch/retry", retry),
        ("batch/attacks", attacks),
        ("batch/anew", anew),
        ("batch/seed", seed),
    ]
}

/// The tests that run by each engine.
pub fn of_engine() -> Vec<EngineTest> {
    vec![
        ("batch/processes", processes),
        ("batch/timeout", timeout),
        ("batch/memory", memory),
        ("batch/snapshot", snapshot),
        ("batch/files", files),
        ("batch/programs", programs),
        ("batch/instances", instances),
        ("batch/hostile", hostile),
    ]
}

fn program() -> String {
    fixture("wat").join("process.wat").display().to_string()
}

/// The command `batch` on an engine.
fn batch_on(engine: &str) -> Command {
    let mut command = gpu_run();
    command
        .arg("batch")
        .args(options(engine))
        .args(["--compile-time", "10m"]);
    command
}

/// Runs the command with lines as standard input.
fn with_stdin(command: &mut Command, stdin: &str) -> Result<Output, Failed> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut pipe = child.stdin.take().ok_or("stdin is piped")?;
    let stdin = stdin.to_owned();
    let writer = std::thread::spawn(move || pipe.write_all(stdin.as_bytes()));
    let output = child.wait_with_output()?;
    _ = writer.join();
    Ok(output)
}

/// What `--report json` says of each process, by its name.
fn reports(output: &Output) -> Result<BTreeMap<String, Value>, Failed> {
    let stderr = text(&output.stderr);
    let lines = stderr.lines().filter(|line| line.starts_with('{'));
    let mut reports = BTreeMap::new();
    for line in lines {
        let report: Value = serde_json::from_str(line)?;
        let name = report["name"].as_str().ok_or("a report has a name")?.to_owned();
        if reports.insert(name.clone(), report).is_some() {
            return fail(format!("{name} is reported twice"), output);
        }
    }
    Ok(reports)
}

/// How many processes an engine runs in a test.
fn many(engine: &str) -> usize {
    match engine {
        "emulator" => 150,
        _ => 5000,
    }
}

/// Of many processes some trap and some exit, and all others are right; nothing of one is left for the next.
fn processes(engine: &str) -> Tested {
    let kind = |i: usize| match i % 11 {
        4 => 'T',
        7 => 'E',
        _ => 'R',
    };
    let count = many(engine);
    let lines: String = (0..count).map(|i| format!("{}{i}\n", kind(i))).collect();
    // So few at once that slots are used again.
    let mut command = batch_on(engine);
    command
        .args(["--jobs", "64", "--stdin-lines", "--report", "json"])
        .arg(program());
    let output = with_stdin(&mut command, &lines)?;
    expect(output.status.code() == Some(1), "some have failed", &output)?;
    expect(text(&output.stdout) == lines, "each says its line, in order", &output)?;
    let reports = reports(&output)?;
    for i in 0..count {
        let Some(report) = reports.get(&format!("{i:06}")) else {
            return fail(format!("{i} is not reported"), &output);
        };
        let (wanted, code) = match kind(i) {
            'T' => ("trap", 134),
            'E' => ("exit", 7),
            _ => ("done", 0),
        };
        if report["kind"] != wanted || report["exit_code"] != code {
            return fail(format!("{i}: {report}"), &output);
        }
        if wanted == "trap" && report["function"] != "innermost" {
            return fail(format!("the trap is in `innermost`: {report}"), &output);
        }
    }
    Ok(())
}

/// Processes that never end are stopped, and no other one is.
fn timeout(engine: &str) -> Tested {
    let count = match engine {
        "emulator" => 40,
        _ => 300,
    };
    let kind = |i: usize| if i % 20 == 3 { 'L' } else { 'R' };
    let lines: String = (0..count).map(|i| format!("{}{i}\n", kind(i))).collect();
    let mut command = batch_on(engine);
    command
        .args(["--instance-timeout", "300ms", "--stdin-lines", "--report", "json"])
        .arg(program());
    let output = with_stdin(&mut command, &lines)?;
    expect(text(&output.stdout) == lines, "each says its line, in order", &output)?;
    for (name, report) in reports(&output)? {
        let wanted = match kind(name.parse()?) {
            'L' => "timeout",
            _ => "done",
        };
        if report["kind"] != wanted {
            return fail(format!("{name}: {report}"), &output);
        }
    }
    Ok(())
}

/// Memory grows where it may, though little is set aside for each process at first.
fn memory(engine: &str) -> Tested {
    let run = |options: &[&str]| {
        let mut command = batch_on(engine);
        command.args(options).arg("--stdin-lines").arg(program());
        with_stdin(&mut command, "G1\nR2\nG3\n")
    };
    let output = run(&[])?;
    expect(
        text(&output.stdout) == "G1\ngrownR2\nG3\ngrown",
        "there is enough",
        &output,
    )?;
    let output = run(&["--instance-memory", "1MiB"])?;
    expect(
        text(&output.stdout) == "G1\nsmallR2\nG3\nsmall",
        "there is too little",
        &output,
    )
}

/// What an export leaves in memory and globals, all processes begin with.
fn snapshot(engine: &str) -> Tested {
    let mut command = batch_on(engine);
    command
        .args(["--snapshot-at", "prepare", "--jobs", "2", "--stdin-lines"])
        .arg(program());
    let output = with_stdin(&mut command, "R1\nR2\nR3\nR4\n")?;
    expect(text(&output.stdout) == "R1\n!R2\n!R3\n!R4\n!", "each has it", &output)
}

/// Programs read files of folders that they are given, by names in their arguments.
fn files(engine: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let names: Vec<String> = (0..20).map(|i| format!("file{i}.txt")).collect();
    for (i, name) in names.iter().enumerate() {
        std::fs::write(folder.path().join(name), "two words\n".repeat(i))?;
    }
    let output = batch_on(engine)
        .args(["--dir", ".:ro"])
        .args([&wasm("wasi", "wc"), "{}", ":::"])
        .args(&names)
        .current_dir(folder.path())
        .output()?;
    expect(output.status.success(), "all are read", &output)?;
    let wanted: Vec<String> = (0..20)
        .map(|i| format!("{} {} {} file{i}.txt", i, 2 * i, 10 * i))
        .collect();
    let found: Vec<String> = text(&output.stdout)
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    expect(found == wanted, "the counts are right", &output)
}

/// Stock programs: what the command prints for one run, a batch prints for each.
fn programs(engine: &str) -> Tested {
    for (program, input) in [
        ("json", "{\"a\": [1, 2.5, \"x\"], \"b\": null}"),
        ("stdin_lines", "one\ntwo words\n\nlast"),
        ("wc", "one two\nthree\n"),
    ] {
        let module = wasm("wasi", program);
        let one = with_stdin(gpu_run().args(options("cpu")).arg(&module), input)?;
        let folder = tempfile::tempdir()?;
        let names: Vec<String> = (0..10).map(|i| format!("input{i}")).collect();
        for name in &names {
            std::fs::write(folder.path().join(name), input)?;
        }
        let output = batch_on(engine)
            .arg("--out-dir")
            .arg(folder.path().join("out"))
            .args([&module, ":::"])
            .args(&names)
            .current_dir(folder.path())
            .output()?;
        expect(output.status.success(), program, &output)?;
        for name in &names {
            let file = |ending: &str| std::fs::read(folder.path().join("out").join(format!("{name}.{ending}")));
            if file("out")? != one.stdout || file("exit")? != b"0\n" {
                return fail(format!("{program}: {name} differs"), &output);
            }
        }
    }
    Ok(())
}

/// Processes without an input find their number.
fn instances(engine: &str) -> Tested {
    let output = batch_on(engine)
        .args(["--instances", "12", "--env", "OTHER=x", &wasm("wasi", "env_args")])
        .output()?;
    let found = text(&output.stdout);
    for i in 0..12 {
        if found.matches(&format!("GPU_INSTANCE: \"{i}\"\n")).count() != 1 {
            return fail(format!("there must be a process {i}"), &output);
        }
    }
    expect(
        found.matches("GPU_INSTANCES: \"12\"").count() == 12,
        "each knows how many there are",
        &output,
    )
}

/// The processes of general tests run on the CPU.
fn batch() -> Command {
    batch_on("cpu")
}

/// Both streams are in the order of the inputs, whichever process ends first.
fn order() -> Tested {
    let lines: String = (0..500)
        .map(|i| format!("R{}\n", "x".repeat((i * 7919) % 900)))
        .collect();
    let output = with_stdin(batch().arg("--stdin-lines").arg(program()), &lines)?;
    expect(text(&output.stdout) == lines, "outputs are in order", &output)?;
    expect(
        text(&output.stderr).starts_with("500 processes in "),
        "there is a summary",
        &output,
    )
}

/// Outputs go to a file in the place of stdout.
fn out_file() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("all.txt");
    let mut command = batch();
    command
        .arg("--out")
        .arg(&path)
        .args([&program(), ":::"])
        .args(["one", "two"].map(|name| {
            let input = folder.path().join(name);
            std::fs::write(&input, format!("R {name}\n"))
                .map(|()| input)
                .unwrap_or_default()
        }));
    let output = command.output()?;
    expect(
        output.status.success() && output.stdout.is_empty(),
        "stdout is empty",
        &output,
    )?;
    let written = std::fs::read_to_string(&path)?;
    expect(
        written == "R one\nR two\n",
        &format!("the file has {written:?}"),
        &output,
    )?;
    let mut command = batch();
    command.args(["--out", "/", &program(), ":::", "one"]);
    let output = command.output()?;
    let said = text(&output.stderr);
    expect(
        output.status.code() == Some(2) && said.contains("cannot make the file of outputs"),
        "a directory is refused",
        &output,
    )
}

/// Devices share the inputs: each is run once, and outputs are in order. Where one fails fast, all end.
fn several_devices() -> Tested {
    let lines: String = (0..5000).map(|i| format!("R{i}\n")).collect();
    let run = |devices: &str, more: &[&str], lines: &str| {
        let mut command = gpu_run();
        command
            .args(["batch", "--device", devices, "--stdin-lines"])
            .args(more)
            .arg(program());
        with_stdin(&mut command, lines)
    };
    let one = run("cpu", &[], &lines)?;
    let three = run("cpu,cpu,cpu", &[], &lines)?;
    expect(three.status.success(), "all succeed", &three)?;
    expect(one.stdout == three.stdout, "outputs are as those of one device", &three)?;
    let said = text(&three.stderr);
    expect(said.contains("5,000 done"), "each is counted once", &three)?;
    let failing: String = (0..5000)
        .map(|i| format!("{}{i}\n", if i == 50 { 'T' } else { 'R' }))
        .collect();
    let failed = run("cpu,cpu", &["--fail-fast", "--report", "json"], &failing)?;
    expect(failed.status.code() == Some(1), "one has failed", &failed)?;
    expect(reports(&failed)?.len() < 5000, "the others did not begin", &failed)
}

/// The files of a directory, by their names.
fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Failed> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        files.insert(
            entry.file_name().to_string_lossy().into_owned(),
            std::fs::read(entry.path())?,
        );
    }
    Ok(files)
}

/// A batch that was killed goes on where it was: processes that have ended do not run again.
fn resume() -> Tested {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out");
    let lines: String = (0..50)
        .map(|i| format!("{}{i}\n", if i == 9 { 'E' } else { 'R' }))
        .collect();
    let run = |option: &str| {
        with_stdin(
            batch().arg(option).arg(&out).arg("--stdin-lines").arg(program()),
            &lines,
        )
    };
    let output = run("--out-dir")?;
    expect(output.status.code() == Some(1), "one has failed", &output)?;
    let all = contents(&out)?;
    // As if it had been killed: some are not there, of one there is a part.
    std::fs::remove_file(out.join("000017.exit"))?;
    std::fs::write(out.join("000017.out"), "R1")?;
    std::fs::write(out.join("000030.exit"), "")?;
    std::fs::remove_file(out.join("000041.exit"))?;
    std::fs::remove_file(out.join("000041.out"))?;
    std::fs::write(out.join("000002.out"), "kept")?;
    let output = run("--resume")?;
    expect(output.status.success(), "what ran now is fine", &output)?;
    expect(
        text(&output.stderr).contains("3 processes in") && text(&output.stderr).contains("47 done before"),
        "three run",
        &output,
    )?;
    let mut wanted = all;
    wanted.insert("000002.out".into(), b"kept".to_vec());
    match contents(&out)? == wanted {
        true => Ok(()),
        false => fail("the directory is whole", &output),
    }
}

/// Outputs of shards are those of the whole.
fn shards() -> Tested {
    let folder = tempfile::tempdir()?;
    let list = folder.path().join("list");
    let mut lines = String::new();
    for i in 0..23 {
        let path = folder.path().join(format!("in{}", i % 9));
        std::fs::write(&path, format!("R{}\n", i % 9))?;
        lines += &format!("{}\n", path.display());
    }
    std::fs::write(&list, lines)?;
    let run = |out: &str, more: &[&str]| {
        let mut command = batch();
        command
            .args(more)
            .arg("--from")
            .arg(&list)
            .arg("--out-dir")
            .arg(folder.path().join(out));
        command.arg(program()).output()
    };
    run("whole", &[])?;
    let output = run("parts", &["--shard", "0/3"])?;
    expect(
        text(&output.stderr).starts_with("8 processes"),
        "a third of 23",
        &output,
    )?;
    run("parts", &["--shard", "1/3"])?;
    let mut command = batch();
    command
        .args(["--shard", "auto", "--from"])
        .arg(&list)
        .arg("--out-dir")
        .arg(folder.path().join("parts"));
    let output = command
        .env("SHARD_INDEX", "2")
        .env("SHARD_COUNT", "3")
        .arg(program())
        .output()?;
    let (whole, parts) = (
        contents(&folder.path().join("whole"))?,
        contents(&folder.path().join("parts"))?,
    );
    expect(whole.len() == 46 && whole == parts, "the parts are the whole", &output)
}

/// Numbers without end, the same for a seed (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number at the edge of something: of memory of 3, 4 or 16 pages, of 31 and 32 bits, or of nothing.
    fn edge(&mut self) -> u32 {
        const EDGES: [u32; 9] = [
            0,
            1 << 10,
            1 << 14,
            3 << 16,
            4 << 16,
            1 << 20,
            1 << 31,
            u32::MAX,
            0x0040_0000,
        ];
        match self.below(4) {
            0 => self.next() as u32,
            1 => self.below(40) as u32,
            _ => EDGES[self.below(EDGES.len() as u64) as usize]
                .wrapping_add(self.below(18) as u32)
                .wrapping_sub(9),
        }
    }

    /// A script for `fixtures/wat/hostile.wat`.
    fn script(&mut self) -> Vec<u8> {
        const CALL_DEEPER: u8 = 18;
        const EXIT: u8 = 22;
        const LOOP: u8 = 23;
        const MUCH_OUTPUT: u8 = 24;
        let mut script = b"X".to_vec();
        for _ in 0..self.below(60) {
            let mut op = self.below(28) as u8;
            if matches!(op, EXIT | LOOP) && self.below(20) > 0 {
                op = 0;
            }
            let a = match op {
                CALL_DEEPER => self.below(200_000) as u32,
                MUCH_OUTPUT => self.below(20) as u32,
                _ => self.edge(),
            };
            script.push(op);
            for number in [a, self.edge(), self.edge()] {
                script.extend(number.to_le_bytes());
            }
        }
        script
    }
}

/// Hostile processes beside honest ones, in the same warps: none sees or changes a byte of another, and honest ones find what
/// they need, whatever is exhausted by the others. HOSTILE_SEED chooses other scripts.
fn hostile(engine: &str) -> Tested {
    // On a GPU so many that each warp has several.
    let (count, timeout) = match engine {
        "emulator" => (64, "20s"),
        "cpu" => (400, "2s"),
        _ => (9_000, "3s"),
    };
    let seed = std::env::var("HOSTILE_SEED").map_or(Ok(1), |seed| seed.parse::<u64>())?;
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let folder = tempfile::tempdir()?;
    let (inputs, given, out) = (
        folder.path().join("in"),
        folder.path().join("given"),
        folder.path().join("out"),
    );
    std::fs::create_dir(&inputs)?;
    std::fs::create_dir(&given)?;
    std::fs::write(given.join("honest.txt"), "yes")?;
    for i in 0..count {
        let path = inputs.join(i.to_string());
        let input = match i % 2 {
            0 => format!("H{i:08}").into_bytes(),
            _ => numbers.script(),
        };
        std::fs::write(&path, input)?;
    }
    let list: String = (0..count)
        .map(|i| format!("{}\n", inputs.join(i.to_string()).display()))
        .collect();
    std::fs::write(folder.path().join("list"), list)?;
    let mut command = batch_on(engine);
    command
        .args(["--instance-timeout", timeout, "--instance-memory", "1MiB", "--dir"])
        .arg(format!("{}::/:ro", given.display()))
        .arg("--from")
        .arg(folder.path().join("list"))
        .arg("--out-dir")
        .arg(&out)
        .arg(fixture("wat").join("hostile.wat"));
    let output = command.output()?;
    let secret = 0x5ec2_e75e_u32.to_le_bytes();
    let written = contents(&out)?;
    for i in 0..count {
        let name = inputs.join(i.to_string()).display().to_string().replace('/', "%2F");
        let of = |ending: &str| {
            written
                .get(&format!("{name}.{ending}"))
                .map(Vec::as_slice)
                .unwrap_or_default()
        };
        let (stdout, stderr) = (of("out"), of("err"));
        if i % 2 == 0 {
            if stdout != format!("ok {i:08}\n").as_bytes() || of("exit") != b"0\n" {
                return fail(
                    format!("honest {i}: {:?}, exit code {:?}", text(stdout), text(of("exit"))),
                    &output,
                );
            }
            continue;
        }
        let sees = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).any(|part| part == what);
        if [stdout, stderr]
            .iter()
            .any(|bytes| sees(bytes, &secret) || bytes == b"leak")
        {
            return fail(
                format!("{i} has seen what is not its own (HOSTILE_SEED={seed})"),
                &output,
            );
        }
        expect(!of("exit").is_empty(), &format!("{i} has ended"), &output)?;
    }
    Ok(())
}

/// Lines of a list may say all of a process.
fn objects() -> Tested {
    let lines = [
        r#"{"name": "first", "stdin": "one two\n"}"#,
        r#"{"args": ["none.txt"]}"#,
        r#"{"stdin": "three\n", "env": {"A": "b"}}"#,
        r#"{"stdin": 3}"#,
        r#"{"what": 3}"#,
    ];
    let mut command = batch();
    command.args(["--from", "-", "--report", "json", &wasm("wasi", "wc")]);
    let output = with_stdin(&mut command, &(lines.join("\n") + "\n"))?;
    let reports = reports(&output)?;
    let kind = |name: &str| reports.get(name).map(|report| report["kind"].clone());
    expect(kind("first") == Some("done".into()), "the first is done", &output)?;
    expect(
        kind("000001") == Some("exit".into()),
        "the second finds no file",
        &output,
    )?;
    expect(kind("000002") == Some("done".into()), "the third is done", &output)?;
    expect(
        kind("000003") == Some("unreadable".into()),
        "the fourth is wrong",
        &output,
    )?;
    expect(
        kind("000004") == Some("unreadable".into()),
        "the fifth is wrong",
        &output,
    )
}

/// A line of a list may give a process files of its own, in directories.
fn given_files() -> Tested {
    let folder = tempfile::tempdir()?;
    let host = folder.path().join("host.txt");
    std::fs::write(&host, "one two three\n")?;
    let host = host.display();
    let lines = [
        format!(r#"{{"args": ["a.txt", "b/c.txt"], "files": {{"a.txt": "{host}", "/b/c.txt": "{host}"}}}}"#),
        r#"{"args": ["a.txt"]}"#.to_owned(),
        format!(r#"{{"args": ["a.txt"], "files": {{"a.txt": "{host}.none"}}}}"#),
        format!(r#"{{"args": ["a.txt"], "files": {{"../a.txt": "{host}"}}}}"#),
    ];
    let mut command = batch();
    command.args(["--from", "-", "--report", "json", &wasm("wasi", "wc")]);
    let output = with_stdin(&mut command, &(lines.join("\n") + "\n"))?;
    let reports = reports(&output)?;
    let of = |name: &str, field: &str| {
        reports
            .get(name)
            .map(|report| report[field].clone())
            .unwrap_or_default()
    };
    expect(of("000000", "kind") == "done", "it finds both files", &output)?;
    let stdout = text(&output.stdout);
    expect(
        stdout.contains("a.txt") && stdout.contains("b/c.txt"),
        "it counts both",
        &output,
    )?;
    expect(of("000001", "kind") == "exit", "the next has none of them", &output)?;
    let said = |name: &str, what: &str| {
        let message = of(name, "message");
        of(name, "kind") == "unreadable" && message.as_str().is_some_and(|message| message.contains(what))
    };
    expect(
        said("000002", "cannot read its file"),
        "what is not there is told",
        &output,
    )?;
    expect(said("000003", "is no path of a file"), "nothing lies outside", &output)
}

fn fail_fast() -> Tested {
    let lines: String = (0..3000)
        .map(|i| format!("{}{i}\n", if i == 5 { 'T' } else { 'R' }))
        .collect();
    let mut command = batch();
    command
        .args(["--fail-fast", "--jobs", "2", "--report", "json", "--stdin-lines"])
        .arg(program());
    let output = with_stdin(&mut command, &lines)?;
    expect(output.status.code() == Some(1), "one has failed", &output)?;
    let reports = reports(&output)?;
    let trap = reports.values().any(|report| report["kind"] == "trap");
    expect(trap && reports.len() < 3000, "the others did not begin", &output)
}

/// What fails on the CPU too has failed; it is told once.
fn retry() -> Tested {
    let mut command = batch();
    command
        .args(["--retry", "cpu", "--report", "json", "--stdin-lines"])
        .arg(program());
    let output = with_stdin(&mut command, "R1\nT2\nR3\n")?;
    expect(
        text(&output.stdout) == "R1\nT2\nR3\n",
        "outputs are there once, in order",
        &output,
    )?;
    expect(reports(&output)?.len() == 3, "each is told of", &output)
}

/// Text that would end a string early is no argument, and a request that waits does not keep a process from its end.
fn attacks() -> Tested {
    let zeros = "\\u0000".repeat(3000);
    let lines = format!("{{\"args\": [\"{zeros}\"]}}\n{{\"env\": {{\"A\": \"b\\u0000c\"}}}}\n{{\"args\": [\"x\"]}}\n");
    let mut command = batch();
    command.args(["--from", "-", "--report", "json", &wasm("wasi", "env_args")]);
    let output = with_stdin(&mut command, &lines)?;
    let kinds: Vec<Value> = reports(&output)?
        .values()
        .map(|report| report["kind"].clone())
        .collect();
    expect(
        kinds == ["unreadable", "unreadable", "done"],
        "strings with NULs are refused",
        &output,
    )?;
    #[cfg(unix)]
    {
        let folder = tempfile::tempdir()?;
        let status = Command::new("mkfifo").arg(folder.path().join("pipe")).status()?;
        if !status.success() {
            return Err("mkfifo".into());
        }
        let output = batch()
            .args(["--dir", ".", "--instance-timeout", "200ms", "--report", "json"])
            .args([&wasm("wasi", "wc"), "{}", ":::", "pipe"])
            .current_dir(folder.path())
            .output()?;
        let pipe = reports(&output)?.remove("pipe").ok_or("it is told of")?;
        expect(pipe["kind"] == "timeout", "its time is over", &output)?;
    }
    // Names that would be others' files.
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out");
    let names = ["a", "a~2", "a", "../a", "x/../a"];
    let mut command = batch();
    command
        .arg("--out-dir")
        .arg(&out)
        .args([&program(), "{}", ":::"])
        .args(names);
    let output = command.output()?;
    let exits = contents(&out)?.keys().filter(|name| name.ends_with(".exit")).count();
    expect(exits == names.len(), "each has files of its own", &output)?;
    // A list that cannot be read to its end is no success.
    let output = batch().args(["--from", "/", &program()]).output()?;
    expect(output.status.code() == Some(2), "a folder is no list", &output)
}

/// In a directory of an earlier batch, what the new one has not come to has not ended.
fn anew() -> Tested {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out");
    let run = |option: &str, lines: &str| {
        with_stdin(batch().arg(option).arg(&out).arg("--stdin-lines").arg(program()), lines)
    };
    run("--out-dir", "R1\nR2\nR3\n")?;
    run("--out-dir", "R4\n")?;
    let output = run("--resume", "R4\nR5\nR6\n")?;
    let second = std::fs::read_to_string(out.join("000001.out"))?;
    expect(second == "R5\n", "the second ran", &output)
}

/// Writes 32 random bytes.
const RANDOM: &str = r#"(module
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "_start")
        (drop (call $random (i32.const 64) (i32.const 32)))
        (i32.store (i32.const 0) (i32.const 64))
        (i32.store (i32.const 4) (i32.const 32))
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;

/// With a seed random bytes are those of a run by itself, whichever lane runs the process. Without one all are others.
fn seed() -> Tested {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("random.wat");
    std::fs::write(&module, RANDOM)?;
    let one = gpu_run()
        .args(options("cpu"))
        .args(["--seed", "7"])
        .arg(&module)
        .output()?;
    expect(one.stdout.len() == 32, "there are 32 bytes", &one)?;
    let many = batch()
        .args(["--seed", "7", "--instances", "500"])
        .arg(&module)
        .output()?;
    if many.stdout != one.stdout.repeat(500) {
        return Err("with a seed all are as the one".into());
    }
    let many = batch().args(["--instances", "500"]).arg(&module).output()?;
    let different: std::collections::BTreeSet<&[u8]> = many.stdout.chunks(32).collect();
    match different.len() {
        500 => Ok(()),
        count => Err(format!("without a seed 500 are different, not {count}").into()),
    }
}

fn refuses() -> Tested {
    for (args, message) in [
        (&["MODULE"][..], "the batch has no inputs"),
        (
            &["--instances", "2", "MODULE", ":::", "a"],
            "inputs stand after ::: and are named by an option too",
        ),
        (&["--from", "no/such/list", "MODULE"], "cannot read the list of inputs"),
        (&["--shard", "3/3", "--instances", "2", "MODULE"], "expected I/N"),
        (
            &["--shard", "auto", "--instances", "2", "MODULE"],
            "finds no scheduler's variables",
        ),
        (&["--snapshot-at", "none", "--instances", "2", "MODULE"], "none"),
        (
            &["--tmpfs", "1MiB", "--instances", "2", "MODULE"],
            "do not have --tmpfs",
        ),
        (
            &["--dir", "no/such/dir", "--instances", "2", "MODULE"],
            "--dir no/such/dir",
        ),
        (&["--instances", "2", "no_such.wasm"], "cannot read the module"),
        (&["--jobs", "0", "--instances", "2", "MODULE"], "0"),
    ] {
        let args = args.iter().map(|arg| match *arg {
            "MODULE" => program(),
            arg => arg.to_owned(),
        });
        let output = batch().args(args).output()?;
        expect(output.status.code() == Some(2), message, &output)?;
        expect(text(&output.stderr).contains(message), message, &output)?;
    }
    // A module that has no `_start`, and one for threads.
    for (module, message) in [
        (wasm("wasi", "reactor"), "_start"),
        (wasm("wasi-threads", "executors"), "threads"),
    ] {
        if Path::new(&module).exists() {
            let output = batch().args(["--instances", "2", &module]).output()?;
            expect(output.status.code() == Some(2), message, &output)?;
            expect(text(&output.stderr).contains(message), message, &output)?;
        }
    }
    Ok(())
}
