//! A lane: one thread of a kernel, which runs a number of instructions at a time.

use std::sync::atomic::{Ordering, fence};

use crate::arithmetic::{binary, compare, convert, insert, lop3, ternary, unary, widen, with_carry};
use crate::inst::{AtomicOp, Binary, FullCompare, NONE, Op, Special, Src};
use crate::memory::{Memory, Range, atomic, load, store};
use crate::module::{Error, FUNCTIONS, Module, Result};

/// What a register holds that was never written, so that a read of it is noticed.
const POISON: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// Where a lane is in its kernel.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Number of the block.
    pub block: u32,
    /// Blocks.
    pub blocks: u32,
    /// Number of the lane in its block.
    pub lane: u32,
    /// Lanes in a block.
    pub lanes: u32,
}

/// Why a lane stopped for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It ran as many instructions as it may.
    Slice,
    /// It waits for others.
    Sleep,
    /// It ended.
    End,
}

/// A function that is running.
#[derive(Clone, Copy, Debug)]
struct Frame {
    function: u32,
    pc: usize,
    /// Its first register.
    registers: usize,
    /// Address of its frame.
    frame: u64,
}

/// A thread of a kernel.
pub struct Lane<'m> {
    module: &'m Module,
    place: Place,
    memory: Memory,
    frames: Vec<Frame>,
    registers: Vec<u64>,
    /// Lanes of its block that must have come to the barrier at which it is.
    awaited: Option<u32>,
    /// Instructions that it ran.
    pub executed: u64,
}

