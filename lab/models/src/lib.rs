//! Models of arc. All of them are in `tests/`:
//!
//! * `tests/loom/`: the protocols between threads, in every order that loom can think of;
//! * `tests/shuttle/`: the whole runtime, over another `sync` and another kernel, in random
//!   orders.
//!
//! The modules of arc are compiled into them as they stand in its `src/`, with another
//! file instead of `sync.rs`.
