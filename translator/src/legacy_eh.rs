//! Legacy exception handling (`try`, `catch`, `catch_all`, `delegate`, `rethrow`) in terms of the
//! standard's (`try_table`, `throw_ref`), so that later passes know one form only.
//!
//! ```text
//! try (type)                    block $done (type)
//!   BODY                          block $h1            ;; all parameters go through
//! catch $t1                         block $h0 (result t0*)
//!   ...                               try_table (type) (catch $t0 $h0) (catch_all $h1)
//!                                       BODY
//! catch $t0                           end
//!   HANDLER0                          br $done
//! catch_all                         end
//!   HANDLER1                        HANDLER0
//! end                               br $done
//!                                 end
//!                                 HANDLER1
//!                               end
//! ```
//!
//! - A handler that some `rethrow` names gets the exception as an `exnref` as well, and keeps it in
//!   a local.
//! - `delegate` becomes a `try_table` that catches everything, and throws it again where the
//!   target's handlers see it. That is past the end of a *landing*, a block around the target's
//!   body. The landing for exceptions that leave the function is a block around its whole body.
//!   Where nothing stands between, a `try`-`delegate` is a plain block.
//!
//! The relative depths of all branches follow.
//!
//! In: a module with legacy instructions. Out: the module without them. In the order in which to read them:
//!
//! - `analysis`: what each `try` becomes, and where delegated exceptions go;
//! - `emit`: writes a body anew;
//! - this file: goes over the module's bodies, and holds what new instructions refer to.

mod analysis;
mod emit;

use std::cell::OnceCell;
use std::collections::HashMap;

use wasmparser::{BinaryReader, BlockType, FuncType, OperatorsReader, TagType, ValType};

use crate::module::Module;

/// Holds the bytes of the branch tables that [`replace_legacy_exceptions`] makes: a
/// [`wasmparser::BrTable`] borrows its bytes, so they must live as long as the file's.
#[derive(Default)]
pub struct BrTables(OnceCell<Vec<u8>>);

/// A branch table that is still to be put in place.
struct NewBrTable {
    /// Position in [`Module::funcs`].
    func: usize,
    /// Number of the instruction.
    instr: usize,
    /// Where its encoding begins in [`BrTables`].
    offset: usize,
}

/// Turns every legacy exception instruction of `module` into standard ones. A body without any
/// stays as it is. The tables must be fresh: they hold those of one module.
pub fn replace_legacy_exceptions<'a>(module: &mut Module<'a>, tables: &'a BrTables) {
    let legacy: Vec<usize> = (0..module.funcs.len())
        // Every other legacy instruction stands within a `try`.
        .filter(|&func| module.funcs[func].summary().legacy_try)
        .collect();
    if legacy.is_empty() {
        return;
    }
    let mut types = Types::new(module);
    let mut bytes = Vec::new();
    let mut new_tables = Vec::new();
    for func in legacy {
        let params = types.list[module.funcs[func].ty as usize].params().len() as u32;
        let (locals, instrs) = module.funcs[func].edit();
        let first_free = params + locals.iter().map(|(count, _)| count).sum::<u32>();
        let analysis = analysis::analyse(instrs);
        let code = emit::emit(instrs, &analysis, &mut types, first_free, &mut bytes);
        *instrs = code.instrs;
        if code.exn_locals > 0 {
            locals.push((code.exn_locals, ValType::EXNREF));
        }
        let place = |(instr, offset)| NewBrTable { func, instr, offset };
        new_tables.extend(code.br_tables.into_iter().map(place));
    }
    module.types = types.list;
    let bytes = tables.0.get_or_init(|| bytes);
    for table in new_tables {
        let mut reader = OperatorsReader::new(BinaryReader::new(&bytes[table.offset..], 0));
        let op = reader.read().expect("encoded by this pass");
        module.funcs[table.func].edit().1[table.instr].op = op;
    }
}

/// The module's types while the pass adds to them.
struct Types {
    list: Vec<FuncType>,
    index: HashMap<FuncType, u32>,
    /// Every tag, imported ones first.
    tags: Vec<TagType>,
}

impl Types {
    fn new(module: &mut Module<'_>) -> Types {
        let list = std::mem::take(&mut module.types);
        let mut index = HashMap::new();
        for (at, ty) in list.iter().enumerate() {
            index.entry(ty.clone()).or_insert(at as u32);
        }
        let tags = module.imported_tags.iter().chain(&module.tags).copied().collect();
        Types { list, index, tags }
    }

    /// The parameters of a block.
    fn params(&self, blockty: BlockType) -> Vec<ValType> {
        match blockty {
            BlockType::Empty | BlockType::Type(_) => Vec::new(),
            BlockType::FuncType(index) => self.list[index as usize].params().to_vec(),
        }
    }

    /// The values that an exception with this tag carries.
    fn payload(&self, tag: u32) -> Vec<ValType> {
        let ty = self.tags[tag as usize].func_type_idx;
        self.list[ty as usize].params().to_vec()
    }

    /// The type of a block `params -> results`.
    fn block(&mut self, params: &[ValType], results: &[ValType]) -> BlockType {
        match (params, results) {
            ([], []) => return BlockType::Empty,
            ([], [result]) => return BlockType::Type(*result),
            _ => {}
        }
        let ty = FuncType::new(params.iter().copied(), results.iter().copied());
        let next = self.list.len() as u32;
        let list = &mut self.list;
        let index = self.index.entry(ty).or_insert_with_key(|ty| {
            list.push(ty.clone());
            next
        });
        BlockType::FuncType(*index)
    }
}

#[cfg(test)]
mod tests;
