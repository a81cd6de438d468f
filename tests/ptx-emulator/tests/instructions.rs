//! What instructions do, compared with what Rust says of the same numbers.

use std::sync::Arc;

use gpu_run_ptx_emulator::lane::{Lane, Place, Stop};
use gpu_run_ptx_emulator::memory::{Block, Memory, Range};
use gpu_run_ptx_emulator::{Error, Module, Source};

/// Runs a kernel's body on 64-bit arguments, which it finds in `%a0` and so on, and returns what it leaves in
/// `%x0`. `%r0` to `%r9` are 32 bits wide, `%h` 16, `%p` predicates.
fn run(body: &str, args: &[u64]) -> Result<u64, Error> {
    run_with("", body, args)
}

fn run_with(before: &str, body: &str, args: &[u64]) -> Result<u64, Error> {
    let mut text = format!(
        ".version 7.5\n.target sm_75\n.address_size 64\n{before}\n\
         .visible .entry start(.param .b64 to, .param .align 8 .b8 args[64]) {{\n\
         .reg .b64 %to, %a<8>, %x<8>; .reg .b32 %r<10>; .reg .b16 %h<4>; .reg .pred %p<4>;\n\
         ld.param.b64 %to, [to];\n"
    );
    for i in 0..args.len() {
        text += &format!("ld.param.b64 %a{i}, [args+{}];\n", 8 * i);
    }
    text += &format!("{body}\nst.global.b64 [%to], %x0;\nret;\n}}\n");
    let name = "test.ptx";
    let module = Module::load(&[Source { name, text: &text }])?;
    let mut stack = vec![0u128; 4096];
    let stack = Range {
        begin: stack.as_mut_ptr() as u64,
        bytes: 65536,
    };
    let mut result = 0u64;
    let at = &raw mut result as u64;
    let variables = module.variables.values().map(|v| Range {
        begin: v.address,
        bytes: v.bytes as u64,
    });
    let mut ranges: Vec<Range> = variables.chain([Range { begin: at, bytes: 8 }]).collect();
    ranges.sort();
    let mut bytes: Vec<u8> = args.iter().flat_map(|arg| arg.to_le_bytes()).collect();
    bytes.resize(64, 0);
    let place = Place {
        block: 0,
        blocks: 1,
        lane: 0,
        lanes: 1,
    };
    let kernel = module.function("start").expect("it is there");
    let block = Arc::new(Block::new(1, 64));
    let memory = Memory::new(stack, block, Arc::from(ranges));
    let mut lane = Lane::new(&module, kernel, &[&at.to_le_bytes(), &bytes], place, memory)?;
    while lane.run(1000)? != Stop::End {}
    // SAFETY: the variable is this function's; the lane wrote it through a pointer.
    Ok(unsafe { (&raw const result).read_volatile() })
}

#[test]
fn counts_in_shared_memory_are_found_by_32_bits() {
    let body = ".shared .align 8 .b8 counts[16];
        mov.u32 %r0, counts;
        mov.b32 %r1, 5;
        st.shared.b32 [%r0+8], %r1;
        setp.eq.u32 %p1, %r1, 6;
        red.shared.add.u32 [%r0+8], 7;
        @%p1 red.shared.add.u32 [%r0+8], 100;
        ld.shared.b32 %r2, [%r0+8];
        cvt.u64.u32 %x0, %r2;";
    assert_eq!(run(body, &[]).unwrap(), 12);
}

#[test]
fn addresses_in_local_memory_may_have_32_bits() {
    let body = ".local .align 8 .b8 a[16];
        mov.u64 %a1, a; cvt.u32.u64 %r0, %a1;
        st.local.b64 [%r0+8], %a0;
        add.u32 %r0, %r0, 12; ld.local.b32 %r1, [%r0+-4]; ld.local.b32 %r2, [%r0];
        mov.b64 %x0, {%r1, %r2};";
    let value = 0x0123_4567_89ab_cdef;
    assert_eq!(run(body, &[value]).expect("it runs"), value);
    let global = "cvt.u32.u64 %r0, %to; st.global.b32 [%r0], %r0;";
    assert!(run(global, &[]).is_err());
}

/// Numbers at which operations turn.
const NUMBERS: [u64; 12] = [
    0,
    1,
    7,
    31,
    32,
    63,
    64,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 63,
    u64::MAX,
];

/// Compares an operation on two 32-bit operands.
fn words(op: &str, expected: impl Fn(u32, u32) -> u32) {
    let body = format!("cvt.u32.u64 %r0, %a0; cvt.u32.u64 %r1, %a1; {op} %r2, %r0, %r1; cvt.u64.u32 %x0, %r2;");
    for a in NUMBERS {
        for b in NUMBERS {
            let (a, b) = (a as u32, b as u32);
            let found = run(&body, &[a as u64, b as u64]).unwrap();
            assert_eq!(found, expected(a, b) as u64, "{op} {a:#x}, {b:#x}");
        }
    }
}

