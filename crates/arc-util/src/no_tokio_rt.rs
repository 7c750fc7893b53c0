//! What takes the place of `tokio_rt.rs` without the feature `tokio-rt`: nothing.

use arc::runtime as core;
use std::io;

pub(crate) fn enter_threads(_builder: &mut core::Builder) {}

pub(crate) fn prepare() -> io::Result<()> {
    Ok(())
}

pub(crate) struct Context;

impl Context {
    pub(crate) fn enter() -> Self {
        Self
    }
}
