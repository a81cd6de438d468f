use wasmparser::{Operator, Validator, WasmFeatures};

use super::*;
use crate::module::{Body, Instr, Origin};

const TAGS: &str = "(tag $a (param i32)) (tag $b (param i64 i32)) (tag $c)";

/// What WAT and the standard form need, and nothing of the legacy form.
fn features() -> WasmFeatures {
    WasmFeatures::WASM2 | WasmFeatures::EXCEPTIONS
}

fn assemble(funcs: &str) -> Vec<u8> {
    wat::parse_str(format!("(module {TAGS} {funcs})")).expect("test input")
}

/// The instructions of the first function, and its locals, after the pass; checks that the module
/// is valid in the standard form.
fn replaced(funcs: &str) -> (Vec<String>, Vec<(u32, ValType)>) {
    let bytes = assemble(funcs);
    let tables = BrTables::default();
    let mut module = Module::parse(&bytes).expect("a valid module");
    replace_legacy_exceptions(&mut module, &tables);
    let encoded = module.encode();
    Validator::new_with_features(features())
        .validate_all(&encoded)
        .unwrap_or_else(|error| panic!("{error}: {funcs}"));
    let again = Module::parse(&encoded).expect("valid, as was seen");
    (shown(&again), again.funcs[0].locals())
}

/// Instructions with their block types spelled out: the indices of types may differ.
fn shown(module: &Module<'_>) -> Vec<String> {
    let shown = |instr: Instr<'_>| {
        let blockty = match &instr.op {
            Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => Some(*blockty),
            Operator::TryTable { try_table } => Some(try_table.ty),
            _ => None,
        };
        let index = match blockty {
            Some(BlockType::FuncType(index)) => index,
            _ => return format!("{:?}", instr.op),
        };
        let plain = format!("{:?}", instr.op);
        plain.replace(
            &format!("FuncType({index})"),
            &format!("{:?}", module.types[index as usize]),
        )
    };
    module.funcs[0].instrs().map(shown).collect()
}

/// The function `legacy` becomes the function `standard`.
fn becomes(legacy: &str, standard: &str) {
    let (got, locals) = replaced(legacy);
    let bytes = assemble(standard);
    let want = Module::parse(&bytes).expect("a valid module");
    assert_eq!(got, shown(&want));
    assert_eq!(locals, want.funcs[0].locals());
}

#[test]
fn handlers_become_blocks() {
    becomes(
        "(func (param i32) (result i32)
           try (result i32) local.get 0 throw $a
           catch $a i32.const 1 i32.add
           catch $b br 0
           catch_all i32.const 2 br 1 end)",
        "(func (param i32) (result i32)
           block (result i32)
             block
               block (result i64 i32)
                 block (result i32)
                   try_table (result i32) (catch $a 0) (catch $b 1) (catch_all 2)
                     local.get 0 throw $a
                   end
                   br 3
                 end
                 i32.const 1 i32.add
                 br 2
               end
               br 1
               br 1
             end
             i32.const 2 br 1
           end)",
    );
}

#[test]
fn parameters_go_through_every_block() {
    becomes(
        "(func (param i32 i64) local.get 0 local.get 1
           try (param i32 i64) drop drop
           catch $a drop
           catch_all end)",
        "(func (param i32 i64) local.get 0 local.get 1
           block (param i32 i64)
             block (param i32 i64)
               block (param i32 i64) (result i32)
                 try_table (param i32 i64) (catch $a 0) (catch_all 1) drop drop end
                 br 2
               end
               drop
               br 1
             end
           end)",
    );
}

#[test]
fn without_handlers_it_is_a_block() {
    becomes(
        "(func try (result i32) i32.const 1 br 0 end drop)",
        "(func block (result i32) i32.const 1 br 0 end drop)",
    );
}

