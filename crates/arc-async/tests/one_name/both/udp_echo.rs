//! An echo server for datagrams. `STOP` ends it.

use arc::net::UdpSocket;

#[arc::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    println!("listening on {}", socket.local_addr()?);
    let mut buffer = [0; 1500];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).await?;
        if &buffer[..length] == b"STOP" {
            return Ok(());
        }
        socket.send_to(&buffer[..length], from).await?;
    }
}
