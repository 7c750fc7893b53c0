//! What the server examples share, so that each of them shows one thing: the
//! command line, here; listening, accepting and ending in [`server`].

mod options;
mod server;

pub use options::Options;
pub use server::{Server, Stop};

use std::error::Error;
use std::fmt;
use std::io::Write;

/// Prints a line. Unlike `println!` it does not panic when nobody reads any more:
/// a server goes on without its terminal.
pub fn say(line: impl fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints a line to standard error, as [`say`].
pub fn complain(line: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Why an example ends early. `main` returns it, and std prints it as
/// `Error: cannot listen on [::1]:80: Permission denied (os error 13)`
/// and exits with 1.
pub struct Failure(Box<dyn Error + Send + Sync>);

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

/// For people: std prints what `main` returns by its Debug.
impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}
