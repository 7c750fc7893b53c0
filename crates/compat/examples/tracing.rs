//! Log lines that name their task, with tracing-subscriber.
//!
//! ```text
//! $ cargo run -p arc-compat --features full --example tracing
//!  INFO task{name="kitchen" id=1025}: an order has come order="soup"
//!  INFO task{name="kitchen" id=1025}: it is ready
//!  INFO the guest has got it dish="hot soup"
//! ```

use arc::time::{Duration, sleep};
use arc_compat::tracing::spawn_named;
use tracing::info;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::{Format, debug_fn};

// One thread, so that the numbers of tasks are the same in each run.
#[arc::main(flavor = "current_thread")]
async fn main() -> Result<(), arc::task::JoinError> {
    // The header above has neither times nor lines of the source.
    let fields = debug_fn(|writer, field, value| match field.name() {
        "line" => Ok(()),
        "message" => write!(writer, "{value:?}"),
        name => write!(writer, "{name}={value:?}"),
    });
    let format = Format::default().without_time().with_target(false).with_ansi(false);
    fmt().event_format(format).fmt_fields(fields).init();

    let kitchen = spawn_named("kitchen", async {
        info!(order = "soup", "an order has come");
        sleep(Duration::from_millis(1)).await;
        info!("it is ready");
        "hot soup"
    });
    info!(dish = kitchen.await?, "the guest has got it");
    Ok(())
}
