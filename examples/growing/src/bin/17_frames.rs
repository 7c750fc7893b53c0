//! Frames: an echo that knows where a request ends.
//!
//! ```text
//! $ cargo run -p arc-growing --bin 17_frames
//! $ redis-cli -p 6380
//! ```

use growing::{listen, step17};
use std::io;

#[arc::main]
async fn main() -> io::Result<()> {
    step17::serve(listen().await?).await
}
