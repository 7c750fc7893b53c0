//! Model checks: loom for the small protocols, shuttle for the composed runtime.

use super::Trial;

pub fn trials() -> Vec<Trial> {
    vec![]
}
