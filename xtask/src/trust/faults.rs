//! System calls that fail or are slow, and networks that fail.

use super::Trial;

pub fn trials() -> Vec<Trial> {
    vec![]
}
