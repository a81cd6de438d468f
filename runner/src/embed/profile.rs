//! Which basic blocks of a program have run so far, on whichever device: what
//! [`Functions::Hot`](super::compile::Functions) goes by. It is kept beside compiled code, under the program's hash.

use std::collections::BTreeSet;
use std::io;

use gpu_run_bytecode::{Program, encode};
use gpu_run_vm::cuda::cache::{Cache, Key};

/// Basic blocks by their first words.
pub(super) type Blocks = BTreeSet<u32>;

fn key(program: &Program) -> Key {
    Key::of_profile(&[b"blocks", &encode(program)])
}

/// What is known of a program; `None` if it never ran.
pub(super) fn load(cache: &Cache, program: &Program) -> Option<Blocks> {
    let bytes = cache.load(key(program))?;
    let blocks = bytes.chunks_exact(4).map(|block| {
        let mut word = [0; 4];
        word.copy_from_slice(block);
        u32::from_le_bytes(word)
    });
    Some(blocks.collect())
}

/// Adds what has run now to what is known of a program. Two processes that do so at once may lose what one of them adds,
/// which the next run finds again.
///
/// # Errors
///
/// What the file system reports.
pub(super) fn add(cache: &Cache, program: &Program, blocks: Blocks) -> io::Result<()> {
    let known = load(cache, program);
    if known.as_ref().is_some_and(|known| known.is_superset(&blocks)) {
        return Ok(());
    }
    let all = known.unwrap_or_default().into_iter().chain(blocks);
    let bytes: Vec<u8> = all.collect::<Blocks>().into_iter().flat_map(u32::to_le_bytes).collect();
    cache.save(key(program), &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_grows() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 1 << 20);
        let (program, mut other) = (Program::default(), Program::default());
        other.code.push(1);
        assert_eq!(load(&cache, &program), None);
        add(&cache, &program, [3, 1].into()).unwrap();
        assert_eq!(load(&cache, &program), Some([1, 3].into()));
        add(&cache, &program, [2, 3].into()).unwrap();
        add(&cache, &program, [1].into()).unwrap();
        assert_eq!(load(&cache, &program), Some([1, 2, 3].into()));
        assert_eq!(load(&cache, &other), None);
    }
}
