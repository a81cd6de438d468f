//! The methods of `std::alloc::System`, where the optimizer has left any: std's own lists of destructors,
//! and programs that name `System`, call them directly.
//!
//! A `Layout` is two parameters, size and alignment, in an order that rustc chooses. So it is read from the
//! code: dlmalloc compares the alignment with its own, 8, and nothing else of what such a method is given.

use wasmparser::Operator;

use super::blocks::{free, memalign, realloc_aligned};
use super::{Entry, I32, forward, results};
use crate::module::Module;
use crate::rewrite::names::Names;

/// What a method does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Alloc,
    AllocZeroed,
    Dealloc,
    Realloc,
}

/// A method in a form that is known.
struct Known {
    func: usize,
    method: Method,
    /// Number of its parameters.
    params: u32,
    /// The parameter that is the first after `self`.
    first: u32,
}

/// The methods of a module.
#[derive(Default)]
pub(super) struct System {
    known: Vec<Known>,
    /// Those in a form that is not known.
    unknown: Vec<usize>,
    /// Whether the alignment is the first parameter of a layout; `None` if no method tells.
    align_first: Option<bool>,
}

impl System {
    pub(super) fn find(module: &Module<'_>, names: &Names) -> System {
        let mut system = System::default();
        let mut orders: Vec<bool> = Vec::new();
        for (name, func) in names.matching(|name| method(name).is_some()) {
            let method = method(name).expect("asked before");
            match known(module, func, method) {
                Some((known, align_first)) => {
                    orders.extend(align_first);
                    system.known.push(known);
                }
                None => system.unknown.push(func),
            }
        }
        // One compiler made all of them.
        let agree = orders.windows(2).all(|pair| pair[0] == pair[1]);
        system.align_first = orders.first().copied().filter(|_| agree);
        // Another allocator's `System`, as wasi-libc's, may look alike where it hands out blocks, but not where it
        // takes them.
        let is_dlmalloc = |known: &Known| matches!(known.method, Method::Dealloc | Method::Realloc);
        if system.align_first.is_none() || !system.known.iter().any(is_dlmalloc) {
            system.unknown.extend(system.known.drain(..).map(|known| known.func));
        }
        system
    }

    /// The methods as those that have no header before a block.
    pub(super) fn entry_points(&self) -> Vec<Entry> {
        let entry = |known: &Known| {
            let (first, method) = (known.first, known.method);
            let layout = |first| self.layout(first);
            let (op, params) = match method {
                Method::Alloc => ("alloc", Vec::from(layout(first))),
                Method::AllocZeroed => ("alloc_zero", Vec::from(layout(first))),
                Method::Dealloc => ("dealloc", [&[first][..], &layout(first + 1)].concat()),
                Method::Realloc => ("realloc", [&[first][..], &layout(first + 1), &[first + 3]].concat()),
            };
            Entry::new(known.func, move |env| forward(env, op, &params))
        };
        self.known.iter().map(entry).collect()
    }

    /// The methods as those whose blocks have dlmalloc's header. One that zeroes does so by itself, after a call of
    /// another.
    pub(super) fn methods(&self) -> Vec<Entry> {
        let entry = |known: &Known| {
            let (first, params) = (known.first, known.params);
            match known.method {
                Method::Alloc => {
                    let [size, align] = self.layout(first);
                    Some(Entry::new(known.func, move |env| memalign(env, align, size)))
                }
                Method::AllocZeroed => None,
                Method::Dealloc => Some(Entry::new(known.func, move |env| free(env, first, params))),
                Method::Realloc => {
                    let [old_size, align] = self.layout(first + 1);
                    let params_of = [first, old_size, align, first + 3];
                    Some(Entry::new(known.func, move |env| {
                        realloc_aligned(env, params_of, params)
                    }))
                }
            }
        };
        self.known.iter().filter_map(entry).collect()
    }

    /// The parameters that are size and alignment of the layout from parameter `first` on.
    fn layout(&self, first: u32) -> [u32; 2] {
        match self.align_first {
            Some(true) => [first + 1, first],
            _ => [first, first + 1],
        }
    }

    /// All methods.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        let known = self.known.iter().map(|known| known.func);
        known.chain(self.unknown.iter().copied())
    }

    /// Those that zero a block by themselves, in a form that is known.
    pub(super) fn zeroing(&self) -> impl Iterator<Item = usize> {
        let zeroes = |known: &&Known| known.method == Method::AllocZeroed;
        self.known.iter().filter(zeroes).map(|known| known.func)
    }
}

