//! Standard streams, in-memory streams, lines and segments.

use arc::io::{self, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

#[arc::main]
async fn main() -> std::io::Result<()> {
    let mut lines = BufReader::new(io::stdin()).lines();
    let mut output = io::stdout();
    while let Some(line) = lines.next_line().await? {
        output.write_all(line.as_bytes()).await?;
        output.write_u8(b'\n').await?;
    }
    output.flush().await?;

    let (mut near, mut far) = io::duplex(64);
    near.write_all(b"ping").await?;
    let mut bytes = [0; 4];
    let read = far.read_exact(&mut bytes).await?;
    let copied = io::copy(&mut &b"abc"[..], &mut near).await?;
    println!("{read} read, {copied} copied");

    let mut segments = BufReader::new(&b"a,b"[..]).split(b',');
    while let Some(segment) = segments.next_segment().await? {
        println!("{segment:?}");
    }
    Ok(())
}
