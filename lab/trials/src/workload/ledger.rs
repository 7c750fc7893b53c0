//! What came of the work: counts, and what errors said.

use crate::account::Counter;
use std::io;
use std::sync::{Mutex, PoisonError};

macro_rules! ledger {
    ($($name:ident,)*) => {
        /// What came of it.
        pub struct Ledger {
            $(pub $name: Counter,)*
            /// What errors said, each once.
            pub errors: Mutex<Vec<String>>,
        }

        pub static LEDGER: Ledger =
            Ledger { $($name: Counter::new(),)* errors: Mutex::new(Vec::new()) };

        impl Ledger {
            /// In one line, for whoever started this program.
            pub fn line(&self) -> String {
                let counts = [$((stringify!($name), self.$name.get()),)*];
                counts.map(|(name, count)| format!("{name}={count}")).join(" ")
            }
        }
    };
}

ledger! {
    whole, given_up, retried, timeouts, broken, bytes, wrong, accept_errors, session_errors,
    timers, jobs, wakes, datagrams, resent, children,
}

impl Ledger {
    pub fn error(&self, counter: &Counter, what: &str, error: &io::Error) {
        counter.add(1);
        self.tell(format!("{what}: {error}"));
    }

    pub fn tell(&self, text: String) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        if errors.len() < 20 && !errors.contains(&text) {
            errors.push(text);
        }
    }
}
