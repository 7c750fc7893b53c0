//! The command line of the examples that take an address and nothing else.

use std::{env, process};

/// Returns the address on the command line, or `default` if there is none.
///
/// Ends the process as the other examples do: with 0 after `--help`, with 2 after a mistake.
pub fn address(default: &str) -> String {
    let mut address = None;
    for argument in env::args_os().skip(1) {
        let argument = argument.to_string_lossy().into_owned();
        if argument == "--help" || argument == "-h" {
            println!(
                "Usage: [HOST:PORT]   where to listen (default: {default}); port 0 is any free one"
            );
            process::exit(0);
        }
        if argument.starts_with('-') {
            refuse(&format!("unknown option {argument:?}"));
        }
        if address.replace(argument).is_some() {
            refuse("there can be one address");
        }
    }

    let address = address.unwrap_or_else(|| default.to_owned());
    let parts = address.rsplit_once(':');
    if parts.is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err()) {
        refuse(&format!("the address is HOST:PORT, not {address:?}"));
    }
    address
}

fn refuse(mistake: &str) -> ! {
    eprintln!("Error: {mistake}; --help lists the options");
    process::exit(2);
}
