//! Start a thread of a runtime: a worker's, the monitor's, or one for blocking jobs.
//!
//! Each thread signs on before it starts and signs off as the last thing it does. The end of the
//! runtime waits until all have signed off.

use crate::panic::ignore_panic;
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::Shared;
use crate::sync::{Arc, lock, thread};
use std::io;

/// Starts a thread that calls the hooks around `main`. `role` is the end of its name.
pub(crate) fn start(
    shared: &Arc<Shared>,
    role: &str,
    main: impl FnOnce(&Arc<Shared>) + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    let name = format!("{}-{role}", shared.config.thread_name);
    let builder = thread::Builder::new().name(name.clone());
    let builder = builder.stack_size(shared.config.thread_stack_size);

    *lock(&shared.threads) += 1;
    // If the thread does not start, the closure is dropped, which signs it off.
    let signed_on = SignedOn(shared.clone());
    let started = builder.spawn(move || {
        let shared = &signed_on.0;
        let _context = context::enter_as(Role::OwnThread(shared.id), shared.clone(), None);
        ignore_panic(&shared.config.on_thread_start);
        main(shared);
        ignore_panic(&shared.config.on_thread_stop);
    });

    started.map_err(|error| {
        let text = format!("starting the thread {name} of an arc runtime: {error}");
        io::Error::new(error.kind(), text)
    })
}

/// Stands for a thread that has not ended.
struct SignedOn(Arc<Shared>);

impl Drop for SignedOn {
    fn drop(&mut self) {
        *lock(&self.0.threads) -= 1;
        self.0.thread_ended.notify_all();
    }
}
