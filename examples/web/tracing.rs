//! Log lines that name their task, with tracing-subscriber.
//!
//! ```text
//! $ cargo run -p arc-web-examples --example tracing
//!  INFO task{name="kitchen" line=examples/web/tracing.rs:20:19 id=5}: soup, please
//!  INFO task{name="kitchen" line=examples/web/tracing.rs:20:19 id=5}: soup is ready
//!  INFO the guest has got it dish="hot soup"
//! ```

use arc::compat::tracing::spawn_named;
use arc::time::{Duration, sleep};
use tracing::info;

// One thread, so that the numbers of tasks are the same in each run. Runtimes have numbers, too.
#[arc::main(flavor = "current_thread")]
async fn main() -> Result<(), arc::task::JoinError> {
    // Without times, as in the header.
    tracing_subscriber::fmt().without_time().with_target(false).with_ansi(false).init();

    let kitchen = spawn_named("kitchen", async {
        info!("soup, please");
        sleep(Duration::from_millis(1)).await;
        info!("soup is ready");
        "hot soup"
    });
    info!(dish = kitchen.await?, "the guest has got it");
    Ok(())
}
