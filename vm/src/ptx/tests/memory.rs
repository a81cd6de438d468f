//! Addresses, bounds and the stack pointer.

use super::{Options, body, compiled, program};

/// Another thread may have made the memory in which a stack lies: a pointer beyond the size that is known is
/// looked at again with the size of now.
#[test]
fn a_stack_pointer_beyond_a_stale_size_has_it_read_again() {
    let program = program(
        "(module (memory 1 10)
           (global $__stack_pointer (mut i32) (i32.const 65536))
           (func (export \"switch\") (param i32) (global.set 0 (local.get 0))))",
    );
    assert_eq!(program.meta.stack_pointer, Some(0));
    let options = |growth_by_others| Options {
        growth_by_others,
        exports: true,
        ..Options::default()
    };
    // Once at the function's head, and again.
    for (growth_by_others, reads) in [(false, 1), (true, 2)] {
        let text = compiled(&program, options(growth_by_others)).text;
        let body = body(&text, 0);
        assert_eq!(body.matches("%size, [%size_at").count(), reads, "{body}");
    }
}
