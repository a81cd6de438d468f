//! Finds what each `try` of a body becomes, which handlers must keep their exception, and where
//! delegated exceptions go.

use wasmparser::Operator;

use crate::module::Instr;

/// A body's `try`s, in the order in which they open.
pub(super) struct Analysis {
    pub(super) tries: Vec<Try>,
    /// Whether some `delegate` leads out of the function past handlers.
    pub(super) leaves: bool,
}

/// A `try` or `try_table`.
pub(super) struct Try {
    pub(super) form: Form,
    /// Whether exceptions are delegated to it past other handlers.
    pub(super) lands: bool,
    /// The innermost one in whose body (not in whose handlers) it stands.
    parent: Option<usize>,
}

/// What becomes of it.
pub(super) enum Form {
    /// A block: it has no handler, or its `delegate` goes where exceptions go anyway.
    Block,
    /// A `try_table` with these handlers.
    Handlers(Vec<Handler>),
    /// A `try_table` that sends every exception to the landing of that `try`, or to that of the
    /// function.
    Delegate(Option<usize>),
    /// It was a `try_table` before. No producer mixes the two, but validation allows it.
    Standard,
}

/// A `catch` or `catch_all`.
pub(super) struct Handler {
    /// The tag of a `catch`.
    pub(super) tag: Option<u32>,
    /// Whether some `rethrow` names it.
    pub(super) rethrown: bool,
}

/// An open block of any kind.
struct Scope {
    /// The innermost `try` whose body holds the code of this block: an exception goes there first.
    protector: Option<usize>,
    /// The `try` that this is.
    own: Option<usize>,
}

pub(super) fn analyse(instrs: &[Instr<'_>]) -> Analysis {
    let mut tries: Vec<Try> = Vec::new();
    let mut scopes = vec![Scope {
        protector: None,
        own: None,
    }];
    for instr in instrs {
        let parent = scopes.last().and_then(|scope| scope.protector);
        match instr.op {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => scopes.push(Scope {
                protector: parent,
                own: None,
            }),
            Operator::Try { .. } | Operator::TryTable { .. } => {
                let form = match instr.op {
                    Operator::TryTable { .. } => Form::Standard,
                    _ => Form::Block,
                };
                let own = Some(tries.len());
                scopes.push(Scope { protector: own, own });
                tries.push(Try {
                    form,
                    lands: false,
                    parent,
                });
            }
            Operator::Catch { tag_index } => begin_handler(&mut tries, &mut scopes, Some(tag_index)),
            Operator::CatchAll => begin_handler(&mut tries, &mut scopes, None),
            Operator::Rethrow { relative_depth } => {
                let scope = &scopes[scopes.len() - 1 - relative_depth as usize];
                let own = scope.own.expect("validated: a handler's label");
                if let Form::Handlers(handlers) = &mut tries[own].form
                    && let Some(handler) = handlers.last_mut()
                {
                    handler.rethrown = true;
                }
            }
            Operator::Delegate { relative_depth } => {
                let scope = scopes.pop().expect("validated: blocks are balanced");
                let own = scope.own.expect("validated: closes a try");
                // The label counts from outside of the `try`.
                let target = scopes[scopes.len() - 1 - relative_depth as usize].protector;
                tries[own].form = Form::Delegate(target);
            }
            Operator::End => {
                scopes.pop();
            }
            _ => {}
        }
    }
    resolve(tries)
}

fn begin_handler(tries: &mut [Try], scopes: &mut [Scope], tag: Option<u32>) {
    let scope = scopes.last_mut().expect("validated: blocks are balanced");
    let own = &mut tries[scope.own.expect("validated: belongs to a try")];
    scope.protector = own.parent;
    let handler = Handler { tag, rethrown: false };
    match &mut own.form {
        Form::Handlers(handlers) => handlers.push(handler),
        form => *form = Form::Handlers(vec![handler]),
    }
}

/// Follows delegation to the `try` whose handlers see the exception in the end.
fn resolve(mut tries: Vec<Try>) -> Analysis {
    let mut leaves = false;
    // For each `try`, the one that handles what its body throws. It stands outside or is the same,
    // so it opened before and is known.
    let mut handled_by: Vec<Option<usize>> = Vec::with_capacity(tries.len());
    for at in 0..tries.len() {
        let natural = tries[at].parent.and_then(|parent| handled_by[parent]);
        let handler = match tries[at].form {
            Form::Handlers(_) | Form::Standard => Some(at),
            Form::Block => natural,
            Form::Delegate(target) => {
                let target = target.and_then(|target| handled_by[target]);
                if target == natural {
                    tries[at].form = Form::Block;
                } else {
                    tries[at].form = Form::Delegate(target);
                    match target {
                        Some(target) => tries[target].lands = true,
                        None => leaves = true,
                    }
                }
                target
            }
        };
        handled_by.push(handler);
    }
    Analysis { tries, leaves }
}