impl<'m> Lane<'m> {
    /// A lane at the beginning of a kernel.
    ///
    /// # Errors
    ///
    /// That the arguments are not the kernel's.
    pub fn new(module: &'m Module, kernel: u32, args: &[&[u8]], place: Place, memory: Memory) -> Result<Lane<'m>> {
        let mut lane = Lane {
            module,
            place,
            memory,
            frames: Vec::new(),
            registers: Vec::new(),
            awaited: None,
            executed: 0,
        };
        let top = lane.memory.stack.begin + lane.memory.stack.bytes;
        lane.enter(kernel, top).map_err(Error)?;
        let frame = lane.frames[0].frame;
        for (param, bytes) in module.functions[kernel as usize].params.iter().zip(args) {
            if (bytes.len() as u32) < param.bytes {
                return Err(Error(format!(
                    "the kernel takes {} bytes, and gets {}",
                    param.bytes,
                    bytes.len()
                )));
            }
            let to = (frame + param.offset as u64) as *mut u8;
            // SAFETY: a place in the frame, which is in this lane's stack.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, param.bytes as usize) };
        }
        Ok(lane)
    }

    /// Puts a function's frame under `top`.
    fn enter(&mut self, function: u32, top: u64) -> std::result::Result<(), String> {
        let called = &self.module.functions[function as usize];
        if called.code.is_empty() {
            return Err(format!("the function {} has no body", called.name));
        }
        let room = top - self.memory.stack.begin;
        if room < called.frame as u64 {
            return Err("the native stack is full".into());
        }
        let registers = self.registers.len();
        self.registers.resize(registers + called.registers as usize, POISON);
        self.frames.push(Frame {
            function,
            pc: 0,
            registers,
            frame: top - called.frame as u64,
        });
        Ok(())
    }

    /// Runs as many instructions as are given, or until it stops before.
    ///
    /// # Errors
    ///
    /// What went wrong, and where.
    pub fn run(&mut self, instructions: u64) -> Result<Stop> {
        let mut left = instructions;
        // As if they were over, so that those that are left tell how many are.
        self.executed += instructions;
        let stop = loop {
            match self.step(&mut left) {
                Ok(Some(stop)) => break stop,
                Ok(None) => {}
                Err(what) => return Err(self.error(&what)),
            }
        };
        self.executed -= left;
        Ok(stop)
    }

    #[cold]
    fn error(&self, what: &str) -> Error {
        let mut text = what.to_owned();
        for (i, frame) in self.frames.iter().rev().take(8).enumerate() {
            // For a caller, the instruction after the call is known.
            let pc = frame.pc.saturating_sub((i > 0) as usize);
            text += if i == 0 { "\n  at " } else { "\n  called at " };
            text += &self.module.place(frame.function, pc);
        }
        text += &format!("\n  lane {} of block {}", self.place.lane, self.place.block);
        Error(text)
    }

    /// Runs the innermost function until it calls, returns or stops.
    fn step(&mut self, left: &mut u64) -> std::result::Result<Option<Stop>, String> {
        let Some(index) = self.frames.len().checked_sub(1) else {
            return Ok(Some(Stop::End));
        };
        let Frame {
            function,
            mut pc,
            registers: base,
            frame,
        } = self.frames[index];
        let function = &self.module.functions[function as usize];
        let (code, constants) = (&function.code[..], &function.constants[..]);
        let registers = &mut self.registers[base..];
        let memory = &mut self.memory;
        macro_rules! get {
            ($src:expr) => {{
                let src: Src = $src;
                match src.tag() {
                    0 => registers[src.0 as usize],
                    1 => constants[(src.0 & Src::VALUE) as usize],
                    2 => frame + (src.0 & Src::VALUE) as u64,
                    _ => memory.shared() + (src.0 & Src::VALUE) as u64,
                }
            }};
        }
        macro_rules! fail {
            ($what:expr) => {{
                self.frames[index].pc = pc;
                return Err($what);
            }};
        }
        macro_rules! check {
            ($address:expr, $bytes:expr, $align:expr) => {
                if let Err(what) = memory.check($address, $bytes, $align) {
                    fail!(what);
                }
            };
        }
        loop {
            if *left == 0 {
                self.frames[index].pc = pc;
                return Ok(Some(Stop::Slice));
            }
            *left -= 1;
            let inst = &code[pc];
            if inst.guard != NONE && registers[(inst.guard / 2) as usize] as u32 & 1 == inst.guard & 1 {
                pc += 1;
                continue;
            }
            match &inst.op {
                Op::Move(to, value) => registers[*to as usize] = get!(*value),
                Op::Whole { to, low, shared } => {
                    let begin = if *shared { memory.shared() } else { memory.stack.begin };
                    let from_begin = (get!(*low) as u32).wrapping_sub(begin as u32);
                    registers[*to as usize] = begin + u64::from(from_begin);
                }
                Op::Binary(op, ty, to, a, b) => registers[*to as usize] = binary(*op, *ty, get!(*a), get!(*b)),
                Op::Carry {
                    subtracts,
                    to,
                    a,
                    b,
                    flag,
                    takes,
                    keeps,
                } => {
                    let taken = if *takes { registers[*flag as usize] } else { 0 };
                    let (result, carry) = with_carry(*subtracts, get!(*a), get!(*b), taken);
                    registers[*to as usize] = result;
                    if *keeps {
                        registers[*flag as usize] = carry;
                    }
                }
                Op::Unary(op, ty, to, a) => registers[*to as usize] = unary(*op, *ty, get!(*a)),
                Op::Ternary(op, ty, to, [a, b, c]) => {
                    registers[*to as usize] = ternary(*op, *ty, [get!(*a), get!(*b), get!(*c)]);
                }
                Op::Insert(ty, to, sources) => {
                    let [a, b, at, count] = **sources;
                    registers[*to as usize] = insert(*ty, get!(a), get!(b), get!(at), get!(count));
                }
                Op::Lop3(to, [a, b, c], table) => {
                    registers[*to as usize] = lop3(get!(*a), get!(*b), get!(*c), *table);
                }
                Op::Select(to, a, b, predicate) => {
                    registers[*to as usize] = if get!(*predicate) & 1 == 1 { get!(*a) } else { get!(*b) };
                }
                Op::Compare(how, ty, to, a, b) => {
                    registers[*to as usize] = compare(*how, *ty, get!(*a), get!(*b)) as u64;
                }
                Op::FullCompare(full) => {
                    let FullCompare {
                        compare: how,
                        ty,
                        to,
                        operands: [a, b],
                        with,
                    } = &**full;
                    let found = compare(*how, *ty, get!(*a), get!(*b));
                    let with = with.map(|(logic, with, negated)| (logic, (get!(with) & 1 == 1) != negated));
                    for (to, found) in to.iter().zip([found, !found]) {
                        if *to != NONE {
                            registers[*to as usize] = match with {
                                None => found,
                                Some((Binary::And, with)) => found & with,
                                Some((Binary::Or, with)) => found | with,
                                Some((_, with)) => found ^ with,
                            } as u64;
                        }
                    }
                }
                Op::Convert(to, value, how) => registers[*to as usize] = convert(how, get!(*value)),
                Op::Pack(bits, to, parts) => {
                    let mask = (1u64 << bits) - 1;
                    let whole = parts
                        .iter()
                        .rev()
                        .fold(0, |whole, part| whole << bits | get!(*part) & mask);
                    registers[*to as usize] = whole;
                }
                Op::Unpack(bits, parts, value) => {
                    let (mask, mut value) = ((1u64 << bits) - 1, get!(*value));
                    for to in parts {
                        registers[*to as usize] = value & mask;
                        value >>= bits;
                    }
                }
                Op::Load {
                    ty,
                    width,
                    align,
                    strong,
                    to,
                    base,
                    offset,
                } => {
                    let address = get!(*base).wrapping_add_signed(*offset as i64);
                    check!(address, ty.bytes(), *align);
                    // SAFETY: checked; what is not strong is not shared, or the program has a race.
                    let value = unsafe { load(*ty, address, *strong) };
                    registers[*to as usize] = widen(*ty, value, *width as u32);
                }
                Op::Store {
                    ty,
                    align,
                    strong,
                    value,
                    base,
                    offset,
                } => {
                    let address = get!(*base).wrapping_add_signed(*offset as i64);
                    check!(address, ty.bytes(), *align);
                    // SAFETY: as for loads.
                    unsafe { store(*ty, address, get!(*value), *strong) };
                }
                Op::Atomic(op) => {
                    let AtomicOp {
                        op,
                        ty,
                        to,
                        base,
                        offset,
                        operands: [a, b],
                    } = &**op;
                    let address = get!(*base).wrapping_add_signed(*offset as i64);
                    check!(address, ty.bytes(), ty.bytes() as u8);
                    // SAFETY: checked, and a multiple of the type's bytes.
                    let old = unsafe { atomic(*op, *ty, address, get!(*a), get!(*b)) };
                    if *to != NONE {
                        registers[*to as usize] = old;
                    }
                }
                // Pairs with fences of the host and of other lanes.
                Op::Fence => fence(Ordering::SeqCst),
                Op::Branch(target) => {
                    pc = *target as usize;
                    continue;
                }
                Op::BranchIndex(which, targets) => match targets.get(get!(*which) as u32 as usize) {
                    Some(target) => {
                        pc = *target as usize;
                        continue;
                    }
                    None => fail!("an index behind the last label".to_owned()),
                },
                Op::Call(call) => {
                    let called = match (call.function, call.pointer) {
                        (Some(function), _) => function,
                        (None, pointer) => {
                            let address = pointer.map_or(0, |pointer| get!(pointer));
                            let number = address.wrapping_sub(FUNCTIONS) / 16;
                            if address % 16 != 0 || number >= self.module.functions.len() as u64 {
                                fail!(format!("a call of {address:#x}, which is no function"));
                            }
                            number as u32
                        }
                    };
                    if !self.module.fits(call, called) {
                        let name = &self.module.functions[called as usize].name;
                        fail!(format!("a call of {name} with other parameters than it has"));
                    }
                    self.frames[index].pc = pc + 1;
                    if let Err(what) = self.enter(called, frame) {
                        fail!(what);
                    }
                    let callee = self.frames[index + 1].frame;
                    let params = &self.module.functions[called as usize].params;
                    for ((from, bytes), param) in call.params.iter().zip(params) {
                        let (from, to) = (frame + *from as u64, callee + param.offset as u64);
                        // SAFETY: places of both frames, as long as the parameter.
                        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, *bytes as usize) };
                    }
                    return Ok(None);
                }
                Op::Return => {
                    self.registers.truncate(base);
                    self.frames.pop();
                    let Some(caller) = self.frames.last() else {
                        return Ok(Some(Stop::End));
                    };
                    let code = &self.module.functions[caller.function as usize].code;
                    let Op::Call(call) = &code[caller.pc - 1].op else {
                        return Err("a return to no call".into());
                    };
                    for ((to, bytes), result) in call.results.iter().zip(&function.results) {
                        let (from, to) = (frame + result.offset as u64, caller.frame + *to as u64);
                        // SAFETY: places of both frames, as long as the result.
                        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, *bytes as usize) };
                    }
                    return Ok(None);
                }
                Op::Exit => return Ok(Some(Stop::End)),
                Op::Trap => fail!("`trap`".to_owned()),
                Op::Special(to, special) => {
                    registers[*to as usize] = value_of(*special, self.place, self.executed - *left)
                }
                Op::StackSave(to) => registers[*to as usize] = frame - memory.stack.begin,
                Op::ActiveMask(to) => registers[*to as usize] = 1 << (self.place.lane % 32),
                Op::Ballot(to, value, negated) => {
                    let set = (get!(*value) & 1 == 1) != *negated;
                    registers[*to as usize] = (set as u64) << (self.place.lane % 32);
                }
                Op::Sleep => {
                    self.frames[index].pc = pc + 1;
                    return Ok(Some(Stop::Sleep));
                }
                Op::Barrier => {
                    let awaited = *self.awaited.get_or_insert_with(|| memory.block.arrive());
                    if !memory.block.have_come(awaited) {
                        self.frames[index].pc = pc;
                        return Ok(Some(Stop::Sleep));
                    }
                    self.awaited = None;
                }
                Op::Nop => {}
            }
            pc += 1;
        }
    }

    /// The lane's stack.
    pub fn stack(&self) -> Range {
        self.memory.stack
    }
}

/// The clock of the interpreter on the CPU, with which threads may have begun that go on here: in ns.
fn global_timer() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to `now` alone. This clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn value_of(special: Special, place: Place, executed: u64) -> u64 {
    let lane = place.lane % 32;
    match special {
        Special::Tid => place.lane as u64,
        Special::Ntid => place.lanes as u64,
        Special::Ctaid => place.block as u64,
        Special::Nctaid => place.blocks as u64,
        Special::LaneId => lane as u64,
        Special::WarpId => (place.lane / 32) as u64,
        Special::Zero => 0,
        Special::One => 1,
        Special::Clock => executed,
        Special::GlobalTimer => global_timer(),
        Special::LaneMask => 1 << lane,
        Special::LaneMaskLt => (1 << lane) - 1,
    }
}
