//! Numbers the lines of the standard input, and says when none has come for a while.

use arc::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stdin, stdout};
use arc::time::{Duration, interval};

#[arc::main]
async fn main() -> std::io::Result<()> {
    let mut lines = BufReader::new(stdin()).lines();
    let mut output = stdout();
    let mut silence = interval(Duration::from_secs(3600));
    silence.tick().await;
    let mut number = 0;
    loop {
        let line = arc::select! {
            line = lines.next_line() => line?,
            _ = silence.tick() => {
                eprintln!("no line for an hour");
                continue;
            }
        };
        let Some(line) = line else { break };
        silence.reset();
        number += 1;
        output.write_all(format!("{number} {line}\n").as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}
