//! State: all clients share a map.
//!
//! ```text
//! $ cargo run -p arc-growing --bin 18_state
//! $ redis-cli -p 6380
//! ```

use growing::{listen, step18};
use std::io;

#[arc::main]
async fn main() -> io::Result<()> {
    step18::serve(listen().await?).await
}
