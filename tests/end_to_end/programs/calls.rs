//! Exports that are called with arguments, and what they return.

use crate::common::{run_on, text};
use crate::support::{Tested, Tests, expect, wasm};

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = Tests::new();
    for (module, name, args, expected) in CALLS {
        tests.push((
            format!("invoke/{module}/{name}({})", args.join(",")),
            Box::new(move || invoke(device, module, name, args, expected)),
        ));
    }
    tests
}

/// Module, export, arguments, result.
const CALLS: &[(&str, &str, &[&str], &str)] = &[
    ("fib", "fib", &["20"], "6765"),
    ("ackermann", "ackermann", &["2", "9"], "21"),
    ("ackermann", "ackermann", &["3", "5"], "253"),
    ("mutual", "even", &["1001"], "0"),
    ("mutual", "even", &["1000"], "1"),
    ("mutual", "odd", &["7"], "1"),
    ("indirect_recursion", "count", &["0", "500"], "0"),
    ("indirect_recursion", "count", &["1", "501"], "-1"),
    ("indirect", "nested", &[], "32"),
    ("heap_stress", "stress", &["10"], "0"),
    // 0x1111beefcd111111.
    ("threads", "wrapped", &[], "1229974110395765009"),
    ("unshared", "add", &["5"], "5"),
    ("unshared", "notify", &[], "0"),
];

fn invoke(device: &str, module: &str, name: &str, args: &[&str], expected: &str) -> Tested {
    let module = wasm("wat", module);
    let output = run_on(device, ["--invoke", name, &module].iter().chain(args));
    expect(
        output.status.success() && text(&output.stdout).trim() == expected,
        &format!("must print {expected}"),
        &output,
    )
}
