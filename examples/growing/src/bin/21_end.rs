//! The end: it loses nothing. Press ctrl-c.
//!
//! ```text
//! $ cargo run -p arc-growing --bin 21_end
//! $ redis-cli -p 6380
//! ```

use arc::sync::CancellationToken;
use growing::{journal_file, listen, say, step21};
use std::io;

#[arc::main]
async fn main() -> io::Result<()> {
    let stop = CancellationToken::new();
    arc::spawn(cancel_at_signal(stop.clone()));
    step21::serve(listen().await?, journal_file(), Default::default(), stop).await?;
    say("nothing is lost");
    Ok(())
}

/// Waits for ctrl-c, or for SIGTERM, which a service manager sends.
async fn cancel_at_signal(stop: CancellationToken) -> io::Result<()> {
    #[cfg(unix)]
    {
        use arc::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        arc::select! {
            result = arc::signal::ctrl_c() => result?,
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    arc::signal::ctrl_c().await?;
    stop.cancel();
    Ok(())
}