#[test]
fn integers_wrap_and_shifts_clamp() {
    words("add.s32", u32::wrapping_add);
    words("sub.u32", u32::wrapping_sub);
    words("mul.lo.s32", u32::wrapping_mul);
    words("mul.hi.u32", |a, b| ((a as u64 * b as u64) >> 32) as u32);
    words("mul.hi.s32", |a, b| ((a as i32 as i64 * b as i32 as i64) >> 32) as u32);
    words("min.s32", |a, b| (a as i32).min(b as i32) as u32);
    words("shl.b32", |a, b| a.checked_shl(b).unwrap_or(0));
    words("shr.u32", |a, b| a.checked_shr(b).unwrap_or(0));
    words("shr.s32", |a, b| (a as i32 >> b.min(31)) as u32);
    words("rem.s32", |a, b| match b {
        0 => a,
        b => (a as i32).wrapping_rem(b as i32) as u32,
    });
}

#[test]
fn floats_round_once_and_have_one_nan() {
    let values = [0.0f32, -0.0, 1.0, -1.5, 3.4e38, 1e-45, f32::INFINITY, f32::NAN];
    for a in values {
        for b in values {
            let check = |op: &str, expected: f32| {
                let body =
                    format!("cvt.u32.u64 %r0, %a0; cvt.u32.u64 %r1, %a1; {op} %r2, %r0, %r1; cvt.u64.u32 %x0, %r2;");
                let found = run(&body, &[a.to_bits() as u64, b.to_bits() as u64]).unwrap();
                let expected = if expected.is_nan() {
                    0x7fff_ffff
                } else {
                    expected.to_bits()
                };
                assert_eq!(found, expected as u64, "{op} {a}, {b}");
            };
            check("add.rn.f32", a + b);
            check("mul.rn.f32", a * b);
            check("div.rn.f32", a / b);
            // A number wins over NaN, and of the zeros the one with a sign.
            let least = if a == b && a.is_sign_negative() { a } else { a.min(b) };
            let least = if a == b && b.is_sign_negative() { b } else { least };
            check("min.f32", least);
        }
    }
}

#[test]
fn conversions_saturate() {
    let check = |convert: &str, from: f64, expected: u64| {
        let found = run(&format!("{convert} %x0, %a0;"), &[from.to_bits()]).unwrap();
        assert_eq!(found, expected, "{convert} {from}");
    };
    for value in [0.0, -0.5, 1.5, 2.5, -2.5, 1e10, -1e10, 1e30, -1e30, f64::INFINITY] {
        check("cvt.rzi.s64.f64", value, value as i64 as u64);
        check("cvt.rzi.u64.f64", value, value as u64);
        check("cvt.rzi.u32.f64", value, value as u32 as u64);
        check("cvt.rni.f64.f64", value, value.round_ties_even().to_bits());
        check("cvt.rmi.s64.f64", value, value.floor() as i64 as u64);
        check("cvt.rpi.f64.f64", value, value.ceil().to_bits());
    }
    // As the ISA has it for 64 bits.
    check("cvt.rzi.s64.f64", f64::NAN, 1 << 63);
    assert_eq!(run("cvt.s64.s8 %x0, %a0;", &[0x1ff]), Ok(u64::MAX));
    assert_eq!(
        run("cvt.rn.f32.u64 %r0, %a0; cvt.u64.u32 %x0, %r0;", &[u64::MAX]),
        Ok((u64::MAX as f32).to_bits() as u64)
    );
}

#[test]
fn fields_and_bytes() {
    let word = 0x8765_4321u64;
    let of = |op: &str| run(&format!("cvt.u32.u64 %r0, %a0; {op} cvt.u64.u32 %x0, %r1;"), &[word]).unwrap();
    assert_eq!(of("bfe.u32 %r1, %r0, 8, 12;"), 0x543);
    assert_eq!(of("bfe.s32 %r1, %r0, 28, 4;"), 0xffff_fff8);
    // What lies beyond the last bit is the sign.
    assert_eq!(of("bfe.s32 %r1, %r0, 28, 32;"), 0xffff_fff8);
    assert_eq!(of("bfe.u32 %r1, %r0, 32, 4;"), 0);
    assert_eq!(of("bfi.b32 %r1, 0xff, %r0, 4, 8;"), 0x8765_4ff1);
    assert_eq!(of("prmt.b32 %r1, %r0, 0, 0x0123;"), 0x2143_6587);
    // A selector's highest bit takes the sign of the byte.
    assert_eq!(of("prmt.b32 %r1, %r0, 0, 0xb4b3;"), 0xff00_ff87);
    assert_eq!(of("shf.l.wrap.b32 %r1, %r0, %r0, 40;"), 0x6543_2187);
    assert_eq!(
        of("lop3.b32 %r1, %r0, 0xff00ff, 0xff00, 0xca;"),
        (word & 0xff_00ff) | (!word & 0xff00)
    );
    assert_eq!(of("clz.b32 %r1, 1;"), 31);
    assert_eq!(of("popc.b64 %r1, %a0;"), word.count_ones() as u64);
}