#[test]
fn only_rethrown_exceptions_are_kept() {
    becomes(
        "(func (local i64)
           try throw $c
           catch $a drop
           catch $c block rethrow 1 end
           catch_all rethrow 0 end)",
        "(func (local i64 exnref)
           block
             block (result exnref)
               block (result exnref)
                 block (result i32)
                   try_table (catch $a 0) (catch_ref $c 1) (catch_all_ref 2) throw $c end
                   br 3
                 end
                 drop
                 br 2
               end
               local.set 1
               block local.get 1 throw_ref end
               br 1
             end
             local.set 1
             local.get 1 throw_ref
           end)",
    );
}

#[test]
fn handlers_in_handlers_keep_apart() {
    let (instrs, locals) = replaced(
        "(func
           try catch_all
             try catch_all
               try catch_all rethrow 1 end
             end
             try catch_all rethrow 0 end
             rethrow 0
           end
           try catch_all rethrow 0 end)",
    );
    assert_eq!(locals, [(2, ValType::EXNREF)]);
    let uses = |op: &str| -> Vec<String> {
        let uses = instrs.iter().filter(|instr| instr.starts_with(op));
        uses.map(|instr| instr.chars().filter(char::is_ascii_digit).collect())
            .collect()
    };
    assert_eq!(uses("LocalSet"), ["0", "1", "1", "0"]);
    assert_eq!(uses("LocalGet"), ["1", "1", "0", "0"]);
}

#[test]
fn delegate_to_the_next_handlers_is_a_block() {
    becomes(
        "(func try $t block try call 0 delegate $t end catch_all end)",
        "(func block block try_table (catch_all 0) block block call 0 end end end br 1 end end)",
    );
    becomes(
        "(func block try call 0 delegate 1 end)",
        "(func block block call 0 end end)",
    );
    // In its own handlers, a `try` is no target: what is outside of it is.
    becomes(
        "(func try $t catch_all try call 0 delegate $t end)",
        "(func block block try_table (catch_all 0) end br 1 end block call 0 end end)",
    );
}

#[test]
fn delegate_past_handlers_lands_in_the_target() {
    becomes(
        "(func (param i32)
           local.get 0
           try $far (param i32) (result i32)
             try $near try i32.const 1 br $far br_if 0 call 0 delegate $far catch_all end
           catch $a end
           drop)",
        "(func (param i32)
           local.get 0
           block (param i32) (result i32)
             block (param i32) (result i32)
               try_table (param i32) (result i32) (catch $a 0)
                 block (param i32) (result exnref)
                   block block try_table (catch_all 0)
                     try_table (catch_all_ref 3) i32.const 1 br 7 br_if 0 call 0 end
                   end br 1 end end
                   br 3
                 end
                 throw_ref
               end
               br 1
             end
           end
           drop)",
    );
}

#[test]
fn delegate_out_of_the_function_lands_around_its_body() {
    becomes(
        "(func (result i32)
           try (result i32) try (result i32) i32.const 1 br 2 delegate 1 catch_all i32.const 2 end)",
        "(func (result i32)
           block (result exnref)
             block (result i32)
               block
                 try_table (result i32) (catch_all 0)
                   try_table (result i32) (catch_all_ref 3) i32.const 1 br 5 end
                 end
                 br 1
               end
               i32.const 2
             end
             return
           end
           throw_ref)",
    );
}

#[test]
fn delegation_is_followed() {
    // To a `delegate` in turn, and to a `try` without handlers.
    let direct = replaced("(func try $t try try call 0 delegate $t catch_all end catch_all end)");
    for indirect in [
        "(func try $t try $d try call 0 delegate $d delegate $t catch_all end)",
        "(func try $t try $d try call 0 delegate $d end catch_all end)",
    ] {
        let (instrs, _) = replaced(indirect);
        assert!(!instrs.contains(&"ThrowRef".to_owned()), "{indirect}: {instrs:?}");
    }
    let landed = |instrs: &[String]| instrs.iter().filter(|instr| *instr == "ThrowRef").count();
    assert_eq!(landed(&direct.0), 1);
    let (instrs, _) = replaced(
        "(func try $t try try $d try try call 0 delegate $d catch_all end delegate $t catch_all end catch_all end)",
    );
    assert_eq!(landed(&instrs), 1, "both land at $t: {instrs:?}");
}

