use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use super::*;

/// Blocks as they lie in the region: units, and whether it is free. Heads and list must agree.
fn blocks(region: &Region) -> Vec<(u32, bool)> {
    region.free.with(|free| {
        let (mut place, mut before) = (0, 0);
        let mut all: Vec<(u32, bool)> = Vec::new();
        let mut listed = region.blocks(free).map(|(place, _)| place);
        while place < region.units {
            let head = region.head(place);
            assert_eq!(head.before, before);
            assert!(head.units >= LEAST);
            let is_free = head.lower != TAKEN;
            if is_free {
                assert_eq!(listed.next(), Some(place));
                // No two free ones are neighbours.
                assert!(all.last().is_none_or(|(_, before)| !*before));
            }
            all.push((head.units, is_free));
            (place, before) = (place + head.units, head.units);
        }
        assert_eq!((place, listed.next()), (region.units, None));
        let of_free = all.iter().filter(|(_, is_free)| *is_free);
        assert_eq!(of_free.map(|(units, _)| units).sum::<u32>(), free.units);
        all
    })
}

/// A region with free blocks of 6, 4 and 8 units, and of what is left.
fn with_gaps<R>(fit: Fit, f: impl FnOnce(&Region) -> R) -> R {
    let region = Region::with_capacity(1024, fit).unwrap();
    let bytes = |units: usize| region.alloc_slice_with((units - 1) * UNIT, |_| 0u8).unwrap();
    let taken = [6, 2, 4, 2, 8, 2].map(bytes);
    let [first, a, second, b, third, c] = taken;
    drop((first, second, third));
    let result = f(&region);
    drop((a, b, c));
    assert_eq!(blocks(&region), [(64, true)]);
    result
}

#[test]
fn a_fit_chooses_the_block() {
    let place = |fit| {
        with_gaps(fit, |region| {
            let block = region.alloc([0u8; 48]).unwrap();
            let at = (block.value.addr().get() - region.memory.addr().get()) / UNIT - 1;
            assert_eq!(blocks(region).iter().filter(|(_, is_free)| !is_free).count(), 4);
            at
        })
    };
    assert_eq!(place(Fit::First), 0);
    assert_eq!(place(Fit::Best), 8);
    assert_eq!(place(Fit::Worst), 24);
}

#[test]
fn what_is_too_little_for_a_block_is_not_split_off() {
    with_gaps(Fit::First, |region| {
        // 5 of 6 units.
        let block = region.alloc([0u8; 64]).unwrap();
        assert_eq!(blocks(region)[0], (6, false));
        drop(block);
        assert_eq!(blocks(region)[0], (6, true));
    });
}

#[test]
fn a_block_is_aligned_and_large_enough() {
    let region = Region::with_capacity(8192, Fit::First).unwrap();
    let small = region.alloc(1u8).unwrap();
    for align in [1, 2, 8, 16, 32, 64, 256, 1024] {
        for size in [0, 1, 15, 16, 17, 100] {
            let layout = Layout::from_size_align(size, align).unwrap();
            let block = region.take(layout).unwrap();
            assert_eq!(block.addr().get() % align, 0);
            // SAFETY: the block has so many bytes.
            unsafe { block.write_bytes(0xa5, size) };
            blocks(&region);
            // SAFETY: taken above, once.
            unsafe { region.give_back(block) };
        }
    }
    assert_eq!(*small, 1);
    drop(small);
    assert_eq!(blocks(&region), [(512, true)]);
    assert_eq!((region.free(), region.largest(), region.capacity()), (8192, 8192, 8192));
}

