//! hello
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::{TcpListener, TcpStream};
use std::time::Duration;
#[arc::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let a = listener.local_addr()?;
    let s = arc::spawn(async move {
        let (mut st, _) = listener.accept().await?;
        arc::time::sleep(Duration::from_millis(50)).await;
        st.write_all(b"hello").await
    });
    let mut t = String::new();
    TcpStream::connect(a).await?.read_to_string(&mut t).await?;
    println!("{t}");
    s.await??;
    let hs: Vec<_> = (0..1000)
        .map(|i| {
            arc::spawn(async move {
                arc::task::yield_now().await;
                i
            })
        })
        .collect();
    let mut sum = 0;
    for h in hs {
        sum += h.await.unwrap();
    }
    println!("{sum}");
    Ok(())
}
