//! Adding and dropping functions: everything that names a function by index is renumbered, once.

use std::sync::Arc;

use wasmparser::{ExternalKind, FuncType, Import, TypeRef, ValType};

use super::{Body, Const, ElementItems, Module, function_index_mut};

/// Stands in a renumbering table for a function that was dropped.
const DROPPED: u32 = u32::MAX;

/// New function index by old.
type Renumbering = Arc<[u32]>;

impl<'a> Module<'a> {
    /// The index of the function type `params -> results`, added if it is new.
    pub fn intern_type(&mut self, params: &[ValType], results: &[ValType]) -> u32 {
        let same = |ty: &FuncType| ty.params() == params && ty.results() == results;
        if let Some(index) = self.types.iter().position(same) {
            return index as u32;
        }
        self.types
            .push(FuncType::new(params.iter().copied(), results.iter().copied()));
        self.types.len() as u32 - 1
    }

    /// Appends imported functions (import module, name, type index) and renumbers all defined
    /// functions. Returns the index of the first new one.
    pub fn append_func_imports(&mut self, imports: impl IntoIterator<Item = (&'a str, &'a str, u32)>) -> u32 {
        let first = self.imported_funcs.len() as u32;
        for (module, name, ty) in imports {
            self.imports.push(Import {
                module,
                name,
                ty: TypeRef::Func(ty),
            });
            self.imported_funcs.push(ty);
        }
        let added = self.imported_funcs.len() as u32 - first;
        let old_count = self.func_count() - added;
        let map: Vec<u32> = (0..old_count).map(|i| if i < first { i } else { i + added }).collect();
        self.renumber(map);
        let new = first as usize..first as usize;
        self.original_index.splice(new, (0..added).map(|_| None));
        first
    }

    /// Drops the imported functions with these indices, which ascend. In its place each gets the index of a defined
    /// function, in order from the returned one on. The caller appends these functions, with their `original_index`.
    pub fn drop_func_imports(&mut self, dropped: &[u32]) -> u32 {
        let is_dropped = |index: u32| dropped.binary_search(&index).is_ok();
        let first = self.func_count() - dropped.len() as u32;
        let (mut kept, mut defined) = (0..first, first..);
        let map: Vec<u32> = (0..self.func_count())
            .filter_map(|index| if is_dropped(index) { defined.next() } else { kept.next() })
            .collect();
        let goes = || (0..).map(is_dropped);
        let (mut imports, mut types, mut originals) = (goes(), goes(), goes());
        self.imports.retain(|import| match import.ty {
            TypeRef::Func(_) | TypeRef::FuncExact(_) => imports.next() != Some(true),
            _ => true,
        });
        self.imported_funcs.retain(|_| types.next() != Some(true));
        self.original_index.retain(|_| originals.next() != Some(true));
        self.renumber(map);
        first
    }

    /// Drops the defined functions for which `keep` (by function index) is false. Nothing that is
    /// kept may name one of them. Imported functions always stay.
    pub fn retain_funcs(&mut self, keep: &[bool]) {
        let imported = self.imported_funcs.len();
        let kept = |index: usize| index < imported || keep[index];
        let mut next = 0;
        let map: Vec<u32> = (0..self.func_count() as usize)
            .map(|index| {
                let new = if kept(index) { next } else { DROPPED };
                next += u32::from(kept(index));
                new
            })
            .collect();
        if next as usize == map.len() {
            return;
        }
        let mut index = imported;
        self.funcs.retain(|_| {
            index += 1;
            kept(index - 1)
        });
        let mut index = 0;
        self.original_index.retain(|_| {
            index += 1;
            kept(index - 1)
        });
        self.renumber(map);
    }

    /// Applies `map` (old index to new) to everything but the function lists themselves.
    fn renumber(&mut self, map: Vec<u32>) {
        let map: Renumbering = map.into();
        // Bodies that are bytes share one table, so that composing them is done once.
        let mut composed: Option<(Renumbering, Renumbering)> = None;
        let mut compose = |table: &mut Option<Renumbering>| {
            *table = Some(match table {
                None => map.clone(),
                Some(old) => match &composed {
                    Some((from, to)) if Arc::ptr_eq(from, old) => to.clone(),
                    _ => {
                        let then = |&i: &u32| map.get(i as usize).copied();
                        let to: Renumbering = old.iter().map(|i| then(i).unwrap_or(DROPPED)).collect();
                        composed = Some((old.clone(), to.clone()));
                        to
                    }
                },
            });
        };
        for func in &mut self.funcs {
            match &mut func.body {
                Body::Raw(raw) => {
                    raw.summary.renumber(&map);
                    compose(&mut raw.renumber);
                }
                Body::Packed(packed) => {
                    packed.summary.renumber(&map);
                    compose(&mut packed.renumber);
                }
                Body::Edited { instrs, summary, .. } => {
                    for index in instrs.iter_mut().filter_map(|i| function_index_mut(&mut i.op)) {
                        *index = map[*index as usize];
                    }
                    if let Some(summary) = summary.get_mut() {
                        summary.renumber(&map);
                    }
                }
            }
        }
        self.renumber_sections(&map);
    }

