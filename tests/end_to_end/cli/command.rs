//! The command line as users expect it: options that a program has no use for, names, what is said and where.

use std::fs;
use std::process::{Output, Stdio};

use libtest_mimic::Failed;
use serde_json::Value;

use crate::common::{fixture, gpu_run, gpu_run_on, run, run_on, text};
use crate::support::{Test, Tested, expect, stats, wasm};

/// The tests, which need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("found/02_options_without_use", options_without_use),
        ("found/02_wrong_options_without_use", wrong_options_without_use),
        ("found/02_arguments_without_use", arguments_without_use),
        ("found/07_kernels", kernels),
        ("found/07_did_you_mean", did_you_mean),
        ("found/07_inspect_types", inspect_types),
        ("found/07_inspect_refused", inspect_refused),
        ("found/07_inspect_program", inspect_program),
        ("found/07_one_function", one_function),
        ("found/08_no_command", no_command),
        ("found/08_help", help),
        ("found/08_options_before_a_command", before_a_command),
        ("found/08_levels", levels),
        ("found/08_wrong_filter", wrong_filter),
        ("found/08_objects_in_files", objects_in_files),
        ("found/08_statistics", statistics),
        ("found/08_usage_as_json", usage_as_json),
        ("found/08_module_from_stdin", module_from_stdin),
        ("found/08_completions_and_manual", completions_and_manual),
        ("found/08_color", color),
    ]
}

/// The stream has all of these parts.
pub fn says(output: &Output, stream: &[u8], parts: &[&str]) -> Tested {
    let said = text(stream);
    for part in parts {
        expect(said.contains(part), &format!("it must say {part:?}"), output)?;
    }
    Ok(())
}

pub fn ends(output: &Output, code: i32) -> Tested {
    let what = format!("exit code must be {code}");
    expect(output.status.code() == Some(code), &what, output)
}

