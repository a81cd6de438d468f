//! The functions of the runtime as its own PTX defines them: what compiled code declares, and what each call of one
//! must look like. A signature stands once, in `kernel/runtime.cpp`.

use std::fmt::Write;
use std::sync::LazyLock;

/// The runtime that compiled functions call; see `kernel/runtime.cpp`.
pub const RUNTIME: &str = include_str!("../../kernel/generated/runtime.ptx");

/// The interpreter for functions that are not compiled; see `kernel/mixed.cpp`.
pub const MIXED: &str = include_str!("../../kernel/generated/mixed.ptx");

/// A function of the runtime. Types are those of PTX without their dot: `b32`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature<'a> {
    /// Its symbol.
    pub name: &'a str,
    /// What it returns.
    pub result: Option<&'a str>,
    /// What it takes, in order.
    pub params: Vec<&'a str>,
    /// Whether it returns. After a call of one that does not the assembler needs no way back, nor barriers for the lanes that
    /// would come.
    pub returns: bool,
}

impl Signature<'_> {
    /// Whether a call with arguments of these types, for a result of this type, is one of this function.
    ///
    /// # Errors
    ///
    /// The text says what the function is like, and what the call.
    pub fn check(&self, arguments: &[&str], result: Option<&str>) -> Result<(), String> {
        match self.params == arguments && self.result == result {
            true => Ok(()),
            false => Err(format!(
                "{} takes {:?} and returns {:?}; a call gives it {arguments:?} for {result:?}",
                self.name, self.params, self.result
            )),
        }
    }

    /// Its declaration in a module that calls it.
    fn declare(&self, out: &mut String) {
        let result = self.result.map(|ty| format!("(.param .{ty} result) "));
        let params: Vec<_> = self
            .params
            .iter()
            .enumerate()
            .map(|(i, ty)| format!(".param .{ty} p{i}"))
            .collect();
        _ = writeln!(
            out,
            ".extern .func {}{}({}){};",
            result.unwrap_or_default(),
            self.name,
            params.join(", "),
            if self.returns { "" } else { " .noreturn" }
        );
    }
}

/// The types in a list of parameters: `.param .b64 name, .param .b32 name`.
fn types(list: &str) -> Vec<&str> {
    let mut words = list.split_whitespace();
    let mut types = Vec::new();
    while let Some(word) = words.next() {
        if word == ".param" {
            types.extend(words.next().and_then(|ty| ty.strip_prefix('.')));
        }
    }
    types
}

/// The functions that PTX defines for other modules.
pub fn signatures(ptx: &str) -> Vec<Signature<'_>> {
    let heads = ptx.split("\n.visible .func").skip(1);
    let signature = |text| -> Option<Signature> {
        let text = str::trim_start(text);
        let (result, text) = match text.strip_prefix('(') {
            Some(rest) => rest.split_once(')')?,
            None => ("", text),
        };
        let (name, rest) = text.split_once('(')?;
        let (params, rest) = rest.split_once(')')?;
        Some(Signature {
            name: name.trim(),
            result: types(result).first().copied(),
            params: types(params),
            returns: !rest.trim_start().starts_with(".noreturn"),
        })
    };
    heads.filter_map(signature).collect()
}

static SIGNATURES: LazyLock<Vec<Signature>> = LazyLock::new(|| {
    let texts = [RUNTIME, MIXED];
    texts.into_iter().flat_map(signatures).collect()
});

/// What every module begins with that calls the runtime.
pub(super) static DECLARATIONS: LazyLock<String> = LazyLock::new(|| {
    let mut out = String::new();
    SIGNATURES.iter().for_each(|signature| signature.declare(&mut out));
    out
});

/// The function of this name, which the runtime must have.
pub(super) fn signature(name: &str) -> &'static Signature<'static> {
    let found = SIGNATURES.iter().find(|signature| signature.name == name);
    found.unwrap_or_else(|| panic!("the runtime has no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_with_and_without_a_result() {
        let ptx = "\n.func inner(\n\t.param .b32 x\n)\n{}\n.visible .func a()\n.noreturn\n{}\n\
                   .visible .func  (.param .b32 func_retval0) b(\n\t.param .b64 b_param_0,\n\t.param .b32 b_param_1\n)\n{}";
        let [a, b] = &signatures(ptx)[..] else {
            panic!("two functions are visible")
        };
        assert_eq!(
            (a.name, a.result, &a.params[..], a.returns),
            ("a", None, &[][..], false)
        );
        assert_eq!(
            (b.name, b.result, &b.params[..], b.returns),
            ("b", Some("b32"), &["b64", "b32"][..], true)
        );
        let mut declarations = String::new();
        a.declare(&mut declarations);
        b.declare(&mut declarations);
        assert_eq!(
            declarations,
            ".extern .func a() .noreturn;\n.extern .func (.param .b32 result) b(.param .b64 p0, .param .b32 p1);\n"
        );
    }

    #[test]
    fn a_call_has_the_types_of_the_function() {
        let function = Signature {
            name: "f",
            result: None,
            params: vec!["b64", "b32"],
            returns: true,
        };
        assert_eq!(function.check(&["b64", "b32"], None), Ok(()));
        for (arguments, result) in [
            (&["b64"][..], None),
            (&["b32", "b64"], None),
            (&["b64", "b32"], Some("b32")),
        ] {
            assert!(function.check(arguments, result).is_err(), "{arguments:?} {result:?}");
        }
    }
}
