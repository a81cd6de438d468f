use std::io::Write as _;
use std::process::{Command, Stdio};

use gpu_run_bytecode::isa::{Class, OpInfo, Operand, TABLE, Ty};

use super::*;

fn of(name: &str) -> &'static Template {
    template(name).unwrap_or_else(|| panic!("no template {name}"))
}

fn emitted(name: &str, args: &[&str], results: &[&str]) -> String {
    let mut out = String::new();
    of(name).emit(&mut out, 7, args, results);
    // Indentation is the reader's.
    out.replace('\t', "")
}

/// Registers of an operand.
fn widths(info: &OpInfo, operand: Operand) -> Vec<Width> {
    let wide = |operand: &Operand| matches!(operand, Operand::Src(ty) if ty.units() == 2);
    match operand {
        Operand::Def(ty) | Operand::Src(ty) => match ty {
            Ty::V128 => vec![Width::B32; 4],
            ty if ty.units() == 2 => vec![Width::B64],
            _ => vec![Width::B32],
        },
        Operand::Imm16 if info.operands.iter().any(wide) => vec![Width::B64],
        _ => vec![Width::B32],
    }
}

#[test]
fn every_pure_row_has_a_template_of_its_widths() {
    for info in TABLE
        .iter()
        .filter(|info| matches!(info.class, Class::Pure | Class::Traps))
    {
        let template = of(info.name);
        let params: Vec<_> = info.operands[1..]
            .iter()
            .flat_map(|operand| widths(info, *operand))
            .collect();
        let mut results = widths(info, info.operands[0]);
        if info.class == Class::Traps {
            results.push(Width::B32);
        }
        assert_eq!(
            (&template.params, &template.results),
            (&params, &results),
            "{}",
            info.name
        );
    }
}

#[test]
fn every_branch_has_its_condition_in_a_predicate() {
    for info in TABLE.iter().filter(|info| info.class == Class::Branch) {
        let name = info
            .name
            .strip_prefix("br_not_")
            .unwrap_or(info.name.trim_start_matches("br_"));
        assert!(of(name).predicate(), "{name}");
        assert_eq!(of(name).results, [Width::B32], "{name}");
    }
    assert!(!of("i32.add").predicate());
    assert!(!of("i32.add").emit_predicate(&mut String::new(), 0, &["%a", "%b"], "%p"));
}

#[test]
fn names_that_are_not_there_have_none() {
    for name in ["", "i32.nop", "lazy_i32_add", "lazy_f32_abs", "trap"] {
        assert!(template(name).is_none(), "{name}");
    }
}

#[test]
fn simple_opcodes_are_one_instruction() {
    assert_eq!(emitted("i32.add_imm", &["%a", "-5"], &["%r"]), "add.s32 %r, -5, %a;\n");
    assert_eq!(emitted("copy32", &["%a"], &["%r"]), "mov.b32 %r, %a;\n");
    assert_eq!(
        emitted("lazy_f64_mul", &["%a", "%b"], &["%r"]),
        "mul.rn.f64 %r, %a, %b;\n"
    );
    let mut out = String::new();
    assert!(of("i32.lt_s").emit_predicate(&mut out, 7, &["%a", "10"], "%p"));
    assert_eq!(out, "\tsetp.lt.s32 %p, %a, 10;\n");
}

#[test]
fn floats_take_numbers_in_registers() {
    let text = emitted("lazy_f32_add", &["%a", "1065353216"], &["%r"]);
    assert_eq!(
        text,
        "{\n.reg .b32 %xa1; mov.b32 %xa1, 1065353216;\nadd.rn.f32 %r, %a, %xa1;\n}\n"
    );
}

/// A result may be an argument's register, if that is read before.
#[test]
fn arguments_are_copied_where_results_would_overwrite_them() {
    let args = ["%a", "%b", "%c", "%d", "%e", "%f", "%g", "%h"];
    let apart = emitted("i8x16.swizzle", &args, &["%r", "%s", "%t", "%u"]);
    assert!(!apart.contains("%xa"), "{apart}");
    let same = emitted("i8x16.swizzle", &args, &["%a", "%b", "%c", "%d"]);
    let (copies, rest) = same.split_at(same.rfind("mov.b32 %xa7, %h;").expect("the last copy") + 17);
    assert!(copies.contains("mov.b32 %xa0, %a;") && !rest.contains("%e"), "{same}");
    assert_eq!(emitted("i32.add", &["%a", "%b"], &["%a"]), "add.s32 %a, %b, %a;\n");
}

