use arc::io::{Interest, Result};
use arc::net::TcpStream;
use arc::runtime::Builder;
use arc::time::Duration;

pub fn run() -> Result<()> {
    let mut builder = Builder::new_multi_thread();
    builder.enable_all();
    builder.worker_threads(2);
    let runtime = builder.build()?;
    println!("{}", runtime.handle().metrics().num_workers());
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(())
}

pub async fn look(stream: &TcpStream) -> Result<()> {
    let mut buffer = [0; 4];
    stream.ready(Interest::READABLE).await?;
    stream.peek(&mut buffer).await?;
    stream.try_read(&mut buffer)?;
    Ok(())
}

fn main() {}