/// Modules that import nothing, `proc_exit` alone, and what is never called.
fn little_wasi() -> Result<tempfile::TempDir, Failed> {
    let folder = tempfile::tempdir()?;
    let start = |import: &str, body: &str| {
        format!(r#"(module {import} (memory (export "memory") 1) (func (export "_start") {body}))"#)
    };
    let exit = r#"(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))"#;
    let args = r#"(import "wasi_snapshot_preview1" "args_get" (func (param i32 i32) (result i32)))"#;
    fs::write(folder.path().join("none.wat"), start("", ""))?;
    fs::write(
        folder.path().join("exit.wat"),
        start(exit, "(call $exit (i32.const 0))"),
    )?;
    fs::write(folder.path().join("uncalled.wat"), start(args, ""))?;
    Ok(folder)
}

/// A script can give the same options to many programs.
fn options_without_use() -> Tested {
    let folder = little_wasi()?;
    for module in ["none.wat", "exit.wat", "uncalled.wat"] {
        for option in [
            &["--dir", "."][..],
            &["--env", "A=b"],
            &["--tmpfs", "1MiB"],
            &["--allow-net", "127.0.0.1:80"],
            &["--argv0", "a"],
            &["--seed", "1"],
        ] {
            let go = |more: &[&str]| {
                let mut command = gpu_run_on("cpu");
                command
                    .current_dir(&folder)
                    .args(more)
                    .args(option)
                    .arg(module)
                    .output()
            };
            let output = go(&[])?;
            ends(&output, 0)?;
            expect(output.stderr.is_empty(), "nothing is amiss", &output)?;
            let output = go(&["-v"])?;
            says(
                &output,
                &output.stderr,
                &[&format!("the program makes no use of {}\n", option[0])],
            )?;
        }
    }
    // If a program uses some of them, a message names the others.
    let options = ["-v", "--dir", ".", "--env", "A=b", "--allow-net", "127.0.0.1:80"];
    let output = gpu_run_on("cpu")
        .args(options)
        .arg(wasm("wat", "wasi"))
        .stdin(Stdio::null())
        .output()?;
    says(&output, &output.stderr, &["the program makes no use of --allow-net\n"])
}

/// What is wrong with an option itself is an error for every program.
fn wrong_options_without_use() -> Tested {
    let folder = little_wasi()?;
    for module in ["none.wat", "exit.wat"] {
        for (option, said) in [
            (["--dir", "no-such-folder"], "no-such-folder"),
            (["--env", "=x"], "a variable has a name"),
            (["--allow-net", "nowhere"], "--allow-net nowhere: "),
            (["--tmpfs", "much"], "--tmpfs"),
        ] {
            let mut command = gpu_run_on("cpu");
            let output = command.current_dir(&folder).args(option).arg(module).output()?;
            ends(&output, 2)?;
            says(&output, &output.stderr, &[said])?;
        }
    }
    Ok(())
}

fn arguments_without_use() -> Tested {
    let folder = little_wasi()?;
    for module in ["none.wat", "exit.wat", "uncalled.wat"] {
        let go = |options: &[&str], args: &[&str]| {
            let mut command = gpu_run_on("cpu");
            command
                .current_dir(&folder)
                .args(options)
                .arg(module)
                .args(args)
                .output()
        };
        let output = go(&[], &["input.txt", "-x"])?;
        ends(&output, 0)?;
        expect(output.stderr.is_empty(), "nothing is amiss", &output)?;
        let output = go(&["-v"], &["input.txt"])?;
        says(&output, &output.stderr, &["the program does not read its arguments\n"])?;
        // It may be in the wrong place.
        let output = go(&[], &["--threads=4"])?;
        ends(&output, 0)?;
        says(&output, &output.stderr, &["warning: ", "write `--threads` there"])?;
    }
    Ok(())
}

/// A kernel has the name of its source, wherever it is shown.
fn kernels() -> Tested {
    let spmd = wasm("release", "spmd");
    for command in [
        &["inspect", &*spmd][..],
        &["inspect", "--json", &spmd],
        &["translate", "--emit", "disasm", &spmd],
        &["translate", "--emit", "ptx", &spmd],
        &["--device", "cpu", "--invoke", "nothing", &spmd],
    ] {
        let output = run(command);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let names = |text: &str| {
            let lines = text.lines().filter(|line| line.contains("gpu_run_v1.kernel."));
            // By its whole name it can be called, too.
            lines.filter(|line| !line.contains("\"export\": ")).count()
        };
        expect(names(&stdout) + names(&stderr) == 0, "the short name", &output)?;
        expect(
            stdout.contains("sum") || stderr.contains("`sum`"),
            "it is there",
            &output,
        )?;
    }
    let output = run(["inspect", &spmd]);
    says(&output, &output.stdout, &["\n  kernel   sum () -> (i32)\n"])?;
    // In backtraces too.
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("trap.wat");
    fs::write(
        &module,
        r#"(module (func (export "gpu_run_v1.kernel.render") unreachable))"#,
    )?;
    let output = gpu_run_on("cpu").args(["--threads", "2"]).arg(&module).output()?;
    says(&output, &output.stderr, &["--> 0: render ("])?;
    // A name that is another's too is shown in full.
    fs::write(
        &module,
        r#"(module (func (export "gpu_run_v1.kernel.both")) (func (export "both")))"#,
    )?;
    let output = gpu_run_on("cpu").args(["--invoke", "x"]).arg(&module).output()?;
    says(&output, &output.stderr, &["`gpu_run_v1.kernel.both`, `both`"])
}

fn did_you_mean() -> Tested {
    let spmd = wasm("release", "spmd");
    let output = run_on("cpu", ["--invoke", "summ", &spmd]);
    ends(&output, 2)?;
    says(
        &output,
        &output.stderr,
        &["no function `summ` is exported", "did you mean `sum`?", "`main`"],
    )?;
    let output = run_on("cpu", ["--invoke", "quite_another", &spmd]);
    says(&output, &output.stderr, &["it exports `sum`, `main`"])?;
    let said = text(&output.stderr);
    expect(!said.contains("did you mean"), "nothing is like it", &output)
}

fn inspect_types() -> Tested {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("types.wat");
    let source = r#"(module
        (import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))
        (memory (export "memory") 2 3) (table (export "table") 4 funcref)
        (global (export "global") (mut i64) (i64.const 0)) (tag (export "tag") (param f32))
        (func (export "add") (param i32 f64) (result i64 v128) unreachable)
        (@producers (processed-by "tool" "") (language "Rust" "1.0")))"#;
    fs::write(&module, source)?;
    let output = gpu_run().arg("inspect").arg(&module).output()?;
    ends(&output, 0)?;
    let wanted = [
        "function add (i32, f64) -> (i64, v128)\n",
        "memory   memory 2 to 3 pages\n",
        "table    table funcref 4 elements\n",
        "global   global mut i64\n",
        "tag      tag (f32) -> ()\n",
    ];
    says(&output, &output.stdout, &wanted)?;
    let first = text(&output.stdout);
    let made_by = first.lines().next().unwrap_or_default().to_owned();
    expect(
        made_by == made_by.trim_end() && !made_by.contains(" ,"),
        "no empty version",
        &output,
    )?;
    let output = gpu_run().args(["inspect", "--json"]).arg(&module).output()?;
    let object: Value = serde_json::from_slice(&output.stdout)?;
    expect(
        object["schema"] == 1 && object["kind"] == "module" && object["refused"].is_null(),
        "a module that runs",
        &output,
    )?;
    let add = &object["exports"][4];
    expect(
        add["name"] == "add" && add["kind"] == "function" && add["type"] == "(i32, f64) -> (i64, v128)",
        "an export",
        &output,
    )?;
    let import = &object["imports"][0];
    expect(
        import["name"] == "sched_yield" && import["type"] == "() -> (i32)" && import["served"].is_string(),
        "an import",
        &output,
    )?;
    // Long lists are on several lines, of which only long names make some longer.
    let output = run(["inspect", &wasm("wasi", "c_malloc")]);
    let found = text(&output.stdout);
    let long = found.lines().find(|line| line.len() > 100 && line.contains(", "));
    expect(long.is_none(), "no line is longer than 100 columns", &output)
}

