use super::*;
use crate::program::{Function, MemoryType, Meta, TableType};

/// A program of one function `(i32, i64) -> (i32)` with the given body; its frame has 8 units,
/// parameters in 0 and 1..3, header in 3..5.
fn program(body: &[Inst]) -> Program {
    let mut code = Vec::new();
    Inst::new(Op::Enter, &[8, 3, 0]).encode(&mut code);
    for inst in body {
        inst.encode(&mut code);
    }
    let ty = FuncType {
        params: vec![ValType::I32, ValType::I64],
        results: vec![ValType::I32],
    };
    let end = code.len() as u32;
    let meta = Meta {
        types: vec![ty],
        functions: vec![Function {
            ty: 0,
            start: 0,
            end,
            calls: vec![],
            tries: vec![],
        }],
        max_frame: 8,
        ..Meta::default()
    };
    Program {
        code,
        meta,
        ..Program::default()
    }
}

fn refusal(body: &[Inst]) -> String {
    verify(&program(body)).expect_err("must be refused").what
}

const RETURN: (Op, [i64; 3]) = (Op::Return, [3, 0, 1]);

fn ret() -> Inst {
    Inst::new(RETURN.0, &RETURN.1)
}

#[test]
fn accepts_good_code() {
    let body = [
        Inst::new(Op::I32Add, &[5, 0, 0]),
        Inst::new(Op::I32WrapI64, &[0, 1]),
        ret(),
    ];
    assert_eq!(verify(&program(&body)), Ok(()));
}

#[test]
fn refuses_registers_outside_the_frame_or_on_its_header() {
    assert!(refusal(&[Inst::new(Op::Copy32, &[8, 0]), ret()]).contains("operand 1"));
    assert!(refusal(&[Inst::new(Op::Copy32, &[4, 0]), ret()]).contains("operand 1"));
    assert!(refusal(&[Inst::new(Op::Copy64, &[2, 1]), ret()]).contains("operand 1"));
    assert!(refusal(&[Inst::new(Op::Zero, &[0, 4]), ret()]).contains("operand 1"));
}

#[test]
fn refuses_reading_what_was_not_written_on_every_path() {
    assert!(refusal(&[Inst::new(Op::Copy32, &[5, 6]), ret()]).contains("unit 6"));
    let one_path = [
        Inst::new(Op::BrIf, &[0, 2]),
        Inst::new(Op::Copy32, &[6, 0]),
        Inst::new(Op::Copy32, &[0, 6]),
        ret(),
    ];
    assert!(refusal(&one_path).contains("unit 6"));
}

#[test]
fn refuses_halves_of_wide_values() {
    assert!(refusal(&[Inst::new(Op::Copy32, &[5, 1]), ret()]).contains("unit 1"));
    let broken = [Inst::new(Op::Copy32, &[2, 0]), Inst::new(Op::Copy64, &[5, 1]), ret()];
    assert!(refusal(&broken).contains("unit 1"));
}

#[test]
fn refuses_bad_targets_and_ends() {
    assert!(refusal(&[Inst::new(Op::Jump, &[0x1000])]).contains("operand 1"));
    assert!(refusal(&[Inst::new(Op::Jump, &[-1])]).contains("operand 1"));
    assert!(refusal(&[Inst::new(Op::Copy32, &[5, 0])]).contains("run off"));
    for op in [Op::ThreadEnd, Op::NativeReturn, Op::Visit] {
        assert!(refusal(&[Inst::new(op, &[]), ret()]).contains("cannot stand"));
    }
}

#[test]
fn a_zeroed_range_may_be_read_at_any_width() {
    let body = [
        Inst::new(Op::Zero, &[5, 3]),
        Inst::new(Op::Copy64, &[1, 5]),
        Inst::new(Op::Copy32, &[0, 7]),
        ret(),
    ];
    assert_eq!(verify(&program(&body)), Ok(()));
}

