//! Back-pressure: nothing grows without limit.
//!
//! ```text
//! $ cargo run -p arc-growing --bin 19_pressure
//! $ redis-cli -p 6380
//! ```

use growing::{journal_file, listen, step19};
use std::io;

#[arc::main]
async fn main() -> io::Result<()> {
    step19::serve(listen().await?, journal_file()).await
}
