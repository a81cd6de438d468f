//! Which basic blocks of a program have run so far, on whichever device, and how often: what
//! [`Functions::Hot`](super::compile::Functions) goes by. It is kept beside compiled code, under the program's hash.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use gpu_run_bytecode::Program;
use gpu_run_vm::cuda::cache::{Cache, Key, digest};

/// How often a basic block must have run in one run to be compiled. The compiler takes about a thousand times as long for a
/// block as the interpreter on a lane, so this errs towards compiling: runs are repeated.
pub(super) const OFTEN: u8 = 16;

/// Basic blocks by their first words, with how often each has run in the run where it ran most, up to 31 times.
pub(super) type Counts = BTreeMap<u32, u8>;

fn key(program: &Arc<Program>) -> Key {
    Key::of_profile(&[b"counts", &digest(program)])
}

/// Where that is kept which was known before it had grown.
fn before(program: &Arc<Program>) -> Key {
    Key::of_profile(&[b"counts before", &digest(program)])
}

fn read(cache: &Cache, key: Key) -> Option<Counts> {
    let bytes = cache.load(key)?;
    let counts = bytes.as_chunks::<5>().0.iter();
    Some(
        counts
            .map(|[word @ .., count]| (u32::from_le_bytes(*word), *count))
            .collect(),
    )
}

/// The blocks that have run often.
pub(super) fn often(counts: &Counts) -> BTreeSet<u32> {
    let often = counts.iter().filter(|(_, count)| **count >= OFTEN);
    often.map(|(block, _)| *block).collect()
}

/// Whether so many blocks that have run often are many more than those for which there is code.
pub(super) fn is_grown(blocks: usize, compiled: usize) -> bool {
    blocks > compiled + compiled / 8
}

/// What is known of a program.
pub(super) fn known(cache: &Cache, program: &Arc<Program>) -> Counts {
    read(cache, key(program)).unwrap_or_default()
}

/// The basic blocks of a program that have run often; `None` if none has.
pub(super) fn load(cache: &Cache, program: &Arc<Program>) -> Option<BTreeSet<u32>> {
    blocks(cache, key(program))
}

/// The same, before the last run that found much more: there may be code for these.
pub(super) fn load_before(cache: &Cache, program: &Arc<Program>) -> Option<BTreeSet<u32>> {
    blocks(cache, before(program))
}

fn blocks(cache: &Cache, key: Key) -> Option<BTreeSet<u32>> {
    let often = often(&read(cache, key)?);
    (!often.is_empty()).then_some(often)
}

/// Adds counts of one run to those of others. They are not added up: then each run would bring more blocks to be compiled.
pub(super) fn merge(all: &mut Counts, counts: Counts) {
    for (block, count) in counts {
        let most = all.entry(block).or_default();
        *most = count.max(*most);
    }
}

/// Adds what has run now to what is known of a program. Two processes that do so at once may lose what one of them adds, which the next run finds again.
///
/// # Errors
///
/// What the file system reports.
pub(super) fn add(cache: &Cache, program: &Arc<Program>, counts: Counts) -> io::Result<()> {
    let key = key(program);
    let known = read(cache, key).unwrap_or_default();
    let mut all = known.clone();
    merge(&mut all, counts);
    if all == known {
        return Ok(());
    }
    cache.save(key, &bytes(&all))
}

/// Counts as [`read`] takes them.
fn bytes(counts: &Counts) -> Vec<u8> {
    let bytes = counts.iter().flat_map(|(block, count)| {
        let [a, b, c, d] = block.to_le_bytes();
        [a, b, c, d, *count]
    });
    bytes.collect()
}

/// The same of a run that may have been in code, which was `made` for other counts. It is added where much else has run often,
/// so that the next run has code for that too: with each block more, all is compiled anew. What the code was made for is kept
/// beside it, so that the next run can begin in that.
///
/// # Errors
///
/// As [`add`].
pub(super) fn add_to_compiled(
    cache: &Cache,
    program: &Arc<Program>,
    counts: Counts,
    made: Option<&Counts>,
) -> io::Result<()> {
    let known = often(&known(cache, program));
    let more = often(&counts).difference(&known).count();
    if !is_grown(known.len() + more, known.len()) {
        return Ok(());
    }
    if let Some(made) = made {
        cache.save(before(program), &bytes(made))?;
    }
    add(cache, program, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_grows() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 1 << 20);
        let mut other = Program::default();
        other.code.push(1);
        let (program, other) = (Arc::new(Program::default()), Arc::new(other));
        assert_eq!(load(&cache, &program), None);
        add(&cache, &program, [(3, OFTEN - 1), (1, 1)].into()).unwrap();
        assert_eq!(load(&cache, &program), None);
        add(&cache, &program, [(3, 1), (1, OFTEN), (7, 2)].into()).unwrap();
        add(&cache, &program, [(2, 31), (1, 2)].into()).unwrap();
        assert_eq!(load(&cache, &program), Some([1, 2].into()));
        assert_eq!(
            read(&cache, key(&program)),
            Some([(1, OFTEN), (2, 31), (3, OFTEN - 1), (7, 2)].into())
        );
        assert_eq!(load(&cache, &other), None);
    }

    #[test]
    fn what_is_interpreted_beside_code_counts_when_it_is_much() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, program) = (Cache::new(folder.path(), 1 << 20), Arc::default());
        add(&cache, &program, (0..80).map(|block| (block, OFTEN)).collect()).unwrap();
        let interpreted = |count: u32| (100..100 + count).map(|block| (block, OFTEN)).collect::<Counts>();
        let made = known(&cache, &program);
        add_to_compiled(&cache, &program, interpreted(10), Some(&made)).unwrap();
        assert_eq!(load(&cache, &program).unwrap().len(), 80);
        assert_eq!(load_before(&cache, &program), None);
        add_to_compiled(&cache, &program, interpreted(11), Some(&made)).unwrap();
        assert_eq!(load(&cache, &program).unwrap().len(), 91);
        assert_eq!(load_before(&cache, &program), Some((0..80).collect()));
        // Of the 91 there is no code yet: that of before is still of use.
        add_to_compiled(&cache, &program, interpreted(40), None).unwrap();
        assert_eq!(load(&cache, &program).unwrap().len(), 120);
        assert_eq!(load_before(&cache, &program), Some((0..80).collect()));
    }
}
