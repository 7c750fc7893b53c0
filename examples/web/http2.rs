//! HTTP/2 with prior knowledge: hyper's server and client on arc, and concurrent requests over
//! one connection.
//!
//! The server answers each request after a pause. The pauses overlap.
//!
//! ```text
//! $ cargo run -p arc-web-examples --example http2
//! 5 requests over one connection
//! /0: HTTP/2.0 200 OK
//! /1: HTTP/2.0 200 OK
//! /2: HTTP/2.0 200 OK
//! /3: HTTP/2.0 200 OK
//! /4: HTTP/2.0 200 OK
//! ```

use arc::compat::{ArcExecutor, ArcTimer, HyperIo};
use arc::net::{SocketAddr, TcpListener, TcpStream};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use std::error::Error;
use std::time::Duration;

type Failure = Box<dyn Error + Send + Sync>;

#[arc::main]
async fn main() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    drop(arc::spawn(serve(listener)));
    let client = connect(address).await?;
    println!("5 requests over one connection");
    let requests = (0..5).map(|number| {
        let mut client = client.clone();
        arc::spawn(async move {
            let uri = format!("http://{address}/{number}");
            let response = client.send_request(Request::get(uri).body(Empty::new())?).await?;
            Ok::<_, Failure>((number, response.version(), response.status()))
        })
    });
    for request in requests.collect::<Vec<_>>() {
        let (number, version, status) = request.await??;
        println!("/{number}: {version:?} {status}");
    }
    Ok(())
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        // Each stream becomes an arc task.
        let mut builder = server::conn::http2::Builder::new(ArcExecutor);
        builder.timer(ArcTimer).keep_alive_interval(Duration::from_secs(20));
        drop(arc::spawn(builder.serve_connection(HyperIo::new(stream), service_fn(answer))));
    }
}

async fn answer(_: Request<Incoming>) -> hyper::Result<Response<Empty<Bytes>>> {
    arc::time::sleep(Duration::from_millis(100)).await;
    Ok(Response::new(Empty::new()))
}

type Client = client::conn::http2::SendRequest<Empty<Bytes>>;

async fn connect(address: SocketAddr) -> Result<Client, Failure> {
    let stream = HyperIo::new(TcpStream::connect(address).await?);
    let (client, connection) = client::conn::http2::handshake(ArcExecutor, stream).await?;
    drop(arc::spawn(connection));
    Ok(client)
}
