//! The server on may, whose coroutines block where others await. hyper needs
//! futures, so that there is the echo alone.

use crate::options::{Options, announce};
use crate::work::ECHO_BYTES;
use may::net::TcpListener;
use std::io::{self, Read, Write};

/// Sends back what it gets.
///
/// # Errors
///
/// The listener's.
pub fn echo() -> io::Result<()> {
    let options = Options::parse();
    may::config().set_workers(options.workers);
    let listener = TcpListener::bind(&*options.address)?;
    announce(listener.local_addr()?);
    loop {
        let (mut stream, _) = listener.accept()?;
        let _ = stream.set_nodelay(true);
        may::go!(move || {
            let mut buffer = vec![0; ECHO_BYTES];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                if stream.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
        });
    }
}
