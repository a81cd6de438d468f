use super::*;
use std::vec::Vec;

#[test]
fn blocks_do_not_overlap_and_are_aligned() {
    let mut arena = Arena::new();
    let scope = arena.scope();
    let mut blocks = Vec::new();
    for i in 0..2000usize {
        let align = 1 << (i % 9);
        let layout = Layout::from_size_align(i * 7 % 300, align).unwrap();
        let block = scope.try_alloc_layout(layout).unwrap();
        assert_eq!(block.as_ptr().addr() % align, 0);
        block.fill(MaybeUninit::new(i as u8));
        blocks.push((i as u8, block));
    }
    for (i, block) in blocks {
        // SAFETY: each byte was written above.
        assert!(block.iter().all(|byte| unsafe { byte.assume_init() } == i));
    }
}

#[test]
fn scopes_give_their_blocks_back() {
    let mut arena = Arena::new();
    let mut outer = arena.scope();
    let first = outer.alloc(1u64);
    let mut place = None;
    for round in 0..10 {
        let mut inner = outer.scope();
        let block = inner.alloc_slice_with(5000, |i| i + round);
        assert_eq!(
            *place.get_or_insert(block.as_ptr()),
            block.as_ptr(),
            "the same memory again"
        );
        let innermost = inner.scope();
        innermost.alloc_slice(&[0u8; 100_000]);
        drop(innermost);
        assert_eq!(block[4999], 4999 + round);
    }
    let behind = outer.alloc(2u64);
    assert_eq!((*first, *behind), (1, 2));
    drop(outer);
    let chunks = arena.capacity();
    arena.scope().alloc_slice(&[0u8; 100_000]);
    assert_eq!(arena.capacity(), chunks, "nothing more is fetched");
}

/// A scope may end while its references live: nothing takes their memory before they are gone.
#[test]
fn references_outlive_the_scope_value() {
    let mut arena = Arena::new();
    let scope = arena.scope();
    let text = scope.alloc_str("still here");
    drop(scope);
    text.make_ascii_uppercase();
    assert_eq!(text, "STILL HERE");
}

#[test]
fn a_forgotten_scope_keeps_its_blocks_until_reset() {
    let mut arena = Arena::with_capacity(1 << 16).unwrap();
    let scope = arena.scope();
    scope.alloc([1u8; 50_000]);
    core::mem::forget(scope);
    arena.scope().alloc([2u8; 50_000]);
    let grown = arena.capacity();
    assert!(grown > 1 << 17);
    arena.reset();
    assert!(arena.capacity() < grown);
    arena.scope().alloc([3u8; 50_000]);
}

#[test]
fn types_of_no_size_and_empty_slices() {
    let mut arena = Arena::new();
    let scope = arena.scope();
    let units = scope.alloc_slice_with(1000, |_| ());
    assert_eq!(units.len(), 1000);
    assert_eq!(scope.alloc_slice::<u64>(&[]).as_ptr().addr() % 8, 0);
    assert_eq!(scope.alloc_str(""), "");
}

#[test]
fn a_panic_while_a_slice_is_made_loses_only_the_block() {
    let mut arena = Arena::new();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        arena
            .scope()
            .alloc_slice_with(10, |i| if i == 5 { panic!("five") } else { i });
    }));
    assert!(result.is_err());
    assert_eq!(*arena.scope().alloc(4), 4);
}

#[test]
fn arenas_move_between_threads() {
    let mut arena = Arena::new();
    arena.scope().alloc(1);
    std::thread::spawn(move || assert_eq!(*arena.scope().alloc(2), 2))
        .join()
        .unwrap();
}
