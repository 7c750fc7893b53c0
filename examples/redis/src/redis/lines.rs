//! Lines of those who wait, by key. Whoever leaves one is not looked for in it.

use std::collections::{BTreeMap, HashMap};

/// In each line the lowest number is first.
pub struct Lines<N, T> {
    /// None of them is empty.
    lines: HashMap<Vec<u8>, BTreeMap<N, T>>,
}

impl<N, T> Default for Lines<N, T> {
    fn default() -> Self {
        Self { lines: HashMap::new() }
    }
}

impl<N: Ord, T> Lines<N, T> {
    pub fn enter(&mut self, key: &[u8], number: N, who: T) {
        self.lines.entry(key.to_owned()).or_default().insert(number, who);
    }

    /// Whether it was in this line.
    pub fn leave(&mut self, key: &[u8], number: &N) -> bool {
        let Some(line) = self.lines.get_mut(key) else {
            return false;
        };
        let was_in = line.remove(number).is_some();
        if line.is_empty() {
            self.lines.remove(key);
        }
        was_in
    }

    /// Whether there is such a line.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.lines.contains_key(key)
    }

    pub fn first(&self, key: &[u8]) -> Option<&T> {
        let (_, who) = self.lines.get(key)?.first_key_value()?;
        Some(who)
    }
}
