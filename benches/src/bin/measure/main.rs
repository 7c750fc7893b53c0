//! `cargo xtask versus`: measures servers on arc and on its peers.
//!
//! | file | purpose |
//! |---|---|
//! | `options.rs` | the command line, and the servers |
//! | `versus.rs` | build, go through loads and rounds, keep the record |
//! | `server.rs` | one measurement of one server |
//! | `load.rs` | the load generators: oha, wrk and `../load/` |
//! | `usage.rs` | what Linux says about CPU |
//! | `record.rs` | what is kept in a JSON file |
//! | `table.rs` | the tables on the terminal |
//! | `commands.rs` | runs a program, and says what went wrong |

#[cfg(target_os = "linux")]
mod commands;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod server;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod usage;
#[cfg(target_os = "linux")]
mod versus;

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    versus::run(&clap::Parser::parse())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("this program measures by /proc and loads by epoll, which only Linux has");
}