/// What will not run is an error for a script, too.
fn inspect_refused() -> Tested {
    for name in ["unknown_import", "wasi_function", "gpu_memory64"] {
        let module = fixture("bad").join(format!("{name}.wasm"));
        for json in [&[][..], &["--json"]] {
            let output = gpu_run().arg("inspect").args(json).arg(&module).output()?;
            ends(&output, 2)?;
            let wanted = if json.is_empty() {
                "will not run: "
            } else {
                "\"refused\": \""
            };
            says(&output, &output.stdout, &[wanted])?;
        }
    }
    let output = run(["inspect", &wasm("release", "hello")]);
    ends(&output, 0)
}

fn inspect_program() -> Tested {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("wc.gbc");
    let output = gpu_run()
        .args(["translate", "--emit", "bytecode", &wasm("wasi", "wc"), "-o"])
        .arg(&program)
        .output()?;
    ends(&output, 0)?;
    let output = gpu_run().arg("inspect").arg(&program).output()?;
    ends(&output, 0)?;
    let wanted = [
        "made by: gpu-run translate\n",
        "wasi_snapshot_preview1.path_open (WASI, served by the host)\n",
        "function _start () -> ()\n",
        " words\n",
    ];
    says(&output, &output.stdout, &wanted)?;
    let output = gpu_run().args(["inspect", "--json"]).arg(&program).output()?;
    let object: Value = serde_json::from_slice(&output.stdout)?;
    expect(object["kind"] == "program", "a program", &output)?;
    let mut bytes = fs::read(&program)?;
    let half = bytes.len() / 2;
    bytes.truncate(half);
    fs::write(&program, bytes)?;
    let output = gpu_run().arg("inspect").arg(&program).output()?;
    ends(&output, 2)?;
    says(&output, &output.stderr, &["error: ", "wc.gbc"])
}

