//! The threads of a runtime: the workers', the monitor's, and those of the blocking pool.
//!
//! Each of them is signed on before it begins, and signs off as the last thing it does. The end of
//! the runtime waits until all have signed off. A thread that has the lease signs on as well.

use crate::panic::ignore_panic;
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::Shared;
use crate::sync::{Arc, lock, thread};
use std::io;

/// Starts a thread that calls the hooks around `main`. `suffix` is the end of its name.
pub(crate) fn start(
    shared: &Arc<Shared>,
    suffix: &str,
    main: impl FnOnce(&Arc<Shared>) + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    // The user's function may panic: nothing is signed on yet.
    let name = (shared.config.thread_name)(suffix);

    // If no thread starts, this is dropped, which signs off.
    let signed_on = SignedOn::new(shared.clone())?;

    // The thread calls the hooks itself, as they may set what belongs to a thread.
    let stack_size = shared.config.thread_stack_size;
    thread::Builder::new().stack_size(stack_size).name(name).spawn(move || {
        let shared = &signed_on.0;
        let _context = context::enter_as(Role::OwnThread(shared.id, None), shared.clone(), None);

        // A hook of the user's may panic, and the thread goes on.
        for hook in &shared.config.on_thread_start {
            ignore_panic(|| hook());
        }

        // What the thread is for.
        main(shared);
        for hook in &shared.config.on_thread_stop {
            ignore_panic(|| hook());
        }
    })
}

/// Stands for a thread that has not signed off.
pub(crate) struct SignedOn(pub(crate) Arc<Shared>);

impl SignedOn {
    /// # Errors
    ///
    /// The runtime ends, and perhaps nobody waits for its threads any more.
    pub(crate) fn new(shared: Arc<Shared>) -> io::Result<Self> {
        let mut threads = lock(&shared.threads);
        if shared.is_ending() {
            return Err(io::Error::other("the runtime ends and starts no threads"));
        }

        // Counted under the lock under which the end says that it begins.
        *threads += 1;
        drop(threads);
        Ok(Self(shared))
    }
}

impl Drop for SignedOn {
    fn drop(&mut self) {
        *lock(&self.0.threads) -= 1;
        self.0.thread_ended.notify_all();
    }
}
