//! The servers on tokio: its multi-thread runtime, and its current-thread one.

use crate::options::{Options, announce, exit_code};
use crate::service;
use crate::work::ECHO_BYTES;
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::process::ExitCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

/// Which of tokio's runtimes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flavour {
    /// As many workers as `--workers` says.
    MultiThread,
    /// One thread, whatever `--workers` says.
    CurrentThread,
}

/// hyper.
pub fn http(flavour: Flavour) -> ExitCode {
    run(flavour, |stream| async move { drop(service::serve(TokioIo::new(stream)).await) })
}

/// Sends back what it gets.
pub fn echo(flavour: Flavour) -> ExitCode {
    run(flavour, |mut stream| async move {
        let mut buffer = vec![0; ECHO_BYTES];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            if stream.write_all(&buffer[..count]).await.is_err() {
                break;
            }
        }
    })
}

/// Runs each connection as a task; what it fails with is the client's business.
fn run<F>(flavour: Flavour, connection: fn(TcpStream) -> F) -> ExitCode
where
    F: Future<Output = ()> + Send + 'static,
{
    let options = Options::parse();
    let mut builder = match flavour {
        Flavour::MultiThread => Builder::new_multi_thread(),
        Flavour::CurrentThread => Builder::new_current_thread(),
    };
    let builder = builder.worker_threads(options.workers).enable_all();
    exit_code(builder.build().and_then(|runtime| {
        runtime.block_on(async {
            let listener = TcpListener::bind(&*options.address).await?;
            announce(listener.local_addr()?);
            loop {
                let (stream, _) = listener.accept().await?;
                let _ = stream.set_nodelay(true);
                drop(tokio::spawn(connection(stream)));
            }
        })
    }))
}
