//! The threads of a runtime: the workers', the monitor's, and those of the blocking pool.
//!
//! Each of them is signed on before it begins, and signs off as the last thing it does. The end of
//! the runtime waits until all have signed off. A thread that has the lease signs on as well.

use crate::scheduler::{context, context::Role, shared::Shared};
use crate::{panic::ignore_panic, sync::Arc, sync::lock, sync::thread};
use std::io;

/// Starts a thread that calls the hooks around `main`. `role` is the end of its name.
pub(crate) fn start(
    shared: &Arc<Shared>,
    suffix: &str,
    main: impl FnOnce(&Arc<Shared>) + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    let config = &shared.config;
    let default = || format!("{}-{suffix}", config.thread_name);
    let name = config.thread_name_fn.as_ref().map_or_else(default, |name| name());
    let signed_on = SignedOn::new(shared.clone()); // signs off as well if no thread starts
    thread::Builder::new().stack_size(config.thread_stack_size).name(name).spawn(move || {
        let Some(signed_on) = signed_on else { return };
        let shared = &signed_on.0;
        let _context = context::enter_as(Role::OwnThread(shared.id, None), shared.clone(), None);
        ignore_panic(&shared.config.on_thread_start);
        main(shared);
        ignore_panic(&shared.config.on_thread_stop);
    })
}

/// Stands for a thread that has not signed off.
pub(crate) struct SignedOn(pub(crate) Arc<Shared>);

impl SignedOn {
    /// None: the runtime ends, and perhaps nobody waits for its threads any more.
    pub(crate) fn new(shared: Arc<Shared>) -> Option<Self> {
        let mut threads = lock(&shared.threads);
        if shared.is_ending() {
            return None;
        }
        *threads += 1;
        drop(threads);
        Some(Self(shared))
    }
}

impl Drop for SignedOn {
    fn drop(&mut self) {
        *lock(&self.0.threads) -= 1;
        self.0.thread_ended.notify_all();
    }
}