/// The method that a canonical name means. Manglings write implementations of traits differently.
fn method(name: &str) -> Option<Method> {
    const V0: &str = "<std::alloc::System as core::alloc::global::GlobalAlloc>::";
    const LEGACY: &str = "<impl core::alloc::global::GlobalAlloc for std::alloc::System>::";
    let name = name.strip_prefix(V0).or_else(|| {
        let (path, method) = name.split_once(LEGACY)?;
        path.starts_with("std::sys::").then_some(method)
    })?;
    match name {
        "alloc" => Some(Method::Alloc),
        "alloc_zeroed" => Some(Method::AllocZeroed),
        "dealloc" => Some(Method::Dealloc),
        "realloc" => Some(Method::Realloc),
        _ => None,
    }
}

/// The method's form, with or without a `self` that it does not use. Also whether the alignment is the first parameter
/// of its layout, where the code says so.
fn known(module: &Module<'_>, func: usize, method: Method) -> Option<(Known, Option<bool>)> {
    let ty = &module.types[module.funcs[func].ty as usize];
    let plain = match method {
        Method::Alloc | Method::AllocZeroed => 2,
        Method::Dealloc => 3,
        Method::Realloc => 4,
    };
    let params = ty.params().len();
    let first = params.checked_sub(plain).filter(|more| *more <= 1)? as u32;
    if ty.params().iter().any(|ty| *ty != I32) || ty.results() != results(method != Method::Dealloc) {
        return None;
    }
    let seen = Seen::look(module, func);
    let layout = match method {
        Method::Alloc | Method::AllocZeroed => first,
        Method::Dealloc | Method::Realloc => first + 1,
    };
    let has_block = layout > first;
    if first == 1 && seen.read.contains(&0) || has_block && seen.blocks != [first] {
        return None;
    }
    let align_first = match seen.alignments[..] {
        [align] if align == layout => Some(true),
        [align] if align == layout + 1 => Some(false),
        // Memory is given back without regard to the alignment.
        [] if method == Method::Dealloc => None,
        _ => return None,
    };
    let params = params as u32;
    Some((
        Known {
            func,
            method,
            params,
            first,
        },
        align_first,
    ))
}

/// What a function does with its parameters while they have the values that it was called with.
#[derive(Default)]
struct Seen {
    read: Vec<u32>,
    /// Those whose chunk header is looked for.
    blocks: Vec<u32>,
    /// Those compared with dlmalloc's own alignment.
    alignments: Vec<u32>,
}

impl Seen {
    fn look(module: &Module<'_>, func: usize) -> Seen {
        let params = module.types[module.funcs[func].ty as usize].params().len() as u32;
        let mut seen = Seen::default();
        let mut written: Vec<u32> = Vec::new();
        // Of each block that is open, whether it is a loop: there, what is written below counts too, so nothing is
        // read from such code.
        let mut open: Vec<bool> = Vec::new();
        let mut window: [Option<Operator<'_>>; 2] = [None, None];
        for instr in module.funcs[func].instrs() {
            match &instr.op {
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => written.push(*local_index),
                Operator::Loop { .. } => open.push(true),
                Operator::Block { .. } | Operator::If { .. } => open.push(false),
                Operator::End => _ = open.pop(),
                _ => {}
            }
            let as_called = |index: u32| index < params && !written.contains(&index) && !open.contains(&true);
            if let Operator::LocalGet { local_index } = instr.op
                && local_index < params
                && !written.contains(&local_index)
            {
                seen.read.push(local_index);
            }
            if let [
                Some(Operator::LocalGet { local_index }),
                Some(Operator::I32Const { value }),
            ] = window
                && as_called(local_index)
            {
                let list = match (value, &instr.op) {
                    (-4 | -8, Operator::I32Add) | (4 | 8, Operator::I32Sub) => Some(&mut seen.blocks),
                    (9, Operator::I32LtU | Operator::I32GeU) | (8, Operator::I32GtU | Operator::I32LeU) => {
                        Some(&mut seen.alignments)
                    }
                    _ => None,
                };
                if let Some(list) = list.filter(|list| !list.contains(&local_index)) {
                    list.push(local_index);
                }
            }
            window.rotate_left(1);
            window[1] = Some(instr.op);
        }
        seen
    }
}
