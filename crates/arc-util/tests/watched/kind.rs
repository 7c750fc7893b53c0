//! Of what kind the runtimes of these tests are: this crate's.

pub use arc_util::runtime::{Builder, Runtime};
