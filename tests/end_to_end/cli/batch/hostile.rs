//! Isolation: programs that reach for what is not theirs, beside honest ones.

use crate::common::{fixture, text};
use crate::support::{EngineTest, Tested, expect, fail};

use super::{batch_on, contents};

pub fn of_engine() -> Vec<EngineTest> {
    vec![("batch/hostile", hostile)]
}

/// Numbers without end, the same for a seed (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number at the edge of something: of memory of 3, 4 or 16 pages, of 31 and 32 bits, or of nothing.
    fn edge(&mut self) -> u32 {
        const EDGES: [u32; 9] = [
            0,
            1 << 10,
            1 << 14,
            3 << 16,
            4 << 16,
            1 << 20,
            1 << 31,
            u32::MAX,
            0x0040_0000,
        ];
        match self.below(4) {
            0 => self.next() as u32,
            1 => self.below(40) as u32,
            _ => EDGES[self.below(EDGES.len() as u64) as usize]
                .wrapping_add(self.below(18) as u32)
                .wrapping_sub(9),
        }
    }

    /// A script for `fixtures/wat/hostile.wat`.
    fn script(&mut self) -> Vec<u8> {
        const CALL_DEEPER: u8 = 18;
        const EXIT: u8 = 22;
        const LOOP: u8 = 23;
        const MUCH_OUTPUT: u8 = 24;
        let mut script = b"X".to_vec();
        for _ in 0..self.below(60) {
            let mut op = self.below(28) as u8;
            if matches!(op, EXIT | LOOP) && self.below(20) > 0 {
                op = 0;
            }
            let a = match op {
                CALL_DEEPER => self.below(200_000) as u32,
                MUCH_OUTPUT => self.below(20) as u32,
                _ => self.edge(),
            };
            script.push(op);
            for number in [a, self.edge(), self.edge()] {
                script.extend(number.to_le_bytes());
            }
        }
        script
    }
}

/// Hostile processes beside honest ones, in the same warps: none sees or changes a byte of another, and honest ones find what
/// they need, whatever is exhausted by the others. HOSTILE_SEED chooses other scripts.
fn hostile(engine: &str) -> Tested {
    // On a GPU so many that each warp has several.
    let (count, timeout) = match engine {
        "emulator" => (64, "20s"),
        "cpu" => (400, "2s"),
        _ => (9_000, "6s"),
    };
    let seed = std::env::var("HOSTILE_SEED").map_or(Ok(1), |seed| seed.parse::<u64>())?;
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let folder = tempfile::tempdir()?;
    let (inputs, given, out) = (
        folder.path().join("in"),
        folder.path().join("given"),
        folder.path().join("out"),
    );
    std::fs::create_dir(&inputs)?;
    std::fs::create_dir(&given)?;
    std::fs::write(given.join("honest.txt"), "yes")?;
    for i in 0..count {
        let path = inputs.join(i.to_string());
        let input = match i % 2 {
            0 => format!("H{i:08}").into_bytes(),
            _ => numbers.script(),
        };
        std::fs::write(&path, input)?;
    }
    let list: String = (0..count)
        .map(|i| format!("{}\n", inputs.join(i.to_string()).display()))
        .collect();
    std::fs::write(folder.path().join("list"), list)?;
    let mut command = batch_on(engine);
    command
        .args(["--instance-timeout", timeout, "--instance-memory", "1MiB", "--dir"])
        .arg(format!("{}::/:ro", given.display()))
        .arg("--from")
        .arg(folder.path().join("list"))
        .arg("--out-dir")
        .arg(&out)
        .arg(fixture("wat").join("hostile.wat"));
    let output = command.output()?;
    let secret = 0x5ec2_e75e_u32.to_le_bytes();
    let written = contents(&out)?;
    for i in 0..count {
        let name = inputs.join(i.to_string()).display().to_string().replace('/', "%2F");
        let of = |ending: &str| {
            written
                .get(&format!("{name}.{ending}"))
                .map(Vec::as_slice)
                .unwrap_or_default()
        };
        let (stdout, stderr) = (of("out"), of("err"));
        if i % 2 == 0 {
            if stdout != format!("ok {i:08}\n").as_bytes() || of("exit") != b"0\n" {
                return fail(
                    format!("honest {i}: {:?}, exit code {:?}", text(stdout), text(of("exit"))),
                    &output,
                );
            }
            continue;
        }
        let sees = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).any(|part| part == what);
        // It says so before its script, or after it.
        let tells = stdout.starts_with(b"leak") || stdout.ends_with(b"leak");
        if tells || [stdout, stderr].iter().any(|bytes| sees(bytes, &secret)) {
            return fail(
                format!("{i} has seen what is not its own (HOSTILE_SEED={seed})"),
                &output,
            );
        }
        expect(!of("exit").is_empty(), &format!("{i} has ended"), &output)?;
    }
    Ok(())
}
