//! Numbers over TCP, by the traits that tokio's programs import.

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream};

#[arc::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = arc::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let number = stream.read_u16().await?;
        stream.write_u16(number + 1).await?;
        stream.shutdown().await
    });

    let mut stream = TcpStream::connect(address).await?;
    stream.write_u16(41).await?;
    println!("number: {}", stream.read_u16().await?);
    let (mut reader, writer) = stream.into_split();
    drop(writer);
    println!("then: {}", reader.read(&mut [0]).await?);
    server.await?
}
