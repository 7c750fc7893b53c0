//! TLS by rustls: through futures-rustls, which knows no runtime, and through
//! tokio-rustls, whose sockets have tokio's traits.

use crate::common::{Result, large_echo, listen, pattern, soon, tcp_pair};
use arc_compat::tokio::Compat;
use arc_compat::{ArcTimer, FuturesIo};
use arc_util::net::TcpStream;
use futures_rustls::rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use futures_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use futures_rustls::{TlsAcceptor, TlsConnector};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::sync::Arc;

/// Who trusts, and who is trusted: by a certificate of its own, made here.
fn configs() -> Result<(Arc<ClientConfig>, Arc<ServerConfig>)> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = made.cert.der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone())?;
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
    let server = ServerConfig::builder().with_no_client_auth();
    let server = server.with_single_cert(vec![certificate], key)?;
    Ok((Arc::new(client), Arc::new(server)))
}

fn name(name: &'static str) -> ServerName<'static> {
    name.try_into().expect("a name of DNS")
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn futures_rustls_takes_arcs_sockets_as_they_are() -> Result {
    let (trusting, trusted) = configs()?;
    let (client, server) = tcp_pair().await?;
    let server = arc::spawn(TlsAcceptor::from(trusted).accept(server));
    let client = TlsConnector::from(trusting).connect(name("localhost"), client);
    large_echo(soon(client).await?, soon(server).await??).await
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_server_by_another_name_is_not_trusted() -> Result {
    let (trusting, trusted) = configs()?;
    let (client, server) = tcp_pair().await?;
    let server = arc::spawn(TlsAcceptor::from(trusted).accept(server));
    let connected = TlsConnector::from(trusting).connect(name("elsewhere"), client);
    let error = soon(connected).await.expect_err("it is for localhost");
    assert!(error.to_string().contains("certificate"), "{error}");
    assert!(soon(server).await?.is_err(), "the server is told");
    Ok(())
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::new(body)))
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn hyper_serves_https() -> Result {
    let (trusting, trusted) = configs()?;
    let (listener, address) = listen().await?;
    let server = arc::spawn(async move {
        let (stream, _) = listener.accept().await?;
        let stream = TlsAcceptor::from(trusted).accept(stream).await?;
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder
            .timer(ArcTimer)
            .serve_connection(FuturesIo::new(stream), service_fn(answer))
            .await?;
        Result::Ok(())
    });
    let stream = TcpStream::connect(address).await?;
    let stream = TlsConnector::from(trusting).connect(name("localhost"), stream);
    let stream = FuturesIo::new(soon(stream).await?);
    let (mut client, connection) = hyper::client::conn::http1::handshake(stream).await?;
    let connection = arc::spawn(connection);
    for body in [&b"short"[..], &pattern()] {
        let body = Bytes::copy_from_slice(body);
        let request = Request::post("/").header("host", "localhost");
        // Until the connection has seen the end of the last response, it takes no request.
        soon(client.ready()).await?;
        let response = client.send_request(request.body(Full::new(body.clone()))?);
        let got = soon(soon(response).await?.into_body().collect()).await?.to_bytes();
        assert!(got == body, "{} bytes came back", got.len());
    }
    drop(client);
    soon(connection).await??;
    soon(server).await??;
    Ok(())
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn tokio_rustls_takes_them_through_compat() -> Result {
    let (trusting, trusted) = configs()?;
    let (client, server) = tcp_pair().await?;
    let acceptor = tokio_rustls::TlsAcceptor::from(trusted);
    let server = arc::spawn(acceptor.accept(Compat::vectored(server)));
    let connector = tokio_rustls::TlsConnector::from(trusting);
    let client = soon(connector.connect(name("localhost"), Compat::vectored(client))).await?;
    large_echo(Compat::new(client), Compat::new(soon(server).await??)).await
}
