//! Profiles of batches: of all processes together, and of the slowest.

use std::collections::BTreeMap;

use console::truncate_str;
use gpu_run::Samples;

use super::table::{by_function, percent};
use super::{Frame, Profile, Sources};
use crate::calls::grouped;

/// Functions that are told of a process, and the share from which on they are, in percent.
const FUNCTIONS: usize = 3;
const SHARE: f64 = 5.0;
/// Columns that a function's name takes at most there.
const NAME: usize = 60;

/// Where the time of a batch went.
pub struct BatchProfile {
    /// Of all processes together.
    pub all: Profile,
    /// The same, with the slowest processes as outermost frames, and one for all others.
    pub by_process: Profile,
    /// Of each of the slowest processes, in their order, the functions with most samples: `parse 61 %, lex 20 %`.
    pub functions: Vec<String>,
}

impl BatchProfile {
    /// Of the samples of all processes that have run, so many, and those of the slowest with their names.
    pub fn new(
        title: String,
        mut all: Samples,
        mut slowest: Vec<(String, Samples)>,
        processes: u64,
        sources: &Sources<'_>,
    ) -> BatchProfile {
        let own = slowest.iter_mut().flat_map(|(_, samples)| &mut samples.groups);
        sources.add_lines(all.groups.iter_mut().chain(own));
        let all = Profile::of_told(title.clone(), all, sources);
        let others = processes.saturating_sub(slowest.len() as u64);
        let slowest: Vec<(String, Profile)> = slowest
            .into_iter()
            .map(|(name, samples)| {
                let profile = Profile::of_told(name.clone(), samples, sources);
                (format!("process {name}"), profile)
            })
            .collect();
        BatchProfile {
            by_process: by_process(&all, &slowest, others),
            all,
            functions: slowest.iter().map(|(_, profile)| most(profile)).collect(),
        }
    }
}

/// The samples of all processes by those that took longest, and of so many others together.
fn by_process(all: &Profile, slowest: &[(String, Profile)], others: u64) -> Profile {
    let mut by_process = Profile {
        stacks: BTreeMap::new(),
        ..all.clone()
    };
    let mut rest = all.stacks.clone();
    let mut add = |name: &str, stack: &[Frame], samples: u64| {
        by_process.add([&[Frame::label(name)], stack].concat(), samples);
    };
    for (name, profile) in slowest {
        for (stack, samples) in &profile.stacks {
            add(name, stack, *samples);
            if let Some(rest) = rest.get_mut(stack) {
                *rest = rest.saturating_sub(*samples);
            }
        }
    }
    let name = format!("[{} other processes]", grouped(others));
    for (stack, samples) in rest.iter().filter(|(_, samples)| **samples > 0) {
        add(&name, stack, *samples);
    }
    by_process
}

/// The functions with most samples.
fn most(profile: &Profile) -> String {
    let all = profile.samples();
    let mut functions: Vec<_> = by_function(&profile.stacks)
        .into_iter()
        .map(|(name, count)| (name, percent(count.own, all)))
        .filter(|(_, share)| *share >= SHARE)
        .collect();
    functions.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let told = functions.iter().take(FUNCTIONS);
    told.map(|(name, share)| format!("{} {share:.0} %", truncate_str(name, NAME, "…")))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::of_stacks;
    use super::*;

    #[test]
    fn what_the_slowest_have_is_not_the_others() {
        let all = of_stacks(&[("main;a", 70), ("main;b", 30), ("main;c", 4)]);
        let slow = of_stacks(&[("main;a", 50), ("main;c", 5)]);
        let parts = by_process(&all, &[("process 7".into(), slow)], 99);
        let names = |stack: &Vec<Frame>| {
            stack
                .iter()
                .map(|frame| frame.name.clone())
                .collect::<Vec<_>>()
                .join(";")
        };
        let found: Vec<(String, u64)> = parts
            .stacks
            .iter()
            .map(|(stack, samples)| (names(stack), *samples))
            .collect();
        let wanted = [
            ("[99 other processes];main;a", 20),
            ("[99 other processes];main;b", 30),
            ("process 7;main;a", 50),
            ("process 7;main;c", 5),
        ];
        assert_eq!(found, wanted.map(|(stack, samples)| (stack.to_owned(), samples)));
    }

    #[test]
    fn functions_of_some_share_are_told() {
        let profile = of_stacks(&[("main;parse", 61), ("main;lex", 20), ("main", 15), ("main;rare", 4)]);
        assert_eq!(most(&profile), "parse 61 %, lex 20 %, main 15 %");
        assert_eq!(most(&of_stacks(&[])), "");
    }
}