/// Compiled code has 32-bit values in other registers than 64-bit ones. So a zero that was written as the one is no
/// half of the other.
#[test]
fn refuses_zeros_of_32_bits_as_halves() {
    let zero = |unit: i64| Inst::new(Op::Const32, &[unit, 0]);
    let twice = |write: fn(i64) -> Inst| [Inst::new(Op::Zero, &[5, 1]), write(6), write(7)];
    let read_pair = |before: &[Inst]| refusal(&[before, &[Inst::new(Op::Copy64, &[1, 6]), ret()]].concat());
    assert!(read_pair(&twice(|unit| Inst::new(Op::Const32, &[unit, 0]))).contains("unit 6"));
    assert!(read_pair(&twice(|unit| Inst::new(Op::Copy32, &[unit, 5]))).contains("unit 6"));
    assert!(read_pair(&twice(|unit| Inst::new(Op::Select32, &[unit, 5, 5, 0]))).contains("unit 6"));
    // One of the halves.
    assert!(read_pair(&[Inst::new(Op::Zero, &[6, 1]), zero(7)]).contains("unit 6"));
    assert!(read_pair(&[Inst::new(Op::Zero, &[6, 2]), zero(6)]).contains("unit 6"));
    // As what they were written they may be read.
    let body = [
        zero(6),
        Inst::new(Op::Copy32, &[7, 6]),
        Inst::new(Op::I32Add, &[0, 6, 7]),
        ret(),
    ];
    assert_eq!(verify(&program(&body)), Ok(()));
}

/// A number used as a reference would let a program jump anywhere.
#[test]
fn refuses_numbers_as_references() {
    let with_table = |body: &[Inst]| {
        let mut program = program(body);
        let limits = crate::program::Limits { min: 1, max: None };
        let ty = TableType {
            element: ValType::FuncRef,
            limits,
            wide: false,
        };
        program.meta.tables = vec![crate::program::Table { ty, init: vec![] }];
        verify(&program)
    };
    let set = |value: Inst| {
        [
            Inst::new(Op::Const32, &[5, 0]),
            value,
            Inst::new(Op::TableSet, &[5, 6, 0]),
            ret(),
        ]
    };
    assert_eq!(with_table(&set(Inst::new(Op::RefFunc, &[6, 0]))), Ok(()));
    assert_eq!(with_table(&set(Inst::new(Op::Const32, &[6, 0]))), Ok(()), "null");
    let forged = with_table(&set(Inst::new(Op::Const32, &[6, 77]))).expect_err("must be refused");
    assert!(forged.what.contains("funcref"), "{forged}");
}

/// What the kernel gathers by the table of WASI's functions must be there.
#[test]
fn checks_the_arguments_of_requests() {
    // It takes an i32 and an i64, as the function does.
    let size = crate::wasi::Function::FdFilestatSetSize as i64;
    let (renumber, exit) = (
        crate::wasi::Function::FdRenumber as i64,
        crate::wasi::Function::ProcExit as i64,
    );
    let queue = |number, first, count| Inst::new(Op::RequestQueue, &[number, first, count]);
    let poll = |result, number, first, count| Inst::new(Op::RequestPoll, &[result, number, first, count]);
    assert_eq!(
        verify(&program(&[queue(size, 0, 3), poll(0, size, 0, 3), ret()])),
        Ok(())
    );
    assert!(refusal(&[queue(size, 0, 2), ret()]).contains("does not fit"));
    assert!(refusal(&[poll(0, size, 0, 2), ret()]).contains("does not fit"));
    assert!(
        refusal(&[queue(size, 2, 3), ret()]).contains("operand 2"),
        "on the header"
    );
    assert!(
        refusal(&[poll(4, size, 0, 3), ret()]).contains("operand 1"),
        "on the header"
    );
    assert!(
        refusal(&[queue(crate::wasi::TABLE.len() as i64, 0, 3), ret()]).contains("operand 1"),
        "no such function"
    );
    assert!(
        refusal(&[queue(exit, 0, 1), ret()]).contains("operand 1"),
        "it gives no errno"
    );
    assert!(
        refusal(&[queue(renumber, 0, 2), ret()]).contains("fd_renumber"),
        "half of an i64"
    );
    assert!(
        refusal(&[queue(size, 5, 3), ret()]).contains("arguments"),
        "nothing was written there"
    );
}

