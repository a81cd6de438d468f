//! The heap over time as Valgrind's massif writes it, for ms_print and massif-visualizer.

use std::collections::BTreeMap;
use std::io::{self, Write};

use gpu_run::HeapSnapshot;

use super::{Frame, Profile};

/// Calls that have less of a snapshot's bytes are put together, as massif does with 1 %.
const LEAST_SHARE: u64 = 100;

/// Every which snapshot says where its blocks are from. The largest one does too.
const DETAILED: usize = 10;

/// Bytes by calls, the innermost first: the callers of a call are below it.
#[derive(Default)]
struct Node<'f> {
    bytes: u64,
    callers: BTreeMap<&'f Frame, Node<'f>>,
}

impl<'f> Node<'f> {
    fn add(&mut self, stack: impl Iterator<Item = &'f Frame>, bytes: u64) {
        let mut node = self;
        node.bytes += bytes;
        for frame in stack {
            node = node.callers.entry(frame).or_default();
            node.bytes += bytes;
        }
    }

    fn write(&self, name: &str, depth: usize, least: u64, to: &mut impl Write) -> io::Result<()> {
        let (mut shown, hidden): (Vec<_>, Vec<_>) = self.callers.iter().partition(|(_, node)| node.bytes >= least);
        shown.sort_by_key(|(frame, node)| (std::cmp::Reverse(node.bytes), *frame));
        let lines = shown.len() + usize::from(!hidden.is_empty());
        writeln!(to, "{:depth$}n{lines}: {} {name}", "", self.bytes)?;
        for (frame, node) in shown {
            node.write(&name_of(frame), depth + 1, least, to)?;
        }
        if !hidden.is_empty() {
            let bytes: u64 = hidden.iter().map(|(_, node)| node.bytes).sum();
            let depth = depth + 1;
            writeln!(
                to,
                "{:depth$}n0: {bytes} in {} places, all below massif's threshold (1.00%)",
                "",
                hidden.len()
            )?;
        }
        Ok(())
    }
}

/// A call as massif names it. Readers expect an address, which there is none of.
fn name_of(frame: &Frame) -> String {
    let name = frame.name.replace(['\n', '\r'], " ");
    match &frame.place {
        Some((file, line)) => format!("0x0: {name} ({file}:{line})"),
        None => format!("0x0: {name} (in wasm)"),
    }
}

/// Writes a heap's history.
///
/// # Errors
///
/// Those of `to`.
pub fn write(profile: &Profile, mut to: impl Write) -> io::Result<()> {
    let heap = &profile.heap;
    writeln!(to, "desc: gpu-run {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(to, "cmd: {}", profile.title.replace(['\n', '\r'], " "))?;
    writeln!(to, "time_unit: ms")?;
    let largest = HeapSnapshot::largest(&heap.snapshots);
    for (number, snapshot) in heap.snapshots.iter().enumerate() {
        writeln!(to, "#-----------\nsnapshot={number}\n#-----------")?;
        writeln!(to, "time={}", snapshot.time.as_millis())?;
        writeln!(to, "mem_heap_B={}", snapshot.bytes())?;
        writeln!(to, "mem_heap_extra_B=0\nmem_stacks_B=0")?;
        let is_largest = Some(number) == largest;
        if !is_largest && number % DETAILED != DETAILED - 1 {
            writeln!(to, "heap_tree=empty")?;
            continue;
        }
        writeln!(to, "heap_tree={}", if is_largest { "peak" } else { "detailed" })?;
        let mut root = Node::default();
        for group in &snapshot.groups {
            root.add(heap.stacks[group.stack].iter().rev(), group.bytes);
        }
        let least = root.bytes.div_ceil(LEAST_SHARE);
        let name = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.";
        root.write(name, 0, least, &mut to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gpu_run::HeapGroup;

    use super::super::Heap;
    use super::*;

    #[test]
    fn snapshots_have_trees() {
        let frames = |names: &[&str]| names.iter().map(|name| Frame::label(*name)).collect();
        let group = |(stack, bytes): &(usize, u64)| HeapGroup {
            stack: *stack,
            blocks: 1,
            bytes: *bytes,
        };
        let at = |time, stacks: &[(usize, u64)]| HeapSnapshot {
            time: Duration::from_millis(time),
            groups: stacks.iter().map(group).collect(),
        };
        let heap = Heap {
            peak: 1002,
            stacks: vec![
                frames(&["main", "a"]),
                frames(&["main", "b", "a"]),
                frames(&["main", "c"]),
            ],
            snapshots: vec![at(1, &[(0, 5)]), at(2, &[(0, 600), (1, 400), (2, 2)]), at(3, &[])],
        };
        let mut bytes = Vec::new();
        let profile = Profile {
            title: "app.wasm".into(),
            heap,
            ..Profile::default()
        };
        write(&profile, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (_, peak) = text.split_once("heap_tree=peak\n").unwrap();
        let tree: Vec<&str> = peak.lines().take_while(|line| !line.starts_with('#')).collect();
        assert_eq!(
            tree,
            [
                "n2: 1002 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.",
                " n2: 1000 0x0: a (in wasm)",
                "  n0: 600 0x0: main (in wasm)",
                "  n1: 400 0x0: b (in wasm)",
                "   n0: 400 0x0: main (in wasm)",
                " n0: 2 in 1 places, all below massif's threshold (1.00%)",
            ]
        );
        assert_eq!(text.matches("heap_tree=empty").count(), 2);
        assert!(
            text.contains("snapshot=2\n#-----------\ntime=3\nmem_heap_B=0\n"),
            "{text}"
        );
    }
}
