//! A function's instructions as a graph of basic blocks.

use std::collections::BTreeSet;
use std::ops::Range;

use gpu_run_bytecode::code::{Inst, br_table_offset, instructions};
use gpu_run_bytecode::{Class, Clause, Function, Handler, Op, Operand, Program, Ty};

use crate::components::DepthFirst;

/// An instruction and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// Word index of the instruction in the program.
    pub pc: u32,
    /// Word index after it.
    pub next: u32,
    /// The instruction.
    pub inst: Inst,
    /// Word indices to which it may jump: of a `br_table` one for each entry.
    pub targets: Vec<u32>,
}

/// Instructions that run one after another. A branch, and a call whose exceptions the function
/// handles, ends a block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its instructions, as indices of [`Cfg::nodes`].
    pub nodes: Range<usize>,
    /// Blocks that may follow, the next one in the code first where it can.
    pub successors: Vec<usize>,
    /// Whether a path from the function's head, or from an entry, leads here.
    pub reachable: bool,
    /// Whether a branch from this block or from one after it leads here.
    pub loop_head: bool,
    /// It is not compiled here, and nothing follows it: the interpreter or another region goes on there. See
    /// [`Cfg::leave_out`] and [`Cfg::keep`].
    pub cold: bool,
}

/// A function as blocks, in the order of its code.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    /// All instructions but `enter`.
    pub nodes: Vec<Node>,
    /// The blocks.
    pub blocks: Vec<Block>,
    /// Reachable blocks in reverse postorder; those that only an entry leads to after the others.
    pub order: Vec<usize>,
    /// Branches (from, to) that close a cycle in depth-first order.
    pub back_edges: BTreeSet<(usize, usize)>,
    /// Blocks by which control comes in besides the first. These are heads of loops at which the function may go on compiled
    /// after it was left to the interpreter, see [`Cfg::leave_out`]; or the places of a region, see [`Cfg::keep`].
    pub entries: Vec<usize>,
}

/// Whether control never continues past this opcode.
pub fn ends_path(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Trap | Jump
            | BrTable
            | Return
            | ReturnCall
            | ReturnCallIndirect
            | ReturnCallImport
            | Throw
            | ThrowRef
            | Exit
            | PanicExit
    )
}

/// Whether running it may begin an exception in this function or one that it calls.
pub fn may_throw(op: Op) -> bool {
    matches!(
        op,
        Op::Throw | Op::ThrowRef | Op::Call | Op::CallIndirect | Op::CallImport
    )
}

/// Whether an opcode calls a function.
pub fn is_call(op: Op) -> bool {
    matches!(
        op,
        Op::Call | Op::CallIndirect | Op::CallImport | Op::ReturnCall | Op::ReturnCallIndirect | Op::ReturnCallImport
    )
}

/// The operand that is a jump's distance.
pub fn distance(inst: &Inst) -> Option<i64> {
    let operands = inst.op.info().operands.iter().zip(inst.args);
    operands
        .filter(|(operand, _)| matches!(operand, Operand::Rel16 | Operand::Rel32))
        .map(|(_, arg)| arg)
        .next()
}

/// The handlers that may catch what is thrown at word `pc`, in the order in which they are asked.
pub fn handlers(function: &Function, pc: u32) -> Vec<Clause> {
    let mut found = Vec::new();
    for range in function
        .tries
        .iter()
        .filter(|range| range.start <= pc && pc < range.end)
    {
        // A tail call: it runs outside of the handlers around it.
        if range.clauses.is_empty() {
            break;
        }
        found.extend(range.clauses.iter().copied());
        if range.clauses.iter().any(|clause| clause.tag.is_none()) {
            break;
        }
    }
    found
}

/// The instructions of a function of a verified program.
fn nodes(program: &Program, function: &Function) -> impl Iterator<Item = Node> {
    let start = function.start;
    let code = &program.code[start as usize..function.end as usize];
    // Verified code decodes.
    let decoded = instructions(code).map_while(|(at, inst)| Some((at, inst.ok()?)));
    decoded.filter(|(_, inst)| inst.op != Op::Enter).map(move |(at, inst)| {
        let pc = start + at as u32;
        let target = |distance: i64| (i64::from(pc) + distance) as u32;
        let targets = match inst.op {
            Op::BrTable => (0..inst.args[1] as usize)
                .map(|i| target(i64::from(br_table_offset(&code[at..], i))))
                .collect(),
            _ => distance(&inst).map(target).into_iter().collect(),
        };
        let next = pc + inst.words() as u32;
        Node {
            pc,
            next,
            inst,
            targets,
        }
    })
}

