//! The end: it loses nothing. Press ctrl-c.
//!
//! ```text
//! $ cargo run -p arc-growing --bin 21_end
//! $ redis-cli -p 6380
//! ```

use growing::{journal_file, listen, say, step21, stop_at_signal};
use std::io;

#[arc::main]
async fn main() -> io::Result<()> {
    let stop = stop_at_signal()?;
    step21::serve(listen().await?, journal_file(), Default::default(), stop).await?;
    say("nothing is lost");
    Ok(())
}
