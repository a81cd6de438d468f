//! The 8-puzzle by IDA* with the Manhattan distance, as one loop without recursion: a path is at most
//! 31 moves of two bits, so it fits a u64, and a board of 9 cells of four bits fits another.
//!
//! The loop goes on to a thread's next puzzle by itself. With a loop for each puzzle, the threads of a
//! warp would wait for the hardest of theirs each time.

use crate::finish::finish;
use crate::{seed, xorshift};
use gpu_std::thread_id;

/// The distance of tile `t` in cell `c` from its goal, cell `t`, at `9 * t + c`. The blank has none.
static DISTANCE: [u8; 81] = {
    let mut table = [0; 81];
    let mut i = 9;
    while i < 81 {
        let (t, c) = (i / 9, i % 9);
        table[i] = ((t / 3).abs_diff(c / 3) + (t % 3).abs_diff(c % 3)) as u8;
        i += 1;
    }
    table
};

/// Four bits for each cell: the moves of the blank (up, down, left, right) that stay on the board.
const LEGAL: u64 = 0x5_d_9_7_f_b_6_e_a;

#[derive(Clone, Copy)]
struct Board {
    /// Four bits for each cell: its tile, or 0 for the blank.
    cells: u64,
    blank: u32,
    /// The sum of all tiles' distances.
    distance: u32,
}

impl Board {
    const GOAL: Board = Board {
        cells: 0x8_7654_3210,
        blank: 0,
        distance: 0,
    };

    /// A bit for each direction that the blank can move in.
    #[inline(always)]
    fn legal(self) -> u32 {
        (LEGAL >> (4 * self.blank)) as u32 & 15
    }

    /// The board after the blank has moved, which must be legal.
    #[inline(always)]
    fn moved(self, direction: u32) -> Board {
        // The blank moves by -3, 3, -1 or 1.
        let to = self.blank + (0x4260 >> (4 * direction) & 15) - 3;
        let tile = (self.cells >> (4 * to) & 15) as u32;
        Board {
            cells: self.cells ^ (tile as u64) << (4 * to) ^ (tile as u64) << (4 * self.blank),
            blank: to,
            distance: self.distance + distance(tile, self.blank) - distance(tile, to),
        }
    }
}

#[inline(always)]
fn distance(tile: u32, cell: u32) -> u32 {
    // SAFETY: tiles and cells are below 9.
    unsafe { *DISTANCE.get_unchecked((9 * tile + cell) as usize) as u32 }
}

/// Solves `n` boards, each made by 60 random moves.
#[unsafe(no_mangle)]
extern "C" fn puzzle(n: u32, expect: i64) -> u32 {
    let (mut state, mut sum, mut solved) = (seed(thread_id()), 0u32, 0);
    let (mut board, mut bound, mut next_bound, mut looked_at) = (Board::GOAL, 0, 0, 0u32);
    // Moves made, the moves themselves with the last in the low bits, and directions still to try.
    let (mut depth, mut path, mut untried) = (0, 0u64, 0);
    loop {
        if board.distance == 0 {
            sum = sum.wrapping_mul(31).wrapping_add(looked_at ^ depth << 24);
            if solved == n {
                break;
            }
            solved += 1;
            for _ in 0..60 {
                state = xorshift(state);
                if board.legal() >> (state >> 30) & 1 != 0 {
                    board = board.moved(state >> 30);
                }
            }
            (bound, next_bound, looked_at) = (board.distance, u32::MAX, 0);
            (depth, path, untried) = (0, 0, board.legal());
            continue;
        }
        let back = untried == 0;
        if back && depth == 0 {
            (bound, next_bound, untried) = (next_bound, u32::MAX, board.legal());
        }
        let back = back && depth > 0;
        let last = path as u32 & 3;
        // Directions come in pairs of opposites.
        let direction = if back { last ^ 1 } else { untried.trailing_zeros() };
        let next = board.moved(direction);
        let estimate = depth + 1 + next.distance;
        if back {
            (board, depth, path) = (next, depth - 1, path >> 2);
            // The directions after the one that was taken back, but for the one that led here.
            let came = if depth > 0 { 1 << (path as u32 & 3 ^ 1) } else { 0 };
            untried = board.legal() & 14 << last & !came;
        } else if estimate <= bound {
            (board, depth, path) = (next, depth + 1, path << 2 | direction as u64);
            untried = board.legal() & !(1 << (direction ^ 1));
            looked_at += 1;
        } else {
            next_bound = next_bound.min(estimate);
            untried &= untried - 1;
            looked_at += 1;
        }
    }
    finish(sum, expect)
}
