//! Copies callees' bodies into a caller.

use rustc_hash::FxHashMap;
use wasmparser::{BlockType, Operator, ValType};

use super::analysis::Facts;
use super::empty;
use crate::module::{Body, Code, InlineSite, Module, Origin, Writer, opcode};

pub(super) struct Inliner<'m, 'a> {
    module: &'m mut Module<'a>,
    facts: &'m [Option<Facts>],
    /// Locals for inlined bodies, by type: each body may use all of them again, since no two
    /// bodies are alive at once.
    pool: Vec<Pool>,
    /// Locals that were added to the caller, in order.
    added: Vec<ValType>,
    /// Where they begin.
    first_added: u32,
}

impl<'m, 'a> Inliner<'m, 'a> {
    pub(super) fn new(module: &'m mut Module<'a>, facts: &'m [Option<Facts>]) -> Self {
        Inliner {
            module,
            facts,
            pool: Vec::new(),
            added: Vec::new(),
            first_added: 0,
        }
    }

    /// Replaces the calls at `chosen` (instruction number, callee) in `caller`, whose new instructions
    /// are written with `out`.
    pub(super) fn inline_calls(mut self, caller: u32, chosen: &[(usize, u32)], out: &mut Writer) {
        let position = caller as usize - self.module.imported_funcs.len();
        // Out of the module while the module is changed.
        let body = std::mem::replace(&mut self.module.funcs[position].body, empty());
        let packed = body.packed();
        let mut locals = packed.locals().to_vec();
        let params = self.module.func_type(caller).params().len() as u32;
        self.first_added = params + locals.iter().map(|(count, _)| count).sum::<u32>();
        let mut chosen = chosen.iter().peekable();
        out.copy_body(packed.code(), |out, at, origin| {
            let call = chosen.next_if(|(call, _)| *call == at);
            if let Some((_, callee)) = call {
                self.inline_call(*callee, origin, out);
            }
            call.is_some()
        });
        for ty in self.added {
            match locals.last_mut() {
                Some((count, last)) if *last == ty => *count += 1,
                _ => locals.push((1, ty)),
            }
        }
        self.module.funcs[position].body = Body::Packed(out.finish(locals));
    }

    fn inline_call(&mut self, callee: u32, call: Origin, out: &mut Writer) {
        let Some(facts) = &self.facts[callee as usize] else {
            unreachable!("only functions with facts are chosen")
        };
        let (params, count) = (facts.params, facts.locals);
        let position = callee as usize - self.module.imported_funcs.len();
        // Out of the module while the module is changed.
        let body = std::mem::replace(&mut self.module.funcs[position].body, empty());
        let packed = body.packed();
        let ty = self.module.func_type(callee).clone();
        let mut types: Vec<ValType> = ty.params().to_vec();
        for (run, ty) in packed.locals() {
            types.extend(std::iter::repeat_n(*ty, *run as usize));
        }
        let (locals, fresh) = self.take_locals(&types);
        for local in (0..params).rev() {
            out.made(opcode::LOCAL_SET, locals[local as usize], call);
        }
        let in_loop = out.in_loop();
        let zero = facts.reads_zero.get().expect("found out when the call was chosen");
        for local in params as usize..count as usize {
            // A local of its own is zero the first time.
            if zero[local] && (in_loop || !fresh[local]) {
                out.operator(&zero_of(types[local]), call);
                out.made(opcode::LOCAL_SET, locals[local], call);
            }
        }
        let wrapped = facts.leaves_early(packed.code());
        if wrapped {
            let blockty = match ty.results() {
                [] => BlockType::Empty,
                [result] => BlockType::Type(*result),
                results => BlockType::FuncType(self.module.intern_type(&[], results)),
            };
            out.operator(&Operator::Block { blockty }, call);
        }
        self.copy(callee, packed.code(), &locals, call, wrapped, out);
        self.module.funcs[position].body = body;
    }

    /// Copies the instructions, with the last `end` only if they are `wrapped` in a block.
    fn copy(&mut self, callee: u32, code: Code<'_>, locals: &[u32], call: Origin, wrapped: bool, out: &mut Writer) {
        let mut sites = Sites::new(self.module, callee, call);
        let mut depth = 0u32;
        let mut code = code.cursor();
        while let Some(opcode) = code.next() {
            if opcode == opcode::END && depth == 0 && !wrapped {
                break;
            }
            let origin = sites.map(&mut self.module.inline_sites, code.origin());
            match opcode {
                opcode::LOCAL_GET | opcode::LOCAL_SET | opcode::LOCAL_TEE => {
                    let local = locals[code.index() as usize];
                    out.with_index(opcode, local, code.width(), origin);
                    continue;
                }
                opcode::RETURN => {
                    out.made(opcode::BR, depth, origin);
                    continue;
                }
                opcode::BLOCK | opcode::LOOP | opcode::IF | opcode::TRY | opcode::TRY_TABLE => depth += 1,
                opcode::END | opcode::DELEGATE => depth = depth.saturating_sub(1),
                _ => {}
            }
            out.copy(opcode, &mut code, origin);
        }
    }

