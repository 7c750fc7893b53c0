use arc::io::Result;
use arc::net::TcpStream;
use arc::runtime::Builder;
use arc::time::{Duration, Instant};

// These were once methods of traits. They need no import now.
pub fn run() -> Result<()> {
    let mut builder = Builder::new_multi_thread();
    builder.enable_all();
    builder.worker_threads(2);
    let runtime = builder.build()?;
    println!("{}", runtime.handle().metrics().num_workers());
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(())
}

pub async fn look(stream: &mut TcpStream) -> Result<std::time::Instant> {
    let mut buffer = [0; 4];
    stream.peek(&mut buffer).await?;
    stream.read(&mut buffer).await?;
    stream.write_all(&buffer).await?;
    Ok(Instant::now().into_std())
}

fn main() {}
