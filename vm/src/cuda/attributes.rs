//! What a cubin tells of a function beside its code: a section `.nv.info.NAME` of attributes, of which some name instructions.
//!
//! An attribute begins with its format, its number, and 16 bits: a value, or the size of what follows, which here are 32-bit
//! words. A place is an instruction's offset in the function's code, in bytes.

use std::collections::BTreeMap;

/// The format of an attribute that bytes follow.
const SIZED: u8 = 4;
/// Attributes whose words are places: exits, instructions of cooperative groups, and those of whole warps.
const PLACES: [u8; 3] = [0x1c, 0x28, 0x31];
/// Notes to instructions: each a number and a place.
const NOTES: u8 = 0x55;
/// `EIATTR_INDIRECT_BRANCH_TARGETS`. For each `BRX`: its place, a zero, how many targets it has, and their places.
const BRANCH_TARGETS: u8 = 0x34;
/// Others whose words, or some of them, are places: those of reads of a block's number, of loads and atomics that the driver
/// may change, of what a coroutine goes on with, of calls of the system. No code of ours has been seen with them.
const UNKNOWN_PLACES: [u8; 6] = [0x1d, 0x25, 0x27, 0x39, 0x46, 0x47];

/// A word, and its offset in the section.
type Word = (usize, u32);

/// The attributes of a function: the number of each, and its words.
pub struct Attributes(Vec<(u8, Vec<Word>)>);

impl Attributes {
    /// Those in a section, up to what does not look as described.
    pub fn read(section: &[u8]) -> Attributes {
        let (mut all, mut rest) = (Vec::new(), section);
        while let [format, number, low, high, after @ ..] = rest {
            let size = match *format {
                SIZED => usize::from(u16::from_le_bytes([*low, *high])),
                _ => 0,
            };
            let Some((value, after)) = after.split_at_checked(size) else {
                break;
            };
            let begin = section.len() - rest.len() + 4;
            let words = value.chunks_exact(4).enumerate().map(|(index, word)| {
                let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                (begin + 4 * index, word)
            });
            all.push((*number, words.collect()));
            rest = after;
        }
        Attributes(all)
    }

    /// The targets of indirect branches, by the branch.
    ///
    /// What does not look as described ends the list: of the branches that are not in it nothing is known.
    pub fn jumps(&self) -> BTreeMap<u32, Vec<u32>> {
        let lists = self.0.iter().filter(|(number, _)| *number == BRANCH_TARGETS);
        let branches = lists.flat_map(|(_, words)| branches(words));
        let jump = |(branch, targets): (Word, &[Word])| (branch.1, targets.iter().map(|target| target.1).collect());
        branches.map(jump).collect()
    }

    /// The offsets in the section of words that are places.
    pub fn places(&self) -> Vec<usize> {
        let places = |(number, words): &(u8, Vec<Word>)| -> Vec<Word> {
            match number {
                number if PLACES.contains(number) => words.clone(),
                &NOTES => words.iter().skip(1).step_by(2).copied().collect(),
                &BRANCH_TARGETS => branches(words)
                    .into_iter()
                    .flat_map(|(branch, targets)| [&[branch], targets].concat())
                    .collect(),
                _ => Vec::new(),
            }
        };
        self.0.iter().flat_map(places).map(|(offset, _)| offset).collect()
    }

    /// Whether there are places that [`places`](Attributes::places) does not find.
    pub fn has_unknown_places(&self) -> bool {
        self.0.iter().any(|(number, _)| UNKNOWN_PLACES.contains(number))
    }
}

/// The branches of a list, each with its targets.
fn branches(words: &[Word]) -> Vec<(Word, &[Word])> {
    let (mut found, mut rest) = (Vec::new(), words);
    while let [branch, (_, 0), (_, count), after @ ..] = rest {
        let Some((targets, after)) = after.split_at_checked(*count as usize) else {
            break;
        };
        found.push((*branch, targets));
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jumps(section: &[u8]) -> BTreeMap<u32, Vec<u32>> {
        Attributes::read(section).jumps()
    }

    fn list(words: &[u32]) -> Vec<u8> {
        let mut bytes = vec![SIZED, BRANCH_TARGETS];
        bytes.extend((4 * words.len() as u16).to_le_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    #[test]
    fn each_branch_has_its_targets() {
        let other = [SIZED, 0x17, 4, 0, 1, 2, 3, 4, 3, 0x50, 0, 0];
        let bytes = [&other[..], &list(&[0xea0, 0, 2, 0xf10, 0xeb0, 0x1750, 0, 1, 0x1760])].concat();
        let wanted = BTreeMap::from([(0xea0, vec![0xf10, 0xeb0]), (0x1750, vec![0x1760])]);
        assert_eq!(jumps(&bytes), wanted);
    }

    #[test]
    fn what_is_cut_off_or_unknown_is_not_known() {
        let whole = list(&[0xea0, 0, 2, 0xf10, 0xeb0]);
        assert_eq!(jumps(&whole[..whole.len() - 1]), BTreeMap::new());
        assert_eq!(jumps(&list(&[0xea0, 0, 3, 0xf10, 0xeb0])), BTreeMap::new());
        assert_eq!(jumps(&list(&[0xea0, 1, 1, 0xf10])), BTreeMap::new());
        assert_eq!(jumps(&[]), BTreeMap::new());
    }

    #[test]
    fn places_are_told_from_other_words() {
        let sized = |number: u8, words: &[u32]| {
            let mut bytes = list(words);
            bytes[1] = number;
            bytes
        };
        // Exits; parameters; notes, each a number and a place; branches.
        let exits = sized(0x1c, &[0x30, 0x70]);
        let parts = [
            &exits[..],
            &sized(0x17, &[1, 2]),
            &sized(0x55, &[1, 0x40]),
            &list(&[0xea0, 0, 2, 0xf10, 0xeb0]),
        ];
        let attributes = Attributes::read(&parts.concat());
        assert_eq!(attributes.places(), [4, 8, 32, 40, 52, 56]);
        assert!(!attributes.has_unknown_places());
        assert!(Attributes::read(&sized(0x46, &[0x30])).has_unknown_places());
    }
}
