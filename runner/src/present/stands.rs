//! Where the threads of a program stood that was stopped by `--timeout` or Ctrl-C, for its report.

use gpu_run::{Doing, Stand, Stands, Store};

use crate::calls::grouped;
use crate::json::report as json;
use crate::lines::LineSource;
use crate::report::own_call;

/// Lines of a report.
const SHOWN: usize = 5;

/// Threads that do the same at the same place, as a user sees it.
struct Group {
    threads: u64,
    text: Text,
}

/// A line without its number of threads.
#[derive(PartialEq, Eq)]
struct Text {
    doing: Doing,
    place: String,
}

impl Group {
    fn line(&self) -> String {
        let (threads, one) = (grouped(self.threads), self.threads == 1);
        let (noun, s) = if one { ("thread", "s") } else { ("threads", "") };
        let doing = match self.text.doing {
            Doing::Runs => format!("run{s}"),
            Doing::Sleeps => format!("sleep{s}"),
            Doing::Waits => format!("wait{s}"),
            Doing::AwaitsHost => format!("wait{s} for the host"),
            Doing::AwaitsOutput => format!("wait{s} until output is read"),
            Doing::AwaitsTurn => format!("wait{s} for another thread's turn"),
        };
        format!("{threads} {noun} {doing}{}", self.text.place)
    }
}

/// Where a group stands: in which function of a library, if it is in one, and the program's own call.
fn place(stand: &Stand) -> String {
    let places = &stand.backtrace.places;
    let Some(own) = own_call(&stand.backtrace) else {
        return String::new();
    };
    let at = places
        .iter()
        .position(|place| std::ptr::eq(place, own))
        .unwrap_or_default();
    let told = match (&own.line, own.offset) {
        (Some(line), _) => format!("{line}"),
        (None, Some(offset)) => format!("wasm offset {offset:#x}"),
        (None, None) => String::new(),
    };
    let told = if told.is_empty() { told } else { format!(" at {told}") };
    match at.checked_sub(1) {
        Some(inner) => format!(" in {}, called by {}{told}", places[inner].function, own.function),
        None => format!(" in {}{told}", own.function),
    }
}

/// Where the threads of a store's last run stood, with the lines of the user's sources.
pub fn of(store: &Store<()>, lines: &LineSource) -> Stands {
    let mut stands = store.stands().clone();
    for stand in &mut stands.groups {
        lines.add_to(&mut stand.backtrace);
    }
    stands
}

/// What a report says of them, the largest groups first.
pub fn told(stands: &Stands) -> Vec<String> {
    let mut groups: Vec<Group> = Vec::new();
    for stand in &stands.groups {
        let threads = u64::from(stand.threads);
        let text = Text {
            doing: stand.doing,
            place: place(stand),
        };
        match groups.iter_mut().find(|group| group.text == text) {
            Some(group) => group.threads += threads,
            None => groups.push(Group { threads, text }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.threads));
    let mut told: Vec<String> = groups.iter().take(SHOWN).map(Group::line).collect();
    let left = groups.iter().skip(SHOWN).map(|group| group.threads).sum::<u64>() + u64::from(stands.others);
    if left > 0 {
        told.push(format!("{} threads at other places", grouped(left)));
    }
    if stands.new_threads > 0 {
        told.push(format!("{} threads had not begun", grouped(stands.new_threads.into())));
    }
    told
}

/// The same for programs, with all calls; nothing if nothing is known.
pub fn object(stands: &Stands) -> Option<json::Stands> {
    let group = |stand: &Stand| json::StandGroup {
        threads: stand.threads,
        thread: stand.thread,
        doing: match stand.doing {
            Doing::Runs => json::Doing::Runs,
            Doing::Sleeps => json::Doing::Sleeps,
            Doing::Waits => json::Doing::Waits,
            Doing::AwaitsHost => json::Doing::AwaitsHost,
            Doing::AwaitsOutput => json::Doing::AwaitsOutput,
            Doing::AwaitsTurn => json::Doing::AwaitsTurn,
        },
        backtrace: json::frames(&stand.backtrace),
        omitted_frames: stand.backtrace.omitted,
    };
    (!stands.is_empty()).then(|| json::Stands {
        groups: stands.groups.iter().map(group).collect(),
        not_begun: stands.new_threads,
        others: stands.others,
    })
}

#[cfg(test)]
mod tests {
    use gpu_run::{Backtrace, BacktraceFrame};

    use super::*;

    fn stand(threads: u32, doing: Doing, calls: &[(&str, u32)]) -> Stand {
        let place = |(function, offset): &(&str, u32)| BacktraceFrame {
            function: (*function).to_owned(),
            offset: Some(*offset),
            line: None,
        };
        Stand {
            threads,
            thread: 0,
            doing,
            backtrace: Backtrace {
                places: calls.iter().map(place).collect(),
                ..Backtrace::default()
            },
        }
    }

    #[test]
    fn threads_are_grouped_by_what_a_user_sees() {
        let lock = ("std::sync::poison::mutex::Mutex<i32>::lock", 9);
        let stands = Stands {
            groups: vec![
                stand(
                    4,
                    Doing::Waits,
                    &[("std::sys::futex::wait", 1), lock, ("app::worker", 16)],
                ),
                // By another way in std to the same call.
                stand(
                    3,
                    Doing::Waits,
                    &[("std::sys::futex::wait", 2), lock, ("app::worker", 16)],
                ),
                stand(1, Doing::Runs, &[("app::spin", 32)]),
                stand(1, Doing::AwaitsOutput, &[]),
            ],
            new_threads: 1000,
            others: 0,
        };
        assert_eq!(
            told(&stands),
            [
                "7 threads wait in std::sync::poison::mutex::Mutex<i32>::lock, called by app::worker at wasm offset 0x10",
                "1 thread runs in app::spin at wasm offset 0x20",
                "1 thread waits until output is read",
                "1,000 threads had not begun",
            ]
        );
    }
}