/// The words of a function at which blocks begin, besides the first.
struct Leaders<'f> {
    function: &'f Function,
    is_leader: Vec<bool>,
}

impl Leaders<'_> {
    fn new(function: &Function) -> Leaders<'_> {
        Leaders {
            function,
            is_leader: vec![false; (function.end - function.start) as usize + 1],
        }
    }

    fn add(&mut self, word: u32) {
        let at = word.checked_sub(self.function.start).map(|at| at as usize);
        if let Some(leader) = at.and_then(|at| self.is_leader.get_mut(at)) {
            *leader = true;
        }
    }

    /// What an instruction leads to, and what follows it if it ends a block.
    fn note(&mut self, node: &Node) {
        let op = node.inst.op;
        let clauses = match may_throw(op) && !self.function.tries.is_empty() {
            true => handlers(self.function, node.pc),
            false => Vec::new(),
        };
        if ends_path(op) || !node.targets.is_empty() || !clauses.is_empty() {
            self.add(node.next);
        }
        node.targets.iter().for_each(|target| self.add(*target));
        clauses.iter().for_each(|clause| self.add(clause.target));
    }

    fn has(&self, word: u32) -> bool {
        self.is_leader[(word - self.function.start) as usize]
    }
}

impl Cfg {
    /// The blocks of a function of a verified program.
    pub fn new(program: &Program, function: &Function) -> Cfg {
        let mut cfg = Cfg {
            nodes: nodes(program, function).collect(),
            ..Cfg::default()
        };
        cfg.split(function);
        cfg.walk();
        cfg
    }

    fn split(&mut self, function: &Function) {
        let mut leaders = Leaders::new(function);
        self.nodes.iter().for_each(|node| leaders.note(node));
        let mut first = 0;
        for i in 0..self.nodes.len() {
            let last = i + 1 == self.nodes.len();
            if last || leaders.has(self.nodes[i + 1].pc) {
                self.blocks.push(Block {
                    nodes: first..i + 1,
                    ..Block::default()
                });
                first = i + 1;
            }
        }
        for i in 0..self.blocks.len() {
            let node = self.last(i);
            let mut successors = self.plain_successors(i);
            if may_throw(node.inst.op) {
                let clauses = handlers(function, node.pc);
                successors.extend(clauses.iter().filter_map(|clause| self.block_at(clause.target)));
            }
            let mut seen = BTreeSet::new();
            successors.retain(|block| seen.insert(*block));
            self.blocks[i].successors = successors;
        }
    }

    /// Leaves blocks to the interpreter. It goes on until the function is left, or a loop begins that is compiled.
    pub fn leave_out(&mut self, cold: &BTreeSet<u32>) {
        let heads: Vec<usize> = self.loop_heads().collect();
        let mut some = false;
        for block in &mut self.blocks {
            block.cold = cold.contains(&self.nodes[block.nodes.start].pc);
            some |= block.cold && block.reachable;
            if block.cold {
                block.successors.clear();
            }
        }
        if !some {
            return;
        }
        let compiled = heads.into_iter().filter(|head| !self.blocks[*head].cold);
        self.entries = compiled.collect();
        self.walk();
        // Of some loops no whole pass is compiled.
        let blocks = &self.blocks;
        self.entries.retain(|head| blocks[*head].loop_head);
        self.walk();
    }

    /// Keeps the blocks of a region, but for those that begin with a word in `cold`. It is entered at `entries`.
    pub fn keep(&mut self, region: &Range<usize>, cold: &BTreeSet<u32>, entries: Vec<usize>) {
        for (number, block) in self.blocks.iter_mut().enumerate() {
            block.cold = !region.contains(&number) || cold.contains(&self.nodes[block.nodes.start].pc);
            if block.cold {
                block.successors.clear();
            }
        }
        self.entries = entries;
        self.walk();
    }

    /// The blocks with which loops begin.
    pub fn loop_heads(&self) -> impl Iterator<Item = usize> {
        (0..self.blocks.len()).filter(|block| self.blocks[*block].loop_head)
    }

    /// The first word of a block.
    pub fn first_word(&self, block: usize) -> u32 {
        self.nodes[self.blocks[block].nodes.start].pc
    }

    /// The first word of a function's first block.
    pub fn first_start(program: &Program, function: &Function) -> Option<u32> {
        nodes(program, function).next().map(|node| node.pc)
    }

