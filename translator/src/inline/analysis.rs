//! What inlining must know of a function before it copies it.

use std::cell::OnceCell;

use wasmparser::{Catch, Operator, TypeRef};

use crate::module::{Code, Func, Module, opcode};
use crate::rewrite::IMPORT_MODULE;

/// Facts about one function.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Instructions that cost something.
    pub(super) cost: u32,
    /// All instructions.
    pub(super) instrs: u32,
    /// Parameters.
    pub(super) params: u32,
    /// Locals, parameters included.
    pub(super) locals: u32,
    /// Whether it calls nothing but GPU operations.
    pub(super) leaf: bool,
    /// Whether it has tail calls.
    pub(super) tail_calls: bool,
    /// See [`Facts::reads_zero`].
    pub(super) reads_zero: OnceCell<Vec<bool>>,
    leaves_early: OnceCell<bool>,
}

impl Facts {
    pub(super) fn read(module: &Module<'_>, operations: &[bool], index: u32) -> Facts {
        let params = module.func_type(index).params().len() as u32;
        let func = module.defined(index).expect("only defined functions are read");
        let summary = func.summary();
        Facts {
            cost: summary.cost,
            instrs: summary.instrs,
            params,
            locals: params + summary.locals,
            leaf: summary.is_leaf(|callee| operations.get(callee as usize) == Some(&true)),
            tail_calls: summary.tail_calls,
            reads_zero: OnceCell::new(),
            leaves_early: OnceCell::new(),
        }
    }

    /// Whether any instruction of `code`, whose facts these are, leaves through the label of the
    /// function itself. Found out once, and only for what is inlined.
    pub(super) fn leaves_early(&self, code: Code<'_>) -> bool {
        *self.leaves_early.get_or_init(|| leaves_early(code))
    }

    /// The locals of `func`, whose facts these are, that a copy of its body may have to set to zero
    /// first: see [`reads_zero`]. Found out once, and only for what is to be inlined.
    pub(super) fn reads_zero(&self, func: &Func<'_>) -> &[bool] {
        self.reads_zero
            .get_or_init(|| reads_zero(func.body.packed().code(), self.params, self.locals))
    }
}

/// For each imported function, whether it is one that becomes an instruction.
pub(super) fn operations(module: &Module<'_>) -> Vec<bool> {
    let is_func = |ty: &TypeRef| matches!(ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
    let funcs = module.imports.iter().filter(|import| is_func(&import.ty));
    funcs.map(|import| import.module == IMPORT_MODULE).collect()
}

/// Whether any instruction of a function leaves through the label of the function itself.
fn leaves_early(code: Code<'_>) -> bool {
    let mut depth = 0u32;
    for step in code.steps() {
        let leaves = match step.opcode {
            opcode::RETURN => true,
            opcode::BR | opcode::BR_IF => step.index() == depth,
            // Its own `try` is closed by it.
            opcode::DELEGATE => step.index() + 1 == depth,
            opcode::BR_TABLE | opcode::TRY_TABLE => labels(&step.operator()).contains(&depth),
            _ => false,
        };
        if leaves {
            return true;
        }
        match step.opcode {
            opcode::BLOCK | opcode::LOOP | opcode::IF | opcode::TRY | opcode::TRY_TABLE => depth += 1,
            opcode::END | opcode::DELEGATE => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// The labels of a `br_table` or a `try_table`.
fn labels(op: &Operator<'_>) -> Vec<u32> {
    match op {
        Operator::BrTable { targets } => targets.targets().flatten().chain([targets.default()]).collect(),
        Operator::TryTable { try_table } => try_table.catches.iter().map(catch_label).collect(),
        _ => Vec::new(),
    }
}

fn catch_label(catch: &Catch) -> u32 {
    match catch {
        Catch::One { label, .. } | Catch::OneRef { label, .. } | Catch::All { label } | Catch::AllRef { label } => {
            *label
        }
    }
}

/// Which locals are certainly set, by local; `None` where no code gets to.
type State = Option<Vec<bool>>;

/// An open control frame of the analysis.
struct Frame {
    is_loop: bool,
    /// What is set at the frame's end, as far as its branches say.
    end: State,
    /// What is set where an `else` or a legacy `catch` begins.
    entry: State,
    /// An `if` that has had no `else` yet.
    skips: bool,
}

fn merge(into: &mut State, state: &State) {
    let Some(state) = state else { return };
    match into {
        None => *into = Some(state.clone()),
        Some(into) => into.iter_mut().zip(state).for_each(|(a, b)| *a &= *b),
    }
}

/// Locals of a function that may be read before they are set, parameters aside: they count on being
/// zero. Loops need one round only, since what is set at their head can only become more.
fn reads_zero(code: Code<'_>, params: u32, locals: u32) -> Vec<bool> {
    if params == locals {
        return vec![false; locals as usize];
    }
    let mut state: State = Some((0..locals).map(|local| local < params).collect());
    let mut needed = vec![false; locals as usize];
    let mut frames: Vec<Frame> = Vec::new();
    // Branches to the function's own label end it.
    let branch = |frames: &mut Vec<Frame>, depth: u32, state: &State| {
        let target = frames.len().checked_sub(depth as usize + 1);
        if let Some(frame) = target.map(|at| &mut frames[at]).filter(|frame| !frame.is_loop) {
            merge(&mut frame.end, state);
        }
    };
    for step in code.steps() {
        match step.opcode {
            opcode::LOCAL_GET => {
                let local = step.index() as usize;
                needed[local] |= state.as_ref().is_some_and(|state| !state[local]);
            }
            opcode::LOCAL_SET | opcode::LOCAL_TEE => {
                if let Some(state) = &mut state {
                    state[step.index() as usize] = true;
                }
            }
            opcode::BLOCK | opcode::LOOP | opcode::IF | opcode::TRY | opcode::TRY_TABLE => {
                if step.opcode == opcode::TRY_TABLE {
                    for label in labels(&step.operator()) {
                        branch(&mut frames, label, &state);
                    }
                }
                // Where nothing begins but at the frame's own start, its state is not needed again.
                let entered = matches!(step.opcode, opcode::IF | opcode::TRY);
                frames.push(Frame {
                    is_loop: step.opcode == opcode::LOOP,
                    end: None,
                    entry: if entered { state.clone() } else { None },
                    skips: step.opcode == opcode::IF,
                });
            }
            opcode::ELSE | opcode::CATCH | opcode::CATCH_ALL => {
                if let Some(frame) = frames.last_mut() {
                    merge(&mut frame.end, &state);
                    state = frame.entry.clone();
                    frame.skips = false;
                }
            }
            opcode::END | opcode::DELEGATE => {
                let Some(frame) = frames.pop() else { break };
                merge(&mut state, &frame.end);
                if frame.skips {
                    merge(&mut state, &frame.entry);
                }
            }
            opcode::BR_IF => branch(&mut frames, step.index(), &state),
            opcode::BR => {
                branch(&mut frames, step.index(), &state);
                state = None;
            }
            opcode::BR_TABLE => {
                for label in labels(&step.operator()) {
                    branch(&mut frames, label, &state);
                }
                state = None;
            }
            opcode::RETURN | opcode::UNREACHABLE | opcode::THROW | opcode::THROW_REF | opcode::RETHROW => state = None,
            _ => {}
        }
    }
    needed
}