fn one_function() -> Tested {
    let module = wasm("wat", "mutual");
    let all = run(["translate", "--emit", "disasm", &module]);
    let all = text(&all.stdout);
    let heads: Vec<&str> = all.lines().filter(|line| line.starts_with("func ")).collect();
    if heads.len() < 2 {
        return Err(format!("the fixture has several functions: {heads:?}").into());
    }
    for head in &heads {
        let mut words = head.split(' ').skip(1);
        let (index, name) = (words.next().ok_or("an index")?, words.next().ok_or("a name")?);
        for by in [index, name] {
            let output = run(["translate", "--emit", "disasm", "--func", by, &module]);
            let shown = text(&output.stdout);
            expect(
                shown.starts_with(head) && shown.matches("func ").count() == 1 && all.contains(&shown),
                "this function alone",
                &output,
            )?;
        }
        let output = run(["translate", "--emit", "ptx", "--func", name, &module]);
        let (ptx, start) = (text(&output.stdout), format!(".entry i0_start_{index}("));
        expect(
            ptx.contains(&start) && ptx.matches(".visible .entry ").count() == 1 && !ptx.contains(".extern"),
            "its PTX alone",
            &output,
        )?;
    }
    let output = run(["translate", "--emit", "disasm", "--func", "evne", &module]);
    ends(&output, 2)?;
    says(
        &output,
        &output.stderr,
        &["the program has no function `evne`", "did you mean `"],
    )?;
    let output = run(["translate", "--emit", "bytecode", "--func", "0", "-o", "x", &module]);
    ends(&output, 2)?;
    says(&output, &output.stderr, &["--func is for --emit disasm and --emit ptx"])
}

fn no_command() -> Tested {
    let output = run(["inspct", "a.wasm"]);
    ends(&output, 2)?;
    let wanted = [
        "`inspct` is neither a command nor a file",
        "did you mean `inspect`?",
        "run, profile, batch, translate, compile, snapshot, inspect, devices",
    ];
    says(&output, &output.stderr, &wanted)?;
    // A path is no misspelled command.
    let output = run(["--device", "cpu", "inspct.wasm"]);
    ends(&output, 2)?;
    says(&output, &output.stderr, &["cannot read the module", "inspct.wasm"])?;
    // A file is run, whatever its name is.
    let folder = little_wasi()?;
    fs::copy(wasm("wat", "fib"), folder.path().join("fib"))?;
    let output = gpu_run_on("cpu")
        .current_dir(&folder)
        .args(["--invoke", "fib", "fib", "10"])
        .output()?;
    expect(text(&output.stdout) == "55\n", "it runs", &output)
}

/// The help that users find first has the options of `run`, in groups.
fn help() -> Tested {
    for by in ["--help", "-h", "help"] {
        let output = run([by]);
        ends(&output, 0)?;
        let wanted = [
            "\nCommands:\n",
            "\n  inspect ",
            "--threads <N>",
            "--dir <HOST[::GUEST][:ro]>",
            "\nWhere it runs:\n",
            "\nLimits:\n",
            "\nMessages of gpu-run:\n",
        ];
        says(&output, &output.stdout, &wanted)?;
    }
    let output = run(["inspect", "--help"]);
    says(&output, &output.stdout, &["--json"])?;
    expect(!text(&output.stdout).contains("--threads"), "its own options", &output)
}

