//! A stream that is split for a while, and whole again.

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream};

#[arc::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut client = TcpStream::connect(listener.local_addr()?).await?;
    let (mut server, _) = listener.accept().await?;
    server.write_all(b"ping").await?;

    let (mut reader, mut writer) = client.split();
    let mut bytes = [0; 4];
    let count = reader.read_exact(&mut bytes).await?;
    writer.write_all(&bytes[..count]).await?;
    client.write_all(b"!").await?;
    drop(client);

    let mut text = String::new();
    server.read_to_string(&mut text).await?;
    println!("{text}");
    Ok(())
}
