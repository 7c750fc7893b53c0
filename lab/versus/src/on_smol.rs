//! The servers on smol: one executor, run by as many threads as there are workers,
//! each of which waits for IO itself.

use crate::options::{Options, announce, exit_code};
use crate::service;
use crate::work::ECHO_BYTES;
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpListener, TcpStream};
use smol_hyper::rt::FuturesIo;
use std::future::{Future, pending};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

/// hyper.
pub fn http() -> ExitCode {
    run(|stream| async move { drop(service::serve(FuturesIo::new(stream)).await) })
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
    let executor = Arc::new(smol::Executor::new());
    // This thread is one of the workers.
    for _ in 1..options.workers {
        let executor = executor.clone();
        thread::spawn(move || smol::block_on(executor.run(pending::<()>())));
    }
    let accept = async {
        let listener = TcpListener::bind(&*options.address).await?;
        announce(listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            let _ = stream.set_nodelay(true);
            executor.spawn(connection(stream)).detach();
        }
    };
    exit_code(smol::block_on(executor.run(accept)))
}