    /// The first word of each block of a function: all that splitting it takes, and nothing else of its graph.
    pub fn starts(program: &Program, function: &Function) -> Vec<u32> {
        let mut leaders = Leaders::new(function);
        let words: Vec<u32> = nodes(program, function)
            .inspect(|node| leaders.note(node))
            .map(|node| node.pc)
            .collect();
        let first = words.first().copied();
        words
            .into_iter()
            .filter(|word| Some(*word) == first || leaders.has(*word))
            .collect()
    }

    /// Of the [`Cfg::starts`] of a function those to which only branches lead that the interpreter executes in its own loop, or
    /// what follows such a branch that was not taken. The first one is among them if nothing begins the function but
    /// `calls` that it executes there.
    pub fn reached_by_branches(program: &Program, function: &Function, calls: bool) -> Vec<u32> {
        let (mut leaders, mut others) = (Leaders::new(function), Leaders::new(function));
        let mut words = Vec::new();
        // What comes before an instruction leads to it otherwise than by a branch of the loop.
        let mut falls = !calls;
        for node in nodes(program, function) {
            let op = node.inst.op;
            if falls {
                others.add(node.pc);
            }
            let in_loop = op.handler() == Handler::InLoop;
            falls = !(ends_path(op) || in_loop && !node.targets.is_empty());
            if !in_loop {
                node.targets.iter().for_each(|target| others.add(*target));
            }
            leaders.note(&node);
            words.push(node.pc);
        }
        let clauses = function.tries.iter().flat_map(|range| &range.clauses);
        clauses.for_each(|clause| others.add(clause.target));
        let first = words.first().copied();
        words.retain(|word| (Some(*word) == first || leaders.has(*word)) && !others.has(*word));
        words
    }

    /// The instructions that are compiled.
    pub fn hot_nodes(&self) -> impl Iterator<Item = &Node> {
        let hot = self.order.iter().filter(|block| !self.blocks[**block].cold);
        hot.flat_map(|block| self.block_nodes(*block))
    }

    /// Whether a block ends in a jump table of which some entry leads to a block that is not compiled.
    pub fn has_cold_entry(&self, block: usize) -> bool {
        let successors = &self.blocks[block].successors;
        self.last(block).inst.op == Op::BrTable && successors.iter().any(|to| self.blocks[*to].cold)
    }

    /// The last instruction of a block.
    pub fn last(&self, block: usize) -> &Node {
        &self.nodes[self.blocks[block].nodes.end - 1]
    }

    /// Blocks that may follow when the last instruction of this one does not throw. The next one comes first where it
    /// can follow, and each is there as often as it is named.
    pub fn plain_successors(&self, block: usize) -> Vec<usize> {
        let node = self.last(block);
        let next = Some(block + 1).filter(|next| !ends_path(node.inst.op) && *next < self.blocks.len());
        let targets = node.targets.iter().filter_map(|pc| self.block_at(*pc));
        next.into_iter().chain(targets).collect()
    }

    /// Depth first from the head, and then from each of the entries: what is reachable, in which order, and which edges
    /// close cycles.
    fn walk(&mut self) {
        self.back_edges.clear();
        self.order.clear();
        for block in &mut self.blocks {
            (block.reachable, block.loop_head) = (false, false);
        }
        if self.blocks.is_empty() {
            return;
        }
        let mut search = DepthFirst::new(self.blocks.len());
        for root in [0].into_iter().chain(self.entries.iter().copied()) {
            let successors = |block: usize| self.blocks[block].successors.iter().copied();
            self.order.extend(search.postorder(root, successors).into_iter().rev());
        }
        for block in &self.order {
            self.blocks[*block].reachable = true;
        }
        for (from, to) in search.back_edges {
            self.back_edges.insert((from, to));
            self.blocks[to].loop_head = true;
        }
    }

    /// The block that begins at word `pc`.
    pub fn block_at(&self, pc: u32) -> Option<usize> {
        self.blocks
            .binary_search_by_key(&pc, |block| self.nodes[block.nodes.start].pc)
            .ok()
    }

    /// Instructions of a block.
    pub fn block_nodes(&self, block: usize) -> &[Node] {
        &self.nodes[self.blocks[block].nodes.clone()]
    }

    /// Whether a block calls a function.
    pub fn calls(&self, block: usize) -> bool {
        self.block_nodes(block).iter().any(|node| is_call(node.inst.op))
    }