#[test]
fn a_mix_with_the_standard_form_works() {
    becomes(
        "(func block $out
           try_table $t (catch_all $out) try try call 0 delegate $t catch_all end end end)",
        "(func block $out
           try_table (catch_all $out)
             block (result exnref)
               block block try_table (catch_all 0) try_table (catch_all_ref 3) call 0 end end br 1 end end
               br 1
             end
             throw_ref
           end
         end)",
    );
}

#[test]
fn branch_tables_follow() {
    becomes(
        "(func (param i32)
           block try local.get 0 br_table 0 1 2 1 catch_all
             block local.get 0 br_table 0 0 end
             local.get 0 br_table 2 0 1 end end)",
        "(func (param i32)
           block block block try_table (catch_all 0) local.get 0 br_table 2 3 4 3 end br 1 end
             block local.get 0 br_table 0 0 end
             local.get 0 br_table 2 0 1 end end)",
    );
    // Depths that take two bytes.
    let (open, close) = ("block ".repeat(200), "end ".repeat(200));
    becomes(
        &format!("(func (param i32) {open} try local.get 0 br_table 150 127 128 200 catch_all end {close})"),
        &format!(
            "(func (param i32) {open} block block try_table (catch_all 0) local.get 0 br_table 152 129 130 202 end
             br 1 end end {close})"
        ),
    );
}

#[test]
fn unreachable_code_stays_valid() {
    for func in [
        "(func (result i32) try (result i32) unreachable i32.add catch $a rethrow 0 i64.add drop end)",
        "(func throw $c try (param i32) (result i64) drop br 1 catch_all unreachable end drop)",
        "(func (result i32) try (result i32) try (param i32) (result i32) delegate 1 br 0 catch $b unreachable end)"
            .replace("try (param", "unreachable try (param")
            .as_str(),
        "(func try return catch_all br 0 rethrow 0 try delegate 1 end)",
    ] {
        replaced(func);
    }
}

#[test]
fn new_instructions_stand_where_the_old_ones_stood() {
    let bytes = assemble("(func try try call 0 delegate 1 catch $a drop catch_all rethrow 0 end) (func call 0)");
    let tables = BrTables::default();
    let mut module = Module::parse(&bytes).expect("a valid module");
    let old: Vec<Origin> = module.funcs[0].instrs().map(|instr| instr.origin).collect();
    replace_legacy_exceptions(&mut module, &tables);
    let new: Vec<Origin> = module.funcs[0].instrs().map(|instr| instr.origin).collect();
    assert!(new.is_sorted());
    assert!(new.iter().all(|origin| old.contains(origin)));
    assert!(matches!(module.funcs[1].body, Body::Raw(_)), "nothing to do there");
}

#[test]
fn other_modules_stay_as_they_are() {
    let bytes = assemble("(func (param i32) block br 0 end i32.const 6 drop throw $c)");
    let tables = BrTables::default();
    let mut module = Module::parse(&bytes).expect("a valid module");
    replace_legacy_exceptions(&mut module, &tables);
    assert!(matches!(module.funcs[0].body, Body::Raw(_)));
    assert_eq!(module.types.len(), 3);
}

#[test]
fn deep_nesting_takes_linear_room() {
    let depth = 2_000;
    let (open, close) = ("try ".repeat(depth), "catch_all rethrow 0 end ".repeat(depth));
    let (instrs, _) = replaced(&format!("(func {open} try call 0 delegate {depth} {close})"));
    assert!(instrs.len() < 12 * depth, "{}", instrs.len());
}
