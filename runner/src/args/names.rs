//! Names of exports as users write them.

use gpu_run_bytecode::KERNEL_PREFIX;

/// A function export's name as a user writes it for `--invoke`: a kernel by its short name, unless another export of
/// `all` has that.
pub fn shown<'n>(name: &'n str, mut all: impl Iterator<Item = &'n str>) -> &'n str {
    match name.strip_prefix(KERNEL_PREFIX) {
        Some(short) if !all.any(|other| other == short) => short,
        _ => name,
    }
}

/// The candidate that is most like `name`, if one is like it.
fn similar<'n>(name: &str, candidates: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    /// What clap takes for the same.
    const ENOUGH: f64 = 0.7;
    let name = name.to_lowercase();
    candidates
        .map(|candidate| (strsim::jaro(&name, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// What to do about a name that is not there: the candidate that was meant, if one is like it, and what there is.
pub fn did_you_mean<'n>(name: &str, candidates: impl Iterator<Item = &'n str>, there_is: &str) -> String {
    match similar(name, candidates) {
        Some(meant) => format!("did you mean `{meant}`? ({there_is})"),
        None => there_is.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_short_names_that_are_theirs_alone() {
        let all = ["gpu_run_v1.kernel.sum", "gpu_run_v1.kernel.main", "main"];
        let shown = all.map(|name| shown(name, all.into_iter()));
        assert_eq!(shown, ["sum", "gpu_run_v1.kernel.main", "main"]);
    }

    #[test]
    fn names_alike_are_found() {
        let names = ["fib", "render", "render_row"];
        assert_eq!(similar("rendr", names.into_iter()), Some("render"));
        assert_eq!(similar("Fib", names.into_iter()), Some("fib"));
        assert_eq!(similar("quite_other", names.into_iter()), None);
    }
}
