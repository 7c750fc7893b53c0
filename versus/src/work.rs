//! What a request costs beyond its answer: the path says it.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// For how long a request to `/slow` keeps a core busy.
pub const SLOW: Duration = Duration::from_millis(2);

/// For how long a request to `/block` keeps its thread from everything else.
pub const BLOCK: Duration = Duration::from_secs(1);

/// Does what the path asks for: to any other path there is nothing to do.
///
/// Both are mistakes in an asynchronous handler, and are made on purpose: what
/// becomes of the other requests is what is measured.
pub fn for_path(path: &str) {
    match path {
        "/slow" => {
            let start = Instant::now();
            while start.elapsed() < SLOW {
                hint::spin_loop();
            }
        }
        "/block" => thread::sleep(BLOCK),
        _ => {}
    }
}
