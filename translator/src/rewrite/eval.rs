//! Runs functions of a module on chosen inputs, to see what they do.
//!
//! Enough of WebAssembly for C's functions on memory, and for arithmetic of compilers' libraries. It has integers, locals,
//! structured control, loads and stores of memory 0, bulk copies and fills, calls of functions of the same kind, and the
//! stack pointer if that is allowed. Whatever else a body has makes it one that cannot be evaluated. A function may read and
//! write only what the caller lends it, and has a budget of steps.

use std::fmt;

use rustc_hash::FxHashMap;
use wasmparser::{BlockType, MemArg, MemArgTarget, Operator, ValType};

use crate::module::Module;

/// Calls within calls, and functions: C's forward once or twice, division calls a multiplication and shifts.
const MOST_CALLS: usize = 8;
/// Largest constant of a body that is neither a step nor a mask; see [`Evaluator::threshold`].
const LARGEST_CONSTANT: i32 = 256;
/// Instructions of one function: the largest that is known has 700.
const MOST_INSTRS: u32 = 4_000;

/// A value; 32-bit ones have zeros above.
pub(super) type Value = u64;

/// An instruction, ready to run.
enum Op {
    Const(Value),
    Get(u32),
    Set(u32),
    Tee(u32),
    Load {
        offset: u64,
        bytes: u32,
        extend: fn(Value) -> Value,
    },
    Store {
        offset: u64,
        bytes: u32,
    },
    Unary(fn(Value) -> Value),
    Binary(fn(Value, Value) -> Value),
    /// `None` is a trap.
    Divide(fn(Value, Value) -> Option<Value>),
    GetStackPointer,
    SetStackPointer,
    Block {
        end: usize,
        results: usize,
    },
    Loop,
    If {
        other: Option<usize>,
        end: usize,
        results: usize,
    },
    Else {
        end: usize,
    },
    End,
    Br(u32),
    BrIf(u32),
    BrTable(Box<[u32]>),
    Return,
    Unreachable,
    Drop,
    Select,
    Call(usize),
    Copy,
    Fill,
    Nop,
}

/// A function, ready to run.
struct Function {
    params: usize,
    locals: usize,
    results: usize,
    ops: Vec<Op>,
}

/// Why a run did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It read or wrote what it was not lent.
    Outside { address: u64, writes: bool },
    /// It trapped: a bulk operation out of bounds, a division, or `unreachable`.
    Trap,
    /// Its budget was used up, or its calls were too deep.
    Endless,
}

/// What the function did in place of coming to its end.
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Outside { address, writes: true } => write!(f, "wrote to {address:#x}"),
            Stop::Outside { address, writes: false } => write!(f, "read from {address:#x}"),
            Stop::Trap => f.write_str("trapped"),
            Stop::Endless => f.write_str("did not come to an end"),
        }
    }
}

/// Bytes of memory from an address on.
pub(super) struct Region {
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
}

/// What a function may touch. Nothing else exists, but bulk operations see the memory's size too.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) regions: Vec<Region>,
    /// Ranges that may be read, and around each what shares an aligned word with it. Such a word is in bounds where one
    /// of its bytes is.
    pub(super) readable: Vec<(u64, u64)>,
    /// The range that may be written.
    pub(super) writable: (u64, u64),
    /// The memory's size in bytes.
    pub(super) size: u64,
    /// The stack pointer's value.
    pub(super) stack_pointer: Value,
}

impl Scratch {
    /// The region that has so many bytes from an address on, and where they are in it.
    pub(super) fn place(&self, address: u64, count: u64) -> Option<(usize, usize)> {
        self.regions.iter().enumerate().find_map(|(at, region)| {
            let offset = address.checked_sub(region.start)?;
            (offset + count <= region.bytes.len() as u64).then_some((at, offset as usize))
        })
    }