fn before_a_command() -> Tested {
    let module = wasm("wat", "fib");
    for options in [&["-v"][..], &["-q"], &["--color", "never"], &["-vv", "--color=never"]] {
        let output = gpu_run().args(options).args(["inspect", &module]).output()?;
        ends(&output, 0)?;
        says(&output, &output.stdout, &["function fib (i32) -> (i32)"])?;
    }
    let output = run(["--device", "cpu", "inspect", &module]);
    ends(&output, 2)?;
    says(
        &output,
        &output.stderr,
        &[
            "options of `gpu-run inspect` stand behind its name",
            "gpu-run inspect [OPTIONS]",
        ],
    )
}

/// `-q` leaves errors, and nothing else.
fn levels() -> Tested {
    let spmd = wasm("release", "spmd");
    let call = |options: &[&str]| {
        gpu_run_on("cpu")
            .env_remove("GPU_RUN_LOG")
            .args(options)
            .args(["--threads", "4", &spmd])
            .output()
    };
    let (normal, quiet) = (call(&[])?, call(&["-q"])?);
    says(&normal, &normal.stderr, &["Running on ", "with 4 threads"])?;
    expect(quiet.stderr.is_empty(), "nothing is said", &quiet)?;
    expect(quiet.stdout == normal.stdout, "the program's output stays", &quiet)?;
    let warned = |options: &[&str]| {
        let args = ["--heap-check", "--invoke", "fib", &*wasm("wat", "fib"), "5"];
        gpu_run_on("cpu").args(options).args(args).output()
    };
    let (normal, quiet) = (warned(&[])?, warned(&["--quiet"])?);
    says(&normal, &normal.stderr, &["warning: "])?;
    expect(quiet.stderr.is_empty(), "no warnings", &quiet)?;
    let output = run(["-q", "--device", "cpu", "no-such-file.wasm"]);
    says(&output, &output.stderr, &["error: cannot read the module"])?;
    let (one, two) = (call(&["-v"])?, call(&["-vv"])?);
    says(&one, &one.stderr, &["gpu-run: engine: "])?;
    let of_crate = |output: &Output| text(&output.stderr).contains("gpu_run_vm");
    expect(!of_crate(&one) && of_crate(&two), "-vv says more", &two)?;
    let output = run(["-q", "-v", "devices"]);
    ends(&output, 2)
}

/// Its name and what may stand there.
fn wrong_filter() -> Tested {
    for (value, said) in [
        ("loud", "there is no level `loud`"),
        ("gpu_run_vm", "there is no level `gpu_run_vm`"),
        ("vm=debug", "there is no crate `vm`"),
    ] {
        for args in [&["devices"][..], &["-v", "devices"]] {
            let output = gpu_run().env("GPU_RUN_LOG", value).args(args).output()?;
            ends(&output, 2)?;
            let name = format!("GPU_RUN_LOG={value} is no filter");
            let wanted = [
                &*name,
                said,
                "off, error, warn, info, debug, trace",
                "gpu_run_translator",
            ];
            says(&output, &output.stderr, &wanted)?;
        }
    }
    let output = gpu_run().env("GPU_RUN_LOG", "").arg("devices").output()?;
    ends(&output, 0)
}

/// The object of a file, which is its only line.
fn object(path: &std::path::Path) -> Result<Value, Failed> {
    let written = fs::read_to_string(path)?;
    let mut lines = written.lines();
    let line = lines.next().ok_or("the file is empty")?;
    match lines.next() {
        None => Ok(serde_json::from_str(line)?),
        Some(more) => Err(format!("another line: {more}").into()),
    }
}

