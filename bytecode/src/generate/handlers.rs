//! The kernel's `is_run_by`: whether a part of it executes an opcode.

use std::fmt::Write;

use crate::isa::{Handler, MAX_NUMBER, Op};

/// The handler of a number that the loop's switch sends elsewhere; `None` if no opcode has it, or the loop does.
fn aside(number: u16) -> Option<Handler> {
    let handler = Op::from_number(number)?.handler();
    (handler != Handler::InLoop).then_some(handler)
}

/// The first and last numbers of the runs of a handler's opcodes. A run begins after the opcode of another handler. It
/// ends with its own last opcode, or where there are no more of others: numbers that are never asked about belong to
/// either.
fn ranges(handler: Handler) -> Vec<(u16, u16)> {
    let mut found: Vec<(u16, u16)> = Vec::new();
    // Where a run may begin, while none is open.
    let mut first = Some(0);
    for number in 0..=MAX_NUMBER as u16 {
        match (aside(number), first) {
            (None, _) => {}
            (Some(other), _) if other != handler => first = Some(number + 1),
            (Some(_), None) => found.last_mut().expect("a run is open").1 = number,
            (Some(_), Some(begin)) => {
                found.push((begin, number));
                first = None;
            }
        }
    }
    if let (Some(last), None) = (found.last_mut(), first) {
        last.1 = u16::MAX;
    }
    found
}

/// The enumeration and the function, in C++.
pub fn function() -> String {
    let mut out =
        String::from("// The parts of the kernel beside the interpreter's loop.\nenum Handler : unsigned short {\n");
    for handler in Handler::ASIDE {
        _ = writeln!(out, "  HANDLER_{handler:?},");
    }
    out += "};\n\n// Whether a handler executes an opcode that is not in the loop's own switch. Comparisons and no table: each\n\
            // caller asks about few handlers, which it names.\n\
            constexpr inline bool is_run_by(Handler handler, unsigned short op) {\n  switch (handler) {\n";
    for handler in Handler::ASIDE {
        let condition = |(first, last): (u16, u16)| match (first, last) {
            (0, _) => format!("op <= {last:#05x}"),
            (_, u16::MAX) => format!("op >= {first:#05x}"),
            _ if first == last => format!("op == {first:#05x}"),
            _ => format!("(op >= {first:#05x} && op <= {last:#05x})"),
        };
        let conditions: Vec<_> = ranges(handler).into_iter().map(condition).collect();
        _ = writeln!(out, "    case HANDLER_{handler:?}: return {};", conditions.join(" || "));
    }
    out + "  }\n  return false;\n}\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::TABLE;

    #[test]
    fn an_opcode_is_in_the_ranges_of_its_handler_alone() {
        for info in TABLE.iter().filter(|info| info.handler != Handler::InLoop) {
            let number = info.op as u16;
            let has = |handler: &Handler| {
                ranges(*handler)
                    .iter()
                    .any(|(first, last)| (*first..=*last).contains(&number))
            };
            let found: Vec<_> = Handler::ASIDE.into_iter().filter(has).collect();
            assert_eq!(found, [info.handler], "{}", info.name);
        }
    }

    /// What is asked about before every instruction beside the loop costs few comparisons.
    #[test]
    fn there_are_few_ranges() {
        for handler in Handler::ASIDE.into_iter().filter(|handler| *handler != Handler::Slow) {
            assert!(ranges(handler).len() <= 3, "{handler:?}: {:?}", ranges(handler));
        }
    }
}
