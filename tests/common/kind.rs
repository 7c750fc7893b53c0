//! Of what kind the runtimes of these tests are: the core's.

pub use arc::runtime::{Builder, Runtime};
