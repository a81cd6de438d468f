//! `poll_oneoff`: which connections can be read or written.

use core::time::Duration;
use std::vec::Vec;

use super::errno::{Errno, check};

/// `subscription`: to a clock, or to a descriptor.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Subscription {
    user_data: u64,
    /// As large as the alignment of what follows.
    kind: Kind,
    /// The clock's number, or the descriptor.
    of: u32,
    timeout: u64,
    precision: u64,
    flags: u16,
}

#[repr(C, align(8))]
#[derive(Clone, Copy, Default)]
struct Kind(u8);

/// `event`
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    user_data: u64,
    error: u16,
    kind: u8,
    available: u64,
    flags: u16,
}

const _: () = assert!(size_of::<Subscription>() == 48 && size_of::<Event>() == 32);

const CLOCK: u8 = 0;
const FD_READ: u8 = 1;
const FD_WRITE: u8 = 2;
const MONOTONIC: u32 = 1;

/// Subscriptions of one call, fewer than its 1 MiB has room for.
pub const MOST: usize = 16_384;

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn poll_oneoff(subscriptions: *const Subscription, events: *mut Event, count: usize, happened: *mut usize) -> i32;
}

/// What of a descriptor is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    Read,
    Write,
}

/// Waits until one of the descriptors can be read or written, [`MOST`] at most, or for so long. Positions of those that
/// can.
pub fn poll(waited_for: &[(u32, Direction)], most: Duration) -> Result<Vec<usize>, Errno> {
    let mut subscriptions = Vec::with_capacity(waited_for.len() + 1);
    subscriptions.extend(
        waited_for
            .iter()
            .zip(0..)
            .map(|(&(fd, direction), user_data)| Subscription {
                user_data,
                kind: Kind(match direction {
                    Direction::Read => FD_READ,
                    Direction::Write => FD_WRITE,
                }),
                of: fd,
                ..Subscription::default()
            }),
    );
    subscriptions.push(Subscription {
        user_data: u64::MAX,
        kind: Kind(CLOCK),
        of: MONOTONIC,
        timeout: u64::try_from(most.as_nanos()).unwrap_or(u64::MAX),
        ..Subscription::default()
    });
    let mut events = std::vec![Event::default(); subscriptions.len()];
    let mut happened = 0;
    // SAFETY: the call reads so many subscriptions, and writes at most so many events and their number.
    let errno = unsafe {
        poll_oneoff(
            subscriptions.as_ptr(),
            events.as_mut_ptr(),
            subscriptions.len(),
            &mut happened,
        )
    };
    check(errno)?;
    let happened = events.iter().take(happened).filter(|event| event.kind != CLOCK);
    Ok(happened.map(|event| event.user_data as usize).collect())
}
