//! The servers on may, whose coroutines block where others await. hyper needs
//! futures, so that there is the echo alone.

use crate::options::{Options, announce};
use crate::protocol::{Echo, Protocol};
use may::net::{TcpListener, TcpStream};
use std::io::{self, Read, Write};

/// Sends back what it gets.
///
/// # Errors
///
/// The listener's.
pub fn echo() -> io::Result<()> {
    run::<Echo>()
}

fn run<P: Protocol>() -> io::Result<()> {
    let options = Options::parse();
    may::config().set_workers(options.workers);
    let listener = TcpListener::bind(&*options.address)?;
    announce(listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept()?;
        let _ = stream.set_nodelay(true);
        // What a connection fails with is the client's business.
        may::go!(move || drop(serve::<P>(stream)));
    }
}

fn serve<P: Protocol>(mut stream: TcpStream) -> io::Result<()> {
    let mut protocol = P::new();
    while protocol.is_open() {
        let count = stream.read(protocol.space())?;
        if count == 0 {
            break;
        }
        stream.write_all(protocol.answer(count))?;
    }
    Ok(())
}
