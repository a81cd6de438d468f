//! Panics of other versions of std.

use super::*;

/// A module whose panics take `message` as their third parameter, or do something else.
fn module(version: &str, body: &str) -> String {
    format!(
        r#"(module {PRINTING_OLD}
            (func $std::panicking::rust_panic_with_hook (param i32 i32 i32 i32 i32) {body}
                (call $rust_panic (local.get 0) (local.get 1))
                unreachable)
            (func $rust_panic (param i32 i32) unreachable)
            (func (export "panics") (call $std::panicking::rust_panic_with_hook
                (i32.const 8) (i32.const 8) (i32.const 8) (i32.const 8) (i32.const 1)))
            {})"#,
        producers("rustc", version)
    )
}

/// `_print` of a std whose `Arguments` are passed by a pointer.
const PRINTING_OLD: &str = r#"
    (memory (export "memory") 1 1) (table 2 2 funcref) (elem (i32.const 1) $f)
    (global $__stack_pointer (mut i32) (i32.const 1024))
    (func $f)
    (func $core::fmt::write (param i32 i32 i32) (result i32) i32.const 0)"#;

/// Makes the `PanicInfo` that hooks are told.
const KEEPS: &str = "(i32.store8 offset=24 (i32.const 0) (local.get 4))
                     (i32.store offset=20 (i32.const 0) (local.get 3))
                     (i32.store offset=16 (i32.const 0) (local.get 2))";

#[test]
fn a_message_beside_the_payload_is_printed() {
    let (encoded, report) = rewritten(&module("1.63.0", KEEPS)).expect("fine");
    assert_eq!(report.status("panic"), Some(&Status::Found));
    assert_eq!(report.warnings, [""; 0]);
    let module = Module::parse(&encoded).expect("a valid module");
    let names: Vec<&str> = module.imports.iter().map(|import| import.name).collect();
    assert!(names.contains(&"panic_exit"), "{names:?}");
    let first = module.imported_funcs.len();
    let prints = (0..module.funcs.len())
        .any(|func| module.func_display_name((first + func) as u32) == "gpu_run::panic::print_location");
    assert!(prints, "the place is printed");
}

#[test]
fn a_panic_of_an_unknown_form_ends_as_one_and_is_warned_of() {
    let elsewhere = KEEPS.replace("offset=20", "offset=28");
    for (version, body) in [("1.63.0", ""), ("1.63.0", &elsewhere), ("1.90.0", KEEPS)] {
        let (encoded, report) = rewritten(&module(version, body)).expect("fine");
        assert_eq!(report.status("panic"), Some(&Status::Found), "{version}");
        let [warning] = &report.warnings[..] else {
            panic!("one warning: {:?}", report.warnings)
        };
        assert!(warning.contains("code 101"), "{warning}");
        let module = Module::parse(&encoded).expect("a valid module");
        assert!(module.imports.iter().any(|import| import.name == "panic_exit"));
    }
}

#[test]
fn a_std_that_looks_like_the_known_one_is_no_reason_to_warn() {
    for version in ["1.95.0", "1.96.0", "1.200.0"] {
        let wat = format!(
            "(module {PRINTING}
                (func $std::panicking::panic_with_hook (param i32 i32 i32 i32 i32)
                    (drop (i32.load offset=24 (local.get 1)))
                    unreachable)
                (func (export \"panics\") (call $std::panicking::panic_with_hook
                    (i32.const 8) (i32.const 8) (i32.const 8) (i32.const 1) (i32.const 0)))
                {})",
            producers("rustc", version)
        );
        let (_, report) = rewritten(&wat).expect("fine");
        assert_eq!(report.status("panic"), Some(&Status::Found), "{version}");
        assert_eq!(report.warnings, [""; 0], "{version}");
    }
}
