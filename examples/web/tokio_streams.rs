//! tokio's IO traits on arc's sockets, without a tokio runtime.
//!
//! The example uses tokio's buffered reader and its lines, and tokio-rustls, which needs
//! tokio's traits.
//!
//! ```text
//! $ cargo run -p arc-web-examples --example tokio_streams
//! 1: a line
//! 2: and another
//! ```

use arc::net::{TcpListener, TcpStream};
use std::error::Error;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

type Failure = Box<dyn Error + Send + Sync>;

#[arc::main]
async fn main() -> Result<(), Failure> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
    let trusted = ServerConfig::builder().with_no_client_auth();
    let trusted = trusted.with_single_cert(vec![certificate.clone()], key)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = arc::spawn(async move {
        let (stream, _) = listener.accept().await?;
        let acceptor = TlsAcceptor::from(Arc::new(trusted));
        let mut stream = acceptor.accept(stream).await?;
        stream.write_all(b"a line\nand another\n").await?;
        stream.shutdown().await
    });

    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let trusting = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(trusting));
    let stream = TcpStream::connect(address).await?;
    let stream = connector.connect("localhost".try_into()?, stream).await?;
    let mut lines = BufReader::new(stream).lines();
    for number in 1.. {
        let Some(line) = lines.next_line().await? else { break };
        println!("{number}: {line}");
    }
    server.await??;
    Ok(())
}
