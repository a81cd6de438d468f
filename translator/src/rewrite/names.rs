//! Function names in one spelling, whatever the compiler's mangling was.

use rustc_hash::FxHashMap;
use std::borrow::Cow;
use wasmparser::ValType;

use crate::module::Module;
use crate::module::symbols::demangled;

/// What LLVM adds to the symbol of a function that it has renamed begins so.
const LLVM_SUFFIX: &str = ".llvm.";

/// Defined functions (positions in [`Module::funcs`], which no import moves) by canonical name.
pub(super) struct Names {
    by_name: FxHashMap<String, Vec<usize>>,
}

impl Names {
    pub(super) fn new(module: &Module<'_>) -> Names {
        let imported = module.imported_funcs.len() as u32;
        let mut by_name: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (index, name) in module.func_names.range(imported..) {
            // Demangled already, but for what LLVM has added.
            let original = module.original_index.get(*index as usize).copied().flatten();
            let canonical = match original.and_then(|original| module.original_names.get(original as usize)) {
                Some(display) if !name.contains(LLVM_SUFFIX) => canonical_of(display).into_owned(),
                _ => canonical(name),
            };
            by_name.entry(canonical).or_default().push((index - imported) as usize);
        }
        Names { by_name }
    }

    /// Every function called `name`.
    pub(super) fn get(&self, name: &str) -> &[usize] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// Functions called `name` with the type `params -> results`.
    pub(super) fn typed(&self, module: &Module<'_>, name: &str, params: &[ValType], results: &[ValType]) -> Vec<usize> {
        let has_type = |&func: &usize| {
            let ty = &module.types[module.funcs[func].ty as usize];
            ty.params() == params && ty.results() == results
        };
        self.get(name).iter().copied().filter(has_type).collect()
    }

    /// Functions whose canonical name satisfies `wanted`, in no particular order.
    pub(super) fn matching<'n>(
        &'n self,
        wanted: impl Fn(&str) -> bool + 'n,
    ) -> impl Iterator<Item = (&'n str, usize)> + 'n {
        let found = self.by_name.iter().filter(move |(name, _)| wanted(name));
        found.flat_map(|(name, funcs)| funcs.iter().map(|func| (name.as_str(), *func)))
    }
}

/// `<T>::method` (v0) and `T::method` (legacy) become the latter; hashes, crate disambiguators and
/// LLVM's suffixes go; symbols that the compiler itself defines lose their pseudo crate.
pub(super) fn canonical(symbol: &str) -> String {
    let symbol = symbol.split(LLVM_SUFFIX).next().unwrap_or(symbol);
    canonical_of(&demangled(symbol)).into_owned()
}

/// The same of a name that is demangled.
fn canonical_of(name: &str) -> Cow<'_, str> {
    let name = name.strip_prefix("__rustc::").unwrap_or(name);
    inherent(name).map_or(Cow::Borrowed(name), Cow::Owned)
}

/// `<T>::rest` as `T::rest`, if that is what `name` is.
fn inherent(name: &str) -> Option<String> {
    let inside = name.strip_prefix('<')?;
    let mut depth = 1;
    let mut last = ' ';
    for (at, c) in inside.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth -= 1,
            ' ' if depth == 1 && inside[at..].starts_with(" as ") => return None,
            _ => {}
        }
        if depth == 0 {
            // References and slices have no path of their own to hang the method on.
            let ty = inside[..at].strip_suffix(' ').unwrap_or(&inside[..at]);
            let plain = ty.starts_with(|c: char| c.is_alphabetic());
            return plain.then(|| format!("{ty}{}", &inside[at + 1..]));
        }
        last = c;
    }
    None
}

/// The name without generic arguments: `a::B<C>::d::<E>` becomes `a::B::d`.
pub(super) fn without_generics(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut depth = 0u32;
    let mut last = ' ';
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
        last = c;
    }
    out.replace("::::", "::").trim_end_matches("::").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manglings_agree() {
        let v0 = "_RNvNtNtCs62v1WRk8Dro_3std2io5stdio6__print";
        let legacy = "_ZN3std2io5stdio6_print17h0123456789abcdefE";
        assert_eq!(canonical(v0), "std::io::stdio::_print");
        assert_eq!(canonical(legacy), "std::io::stdio::_print");
        assert_eq!(canonical("_RNvCsfgHYwM92fyn_7___rustc11___rdl_alloc"), "__rdl_alloc");
        assert_eq!(canonical("__rdl_alloc"), "__rdl_alloc");
        assert_eq!(canonical("memcpy"), "memcpy");
    }

    #[test]
    fn inherent_methods_lose_their_brackets() {
        let malloc = "_RNvMs0_NtCs9p1MkmNz69R_8dlmalloc8dlmallocINtB5_8DlmallocNtNtB7_3sys6SystemE\
                      6mallocCs62v1WRk8Dro_3std";
        let name = canonical(malloc);
        assert_eq!(name, "dlmalloc::dlmalloc::Dlmalloc<dlmalloc::sys::System>::malloc");
        assert_eq!(without_generics(&name), "dlmalloc::dlmalloc::Dlmalloc::malloc");
        assert_eq!(inherent("<T as U>::m"), None);
        assert_eq!(inherent("<[u8]>::m"), None);
        assert_eq!(inherent("<F<fn() -> T>>::m").as_deref(), Some("F<fn() -> T>::m"));
    }
}
