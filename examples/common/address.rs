//! The command line of the examples that take an address and nothing else.

use std::{env, process};

/// Returns the address on the command line, or `default` if there is none.
///
/// Ends the process as the other examples do: with 0 after `--help`, with 2 after another option.
pub fn address(default: &str) -> String {
    let address = env::args().nth(1).unwrap_or_else(|| default.to_owned());
    if address.starts_with('-') {
        println!(
            "Usage: [HOST:PORT]   where to listen (default: {default}); port 0 is any free one"
        );
        process::exit(if address == "--help" { 0 } else { 2 });
    }
    address
}