#[test]
fn refuses_lanes_that_a_value_does_not_have() {
    // The frame is one of 16 units, with two values of 128 bits.
    let with_values = |inst: Inst| {
        let mut program = program(&[Inst::new(Op::Zero, &[5, 8]), inst, ret()]);
        program.code[0] = Inst::new(Op::Enter, &[16, 3, 0]).words_encoded()[0];
        program.meta.max_frame = 16;
        let limits = crate::program::Limits { min: 1, max: None };
        let memory = MemoryType {
            limits,
            shared: false,
            wide: false,
        };
        program.meta.memories = vec![memory];
        verify(&program)
    };
    let extract = |op: Op, lane: i64| with_values(Inst::new(op, &[13, 5, lane]));
    for (op, lanes) in [
        (Op::I8x16ExtractLaneS, 16),
        (Op::I16x8ExtractLaneU, 8),
        (Op::I32x4ExtractLane, 4),
        (Op::I64x2ExtractLane, 2),
    ] {
        assert_eq!(extract(op, lanes - 1), Ok(()));
        assert!(extract(op, lanes).unwrap_err().what.contains("operand 3"), "{op:?}");
    }
    let load = |lane| with_values(Inst::new(Op::V128Load16Lane, &[9, 0, 5, 0, 0, lane]));
    assert_eq!(load(7), Ok(()));
    assert!(load(8).unwrap_err().what.contains("operand 6"));
    let store = |lane| with_values(Inst::new(Op::V128Store64Lane, &[0, 5, 0, 0, lane]));
    assert_eq!(store(1), Ok(()));
    assert!(store(2).unwrap_err().what.contains("operand 5"));
    let shuffle = |byte: u8| {
        let last = (byte as u64) << 56;
        with_values(Inst::new(Op::I8x16Shuffle, &[9, 5, 9, 0, last as i64]))
    };
    assert_eq!(shuffle(31), Ok(()));
    assert!(shuffle(32).unwrap_err().what.contains("i8x16.shuffle"));
}

/// A handler that the flow analysis did not see would run unchecked.
#[test]
fn checks_exception_tables() {
    use crate::program::{Clause, Table, Try};
    // Words: 0 enter, 1 const32 r5, 2 and 3 call_indirect at unit 5, 4 copy32, 5 return, 6 the handler.
    let body = [
        Inst::new(Op::Const32, &[7, 1]),
        Inst::new(Op::CallIndirect, &[5, 7, 0, 1]),
        Inst::new(Op::Copy32, &[5, 0]),
        ret(),
        Inst::new(Op::Copy32, &[0, 5]),
        ret(),
    ];
    let with_try = |start: u32, end: u32, tag: Option<u32>, unit: u32, target: u32| {
        let mut program = program(&body);
        let meta = &mut program.meta;
        meta.types.push(FuncType::default());
        meta.types.push(FuncType {
            params: vec![ValType::I32],
            results: vec![],
        });
        meta.tags = vec![2];
        let limits = crate::program::Limits { min: 1, max: None };
        let ty = TableType {
            element: ValType::FuncRef,
            limits,
            wide: false,
        };
        meta.tables = vec![Table { ty, init: vec![] }];
        let clause = Clause {
            tag,
            reference: false,
            unit,
            target,
        };
        meta.functions[0].tries = vec![Try {
            start,
            end,
            clauses: vec![clause],
        }];
        verify(&program).map_err(|error| error.what)
    };
    assert_eq!(with_try(2, 4, Some(0), 5, 6), Ok(()));
    // Half of an instruction.
    assert!(
        with_try(3, 4, Some(0), 5, 6)
            .unwrap_err()
            .contains("begin and end at instructions")
    );
    assert!(
        with_try(2, 3, Some(0), 5, 6)
            .unwrap_err()
            .contains("begin and end at instructions")
    );
    assert!(
        with_try(2, 100, Some(0), 5, 6)
            .unwrap_err()
            .contains("begin and end at instructions")
    );
    // The handler reads unit 5: it must be the exception's value, at that unit.
    assert!(with_try(2, 4, None, 5, 6).unwrap_err().contains("unit 5"));
    assert!(with_try(2, 4, Some(0), 6, 6).unwrap_err().contains("unit 5"));
    assert!(
        with_try(2, 4, Some(0), 4, 6)
            .unwrap_err()
            .contains("outside of the frame")
    );
    assert!(with_try(2, 4, Some(1), 5, 6).unwrap_err().contains("does not exist"));
    // No instruction begins there.
    assert!(with_try(2, 4, Some(0), 5, 3).unwrap_err().contains("no instruction"));
}