fn objects_in_files() -> Tested {
    let folder = tempfile::tempdir()?;
    let (statistics, report) = (folder.path().join("stats"), folder.path().join("report"));
    let to = |option: &str, path: &std::path::Path| format!("--{option}=json:{}", path.display());
    let options = [to("stats", &statistics), to("report", &report)];
    let traps = wasm("wat", "traps");
    // What is there is older.
    fs::write(&statistics, "old\nold\n")?;
    let output = gpu_run_on("cpu")
        .args(&options)
        .args(["--invoke", "divide_by_zero", &traps])
        .output()?;
    ends(&output, 134)?;
    expect(output.stderr.is_empty(), "stderr is the program's", &output)?;
    let (stats, fault) = (object(&statistics)?, object(&report)?);
    expect(
        stats["schema"] == 1 && stats["run_ms"].is_f64() && fault["schema"] == 1,
        "both have a schema",
        &output,
    )?;
    expect(
        fault["kind"] == "trap" && fault["exit_code"] == 134,
        "the report",
        &output,
    )?;
    // A run that ends well leaves no old report.
    let output = gpu_run_on("cpu")
        .args(&options)
        .args(["--invoke", "fib", &wasm("wat", "fib"), "5"])
        .output()?;
    ends(&output, 0)?;
    expect(fs::read(&report)?.is_empty(), "nothing failed", &output)?;
    // One that does not begin is reported there, too.
    let output = gpu_run_on("cpu").args(&options).arg("no-such-file.wasm").output()?;
    ends(&output, 2)?;
    let fault = object(&report)?;
    expect(
        fault["kind"] == "error" && output.stderr.is_empty(),
        "the report",
        &output,
    )?;
    let nowhere = to("report", &folder.path().join("no/such/folder"));
    let output = gpu_run_on("cpu").args([&nowhere, "x.wasm"]).output()?;
    ends(&output, 2)?;
    says(&output, &output.stderr, &["cannot write the file of --report"])?;
    // The form on stderr has a schema as well.
    let output = run_on("cpu", ["--report=json", "--invoke", "divide_by_zero", &traps]);
    says(&output, &output.stderr, &["{\"schema\":1,\"kind\":\"trap\""])
}

/// Numbers that people and programs can read, and none of what did not happen.
fn statistics() -> Tested {
    let fib = wasm("wat", "fib");
    let output = run_on("cpu", ["--stats=json", "--invoke", "fib", &fib, "5"]);
    let object = stats(&output)?;
    for absent in ["heap", "requests", "debug", "compile_ms", "cubin_bytes", "cached"] {
        expect(object.get(absent).is_none(), &format!("no {absent}"), &output)?;
    }
    for key in ["run_ms", "ready_ms", "load_ms"] {
        let number = object[key].as_f64().ok_or("a number")?;
        let rounded = (number * 1e3).round() / 1e3;
        expect(number > 0.0 && number == rounded, "three decimals", &output)?;
    }
    let output = run_on("cpu", ["--stats=json", &wasm("release", "wordcount")]);
    expect(
        stats(&output)?["heap"]["allocated"].as_u64() > Some(0),
        "what did happen",
        &output,
    )?;
    let lines = |option: &str| {
        let output = run_on("cpu", [option, "--invoke", "fib", &fib, "5"]);
        text(&output.stderr).lines().count()
    };
    let (few, full) = (lines("--stats"), lines("--stats=full"));
    if few != 5 || full <= few || lines("--stats=text") != 5 {
        return Err(format!("{few} lines, and {full}").into());
    }
    let output = run_on("cpu", ["--stats=much", &fib]);
    ends(&output, 2)?;
    says(&output, &output.stderr, &["text, full, json or json:FILE"])
}

fn usage_as_json() -> Tested {
    for args in [
        &["--report", "json", "--no-such-option", "x.wasm"][..],
        &["run", "--threads", "none", "--report=json", "x.wasm"],
        &["--report=json"],
        &["--report=json", "inspct"],
    ] {
        let output = run(args);
        ends(&output, 2)?;
        let object: Value = serde_json::from_slice(&output.stderr)?;
        expect(
            object["schema"] == 1 && object["kind"] == "error" && object["exit_code"] == 2,
            "an object",
            &output,
        )?;
        let message = object["message"].as_str().ok_or("a message")?;
        expect(
            !message.is_empty() && !message.contains('\n') && !message.starts_with("error"),
            "a line",
            &output,
        )?;
    }
    let output = gpu_run()
        .env("GPU_RUN_LOG", "loud")
        .args(["--report=json", "x.wasm"])
        .output()?;
    let object: Value = serde_json::from_slice(&output.stderr)?;
    expect(object["kind"] == "error", "an object", &output)?;
    // What belongs to the program is no option.
    let output = run(["--no-such-option"]);
    says(&output, &output.stderr, &["error: unexpected argument"])
}

