use super::*;

fn error(wat: &str) -> ParseError {
    let bytes = wat::parse_str(wat).expect("test input");
    Module::parse(&bytes).expect_err("the module should be refused")
}

#[test]
fn sections_are_read() {
    let bytes = wat::parse_str(
        r#"(module $m
            (import "e" "f" (func $f (param i32)))
            (import "e" "g" (global $g i32))
            (memory 1 2) (table 3 funcref) (global (mut i64) (i64.const 7))
            (elem (i32.const 1) $f $h)
            (data (i32.const 8) "hello")
            (func $h (export "h") (param i32) (local f32 f32) local.get 0 call $f)
            (start $s) (func $s))"#,
    )
    .expect("test input");
    let module = Module::parse(&bytes).expect("a valid module");
    assert_eq!(module.func_count(), 3);
    assert_eq!(module.start, Some(2));
    assert_eq!(module.func_display_name(1), "h");
    assert_eq!(module.name.as_deref(), Some("m"));
    assert_eq!(module.funcs[0].locals(), [(2, wasmparser::ValType::F32)]);
    assert_eq!(module.funcs[0].instrs().count(), 3);
    assert_eq!(module.globals[0].init.as_integer(), Some(7));
    assert_eq!(&*module.data[0].bytes, b"hello");
    let ElementItems::Functions(functions) = &module.elements[0].items else {
        panic!("functions")
    };
    assert_eq!(functions, &[0, 1]);
}

#[test]
fn lookalikes_are_named() {
    for (bytes, word) in [
        (&b"\x7fELF\x02"[..], "ELF"),
        (b"(module)", "text"),
        (b"hello", "text file"),
        (b"", "empty"),
        (b"\x00\xff\x00\xff", "begins with"),
    ] {
        let error = Module::parse(bytes).expect_err("not wasm");
        assert!(matches!(error, ParseError::NotWasm { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    let component = Module::parse(b"\0asm\x0d\0\x01\0").expect_err("component");
    assert!(component.to_string().contains("component model"), "{component}");
}

#[test]
fn errors_name_the_function_and_offset() {
    let found = error("(module (func $good) (func $bad (result i32) i64.const 1))");
    let ParseError::Invalid { location, .. } = &found else {
        panic!("{found}")
    };
    assert_eq!(location.func, Some((1, Some("bad".to_owned()))));
    assert!(found.offset() > 8);
}

#[test]
fn proposals_are_named() {
    for (wat, word) in [
        ("(module (type (struct (field i32))))", "GC"),
        ("(module (func (param (ref func))))", "typed function references"),
        ("(module (memory 1 (pagesize 1)))", "custom-page-sizes"),
    ] {
        let found = error(wat);
        assert!(matches!(found, ParseError::UnsupportedProposal { .. }), "{found}");
        assert!(found.to_string().contains(word), "{found}");
    }
}

#[test]
fn a_file_cut_anywhere_is_refused_without_panic() {
    let bytes = wat::parse_str(
        r#"(module (import "e" "f" (func $f)) (memory 1) (table 1 funcref)
            (func $a (export "a") call $f block br 0 end) (elem (i32.const 0) $a)
            (data (i32.const 0) "abc"))"#,
    )
    .expect("test input");
    assert!(Module::parse(&bytes).is_ok());
    for end in 0..bytes.len() {
        let _ = Module::parse(&bytes[..end]);
        let mut flipped = bytes.clone();
        flipped[end] ^= 0x55;
        let _ = Module::parse(&flipped);
    }
    let error = Module::parse(&bytes[..20]).expect_err("cut off");
    assert!(matches!(error, ParseError::Truncated { .. }), "{error}");
}
