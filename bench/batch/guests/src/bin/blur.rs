//! Blurs a grey image of 64 x 64 pixels three times by a box of 5 x 5.

use std::io::{Read, Write};

const SIDE: usize = 64;

fn main() {
    let mut image = Vec::new();
    std::io::stdin().read_to_end(&mut image).expect("an image");
    image.resize(SIDE * SIDE, 0);
    for _ in 0..3 {
        let mut blurred = vec![0u8; SIDE * SIDE];
        for y in 0..SIDE {
            for x in 0..SIDE {
                let (mut sum, mut count) = (0u32, 0u32);
                for row in y.saturating_sub(2)..(y + 3).min(SIDE) {
                    for column in x.saturating_sub(2)..(x + 3).min(SIDE) {
                        sum += u32::from(image[row * SIDE + column]);
                        count += 1;
                    }
                }
                blurred[y * SIDE + x] = (sum / count) as u8;
            }
        }
        image = blurred;
    }
    std::io::stdout().write_all(&image).expect("stdout");
}