fn module_from_stdin() -> Tested {
    use std::io::Write;
    let give = |args: &[&str], bytes: &[u8]| -> Result<Output, Failed> {
        let mut command = gpu_run();
        let mut child = command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        child.stdin.take().ok_or("it is piped")?.write_all(bytes)?;
        Ok(child.wait_with_output()?)
    };
    let wat = br#"(module (func (export "five") (result i32) (i32.const 5)))"#;
    let output = give(&["--device", "cpu", "--invoke", "five", "-"], wat)?;
    expect(text(&output.stdout) == "5\n", "text runs", &output)?;
    let output = give(&["inspect", "-"], wat)?;
    says(&output, &output.stdout, &["function five () -> (i32)"])?;
    // The threads of a kernel are looked at once more.
    let spmd = fs::read(wasm("release", "spmd"))?;
    let output = give(&["--device", "cpu", "--threads", "4", "-"], &spmd)?;
    says(&output, &output.stdout, &["sum = 6"])?;
    // Its own stdin is empty.
    let lines = fs::read(wasm("wasi", "stdin_lines"))?;
    let output = give(&["--device", "cpu", "-"], &lines)?;
    let empty = gpu_run_on("cpu")
        .arg(wasm("wasi", "stdin_lines"))
        .stdin(Stdio::null())
        .output()?;
    expect(
        output.stdout == empty.stdout && output.status.code() == empty.status.code(),
        "it reads nothing",
        &output,
    )?;
    let output = give(&["--device", "cpu", "-"], b"")?;
    ends(&output, 2)
}

fn completions_and_manual() -> Tested {
    for (shell, wanted) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef gpu-run"),
        ("fish", "complete -c gpu-run"),
    ] {
        let output = run(["completions", shell]);
        ends(&output, 0)?;
        says(&output, &output.stdout, &[wanted, "threads", "inspect"])?;
    }
    let output = run(["completions", "dos"]);
    ends(&output, 2)?;
    let output = run(["man"]);
    ends(&output, 0)?;
    says(&output, &output.stdout, &[".TH gpu-run 1", "\\-\\-threads"])?;
    let folder = tempfile::tempdir()?;
    let pages = folder.path().join("man1");
    let output = gpu_run().arg("man").arg(&pages).output()?;
    ends(&output, 0)?;
    for page in ["gpu-run.1", "gpu-run-run.1", "gpu-run-inspect.1"] {
        expect(pages.join(page).exists(), page, &output)?;
    }
    Ok(())
}

fn color() -> Tested {
    let go = |options: &[&str], variables: &[(&str, &str)]| {
        gpu_run()
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .envs(variables.iter().copied())
            .args(options)
            .arg("no-such-file.wasm")
            .output()
    };
    for (options, variables, colored) in [
        (&[][..], &[][..], false),
        (&["--color", "always"], &[("NO_COLOR", "1")], true),
        (&["--color=never"], &[("CLICOLOR_FORCE", "1")], false),
        (&["--color=auto"], &[("CLICOLOR_FORCE", "1")], true),
        // Of the command line itself, too.
        (&["--color=always", "--no-such-option"], &[], true),
    ] {
        let output = go(options, variables)?;
        ends(&output, 2)?;
        expect(
            output.stderr.contains(&0x1b) == colored,
            &format!("colours: {colored}"),
            &output,
        )?;
    }
    Ok(())
}
