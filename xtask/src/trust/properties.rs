//! Random inputs against references.

use super::Trial;

pub fn trials() -> Vec<Trial> {
    vec![]
}
