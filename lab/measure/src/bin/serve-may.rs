//! A server on may, whose coroutines block where others await. hyper needs futures, so there is
//! the echo alone.

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    use arc_lab::serve::{ECHO_BYTES, Options, announce};
    use clap::Parser;
    use may::net::TcpListener;
    use std::io::{Read, Write};

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

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("may's server is measured on Linux only");
}