#[test]
fn it_says_when_it_is_full() {
    let region = Region::with_capacity(100, Fit::Best).unwrap();
    assert_eq!(region.capacity(), 112);
    let all = region.alloc_slice_with(96, |i| i as u8).unwrap();
    assert_eq!((region.free(), region.largest()), (0, 0));
    assert_eq!(region.alloc(()).unwrap_err(), RegionFull { bytes: 0 });
    drop(all);
    assert_eq!(region.alloc([0u8; 97]).unwrap_err(), RegionFull { bytes: 97 });
    assert!(region.alloc_slice_with(usize::MAX / 2, |_| 0u64).is_err());
    assert!(region.take(Layout::from_size_align(16, 1 << 20).unwrap()).is_err());
    for bytes in [usize::MAX, isize::MAX as usize, MOST + 1] {
        assert_eq!(
            Region::with_capacity(bytes, Fit::First).unwrap_err(),
            RegionFull { bytes }
        );
    }
    assert_eq!(Region::with_capacity(0, Fit::First).unwrap().capacity(), 32);
    assert_eq!(format!("{region:?}"), "Region { capacity: 112, free: 112, fit: Best }");
}

#[test]
fn values_are_dropped_also_where_making_them_panics() {
    let region = Region::with_capacity(4096, Fit::First).unwrap();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let make = |i| if i < 3 { format!("{i}") } else { panic!("the fourth") };
        region.alloc_slice_with(5, make).unwrap().len()
    }));
    assert!(result.is_err());
    assert_eq!(blocks(&region), [(256, true)]);
    let names = region.alloc_slice_with(3, |i| format!("name {i}")).unwrap();
    assert_eq!(names.concat(), "name 0name 1name 2");
    assert_eq!(format!("{names:?}"), "[\"name 0\", \"name 1\", \"name 2\"]");
    assert_eq!(format!("{}", region.alloc(String::from("x")).unwrap()), "x");
}

#[test]
#[should_panic = "the block was given back before"]
fn what_is_given_back_twice_is_told() {
    let region = Region::with_capacity(4096, Fit::First).unwrap();
    let block = region.take(Layout::new::<u64>()).unwrap();
    let _other = region.take(Layout::new::<u64>()).unwrap();
    // SAFETY: it is not, the second time: it has to be found, and is here, because the head is still there.
    unsafe {
        region.give_back(block);
        region.give_back(block);
    }
}

/// Sizes, alignments and order by chance: no two blocks overlap, and heads and list agree all along.
#[test]
fn blocks_do_not_overlap_whatever_comes() {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for fit in [Fit::First, Fit::Best, Fit::Worst] {
        let region = Region::with_capacity(16 * 1024, fit).unwrap();
        let mut taken: BTreeMap<usize, Layout> = BTreeMap::new();
        for _ in 0..4000 {
            if random(5) < 3 {
                let layout = Layout::from_size_align(random(600) as usize, 1 << random(8)).unwrap();
                let Ok(block) = region.take(layout) else { continue };
                let at = block.addr().get();
                let lower = taken.range(..=at).next_back();
                assert!(lower.is_none_or(|(lower, layout)| lower + layout.size().max(1) <= at));
                let higher = taken.range(at..).next();
                assert!(higher.is_none_or(|(higher, _)| at + layout.size() <= *higher));
                taken.insert(at, layout);
            } else if !taken.is_empty() {
                let index = random(taken.len() as u64) as usize;
                let at = *taken.keys().nth(index).unwrap();
                taken.remove(&at);
                let offset = at - region.memory.addr().get();
                // SAFETY: taken above, and only once in the map.
                unsafe { region.give_back(region.memory.cast::<u8>().add(offset)) };
            }
            blocks(&region);
        }
        for at in taken.into_keys() {
            let offset = at - region.memory.addr().get();
            // SAFETY: as above.
            unsafe { region.give_back(region.memory.cast::<u8>().add(offset)) };
        }
        assert_eq!(blocks(&region), [(1024, true)]);
    }
}

#[test]
fn threads_share_a_region() {
    let region = Region::with_capacity(8192, Fit::Best).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let region = &region;
            scope.spawn(move || {
                for n in 0..2000 {
                    let len = (thread + n) as usize % 40;
                    if let Ok(values) = region.alloc_slice_with(len, |i| thread << 32 | i as u64) {
                        std::thread::yield_now();
                        assert!(values.iter().zip(0..).all(|(value, i)| *value == thread << 32 | i));
                    }
                }
            });
        }
    });
    assert_eq!(blocks(&region), [(512, true)]);
}