/// A module whose function has an instance of every template, for each kind of operands.
fn all_instances() -> String {
    let mut module = PURE.split(".visible").next().expect("a head").to_owned();
    module += ".visible .func all(.param .b64 at) {\n.reg .pred %p; .reg .b32 %r<32>; .reg .b64 %d<32>;\n";
    module += "ld.param.b64 %d0, [at];\n";
    let mut names: Vec<_> = FUNCTIONS.keys().collect();
    names.sort();
    let mut unique = 0;
    for name in names {
        let template = of(name);
        let register = |width: Width, n: usize| match width {
            Width::B32 => format!("%r{n}"),
            Width::B64 => format!("%d{n}"),
        };
        // Registers apart, the same ones for arguments and results, and numbers.
        for (first_result, numbers) in [(16, false), (1, false), (16, true)] {
            let arg = |(n, width): (usize, &Width)| match numbers {
                true => ["1", "-2", "3"][n % 3].to_owned(),
                false => register(*width, n + 1),
            };
            let args: Vec<_> = template.params.iter().enumerate().map(arg).collect();
            let results = template.results.iter().enumerate();
            let results: Vec<_> = results.map(|(n, width)| register(*width, n + first_result)).collect();
            let args: Vec<_> = args.iter().map(String::as_str).collect();
            for (n, width) in template.params.iter().enumerate() {
                let (ty, register) = (width.ptx(), register(*width, n + 1));
                _ = writeln!(module, "ld.volatile.{ty} {register}, [%d0+{}];", 8 * n);
            }
            template.emit(
                &mut module,
                unique,
                &args,
                &results.iter().map(String::as_str).collect::<Vec<_>>(),
            );
            for (result, width) in results.iter().zip(&template.results) {
                _ = writeln!(module, "st.volatile.{} [%d0], {result};", width.ptx());
            }
            if template.emit_predicate(&mut module, unique + 1, &args, "%p") {
                module += "selp.b32 %r31, 1, 0, %p; st.volatile.b32 [%d0], %r31;\n";
            }
            unique += 2;
        }
    }
    module + "ret;\n}\n"
}

#[test]
fn the_assembler_takes_every_instance() {
    let ptxas = std::env::var("PTXAS").unwrap_or_else(|_| "ptxas".into());
    let command = Command::new(&ptxas)
        .args(["-c", "-O0", "-arch=sm_90", "-o", "/dev/null", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match command {
        Ok(child) => child,
        Err(error) => {
            eprintln!("skipped: {ptxas}: {error}; name CUDA's assembler in PTXAS");
            return;
        }
    };
    let mut stdin = child.stdin.take().expect("it is piped");
    // If it ends early, its message says why.
    _ = stdin.write_all(all_instances().as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it was started");
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
}

#[test]
fn a_lanes_slabs_are_asked_in_place() {
    let pair = Width::B64;
    let take = (
        vec![pair, pair],
        "heap_take",
        ["%lists", "%slabs", "%lanes", "%lane", "%a", "%b"],
    );
    let keep = (
        vec![pair],
        "heap_keep",
        ["%slabs", "%lanes", "%records", "%lane", "%a", "%b"],
    );
    for (pairs, name, operands) in [take, keep] {
        let Template { params, results, .. } = of(name);
        let words = vec![Width::B32; 6 - pairs.len()];
        assert_eq!(
            (&params[..], &results[..]),
            (&[pairs, words].concat()[..], &[Width::B32][..]),
            "{name}"
        );
        let text = emitted(name, &operands, &["%r"]);
        assert!(text.contains("ld.global.") && text.contains("st.global."), "{text}");
        assert!(!text.contains("atom.") && !text.contains("bar."), "{text}");
    }
}
