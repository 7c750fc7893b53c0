//! Loads a server of this package, and prints a line of JSON: what no other load generator does. It
//! sends HTTP requests in an open loop, and it speaks to an echo server.
//!
//! | file | purpose |
//! |---|---|
//! | `main.rs` | the command line |
//! | `generator.rs` | one thread, one epoll loop, one request in flight on each connection |
//! | `arrivals.rs` | the random times of an open loop |

#[cfg(target_os = "linux")]
mod arrivals;
#[cfg(target_os = "linux")]
mod generator;

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    let outcome = generator::run(&clap::Parser::parse())?;
    println!("{}", serde_json::to_string(&outcome).expect("they are numbers"));
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("this program uses epoll, which only Linux has");
}