/// An exception goes to the first range around its call, and on to those around that up to one without handlers.
#[test]
fn handlers_find_what_all_their_calls_leave() {
    use crate::program::{Clause, Table, Try};
    // Words: 1 const32, 2 and 3 call, 4 const32 r5, 5 and 6 call, 7 copy32, 8 return. Then 9, a handler that reads unit
    // 5, and 10, one that does not.
    let call = || Inst::new(Op::CallIndirect, &[7, 6, 0, 1]);
    let body = [
        Inst::new(Op::Const32, &[6, 1]),
        call(),
        Inst::new(Op::Const32, &[5, 1]),
        call(),
        Inst::new(Op::Copy32, &[0, 5]),
        ret(),
        Inst::new(Op::Copy32, &[0, 5]),
        ret(),
    ];
    let with_tries = |ranges: &[(u32, u32, Option<u32>)]| {
        let mut program = program(&body);
        let meta = &mut program.meta;
        meta.types.push(FuncType::default());
        let limits = crate::program::Limits { min: 1, max: None };
        let ty = TableType {
            element: ValType::FuncRef,
            limits,
            wide: false,
        };
        meta.tables = vec![Table { ty, init: vec![] }];
        let clause = |target| Clause {
            tag: None,
            reference: false,
            unit: 5,
            target,
        };
        let tries = ranges.iter().map(|(start, end, handler)| Try {
            start: *start,
            end: *end,
            clauses: handler.iter().copied().map(clause).collect(),
        });
        meta.functions[0].tries = tries.collect();
        verify(&program).map_err(|error| error.what)
    };
    let (reads, other) = (Some(9), Some(10));
    let refused = |ranges: &[_]| with_tries(ranges).expect_err("must be refused").contains("unit 5");
    assert_eq!(with_tries(&[(5, 7, reads)]), Ok(()));
    assert!(refused(&[(2, 7, reads)]));
    assert_eq!(with_tries(&[(5, 7, reads), (2, 7, other)]), Ok(()));
    assert!(refused(&[(5, 7, other), (2, 7, reads)]));
    assert!(refused(&[(2, 4, other), (2, 7, reads)]));
    // A range without handlers hides those after it in the table, and no others.
    assert_eq!(with_tries(&[(2, 4, None), (2, 7, reads)]), Ok(()));
    assert!(refused(&[(2, 7, reads), (2, 4, None)]));
    // Ranges that are not nested.
    assert_eq!(with_tries(&[(2, 5, other), (4, 7, reads)]), Ok(()));
    assert!(refused(&[(4, 7, other), (2, 5, reads)]));
    assert!(refused(&[(2, 5, reads), (4, 7, other)]));
}

/// A loop that moves all registers on by one until one that is read holds nothing. Only as many passes as there are
/// registers find that out.
#[test]
fn what_takes_too_long_is_no_error_of_the_program() {
    let frame = 60_000;
    let mut body = vec![Inst::new(Op::Zero, &[5, frame - 5]), Inst::new(Op::Copy32, &[0, 5])];
    let jumps = 2000;
    body.extend((0..jumps).map(|_| Inst::new(Op::Jump, &[1])));
    body.push(Inst::new(Op::CopyRange, &[5, 6, frame - 6]));
    body.push(Inst::new(Op::Const64, &[frame - 2, 1 << 40]));
    // Back to the copy.
    let end: usize = body.iter().skip(1).map(Inst::words).sum();
    body.push(Inst::new(Op::Jump, &[-(end as i64)]));
    let mut program = program(&body);
    program.code[0] = Inst::new(Op::Enter, &[frame, 3, 0]).words_encoded()[0];
    program.meta.max_frame = frame as u32;
    let error = verify(&program).expect_err("must be refused");
    assert_eq!(error.kind, VerifyErrorKind::TooComplex, "{error}");
    assert!(error.what.contains("too complex to be verified"), "{error}");
}

/// A pair one half of which is lost on one path is no pair again once the other half is a zero.
#[test]
fn refuses_pairs_that_were_broken_on_one_path() {
    let body = [
        Inst::new(Op::Zero, &[5, 1]),
        Inst::new(Op::BrIf, &[0, 2]),
        Inst::new(Op::Copy64, &[5, 1]),
        Inst::new(Op::Zero, &[6, 1]),
        Inst::new(Op::Copy64, &[1, 5]),
        ret(),
    ];
    assert!(refusal(&body).contains("unit 5"));
}
