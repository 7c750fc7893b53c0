//! The thread outside of all runtimes.

use crate::account::fault;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// What is to be done, and when.
pub type Errand = (Instant, Box<dyn FnOnce() + Send>);

/// A thread that is in no runtime, and does errands.
pub struct Outsider {
    errands: mpsc::Sender<Errand>,
}

impl Outsider {
    pub fn start() -> Self {
        let (errands, given) = mpsc::channel::<Errand>();
        thread::spawn(move || {
            for (due, errand) in given {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                errand();
            }
        });
        Outsider { errands }
    }

    /// A way to give it errands.
    pub fn errands(&self) -> mpsc::Sender<Errand> {
        self.errands.clone()
    }

    /// Waits until all errands so far are done.
    pub fn settle(&self) {
        let (done, wait) = mpsc::channel();
        let errand = Box::new(move || _ = done.send(()));
        if self.errands.send((Instant::now(), errand)).is_err() || wait.recv().is_err() {
            fault("the thread outside of the runtimes has ended");
        }
    }
}