    /// A local of the caller for each of `types`, and whether it has not been used before.
    fn take_locals(&mut self, types: &[ValType]) -> (Vec<u32>, Vec<bool>) {
        let mut locals = Vec::with_capacity(types.len());
        let mut fresh = Vec::with_capacity(types.len());
        self.pool.iter_mut().for_each(|pool| pool.taken = 0);
        for ty in types {
            let at = match self.pool.iter().position(|pool| pool.ty == *ty) {
                Some(at) => at,
                None => {
                    self.pool.push(Pool::new(*ty));
                    self.pool.len() - 1
                }
            };
            let pool = &mut self.pool[at];
            let new = pool.taken == pool.locals.len();
            if new {
                pool.locals.push(self.first_added + self.added.len() as u32);
                self.added.push(*ty);
            }
            fresh.push(new);
            locals.push(pool.locals[pool.taken]);
            pool.taken += 1;
        }
        (locals, fresh)
    }
}

/// Locals of one type for inlined bodies.
struct Pool {
    ty: ValType,
    locals: Vec<u32>,
    /// How many of them the body has taken that is being inlined.
    taken: usize,
}

impl Pool {
    fn new(ty: ValType) -> Pool {
        Pool {
            ty,
            locals: Vec::new(),
            taken: 0,
        }
    }
}

/// The value that a local of type `ty` has at first.
fn zero_of<'a>(ty: ValType) -> Operator<'a> {
    match ty {
        ValType::I32 => Operator::I32Const { value: 0 },
        ValType::I64 => Operator::I64Const { value: 0 },
        ValType::F32 => Operator::F32Const { value: 0.0f32.into() },
        ValType::F64 => Operator::F64Const { value: 0.0f64.into() },
        ValType::V128 => Operator::V128Const { value: 0i128.into() },
        ValType::Ref(ty) => Operator::RefNull { hty: ty.heap_type() },
    }
}

/// Origins of copied instructions: the callee's, under the call that is replaced.
struct Sites {
    call: Origin,
    /// The callee's index in the user's file; a function that a pass made is not shown.
    callee: Option<u32>,
    /// The callee's own inlined calls, copied.
    copied: FxHashMap<u32, u32>,
    /// The last one that was asked for, and its copy: mostly it is asked for again.
    last: Option<(u32, u32)>,
}

impl Sites {
    fn new(module: &Module<'_>, callee: u32, call: Origin) -> Sites {
        let callee = module.original_index.get(callee as usize).copied().flatten();
        Sites {
            call,
            callee,
            copied: FxHashMap::default(),
            last: None,
        }
    }

    fn map(&mut self, sites: &mut Vec<InlineSite>, origin: Origin) -> Origin {
        if origin.site == Origin::NOT_INLINED && self.callee.is_none() {
            return self.call;
        }
        let synthetic = origin.offset == Origin::SYNTHETIC && origin.site == Origin::NOT_INLINED;
        if synthetic {
            return self.call;
        }
        let site = match self.last {
            Some((asked, copy)) if asked == origin.site => copy,
            _ => self.site(sites, origin.site),
        };
        self.last = Some((origin.site, site));
        Origin {
            offset: origin.offset,
            site,
        }
    }

    /// The copy of `site`, which is one of the callee's.
    fn site(&mut self, sites: &mut Vec<InlineSite>, site: u32) -> u32 {
        // From the inside out until one is known, then back: no recursion.
        let mut chain = Vec::new();
        let mut at = site;
        let mut parent = loop {
            if let Some(copied) = self.copied.get(&at) {
                break *copied;
            }
            if at == Origin::NOT_INLINED {
                let parent = match self.callee {
                    None => self.call.site,
                    Some(callee) => {
                        sites.push(InlineSite {
                            callee,
                            call: self.call,
                        });
                        sites.len() as u32 - 1
                    }
                };
                self.copied.insert(at, parent);
                break parent;
            }
            chain.push(at);
            at = sites[at as usize].call.site;
        };
        for old in chain.into_iter().rev() {
            let InlineSite { callee, call } = sites[old as usize];
            // The call in a function that a pass made is shown as the call of that function.
            let call = match (call.site, self.callee) {
                (Origin::NOT_INLINED, None) => self.call,
                _ => Origin {
                    offset: call.offset,
                    site: parent,
                },
            };
            sites.push(InlineSite { callee, call });
            parent = sites.len() as u32 - 1;
            self.copied.insert(old, parent);
        }
        parent
    }
}
