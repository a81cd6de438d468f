//! Where the indirect branches of machine code lead. For each function a cubin has a section `.nv.info.NAME` with attributes.
//! Of these, `EIATTR_INDIRECT_BRANCH_TARGETS` lists for each `BRX` its targets.
//!
//! An attribute begins with its format, its number, and 16 bits: a value, or the size of what follows. The list has 32-bit
//! words: for each branch its offset in the function's code, a zero, how many targets it has, and their offsets.

use std::collections::BTreeMap;

/// The format of an attribute that bytes follow.
const SIZED: u8 = 4;
/// The number of the attribute.
const INDIRECT_BRANCH_TARGETS: u8 = 0x34;

/// The targets of a function's indirect branches, by the offset of the branch in its code; in bytes, as the targets are.
///
/// What does not look as described ends the list: of the branches that are not in it nothing is known.
pub fn targets(attributes: &[u8]) -> BTreeMap<u32, Vec<u32>> {
    let mut found = BTreeMap::new();
    let mut rest = attributes;
    while let [format, number, low, high, after @ ..] = rest {
        let size = match *format {
            SIZED => usize::from(u16::from_le_bytes([*low, *high])),
            _ => 0,
        };
        let Some((value, after)) = after.split_at_checked(size) else {
            break;
        };
        if (*format, *number) == (SIZED, INDIRECT_BRANCH_TARGETS) {
            read_list(value, &mut found);
        }
        rest = after;
    }
    found
}

fn read_list(value: &[u8], found: &mut BTreeMap<u32, Vec<u32>>) {
    let words: Vec<u32> = value
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let mut rest = &words[..];
    while let [branch, 0, count, after @ ..] = rest {
        let Some((targets, after)) = after.split_at_checked(*count as usize) else {
            return;
        };
        found.insert(*branch, targets.to_vec());
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[u32]) -> Vec<u8> {
        let mut bytes = vec![SIZED, INDIRECT_BRANCH_TARGETS];
        bytes.extend((4 * words.len() as u16).to_le_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    #[test]
    fn each_branch_has_its_targets() {
        let other = [SIZED, 0x17, 4, 0, 1, 2, 3, 4, 3, 0x50, 0, 0];
        let bytes = [&other[..], &list(&[0xea0, 0, 2, 0xf10, 0xeb0, 0x1750, 0, 1, 0x1760])].concat();
        let wanted = BTreeMap::from([(0xea0, vec![0xf10, 0xeb0]), (0x1750, vec![0x1760])]);
        assert_eq!(targets(&bytes), wanted);
    }

    #[test]
    fn what_is_cut_off_or_unknown_is_not_known() {
        let whole = list(&[0xea0, 0, 2, 0xf10, 0xeb0]);
        assert_eq!(targets(&whole[..whole.len() - 1]), BTreeMap::new());
        assert_eq!(targets(&list(&[0xea0, 0, 3, 0xf10, 0xeb0])), BTreeMap::new());
        assert_eq!(targets(&list(&[0xea0, 1, 1, 0xf10])), BTreeMap::new());
        assert_eq!(targets(&[]), BTreeMap::new());
    }
}
