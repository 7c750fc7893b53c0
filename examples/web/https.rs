//! HTTPS: a server and a client that run hyper over rustls over an arc socket.
//!
//! The example generates its certificate when it starts. futures-rustls takes arc's sockets
//! unchanged.
//!
//! ```text
//! $ cargo run -p arc-web-examples --example https
//! TLSv1_3: Hello over TLS!
//! ```

use arc::compat::{ArcTimer, FuturesIo};
use arc::net::{TcpListener, TcpStream};
use arc::time::timeout;
use futures_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use futures_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use futures_rustls::{TlsAcceptor, TlsConnector};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

type Failure = Box<dyn Error + Send + Sync>;

/// How long a client may take for its TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

#[arc::main]
async fn main() -> Result<(), Failure> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
    let trusted = ServerConfig::builder().with_no_client_auth();
    let trusted = trusted.with_single_cert(vec![certificate.clone()], key)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    drop(arc::spawn(serve(listener, TlsAcceptor::from(Arc::new(trusted)))));

    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let trusting = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(trusting));
    let stream = TcpStream::connect(address).await?;
    let stream = connector.connect("localhost".try_into()?, stream).await?;
    let version = stream.get_ref().1.protocol_version().ok_or("no version was agreed on")?;
    let (mut client, connection) = client::conn::http1::handshake(FuturesIo::new(stream)).await?;
    drop(arc::spawn(connection));
    let request = Request::get("/").header("host", "localhost").body(Empty::<Bytes>::new())?;
    let body = client.send_request(request).await?.into_body().collect().await?;
    println!("{version:?}: {}", String::from_utf8(body.to_bytes().into())?);
    Ok(())
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        // Do the handshake inside the task, so that a slow client does not delay the others.
        drop(arc::spawn(async move {
            // A client that never finishes its handshake must not stay for ever.
            let stream = timeout(HANDSHAKE, acceptor.accept(stream)).await??;
            let stream = FuturesIo::new(stream);
            let mut builder = server::conn::http1::Builder::new();
            builder.timer(ArcTimer).serve_connection(stream, service_fn(hello)).await?;
            Ok::<_, Failure>(())
        }));
    }
}

async fn hello(_: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    Ok(Response::new(Full::new(Bytes::from_static(b"Hello over TLS!"))))
}
