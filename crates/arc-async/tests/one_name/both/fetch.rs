//! Fetches fifty pages at once, and one that does not come in time.

use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::TcpStream;
use arc::task::JoinSet;
use arc::time::{Duration, sleep, timeout};

type Error = Box<dyn std::error::Error + Send + Sync>;

#[arc::main]
async fn main() -> Result<(), Error> {
    let host = std::env::args().nth(1).ok_or("the address of the server is missing")?;
    let mut fetches = JoinSet::new();
    for number in 0..50 {
        let page = fetch(host.clone(), format!("/{number}"));
        fetches.spawn(timeout(Duration::from_secs(60), page));
    }
    // It times out, and is not among the pages.
    fetches.spawn(timeout(Duration::from_millis(10), fetch(host, "/slow".to_owned())));

    let too_late = sleep(Duration::from_secs(60));
    arc::pin!(too_late);
    let (mut pages, mut bytes, mut timeouts) = (0, 0, 0);
    loop {
        arc::select! {
            _ = &mut too_late => return Err("the pages do not come".into()),
            fetched = fetches.join_next() => match fetched {
                None => break,
                Some(Ok(Ok(page))) => {
                    pages += 1;
                    bytes += page?.len();
                }
                Some(Ok(Err(_elapsed))) => timeouts += 1,
                Some(Err(error)) => return Err(error.into()),
            },
        }
    }
    println!("{pages} pages, {bytes} bytes, {timeouts} not in time");
    Ok(())
}

/// Returns the body of a page.
async fn fetch(host: String, path: String) -> Result<String, Error> {
    let mut stream = TcpStream::connect(&host).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    let (_, body) = response.split_once("\r\n\r\n").ok_or("not a response")?;
    Ok(body.to_owned())
}
