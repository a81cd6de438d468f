//! An inspection for people.

use std::fmt::Write;

use super::{Calls, Frames, Inspection, Memory, Pattern};

/// Columns of a line.
const WIDTH: usize = 100;
/// Recursive functions that are listed by name, at most, per component.
const NAMED: usize = 8;

/// The inspection as text.
pub fn render(of: &Inspection) -> String {
    let mut out = String::new();
    let made_by = match (of.kind, of.made_by.is_empty()) {
        ("program", _) => "gpu-run translate".to_owned(),
        (_, true) => "unknown".to_owned(),
        (_, false) => of.made_by.join(", "),
    };
    wrap(&mut out, "made by: ", &made_by);
    let functions = &of.functions;
    _ = writeln!(
        out,
        "functions: {} defined, {} imported; names: {}",
        functions.defined,
        functions.imported,
        if functions.named { "yes" } else { "no" }
    );
    if let Some(words) = of.words {
        _ = writeln!(out, "bytecode: {words} words");
    }
    if let Some(units) = of.fuel {
        _ = writeln!(out, "fuel: {units} units for each thread");
    }
    if let Some(of) = &of.compiled {
        _ = writeln!(
            out,
            "compiled for a GPU: {} of them in {} unit{}, in about {:.1} s on this machine",
            of.words,
            of.units,
            if of.units == 1 { "" } else { "s" },
            of.expected_seconds
        );
    }
    _ = writeln!(out, "\nimports:");
    for import in &of.imports {
        let served = import.served.map_or_else(String::new, |by| format!(" ({by})"));
        _ = writeln!(out, "  {}.{}{served}", import.module, import.name);
    }
    none(&mut out, of.imports.is_empty());
    _ = writeln!(out, "\nexports:");
    for export in &of.exports {
        _ = writeln!(out, "  {:<8} {} {}", export.kind, export.name, export.r#type);
    }
    none(&mut out, of.exports.is_empty());
    _ = writeln!(out, "\nmemory:");
    of.memories.iter().for_each(|it| memory(&mut out, it));
    none(&mut out, of.memories.is_empty());
    if let Some(it) = &of.calls {
        calls(&mut out, it);
    }
    if let Some(of) = &of.frames {
        _ = writeln!(out, "\nworst case at run time, after rewriting and inlining:");
        of.iter().for_each(|it| frames(&mut out, it));
    }
    match &of.not_rewritten {
        Some(error) => _ = writeln!(out, "\nstd patterns: {error}"),
        None if of.patterns.is_empty() => {}
        None => {
            _ = writeln!(out, "\nstd patterns:");
            of.patterns.iter().for_each(|it| pattern(&mut out, it));
        }
    }
    if let Some(shared) = &of.shared_std {
        out.push('\n');
        let shared = match shared.is_empty() {
            true => "none".to_owned(),
            false => list(shared),
        };
        let head = "locks and thread-locals of std, which a kernel's threads would share: ";
        wrap(&mut out, head, &shared);
    }
    for warning in &of.warnings {
        wrap(&mut out, "  warning: ", warning);
    }
    if let Some(lacks) = of.std_lacks {
        out.push('\n');
        wrap(&mut out, "what std may lack: ", lacks);
    }
    if let Some(why) = &of.refused {
        _ = writeln!(out, "\nwill not run: {why}");
    }
    out
}

fn none(out: &mut String, is_empty: bool) {
    if is_empty {
        out.push_str("  none\n");
    }
}

/// Names with commas between them, of which none is broken.
fn list(names: &[String]) -> String {
    let whole = |name: &String| name.replace(' ', "\u{a0}");
    names.iter().map(whole).collect::<Vec<_>>().join(", ")
}

/// Writes a text after a head, on as many lines as it takes. The lines that follow are indented more than the first.
fn wrap(out: &mut String, head: &str, text: &str) {
    let indent = " ".repeat(head.len() - head.trim_start().len() + 4);
    let options = textwrap::Options::new(WIDTH)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false)
        .initial_indent(head)
        .subsequent_indent(&indent);
    for line in textwrap::wrap(text, options) {
        _ = writeln!(out, "{}", line.replace('\u{a0}', " ").trim_end());
    }
}

fn memory(out: &mut String, of: &Memory) {
    let most = match of.max_pages {
        Some(most) => format!("at most {most} pages"),
        None => "no maximum declared".to_owned(),
    };
    let shared = if of.shared { ", shared" } else { "" };
    _ = writeln!(out, "  {} pages of 64 KiB at the start, {most}{shared}", of.pages);
}

fn calls(out: &mut String, of: &Calls) {
    _ = writeln!(
        out,
        "\ncall graph: {} direct edges; {} functions call through tables",
        of.direct, of.indirect
    );
    let count = match of.recursion.len() {
        0 => "none".to_owned(),
        1 => "1 component".to_owned(),
        more => format!("{more} components"),
    };
    _ = writeln!(out, "recursion: {count}");
    for component in &of.recursion {
        let functions = &component.functions;
        let more = match functions.len() > NAMED {
            true => format!(" and {} more", functions.len() - NAMED),
            false => String::new(),
        };
        wrap(out, "  ", &(list(&functions[..functions.len().min(NAMED)]) + &more));
        if let Some(cycle) = &component.cycle {
            _ = writeln!(out, "    {cycle}");
        }
    }
    for depth in &of.depths {
        let calls = depth.depth.map_or("unbounded".to_owned(), |depth| depth.to_string());
        _ = writeln!(out, "depth of calls from `{}`: {calls}", depth.export);
    }
}

fn frames(out: &mut String, of: &Frames) {
    _ = match (of.depth, of.bytes) {
        (Some(depth), Some(bytes)) => writeln!(out, "  `{}`: depth {depth}, {bytes} bytes of frames", of.export),
        _ => writeln!(out, "  `{}`: unbounded, until --max-call-depth", of.export),
    };
}

fn pattern(out: &mut String, of: &Pattern) {
    let head = format!("  {:<24} ", of.pattern);
    let found = list(&of.found);
    let text = match &of.reason {
        Some(reason) => format!("left alone: {reason} ({found})"),
        None if of.found.is_empty() => of.status.to_owned(),
        None => format!("{}: {found}", of.status),
    };
    wrap(out, &head, &text);
    for it in &of.unproven {
        let text = format!("left alone: `{}`: {}", it.function, it.reason);
        wrap(out, &format!("  {:<24} ", ""), &text);
    }
}