    fn may_read(&self, address: u64, count: u64) -> bool {
        let exact = |&(start, end): &(u64, u64)| start <= address && address + count <= end;
        // A word's length is a power of two.
        let in_word =
            |&(start, end): &(u64, u64)| start < end && count <= 8 && address < end && start < address + count;
        self.readable.iter().any(exact) || address & (count - 1) == 0 && self.readable.iter().any(in_word)
    }

    fn read(&self, address: u64, count: u64) -> Result<&[u8], Stop> {
        let place = self.place(address, count).filter(|_| self.may_read(address, count));
        let (region, offset) = place.ok_or(Stop::Outside { address, writes: false })?;
        Ok(&self.regions[region].bytes[offset..][..count as usize])
    }

    fn write(&mut self, address: u64, count: u64) -> Result<&mut [u8], Stop> {
        let (start, end) = self.writable;
        let inside = start <= address && address + count <= end;
        let place = self.place(address, count).filter(|_| inside);
        let (region, offset) = place.ok_or(Stop::Outside { address, writes: true })?;
        Ok(&mut self.regions[region].bytes[offset..][..count as usize])
    }

    /// As the instructions have it: out of bounds is a trap, also of no byte at all.
    fn in_bounds(&self, address: Value, count: Value) -> Result<(), Stop> {
        (address + count <= self.size).then_some(()).ok_or(Stop::Trap)
    }

