//! What is new in a stage, and whether it prints what it should.

use crate::stage::Stage;
use std::collections::BTreeMap;

/// The stage that a stage is compared with: the one before it in the row, if it stands in the row.
pub fn before(stages: &[Stage], index: usize) -> Option<&Stage> {
    if !is_in_row(&stages[index].name) {
        return None;
    }
    stages[..index].iter().rev().find(|stage| is_in_row(&stage.name))
}

/// Whether it is one of the ten stages, 01 to 10, each of which grows out of the one before.
fn is_in_row(name: &str) -> bool {
    name != "09_steps" && ("01".."11").contains(&name)
}

/// The lines of `new` that are not in `old`, in the shortest list there is: what is left of `new`
/// without the longest common subsequence.
pub fn new_lines<'a>(old: &[String], new: &'a [String]) -> Vec<&'a str> {
    // How long the longest one is from these two lines on.
    let mut longest = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] = if old[i] == new[j] {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }

    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while j < new.len() {
        if i < old.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && longest[i + 1][j] >= longest[i][j + 1] {
            i += 1;
        } else {
            lines.push(new[j].as_str());
            j += 1;
        }
    }
    lines
}

/// Whether each speaker says the same in the same order. The order between speakers depends on
/// which thread is the faster one, and so does how many `times` something was polled.
pub fn is_same(expected: &str, printed: &str) -> bool {
    speeches(expected) == speeches(printed)
}

/// What each speaker says. The speaker is what stands before the first colon.
fn speeches(text: &str) -> BTreeMap<&str, Vec<Vec<&str>>> {
    let mut speeches: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    for line in text.lines() {
        let speaker = line.split_once(": ").map_or("", |(speaker, _)| speaker);
        let mut words: Vec<&str> = line.split_whitespace().collect();
        for at in 1..words.len() {
            if words[at].starts_with("times") && words[at - 1].parse::<u64>().is_ok() {
                words[at - 1] = "#";
            }
        }
        speeches.entry(speaker).or_default().push(words);
    }
    speeches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_new_is_found() {
        assert_eq!(new_lines(&lines("a b c d"), &lines("a x c y d z")), ["x", "y", "z"]);
        assert_eq!(new_lines(&lines(""), &lines("a b")), ["a", "b"]);
        assert!(new_lines(&lines("a b"), &lines("b")).is_empty());
    }

    #[test]
    fn ten_stages_stand_in_a_row() {
        let row = ["01_block_on", "09_sleep", "10_arc"].map(is_in_row);
        assert_eq!(row, [true; 3]);
        let apart = ["00_future", "09_steps", "15_cancel", "16_lock"].map(is_in_row);
        assert_eq!(apart, [false; 4]);
    }

    #[test]
    fn speakers_may_take_turns() {
        let expected = "main: polled 8 times.\nclient 1: asks\nclient 1: has it\nticker: 1\n";
        assert!(is_same(
            expected,
            "client 1: asks\nticker: 1\nclient 1: has it\nmain: polled 7 times.\n"
        ));
        assert!(!is_same(
            expected,
            "client 1: has it\nclient 1: asks\nticker: 1\nmain: polled 8 times.\n"
        ));
        assert!(!is_same(
            expected,
            "client 1: asks\nclient 1: has it\nticker: 2\nmain: polled 8 times.\n"
        ));
        assert!(!is_same(expected, "client 1: asks\nclient 1: has it\nmain: polled 8 times.\n"));
    }
}
