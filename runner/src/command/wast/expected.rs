//! What a script says must come of a call.

use gpu_run_bytecode::TrapKind;
use gpu_run_vm::{End, Value};
use wast::{WastDirective, WastRet};

use super::{Checked, Ended, values};

/// What must come of a call.
pub enum Expected<'s> {
    /// Any results.
    Anything,
    Results(Vec<WastRet<'s>>),
    /// A trap with this message.
    Trap(&'s str),
    Exhaustion(&'s str),
    Exception,
}

/// What a directive that is a call expects.
pub fn expectation(directive: WastDirective<'_>) -> Expected<'_> {
    match directive {
        WastDirective::AssertReturn { results, .. } => Expected::Results(results),
        WastDirective::AssertTrap { message, .. } => Expected::Trap(message),
        WastDirective::AssertExhaustion { message, .. } => Expected::Exhaustion(message),
        WastDirective::AssertException { .. } => Expected::Exception,
        _ => Expected::Anything,
    }
}

impl Expected<'_> {
    /// Compares with how a call ended.
    pub fn check(self, end: End, results: Vec<Vec<Value>>) -> Checked<()> {
        let ended = match end {
            End::Returned => Ended::Values(results.into_iter().next().unwrap_or_default()),
            End::Trapped(fault) => Ended::Trap(fault.kind),
            end => return Err(format!("ended unexpectedly: {end:?}").into()),
        };
        let wrong = |what: &str| match &ended {
            Ended::Values(values) => Err(format!("expected {what}, got {values:?}").into()),
            Ended::Trap(kind) => Err(format!("expected {what}, got \"{}\"", kind.text()).into()),
        };
        match (self, &ended) {
            (Expected::Anything, Ended::Values(_)) => Ok(()),
            (Expected::Results(expected), Ended::Values(values)) => values::check(values, &expected),
            (Expected::Anything | Expected::Results(_), Ended::Trap(kind)) => {
                Err(format!("trapped: {}", kind.text()).into())
            }
            (Expected::Trap(message), Ended::Trap(kind)) if trap_matches(*kind, message) => Ok(()),
            (Expected::Trap(message), _) => wrong(&format!("the trap \"{message}\"")),
            (Expected::Exhaustion(_), Ended::Trap(TrapKind::StackOverflow | TrapKind::OutOfRegisterMemory)) => Ok(()),
            (Expected::Exhaustion(message), _) => wrong(&format!("\"{message}\"")),
            (Expected::Exception, Ended::Trap(TrapKind::UnhandledException)) => Ok(()),
            (Expected::Exception, _) => wrong("an exception"),
        }
    }
}

/// Scripts have the beginning of a trap's message; some engines' texts differ in detail.
pub fn trap_matches(kind: TrapKind, message: &str) -> bool {
    let text = kind.text();
    text.starts_with(message) || message.starts_with(text)
}
