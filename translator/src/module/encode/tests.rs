use crate::module::{Instr, Module, ORIGINS_SECTION};
use wasmparser::{BinaryReader, Operator, Validator, WasmFeatures};

fn valid(bytes: &[u8]) {
    let features = WasmFeatures::all();
    Validator::new_with_features(features)
        .validate_all(bytes)
        .expect("valid output");
}

const WAT: &str = r#"(module $m
    (import "e" "f" (func $f (param i32) (result i64 f32)))
    (import "e" "mem" (memory 1))
    (table $t 3 10 funcref) (table 2 externref)
    (global $g (mut i64) (i64.const 7)) (global funcref (ref.func $h))
    (tag $tag (param i32))
    (elem (i32.const 1) $f $h) (elem declare func $h) (elem funcref (ref.null func) (ref.func $h))
    (data (i32.const 8) "hello") (data $p "passive")
    (func $h (export "h") (param i32) (local f32 i32 i32)
        (block (loop (br_table 0 1 0 (local.get 0))))
        (drop (drop (call $f (i32.const 1))))
        (memory.init $p (i32.const 0) (i32.const 0) (i32.const 2))
        (call_indirect $t (type 0) (i32.const 1) (i32.const 0)) drop drop
        (v128.store offset=16 (i32.const 0) (v128.const i64x2 1 2))
        (i32.atomic.store (i32.const 0) (i32.const 0)))
    (start $s) (func $s))"#;

#[test]
fn unedited_modules_round_trip() {
    let bytes = wat::parse_str(WAT).expect("test input");
    let module = Module::parse(&bytes).expect("a valid module");
    let once = module.encode();
    valid(&once);
    let again = Module::parse(&once).expect("a valid module");
    assert_eq!(once, again.encode());
    assert!(
        again.customs.is_empty(),
        "nothing moved, so no origins: {:?}",
        again.customs
    );
    let ops = |m: &Module| format!("{:?}", m.funcs[0].instrs().map(|i| i.op).collect::<Vec<_>>());
    assert_eq!(ops(&module), ops(&again));
}

#[test]
fn origins_of_edited_bodies_are_written() {
    let bytes = wat::parse_str(WAT).expect("test input");
    let mut module = Module::parse(&bytes).expect("a valid module");
    let (_, instrs) = module.funcs[0].edit();
    instrs.insert(0, Instr::synthetic(Operator::Nop));
    let expected: Vec<_> = instrs.iter().map(|instr| instr.origin.offset).collect();
    let encoded = module.encode();
    valid(&encoded);
    let again = Module::parse(&encoded).expect("a valid module");
    let section = again
        .customs
        .iter()
        .find(|c| c.name == ORIGINS_SECTION)
        .expect("origins");
    let mut reader = BinaryReader::new(section.bytes, 0);
    let mut next = || reader.read_var_u32().expect("origins");
    assert_eq!([next(), next(), next()], [1, 0, 2]); // version, sites, functions
    assert_eq!([next(), next(), next()], [2, 1, expected.len() as u32]); // $h is function 1
    let mut offset = 0;
    for want in expected {
        let flags = reader.read_var_u32().expect("flags");
        if flags == 1 {
            assert_eq!(want, u32::MAX);
            continue;
        }
        offset += reader.read_var_i64().expect("offset");
        assert_eq!(offset, i64::from(want));
    }
    assert_eq!(reader.read_var_u32().expect("function"), 3);
    assert_eq!(reader.read_var_u32().expect("kind"), 0);
}
