//! Stands for src/monitor.rs, which is left out of most models: what it does after a while
//! would hide what gets lost.

use crate::scheduler::Shared;
use crate::sync::Arc;
use std::cell::Cell;

#[path = "../../../src/monitor.rs"]
mod original;

std::thread_local! {
    pub(crate) static WITH_MONITOR: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn main(shared: Arc<Shared>) {
    if WITH_MONITOR.get() {
        original::main(shared);
    }
}