    /// The reachable blocks that lead to each block.
    fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut predecessors = vec![Vec::new(); self.blocks.len()];
        for from in &self.order {
            for to in &self.blocks[*from].successors {
                predecessors[*to].push(*from);
            }
        }
        predecessors
    }

    /// The blocks from which all ways end the thread, by a trap or an exit, without a loop in between.
    pub fn dead_ends(&self) -> BTreeSet<usize> {
        let leaves = |block: usize| {
            let op = self.last(block).inst.op;
            let tail_call = is_call(op) && ends_path(op);
            op == Op::Return || tail_call || self.blocks[block].cold || self.has_cold_entry(block)
        };
        let mut dead = BTreeSet::new();
        // What follows a block comes before it here, unless it closes a cycle.
        for block in self.order.iter().rev() {
            let mut successors = self.blocks[*block].successors.iter();
            if !leaves(*block) && successors.all(|next| dead.contains(next)) {
                dead.insert(*block);
            }
        }
        dead
    }

    /// The cycles: each as the block to which branches lead back, and all blocks on ways from there to these branches. Of
    /// an irreducible one these may go back to the function's head.
    fn loops(&self, predecessors: &[Vec<usize>]) -> Vec<(usize, BTreeSet<usize>)> {
        let heads: BTreeSet<usize> = self.back_edges.iter().map(|(_, head)| *head).collect();
        let blocks_of = |head: usize| {
            let mut blocks = BTreeSet::from([head]);
            let latches = self.back_edges.iter().filter(|(_, to)| *to == head);
            let mut work: Vec<usize> = latches.map(|(from, _)| *from).collect();
            while let Some(block) = work.pop() {
                if blocks.insert(block) && block != 0 {
                    work.extend(&predecessors[block]);
                }
            }
            (head, blocks)
        };
        heads.into_iter().map(blocks_of).collect()
    }

    /// How many loops are around each block. Those of irreducible cycles count for all from which they can be entered.
    pub fn loop_depths(&self) -> Vec<u32> {
        let mut depths = vec![0; self.blocks.len()];
        let loops = self.loops(&self.predecessors());
        let blocks = loops.into_iter().flat_map(|(_, blocks)| blocks);
        blocks.for_each(|block| depths[block] += 1);
        depths
    }

    /// The loops that are entered at their heads only, also from outside of what is compiled here: each as its head and its
    /// blocks. So two of them have no block in
    /// common, or one contains the other.
    pub fn reducible_loops(&self) -> Vec<(usize, BTreeSet<usize>)> {
        let predecessors = self.predecessors();
        let mut loops = self.loops(&predecessors);
        loops.retain(|(head, blocks)| {
            let entered = |block: &usize| {
                let here = || predecessors[*block].iter().all(|from| blocks.contains(from));
                block == head || (!self.entries.contains(block) && here())
            };
            // Back past the function's head: the loop's head does not dominate it.
            (*head == 0 || !blocks.contains(&0)) && blocks.iter().all(entered)
        });
        loops
    }

    /// The innermost loops: each as its head and its blocks, in the order of the code. An irreducible
    /// cycle, which can be entered elsewhere than at its head, is not among them.
    pub fn innermost_loops(&self) -> Vec<(usize, Vec<usize>)> {
        let heads: BTreeSet<usize> = self.back_edges.iter().map(|(_, head)| *head).collect();
        let innermost = |blocks: &BTreeSet<usize>| blocks.iter().filter(|block| heads.contains(block)).count() == 1;
        let loops = self.reducible_loops().into_iter();
        let loops = loops.filter(|(_, blocks)| innermost(blocks));
        loops
            .map(|(head, blocks)| (head, blocks.into_iter().collect()))
            .collect()
    }

    /// The blocks of innermost loops that calculate with numbers of floating point.
    pub fn numeric_blocks(&self) -> BTreeSet<usize> {
        let is_float = |operand: &Operand| matches!(operand, Operand::Def(Ty::F32 | Ty::F64));
        let calculates = |node: &Node| {
            let info = node.inst.op.info();
            info.class == Class::Pure && info.operands.iter().any(is_float)
        };
        if !self.nodes.iter().any(calculates) {
            return BTreeSet::new();
        }
        let is_numeric = |blocks: &[usize]| blocks.iter().flat_map(|block| self.block_nodes(*block)).any(calculates);
        let loops = self.innermost_loops().into_iter().map(|(_, blocks)| blocks);
        loops.filter(|blocks| is_numeric(blocks)).flatten().collect()
    }
}
