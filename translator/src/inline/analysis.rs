//! What inlining must know of a function before it copies it.

use std::cell::OnceCell;

use wasmparser::{Catch, Operator, TypeRef};

use crate::module::{Func, Instr, Module};
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
        }
    }

    /// The locals of `func`, whose facts these are, that a copy of its body may have to set to zero
    /// first: see [`reads_zero`]. Found out once, and only for what is to be inlined.
    pub(super) fn reads_zero(&self, func: &Func<'_>) -> &[bool] {
        self.reads_zero
            .get_or_init(|| reads_zero(func.instrs(), self.params, self.locals))
    }
}

/// For each imported function, whether it is one that becomes an instruction.
pub(super) fn operations(module: &Module<'_>) -> Vec<bool> {
    let is_func = |ty: &TypeRef| matches!(ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
    let funcs = module.imports.iter().filter(|import| is_func(&import.ty));
    funcs.map(|import| import.module == IMPORT_MODULE).collect()
}

/// Whether any instruction of a function leaves through the label of the function itself.
pub(super) fn leaves_early(instrs: &[Instr<'_>]) -> bool {
    let mut depth = 0u32;
    for instr in instrs {
        let leaves = match &instr.op {
            Operator::Return => true,
            Operator::Br { relative_depth }
            | Operator::BrIf { relative_depth }
            | Operator::BrOnNull { relative_depth }
            | Operator::BrOnNonNull { relative_depth } => *relative_depth == depth,
            // Its own `try` is closed by it.
            Operator::Delegate { relative_depth } => relative_depth + 1 == depth,
            Operator::BrTable { targets } => {
                targets.default() == depth
                    || targets
                        .targets()
                        .any(|target| target.is_ok_and(|target| target == depth))
            }
            Operator::TryTable { try_table } => try_table.catches.iter().any(|catch| catch_label(catch) == depth),
            _ => false,
        };
        if leaves {
            return true;
        }
        match instr.op {
            Operator::Block { .. }
            | Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::Try { .. }
            | Operator::TryTable { .. } => depth += 1,
            Operator::End | Operator::Delegate { .. } => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
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
fn reads_zero<'a>(instrs: impl Iterator<Item = Instr<'a>>, params: u32, locals: u32) -> Vec<bool> {
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
    for instr in instrs {
        match &instr.op {
            Operator::LocalGet { local_index } => {
                let set = state.as_ref().is_none_or(|state| state[*local_index as usize]);
                needed[*local_index as usize] |= !set;
            }
            Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                if let Some(state) = &mut state {
                    state[*local_index as usize] = true;
                }
            }
            op @ (Operator::Block { .. }
            | Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::Try { .. }
            | Operator::TryTable { .. }) => {
                if let Operator::TryTable { try_table } = op {
                    for catch in &try_table.catches {
                        branch(&mut frames, catch_label(catch), &state);
                    }
                }
                frames.push(Frame {
                    is_loop: matches!(op, Operator::Loop { .. }),
                    end: None,
                    entry: state.clone(),
                    skips: matches!(op, Operator::If { .. }),
                });
            }
            Operator::Else | Operator::Catch { .. } | Operator::CatchAll => {
                if let Some(frame) = frames.last_mut() {
                    merge(&mut frame.end, &state);
                    state = frame.entry.clone();
                    frame.skips = false;
                }
            }
            Operator::End | Operator::Delegate { .. } => {
                let Some(frame) = frames.pop() else { break };
                merge(&mut state, &frame.end);
                if frame.skips {
                    merge(&mut state, &frame.entry);
                }
            }
            Operator::BrIf { relative_depth }
            | Operator::BrOnNull { relative_depth }
            | Operator::BrOnNonNull { relative_depth } => {
                branch(&mut frames, *relative_depth, &state);
            }
            Operator::Br { relative_depth } => {
                branch(&mut frames, *relative_depth, &state);
                state = None;
            }
            Operator::BrTable { targets } => {
                for target in targets.targets().flatten().chain([targets.default()]) {
                    branch(&mut frames, target, &state);
                }
                state = None;
            }
            Operator::Return
            | Operator::Unreachable
            | Operator::Throw { .. }
            | Operator::ThrowRef
            | Operator::Rethrow { .. } => state = None,
            _ => {}
        }
    }
    needed
}
