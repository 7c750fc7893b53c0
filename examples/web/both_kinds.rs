//! Eight crates over arc's `TcpStream`, without an adapter: those that ask for tokio's IO traits,
//! and those that ask for futures-io's. No runtime of tokio's is started.
//!
//! It ends by itself.
//!
//! ```text
//! $ cargo run -p arc-web-examples --example both_kinds
//! tokio's BufReader: hello
//! tokio-util's Framed: hello
//! tokio-tungstenite: hello
//! tokio-rustls: hello
//! hyper, by hyper-util's TokioIo: hello
//! futures-lite's BufReader: hello
//! async-tungstenite: hello
//! futures-rustls: hello
//! ```

use arc::compat::ArcTimer;
use arc::net::{TcpListener, TcpStream};
use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use tokio_rustls::rustls;
use tokio_util::codec::{Framed, LinesCodec};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[arc::main]
async fn main() -> Result<()> {
    println!("tokio's BufReader: {}", tokios_lines().await?);
    println!("tokio-util's Framed: {}", codec().await?);
    println!("tokio-tungstenite: {}", tokios_websocket().await?);
    println!("tokio-rustls: {}", tokios_tls().await?);
    println!("hyper, by hyper-util's TokioIo: {}", http().await?);
    println!("futures-lite's BufReader: {}", futures_lines().await?);
    println!("async-tungstenite: {}", futures_websocket().await?);
    println!("futures-rustls: {}", futures_tls().await?);
    Ok(())
}

/// The two ends of a connection.
async fn connection() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let (server, _) = listener.accept().await?;
    Ok((client, server))
}

async fn tokios_lines() -> Result<String> {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    let (mut client, server) = connection().await?;
    client.write_all(b"hello\n").await?;
    Ok(BufReader::new(server).lines().next_line().await?.ok_or("no line")?)
}

async fn futures_lines() -> Result<String> {
    use futures_lite::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    let (mut client, server) = connection().await?;
    client.write_all(b"hello\n").await?;
    Ok(BufReader::new(server).lines().next().await.ok_or("no line")??)
}

async fn codec() -> Result<String> {
    let (client, server) = connection().await?;
    let mut client = Framed::new(client, LinesCodec::new());
    let mut server = Framed::new(server, LinesCodec::new());
    client.send("hello").await?;
    Ok(server.next().await.ok_or("no line")??)
}

/// Sends a message there and back.
async fn tokios_websocket() -> Result<String> {
    use tokio_tungstenite::{accept_async, client_async};

    let (client, server) = connection().await?;
    arc::spawn(async move {
        let (mut sink, messages) = accept_async(server).await?.split();
        messages.take(1).forward(&mut sink).await
    });
    let (mut client, _) = client_async("ws://localhost/", client).await?;
    client.send("hello".into()).await?;
    Ok(client.next().await.ok_or("no message")??.into_text()?.to_string())
}

async fn futures_websocket() -> Result<String> {
    use async_tungstenite::{accept_async, client_async};

    let (client, server) = connection().await?;
    arc::spawn(async move {
        let mut socket = accept_async(server).await?;
        let Some(message) = socket.next().await else { return Ok(()) };
        socket.send(message?).await
    });
    let (mut client, _) = client_async("ws://localhost/", client).await?;
    client.send("hello".into()).await?;
    Ok(client.next().await.ok_or("no message")??.into_text()?.to_string())
}

/// What a client and a server that trust each other are configured with.
fn configured() -> Result<(Arc<ClientConfig>, Arc<ServerConfig>, ServerName<'static>)> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate: CertificateDer<'static> = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
    let server = ServerConfig::builder().with_no_client_auth();
    let server = server.with_single_cert(vec![certificate.clone()], key)?;

    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok((Arc::new(client), Arc::new(server), "localhost".try_into()?))
}

async fn tokios_tls() -> Result<String> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    let ((client, server), (trusting, trusted, name)) = (connection().await?, configured()?);
    let server = arc::spawn(async move {
        let mut stream = TlsAcceptor::from(trusted).accept(server).await?;
        stream.write_all(b"hello").await?;
        stream.shutdown().await
    });
    let mut stream = TlsConnector::from(trusting).connect(name, client).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    server.await??;
    Ok(text)
}

async fn futures_tls() -> Result<String> {
    use futures_rustls::{TlsAcceptor, TlsConnector};
    use futures_util::{AsyncReadExt, AsyncWriteExt};

    let ((client, server), (trusting, trusted, name)) = (connection().await?, configured()?);
    let server = arc::spawn(async move {
        let mut stream = TlsAcceptor::from(trusted).accept(server).await?;
        stream.write_all(b"hello").await?;
        stream.close().await
    });
    let mut stream = TlsConnector::from(trusting).connect(name, client).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    server.await??;
    Ok(text)
}

async fn hello(_: Request<Incoming>) -> std::result::Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from("hello"))))
}

/// `arc::compat::HyperIo` in the place of `TokioIo` copies less. Both work.
async fn http() -> Result<String> {
    let (client, server) = connection().await?;
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(ArcTimer)
        .serve_connection(TokioIo::new(server), service_fn(hello));
    arc::spawn(serving);
    let (mut sender, client) = hyper::client::conn::http1::handshake(TokioIo::new(client)).await?;
    arc::spawn(client);
    let request = Request::get("/").header("host", "localhost").body(Full::<Bytes>::default())?;
    let body = sender.send_request(request).await?.into_body().collect().await?;
    Ok(String::from_utf8(body.to_bytes().to_vec())?)
}
