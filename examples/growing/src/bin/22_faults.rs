//! Faults: three commands, each with a mistake.
//!
//! ```text
//! $ cargo run -p arc-growing --bin 22_faults
//! $ redis-cli -p 6380
//! ```

#[cfg(unix)]
use growing::{journal_file, listen, say, step22, stop_at_signal};
use std::io;

#[arc::main]
async fn main() -> io::Result<()> {
    // Prints what each task waits for: `kill -QUIT`, or ctrl-\.
    #[cfg(unix)]
    arc::runtime::Handle::current().dump_on_signal(arc::signal::unix::SignalKind::quit())?;

    let stop = stop_at_signal()?;
    step22::serve(listen().await?, journal_file(), Default::default(), stop).await?;
    say("nothing is lost");
    Ok(())
}