#[test]
fn predicates_guard_and_combine() {
    let body = "setp.lt.u64 %p0|%p1, %a0, %a1; setp.eq.or.u64 %p2, %a0, 9, !%p1; mov.u64 %x0, 0;\n\
                @%p0 add.u64 %x0, %x0, 1; @!%p0 add.u64 %x0, %x0, 2; @%p2 add.u64 %x0, %x0, 4;";
    assert_eq!(run(body, &[1, 2]), Ok(5));
    assert_eq!(run(body, &[2, 2]), Ok(2));
    assert_eq!(run(body, &[9, 2]), Ok(6));
}

#[test]
fn calls_tables_and_vectors() {
    let before = ".func (.param .b64 out) twice(.param .b64 in) {\n.reg .b64 %v; ld.param.b64 %v, [in];\n\
                  add.u64 %v, %v, %v; st.param.b64 [out], %v; ret;\n}\n\
                  .visible .global .align 8 .b64 table[2] = {0, twice};\n";
    let body = "{\n.param .b64 q; .param .b64 r;\nld.global.b64 %x1, [table+8]; st.param.b64 [q], %a0;\n\
                call (r), %x1, (q), proto;\nproto: .callprototype (.param .b64 _) _ (.param .b64 _);\n\
                ld.param.b64 %x0, [r];\n}\n\
                mov.b64 {%r0, %r1}, %x0; cvt.u32.u64 %r2, %a1; brx.idx %r2, list;\nlist: .branchtargets FIRST, SECOND;\n\
                FIRST: mov.b64 %x0, {%r1, %r0};\nSECOND:";
    assert_eq!(run_with(before, body, &[3, 0]), Ok(6 << 32));
    assert_eq!(run_with(before, body, &[3, 1]), Ok(6));
    let error = run_with(before, body, &[3, 2]).unwrap_err();
    assert!(error.0.contains("index behind the last label"), "{error:?}");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let wrong = |body: &str, args: &[u64]| run(body, args).unwrap_err().0;
    assert!(wrong("ld.global.b32 %r0, [%a0];", &[64]).starts_with("no memory of the device has the address 0x40"));
    assert!(wrong("ld.global.b32 %r0, [%to+1];", &[]).contains("is no multiple of 4\n  at test.ptx:8 (start)"));
    assert_eq!(
        wrong("frob.b32 %r0, %r1;", &[]),
        "test.ptx:8: frob with 2 operands is not known"
    );
    assert_eq!(
        wrong("add.rz.f32 %r0, %r1, %r2;", &[]),
        "test.ptx:8: add.rz.f32: .rz is not known"
    );
    assert_eq!(wrong("mov.b32 %r0, %q9;", &[]), "test.ptx:8: nothing is named %q9");
    assert_eq!(wrong("bra NOWHERE;", &[]), "test.ptx:8: there is no label NOWHERE");
}

#[test]
fn carries_go_on() {
    let words = [0, 1, 2, u64::MAX / 2, u64::MAX - 1, u64::MAX];
    for (a, b, c) in words
        .iter()
        .flat_map(|a| words.iter().flat_map(|b| words.map(|c| (*a, *b, c))))
    {
        // Numbers of three words, c b a and a c b.
        let (next_a, next_b) = (
            (u128::from(b) << 64) | u128::from(a),
            (u128::from(c) << 64) | u128::from(b),
        );
        let (sum, carry) = next_a.overflowing_add(next_b);
        let (difference, borrow) = next_a.overflowing_sub(next_b);
        let sums = [(sum >> 64) as u64, c.wrapping_add(a).wrapping_add(carry.into())];
        let differences = [(difference >> 64) as u64, c.wrapping_sub(a).wrapping_sub(borrow.into())];
        for (first, middle, last, [second, third]) in [
            ("add.cc.s64", "addc.cc.s64", "addc.s64", sums),
            ("sub.cc.u64", "subc.cc.u64", "subc.u64", differences),
        ] {
            let body = format!("{first} %x1, %a0, %a1;\n{middle} %x2, %a1, %a2;\n{last} %x3, %a2, %a0;");
            for (word, wanted) in [("%x2", second), ("%x3", third)] {
                let found = run(&format!("{body}\nmov.b64 %x0, {word};"), &[a, b, c]);
                assert_eq!(found.expect("it runs"), wanted, "{first} {word} {a:x} {b:x} {c:x}");
            }
        }
    }
}
