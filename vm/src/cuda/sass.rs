//! What the driver's compiler tells of the machine code that it made.

/// Of one function or entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionStats {
    /// Symbol.
    pub name: String,
    /// Registers of a thread; told of entries only, for all that they call.
    pub registers: Option<u32>,
    /// Bytes of local memory with which an entry is launched, its calls as far as they are known.
    pub local: Option<u32>,
    /// Bytes of its own stack frame.
    pub stack: u32,
    /// Bytes stored because registers ran out.
    pub spill_stores: u32,
    /// Bytes loaded because registers ran out.
    pub spill_loads: u32,
}

/// Reads the log of a link with [`verbose`](super::link::LinkOptions::verbose).
pub fn parse(log: &str) -> Vec<FunctionStats> {
    let mut functions: Vec<FunctionStats> = Vec::new();
    let mut current = None;
    for line in log.lines() {
        let text = line.trim();
        let text = text
            .strip_prefix("ptxas info")
            .map_or(text, |text| text.trim_start_matches([' ', ':']));
        let quoted = || text.split('\'').nth(1).unwrap_or(text);
        let named = text
            .strip_prefix("Function properties for ")
            .map(|name| name.trim_matches('\''));
        if let Some(name) = named.or_else(|| text.starts_with("Compiling entry function").then(quoted)) {
            let index = functions.iter().position(|function| function.name == name);
            current = Some(index.unwrap_or_else(|| {
                functions.push(FunctionStats {
                    name: name.to_owned(),
                    ..FunctionStats::default()
                });
                functions.len() - 1
            }));
            continue;
        }
        let Some(function) = current.and_then(|index: usize| functions.get_mut(index)) else {
            continue;
        };
        for part in text.split(',').map(str::trim) {
            let words: Vec<&str> = part.split_whitespace().collect();
            match words[..] {
                [n, "bytes", "stack", "frame"] => function.stack = n.parse().unwrap_or_default(),
                [n, "bytes", "spill", "stores"] => function.spill_stores = n.parse().unwrap_or_default(),
                [n, "bytes", "spill", "loads"] => function.spill_loads = n.parse().unwrap_or_default(),
                ["Used", n, "registers"] => function.registers = n.parse().ok(),
                _ => {}
            }
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_entries_and_functions() {
        let log = "ptxas info    : 0 bytes gmem, 32 bytes cmem[3]
ptxas info    : Compiling entry function 'i0_start_1' for 'sm_90'
ptxas info    : Function properties for i0_start_1
    1024 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 56 registers, used 1 barriers, 1024 bytes cumulative stack size, 536 bytes cmem[0]
ptxas info    : Function properties for i0_f0
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
";
        let found = parse(log);
        let stats = |name: &str, registers, stack, spill_stores, spill_loads| FunctionStats {
            name: name.to_owned(),
            registers,
            local: None,
            stack,
            spill_stores,
            spill_loads,
        };
        assert_eq!(
            found,
            [
                stats("i0_start_1", Some(56), 1024, 8, 12),
                stats("i0_f0", None, 16, 0, 0)
            ]
        );
    }

    #[test]
    fn other_lines_are_passed_over() {
        assert!(parse("").is_empty());
        assert!(parse("ptxas info : 5 bytes gmem\n 4 bytes stack frame\nUsed x registers").is_empty());
    }
}
