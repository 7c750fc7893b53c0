//! What the programs that try arc hard have in common.
//!
//! | program | what it does |
//! |---|---|
//! | `soak` | everything at random, from a seed, and an account of it |
//! | `workload` | a fixed amount of work, which must come out right under faults |

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod account;
pub mod bytes;
pub mod process;
pub mod soak;
pub mod workload;
