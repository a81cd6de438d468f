//! NaNs that are made canonical late.

use gpu_run_bytecode::Op;
use gpu_run_bytecode::code::Inst;

use super::{Options, body, compiled, handmade_in};

/// The check saw canonical bits, so the access must not take the GPU's from the register.
#[test]
fn an_address_is_not_a_sum_of_what_may_be_the_gpus_nan() {
    let module = "(module (memory 1) (func (export \"f\") (param i32 i32) (result i32) unreachable))";
    // The first access knows that memory reaches beyond the second one's address, which is unit 4 and 4 bytes.
    let text = |op: Op| {
        let code = [
            Inst::new(op, &[4, 0, 1]),
            Inst::new(Op::I32Load8U, &[6, 4, 16]),
            Inst::new(Op::I32AddImm, &[5, 4, 4]),
            Inst::new(Op::I32Load8U, &[6, 5, 0]),
            Inst::new(Op::Return, &[2, 6, 1]),
        ];
        let options = Options {
            exports: true,
            ..Options::default()
        };
        compiled(&handmade_in(&code, module, &[]), options).text
    };
    let from_unit_4 = |text: &str| {
        let addresses = body(text, 0).lines().filter(|line| line.contains("cvt.u64.u32"));
        addresses.filter(|line| line.ends_with(" %r4;")).count()
    };
    assert_eq!(from_unit_4(&text(Op::I32Add)), 2);
    assert_eq!(from_unit_4(&text(Op::F32Add)), 0);
}