    fn renumber_sections(&mut self, map: &[u32]) {
        let in_const = |expr: &mut Const<'_>| {
            for index in expr.ops.iter_mut().filter_map(function_index_mut) {
                *index = map[*index as usize];
            }
        };
        for element in &mut self.elements {
            match &mut element.items {
                ElementItems::Functions(functions) => {
                    functions.iter_mut().for_each(|index| *index = map[*index as usize]);
                }
                ElementItems::Expressions(_, exprs) => exprs.iter_mut().for_each(in_const),
            }
        }
        self.globals.iter_mut().for_each(|global| in_const(&mut global.init));
        self.tables
            .iter_mut()
            .filter_map(|table| table.init.as_mut())
            .for_each(in_const);
        for export in &mut self.exports {
            if export.kind == ExternalKind::Func {
                export.index = map[export.index as usize];
            }
        }
        if let Some(start) = &mut self.start {
            *start = map[*start as usize];
        }
        let names = std::mem::take(&mut self.func_names);
        let moved = names.into_iter().map(|(index, name)| (map[index as usize], name));
        self.func_names = moved.filter(|(index, _)| *index != DROPPED).collect();
    }
}

#[cfg(test)]
mod tests {
    use wasmparser::{Operator, Validator, WasmFeatures};

    use super::*;

    #[test]
    fn everything_that_names_a_function_follows() {
        let bytes = wat::parse_str(
            r#"(module (import "e" "f" (func $f)) (table 3 funcref)
                (global funcref (ref.func $b)) (elem (i32.const 0) $a $f $b)
                (func $dead) (func $a (export "a") call $f call $b) (func $b call $f) (start $b)
                (elem (i32.const 1) funcref (ref.func $b)))"#,
        )
        .expect("test input");
        let mut module = Module::parse(&bytes).expect("a valid module");
        let ty = module.intern_type(&[ValType::I64], &[]);
        assert_eq!(module.append_func_imports([("m", "x", ty), ("m", "y", ty)]), 1);
        module.retain_funcs(&[true, true, true, false, true, true]);
        let encoded = module.encode();
        Validator::new_with_features(WasmFeatures::all())
            .validate_all(&encoded)
            .expect("valid");
        assert_eq!(module.exports[0].index, 3);
        assert_eq!(module.start, Some(4));
        assert_eq!(module.original_index, [Some(0), None, None, Some(2), Some(3)]);
        assert_eq!(module.func_names.get(&4).map(String::as_str), Some("b"));
        assert_eq!(module.func_names.len(), 3);
        let calls: Vec<Operator> = module.funcs[0].instrs().map(|i| i.op).collect();
        let call = |function_index| Operator::Call { function_index };
        assert_eq!(calls, [call(0), call(4), Operator::End]);
    }

    #[test]
    fn an_import_becomes_a_defined_function() {
        let bytes = wat::parse_str(
            r#"(module (import "e" "f" (func $f)) (import "e" "m" (memory 1)) (import "e" "g" (func $g))
                (func $a (export "a") call $f call $g) (elem (i32.const 0) $g) (table 1 funcref) (start $f))"#,
        )
        .expect("test input");
        let mut module = Module::parse(&bytes).expect("a valid module");
        assert_eq!(module.drop_func_imports(&[0]), 2);
        let ty = module.imported_funcs[0];
        let body = Body::edited(Vec::new(), vec![crate::module::Instr::synthetic(Operator::End)]);
        module.funcs.push(crate::module::Func { ty, body });
        module.original_index.push(None);
        let encoded = module.encode();
        Validator::new_with_features(WasmFeatures::all())
            .validate_all(&encoded)
            .expect("valid");
        let names: Vec<&str> = module.imports.iter().map(|import| import.name).collect();
        assert_eq!(names, ["m", "g"]);
        assert_eq!((module.start, module.exports[0].index), (Some(2), 1));
        let calls: Vec<Operator> = module.funcs[0].instrs().map(|i| i.op).collect();
        let call = |function_index| Operator::Call { function_index };
        assert_eq!(calls, [call(2), call(0), Operator::End]);
    }
}
