//! SHA-256, unrolled so that state and message schedule are locals, as one writes it for a GPU.

use crate::finish::finish;
use gpu_std::thread_id;

const START: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

#[rustfmt::skip]
const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// Rounds `$r` to `$r + 15` of the compression of `$w`, the last 16 words of the schedule.
macro_rules! rounds {
    ($s:ident, $w:ident, $r:literal) => {
        rounds!($s, $w, $r, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($s:ident, $w:ident, $r:literal, $($i:literal)*) => {$(
        if $r > 0 {
            let (a, b) = ($w[($i + 1) % 16], $w[($i + 14) % 16]);
            $w[$i] = $w[$i]
                .wrapping_add(a.rotate_right(7) ^ a.rotate_right(18) ^ a >> 3)
                .wrapping_add($w[($i + 9) % 16])
                .wrapping_add(b.rotate_right(17) ^ b.rotate_right(19) ^ b >> 10);
        }
        let [a, b, c, d, e, f, g, h] = $s;
        let t = h
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add(e & f ^ !e & g)
            .wrapping_add(K[$r + $i])
            .wrapping_add($w[$i]);
        let u = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22))
            .wrapping_add(a & b ^ a & c ^ b & c);
        $s = [t.wrapping_add(u), a, b, c, d.wrapping_add(t), e, f, g];
    )*};
}

/// The digest of one block.
#[inline(always)]
fn digest(mut w: [u32; 16]) -> [u32; 8] {
    let mut s = START;
    rounds!(s, w, 0);
    rounds!(s, w, 16);
    rounds!(s, w, 32);
    rounds!(s, w, 48);
    core::array::from_fn(|i| s[i].wrapping_add(START[i]))
}

/// The first word after `n` digests, each of the digest before it and the thread's id.
#[unsafe(no_mangle)]
extern "C" fn sha256(n: u32, expect: i64) -> u32 {
    let mut d = [0; 8];
    for _ in 0..n {
        let [a, b, c, e, f, g, h, i] = d;
        // A message of 36 bytes, padded: a one bit, zeros, the length in bits.
        d = digest([a, b, c, e, f, g, h, i, thread_id(), 0x8000_0000, 0, 0, 0, 0, 0, 36 * 8]);
    }
    finish(d[0], expect)
}