    fn copy(&mut self, to: Value, from: Value, count: Value) -> Result<(), Stop> {
        self.in_bounds(to, count)?;
        self.in_bounds(from, count)?;
        if count > 0 {
            let bytes = self.read(from, count)?.to_vec();
            self.write(to, count)?.copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn fill(&mut self, to: Value, byte: Value, count: Value) -> Result<(), Stop> {
        self.in_bounds(to, count)?;
        if count > 0 {
            self.write(to, count)?.fill(byte as u8);
        }
        Ok(())
    }
}

/// A function and what it calls.
pub(super) struct Evaluator {
    functions: Vec<Function>,
    /// The constants of their bodies.
    constants: Vec<i64>,
    stack: Vec<Value>,
}

impl Evaluator {
    /// Reads the defined function at position `func`; an error says what cannot be evaluated. It may use the global
    /// `stack_pointer`, and no other one.
    pub(super) fn new(module: &Module<'_>, func: usize, stack_pointer: Option<u32>) -> Result<Evaluator, String> {
        let mut evaluator = Evaluator {
            functions: Vec::new(),
            constants: Vec::new(),
            stack: Vec::new(),
        };
        // Breadth first: a function's calls are numbered as they are met.
        let mut numbers: FxHashMap<usize, usize> = FxHashMap::from_iter([(func, 0)]);
        let mut queue = vec![func];
        let mut next = 0;
        while let Some(&func) = queue.get(next) {
            let read = read(module, func, stack_pointer, &mut evaluator.constants, |callee| {
                let new = queue.len();
                let number = *numbers.entry(callee).or_insert(new);
                if number == new {
                    queue.push(callee);
                }
                number
            })?;
            evaluator.functions.push(read);
            next += 1;
            if queue.len() > MOST_CALLS {
                return Err("calls many functions".to_owned());
            }
        }
        Ok(evaluator)
    }

    /// Calls the function, whose only result is returned. It may execute `steps` instructions.
    pub(super) fn call(&mut self, arguments: &[Value], memory: &mut Scratch, steps: u64) -> Result<Value, Stop> {
        self.run(arguments, memory, steps)?.ok_or(Stop::Trap)
    }

    /// The same of a function that may have no result.
    pub(super) fn run(
        &mut self,
        arguments: &[Value],
        memory: &mut Scratch,
        mut steps: u64,
    ) -> Result<Option<Value>, Stop> {
        let mut stack = std::mem::take(&mut self.stack);
        stack.clear();
        stack.extend(arguments);
        let done = run(&self.functions, 0, &mut stack, memory, &mut steps, MOST_CALLS);
        let result = stack.pop();
        self.stack = stack;
        done?;
        Ok(result)
    }

    /// A constant that may be a threshold beyond what was tried: one that is large, and no step, mask or pattern of equal
    /// bytes.
    pub(super) fn threshold(&self) -> Option<i64> {
        let half = |half: i32| {
            let [first, rest @ ..] = half.to_le_bytes();
            (-LARGEST_CONSTANT..=LARGEST_CONSTANT).contains(&half) || rest.iter().all(|byte| *byte == first)
        };
        let is_harmless = |constant: &i64| half(*constant as i32) && half((constant >> 32) as i32);
        self.constants.iter().copied().find(|constant| !is_harmless(constant))
    }
}

/// Where a branch goes: the place, the height of the stack there, and how many values it takes along.
struct Label {
    to: usize,
    height: usize,
    values: usize,
}

/// Runs a function whose arguments are on the stack, and leaves its results there.
fn run(
    functions: &[Function],
    number: usize,
    stack: &mut Vec<Value>,
    memory: &mut Scratch,
    steps: &mut u64,
    depth: usize,
) -> Result<(), Stop> {
    let function = &functions[number];
    let depth = depth.checked_sub(1).ok_or(Stop::Endless)?;
    let base = stack.len() - function.params;
    let floor = base + function.params + function.locals;
    stack.resize(floor, 0);
    let mut labels = vec![Label {
        to: function.ops.len(),
        height: floor,
        values: function.results,
    }];
    let pop = |stack: &mut Vec<Value>| stack.pop().expect(VALID);
    let mut at = 0;
    while let Some(op) = function.ops.get(at) {
        *steps = steps.checked_sub(1).ok_or(Stop::Endless)?;
        at += 1;
        let mut branch = None;
        match op {
            Op::Const(value) => stack.push(*value),
            Op::Get(local) => stack.push(stack[base + *local as usize]),
            Op::Set(local) => stack[base + *local as usize] = pop(stack),
            Op::Tee(local) => stack[base + *local as usize] = *stack.last().expect(VALID),
            Op::Load { offset, bytes, extend } => {
                let address = pop(stack) + offset;
                let mut value = [0; 8];
                value[..*bytes as usize].copy_from_slice(memory.read(address, u64::from(*bytes))?);
                stack.push(extend(Value::from_le_bytes(value)));
            }
            Op::Store { offset, bytes } => {
                let value = pop(stack);
                let address = pop(stack) + offset;
                let to = memory.write(address, u64::from(*bytes))?;
                to.copy_from_slice(&value.to_le_bytes()[..*bytes as usize]);
            }
            Op::Unary(f) => {
                let value = pop(stack);
                stack.push(f(value));
            }
            Op::Binary(f) => {
                let right = pop(stack);
                let left = pop(stack);
                stack.push(f(left, right));
            }
            Op::Divide(f) => {
                let right = pop(stack);
                let left = pop(stack);
                stack.push(f(left, right).ok_or(Stop::Trap)?);
            }
            Op::GetStackPointer => stack.push(memory.stack_pointer),
            Op::SetStackPointer => memory.stack_pointer = pop(stack),
            Op::Block { end, results } => labels.push(Label {
                to: end + 1,
                height: stack.len(),
                values: *results,
            }),
            Op::Loop => labels.push(Label {
                to: at - 1,
                height: stack.len(),
                values: 0,
            }),
            Op::If { other, end, results } => {
                let condition = pop(stack);
                labels.push(Label {
                    to: end + 1,
                    height: stack.len(),
                    values: *results,
                });
                if condition == 0 {
                    at = other.map_or(*end, |other| other + 1);
                }
            }
            Op::Else { end } => at = *end,
            Op::End => _ = labels.pop(),
            Op::Br(to) => branch = Some(*to),
            Op::BrIf(to) => branch = (pop(stack) != 0).then_some(*to),
            Op::BrTable(targets) => {
                let last = targets.len() - 1;
                branch = Some(targets[(pop(stack) as usize).min(last)]);
            }
            Op::Return => branch = Some(labels.len() as u32 - 1),
            Op::Unreachable => return Err(Stop::Trap),
            Op::Drop => _ = pop(stack),
            Op::Select => {
                let condition = pop(stack);
                let other = pop(stack);
                if condition == 0 {
                    *stack.last_mut().expect(VALID) = other;
                }
            }
            Op::Call(callee) => run(functions, *callee, stack, memory, steps, depth)?,
            Op::Copy => {
                let (count, from, to) = (pop(stack), pop(stack), pop(stack));
                *steps = steps.checked_sub(count).ok_or(Stop::Endless)?;
                memory.copy(to, from, count)?;
            }
            Op::Fill => {
                let (count, byte, to) = (pop(stack), pop(stack), pop(stack));
                *steps = steps.checked_sub(count).ok_or(Stop::Endless)?;
                memory.fill(to, byte, count)?;
            }
            Op::Nop => {}
        }
        if let Some(to) = branch {
            let outermost = labels.len() - 1 - to as usize;
            let Label { to, height, values } = labels[outermost];
            labels.truncate(outermost);
            let from = stack.len() - values;
            stack.copy_within(from.., height);
            stack.truncate(height + values);
            at = to;
        }
    }
    let from = stack.len() - function.results;
    stack.copy_within(from.., base);
    stack.truncate(base + function.results);
    Ok(())
}

/// What is certain of a module that was validated.
const VALID: &str = "the module was validated";

/// Reads a function; `number` numbers those that it calls.
fn read(
    module: &Module<'_>,
    func: usize,
    stack_pointer: Option<u32>,
    constants: &mut Vec<i64>,
    mut number: impl FnMut(usize) -> usize,
) -> Result<Function, String> {
    let func = &module.funcs[func];
    let ty = &module.types[func.ty as usize];
    let is_integer = |ty: &ValType| matches!(ty, ValType::I32 | ValType::I64);
    let locals = func.locals();
    let of_integers = ty.params().iter().chain(ty.results()).all(is_integer);
    if !of_integers || !locals.iter().all(|(_, ty)| is_integer(ty)) {
        return Err("has values that are no integers".to_owned());
    }
    if func.summary().instrs > MOST_INSTRS {
        return Err("is large".to_owned());
    }
    let first = module.imported_funcs.len();
    let mut ops: Vec<Op> = Vec::new();
    // Where open constructs begin.
    let mut open: Vec<usize> = Vec::new();
    for instr in func.instrs() {
        let op = match &instr.op {
            Operator::Call { function_index } => match (*function_index as usize).checked_sub(first) {
                Some(callee) => Op::Call(number(callee)),
                None => return Err("calls an import".to_owned()),
            },
            Operator::Block { blockty } => Op::Block {
                end: 0,
                results: results_of(*blockty)?,
            },
            // A branch to it takes no values along: it has no parameters.
            Operator::Loop { blockty } => results_of(*blockty).map(|_| Op::Loop)?,
            Operator::If { blockty } => Op::If {
                other: None,
                end: 0,
                results: results_of(*blockty)?,
            },
            Operator::Else => Op::Else { end: 0 },
            Operator::End => Op::End,
            Operator::GlobalGet { global_index } if Some(*global_index) == stack_pointer => Op::GetStackPointer,
            Operator::GlobalSet { global_index } if Some(*global_index) == stack_pointer => Op::SetStackPointer,
            Operator::I32Const { value } => {
                constants.push(i64::from(*value));
                Op::Const(Value::from(*value as u32))
            }
            Operator::I64Const { value } => {
                constants.push(*value);
                Op::Const(*value as Value)
            }
            op => match simple(op).or_else(|| numeric(op)).or_else(|| division(op)) {
                Some(op) => op,
                None => return Err(format!("has the instruction {}", name_of(op))),
            },
        };
        let here = ops.len();
        match &op {
            Op::Block { .. } | Op::Loop | Op::If { .. } => open.push(here),
            Op::Else { .. } => {
                let begin = *open.last().expect(VALID);
                if let Op::If { other, .. } = &mut ops[begin] {
                    *other = Some(here);
                }
            }
            Op::End => {
                if let Some(begin) = open.pop() {
                    let other = match &mut ops[begin] {
                        Op::Block { end, .. } => {
                            *end = here;
                            None
                        }
                        Op::If { other, end, .. } => {
                            *end = here;
                            *other
                        }
                        _ => None,
                    };
                    if let Some(Op::Else { end }) = other.map(|other| &mut ops[other]) {
                        *end = here;
                    }
                }
            }
            _ => {}
        }
        ops.push(op);
    }
    Ok(Function {
        params: ty.params().len(),
        locals: locals.iter().map(|(count, _)| *count as usize).sum(),
        results: ty.results().len(),
        ops,
    })
}

/// An instruction's name, without its operands.
fn name_of(op: &Operator<'_>) -> String {
    let debug = format!("{op:?}");
    debug.split([' ', '{', '(']).next().unwrap_or_default().to_owned()
}

fn results_of(ty: BlockType) -> Result<usize, String> {
    match ty {
        BlockType::Empty => Ok(0),
        BlockType::Type(_) => Ok(1),
        BlockType::FuncType(_) => Err("has blocks with parameters".to_owned()),
    }
}

fn simple(op: &Operator<'_>) -> Option<Op> {
    let identity: fn(Value) -> Value = |value| value;
    let load = |memarg: &MemArg, bytes: u32, extend: fn(Value) -> Value| {
        let offset = memarg.offset;
        (matches!(memarg.target, MemArgTarget::Memory(0))).then_some(Op::Load { offset, bytes, extend })
    };
    let store = |memarg: &MemArg, bytes: u32| {
        let offset = memarg.offset;
        (matches!(memarg.target, MemArgTarget::Memory(0))).then_some(Op::Store { offset, bytes })
    };
    Some(match op {
        Operator::Nop => Op::Nop,
        Operator::Unreachable => Op::Unreachable,
        Operator::Br { relative_depth } => Op::Br(*relative_depth),
        Operator::BrIf { relative_depth } => Op::BrIf(*relative_depth),
        Operator::BrTable { targets } => {
            let listed = targets.targets().map(|target| target.expect(VALID));
            Op::BrTable(listed.chain([targets.default()]).collect())
        }
        Operator::Return => Op::Return,
        Operator::Drop => Op::Drop,
        Operator::Select => Op::Select,
        Operator::LocalGet { local_index } => Op::Get(*local_index),
        Operator::LocalSet { local_index } => Op::Set(*local_index),
        Operator::LocalTee { local_index } => Op::Tee(*local_index),
        Operator::MemoryCopy { dst_mem: 0, src_mem: 0 } => Op::Copy,
        Operator::MemoryFill { mem: 0 } => Op::Fill,
        Operator::I32Load { memarg } | Operator::I64Load32U { memarg } => load(memarg, 4, identity)?,
        Operator::I32Load8U { memarg } | Operator::I64Load8U { memarg } => load(memarg, 1, identity)?,
        Operator::I32Load16U { memarg } | Operator::I64Load16U { memarg } => load(memarg, 2, identity)?,
        Operator::I64Load { memarg } => load(memarg, 8, identity)?,
        Operator::I32Load8S { memarg } => load(memarg, 1, |v| Value::from(v as i8 as u32))?,
        Operator::I32Load16S { memarg } => load(memarg, 2, |v| Value::from(v as i16 as u32))?,
        Operator::I64Load8S { memarg } => load(memarg, 1, |v| v as i8 as Value)?,
        Operator::I64Load16S { memarg } => load(memarg, 2, |v| v as i16 as Value)?,
        Operator::I64Load32S { memarg } => load(memarg, 4, |v| v as i32 as Value)?,
        Operator::I32Store { memarg } | Operator::I64Store32 { memarg } => store(memarg, 4)?,
        Operator::I32Store8 { memarg } | Operator::I64Store8 { memarg } => store(memarg, 1)?,
        Operator::I32Store16 { memarg } | Operator::I64Store16 { memarg } => store(memarg, 2)?,
        Operator::I64Store { memarg } => store(memarg, 8)?,
        _ => return None,
    })
}

fn numeric(op: &Operator<'_>) -> Option<Op> {
    macro_rules! table {
        (unary { $($u:ident |$x:ident| $ux:expr;)* } binary { $($b:ident |$l:ident, $r:ident| $bx:expr;)* }) => {
            match op {
                $(Operator::$u => Op::Unary(|$x| ($ux) as Value),)*
                $(Operator::$b => Op::Binary(|$l, $r| ($bx) as Value),)*
                _ => return None,
            }
        };
    }
    Some(table! {
        unary {
        I32Eqz |x| x == 0; I64Eqz |x| x == 0;
        I32Clz |x| (x as u32).leading_zeros(); I64Clz |x| x.leading_zeros();
        I32Ctz |x| (x as u32).trailing_zeros(); I64Ctz |x| x.trailing_zeros();
        I32Popcnt |x| x.count_ones(); I64Popcnt |x| x.count_ones();
        I32Extend8S |x| x as i8 as u32; I32Extend16S |x| x as i16 as u32;
        I64Extend8S |x| x as i8; I64Extend16S |x| x as i16; I64Extend32S |x| x as i32;
        I32WrapI64 |x| x as u32; I64ExtendI32U |x| x; I64ExtendI32S |x| x as i32;
        } binary {
        I32Eq |l, r| l == r; I64Eq |l, r| l == r; I32Ne |l, r| l != r; I64Ne |l, r| l != r;
        I32LtU |l, r| l < r; I64LtU |l, r| l < r; I32LtS |l, r| (l as i32) < r as i32; I64LtS |l, r| (l as i64) < r as i64;
        I32GtU |l, r| l > r; I64GtU |l, r| l > r; I32GtS |l, r| l as i32 > r as i32; I64GtS |l, r| l as i64 > r as i64;
        I32LeU |l, r| l <= r; I64LeU |l, r| l <= r; I32LeS |l, r| l as i32 <= r as i32; I64LeS |l, r| l as i64 <= r as i64;
        I32GeU |l, r| l >= r; I64GeU |l, r| l >= r; I32GeS |l, r| l as i32 >= r as i32; I64GeS |l, r| l as i64 >= r as i64;
        I32Add |l, r| (l as u32).wrapping_add(r as u32); I64Add |l, r| l.wrapping_add(r);
        I32Sub |l, r| (l as u32).wrapping_sub(r as u32); I64Sub |l, r| l.wrapping_sub(r);
        I32Mul |l, r| (l as u32).wrapping_mul(r as u32); I64Mul |l, r| l.wrapping_mul(r);
        I32And |l, r| l & r; I64And |l, r| l & r; I32Or |l, r| l | r; I64Or |l, r| l | r;
        I32Xor |l, r| l ^ r; I64Xor |l, r| l ^ r;
        I32Shl |l, r| (l as u32).wrapping_shl(r as u32); I64Shl |l, r| l.wrapping_shl(r as u32);
        I32ShrU |l, r| (l as u32).wrapping_shr(r as u32); I64ShrU |l, r| l.wrapping_shr(r as u32);
        I32ShrS |l, r| (l as i32).wrapping_shr(r as u32) as u32; I64ShrS |l, r| (l as i64).wrapping_shr(r as u32);
        I32Rotl |l, r| (l as u32).rotate_left(r as u32 % 32); I64Rotl |l, r| l.rotate_left(r as u32 % 64);
        I32Rotr |l, r| (l as u32).rotate_right(r as u32 % 32); I64Rotr |l, r| l.rotate_right(r as u32 % 64);
        }
    })
}

fn division(op: &Operator<'_>) -> Option<Op> {
    Some(Op::Divide(match op {
        Operator::I32DivU => |l, r| l.checked_div(r),
        Operator::I32RemU => |l, r| l.checked_rem(r),
        Operator::I64DivU => |l, r| l.checked_div(r),
        Operator::I64RemU => |l, r| l.checked_rem(r),
        _ => return None,
    }))
}
