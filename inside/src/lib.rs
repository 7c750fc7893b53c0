//! The timer wheel that exercise 16 changes, with its tests. What the stages share is in arc-first.

#[cfg(test)]
mod hierarchical_wheel;
