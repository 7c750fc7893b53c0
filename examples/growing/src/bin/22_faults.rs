//! Faults: three commands, each with a mistake.
//!
//! ```text
//! $ cargo run -p arc-growing --bin 22_faults
//! $ redis-cli -p 6380
//! ```

#[cfg(unix)]
use arc::runtime::HandleExt;
use arc::sync::CancellationToken;
use growing::{journal_file, listen, say, step22};
use std::io;

#[arc::main]
async fn main() -> io::Result<()> {
    // Prints what each task waits for: `kill -QUIT`, or ctrl-\.
    #[cfg(unix)]
    arc::runtime::Handle::current().dump_on_signal(arc::signal::unix::SignalKind::quit())?;

    let stop = CancellationToken::new();
    arc::spawn(cancel_at_signal(stop.clone()));
    step22::serve(listen().await?, journal_file(), Default::default(), stop).await?;
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
