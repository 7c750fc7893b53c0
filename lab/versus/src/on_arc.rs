//! The servers on arc.

use crate::options::{Options, announce, exit_code};
use crate::service;
use crate::work::ECHO_BYTES;
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream};
use arc::runtime::Builder;
use arc_compat::HyperIo;
use std::future::Future;
use std::process::ExitCode;

/// hyper.
pub fn http() -> ExitCode {
    run(|stream| async move { drop(service::serve(HyperIo::new(stream)).await) })
}

/// Sends back what it gets.
pub fn echo() -> ExitCode {
    run(|mut stream| async move {
        let mut buffer = vec![0; ECHO_BYTES];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            if stream.write_all(&buffer[..count]).await.is_err() {
                break;
            }
        }
    })
}

/// Runs each connection as a task; what it fails with is the client's business.
fn run<F: Future<Output = ()> + Send + 'static>(connection: fn(TcpStream) -> F) -> ExitCode {
    let options = Options::parse();
    let runtime = Builder::new_multi_thread().workers(options.workers).build();
    exit_code(runtime.and_then(|runtime| {
        runtime.block_on(async {
            let listener = TcpListener::bind(&*options.address).await?;
            announce(listener.local_addr()?);
            loop {
                let (stream, _) = listener.accept().await?;
                let _ = stream.set_nodelay(true);
                drop(arc::spawn(connection(stream)));
            }
        })
    }))
}
