//! Tables of which it is known what they hold, whatever the program does.

use gpu_run_bytecode::{ConstOp, ExternKind, Op, Program, SegmentMode};

use crate::ptx::analysis::interprocedural::code;

/// The elements of a table: functions, by index with imports first, or none.
pub type Elements = Vec<Option<u32>>;

/// Elements at most: a larger table would take megabytes of memory once more.
const MOST_ELEMENTS: u64 = 1 << 16;

/// For each table, imported ones first, what it holds if nothing can change that and it holds something. Such a table is the module's own, no other
/// knows it, and no instruction writes to tables. Those of Rust, C and C++ are such.
pub fn of(program: &Program) -> Vec<Option<Elements>> {
    let meta = &program.meta;
    let types = meta.table_types();
    let imported = types.len() - meta.tables.len();
    let writes = |op| {
        matches!(
            op,
            Op::TableSet | Op::TableGrow | Op::TableFill | Op::TableCopy | Op::TableInit
        )
    };
    let mut functions = meta.functions.iter();
    if functions.any(|function| code(program, function).any(|(_, inst)| writes(inst.op))) {
        return vec![None; types.len()];
    }
    let mut tables: Vec<Option<Elements>> = vec![None; imported];
    for table in &meta.tables {
        let fits = (1..=MOST_ELEMENTS).contains(&table.ty.limits.min);
        tables.push((fits && table.init.is_empty()).then(|| vec![None; table.ty.limits.min as usize]));
    }
    let exports = meta.exports.iter().filter(|export| export.kind == ExternKind::Table);
    for export in exports {
        tables[export.index as usize] = None;
    }
    for segment in &meta.elements {
        let SegmentMode::Active { index, offset } = &segment.mode else {
            continue;
        };
        let table = &mut tables[*index as usize];
        let items = segment.items.iter().map(|item| match item[..] {
            [ConstOp::RefFunc(function)] => Some(Some(function)),
            [ConstOp::RefNull] => Some(None),
            _ => None,
        });
        let (items, [ConstOp::I32(offset)]) = (items.collect::<Option<Elements>>(), &offset[..]) else {
            *table = None;
            continue;
        };
        // One that does not fit ends instantiation, and nothing is called.
        let place = |table: &mut Elements| {
            let from = *offset as u32 as usize;
            let items = items?;
            table
                .get_mut(from..from.checked_add(items.len())?)?
                .copy_from_slice(&items);
            Some(())
        };
        if table.as_mut().and_then(place).is_none() {
            *table = None;
        }
    }
    tables
}
