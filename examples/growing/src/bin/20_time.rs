//! Time: nothing takes for ever.
//!
//! ```text
//! $ cargo run -p arc-growing --bin 20_time
//! $ redis-cli -p 6380
//! ```

use growing::{journal_file, listen, step20};
use std::io;

#[arc::main]
async fn main() -> io::Result<()> {
    step20::serve(listen().await?, journal_file(), Default::default()).await
}
