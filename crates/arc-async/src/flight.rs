//! Records all the time, and writes a timeline only when something is wrong.

use arc_trace::{Format, Options};
use arc_util::task::TaskInfo;
use std::fmt::Display;
use std::fs;
use std::io::{Result, Write};
use std::path::PathBuf;
use std::time::Duration;
#[cfg(unix)]
use {
    arc_core::task::{JoinHandle, spawn_blocking, spawn_named},
    arc_util::signal::unix::{SignalKind, signal},
};

/// A flight recorder: the runtime is recorded all the time, and the last seconds are written when
/// something is wrong.
///
/// Each write replaces the file, at once: whoever opens it sees a whole timeline. A line on
/// standard error says why it was written, or why it could not be. The program goes on.
///
/// # Examples
///
/// ```
/// # extern crate arc_async as arc;
/// use arc::runtime::Builder;
/// use arc::trace::FlightRecorder;
/// use std::time::Duration;
///
/// # let path = std::env::temp_dir().join("arc-flight-example.html");
/// # /*
/// let flight = FlightRecorder::start("flight.html", Duration::from_secs(5))?;
/// # */
/// # let flight = FlightRecorder::start(path, Duration::from_secs(5))?;
/// let runtime = Builder::new_multi_thread().on_long_poll(flight.on_long_poll()).build()?;
/// runtime.block_on(async {
///     // And whenever somebody types `kill -USR1`, followed by the number of the process.
///     # #[cfg(unix)]
///     flight.write_on_signal(arc::signal::unix::SignalKind::user_defined1())?;
///     // ...
///     # std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
pub struct FlightRecorder {
    path: PathBuf,
}

impl FlightRecorder {
    /// Begins to record. Timelines will be written to `path`, in the format that its ending asks
    /// for (`.html`, `.txt`, `.json` or `.svg`), and reach back for `last`.
    ///
    /// What was recorded before is forgotten. [`stop`](arc_trace::stop) ends the recording. The
    /// environment variable `ARC_TRACE` means nothing in this program then.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the name ends otherwise.
    pub fn start(path: impl Into<PathBuf>, last: Duration) -> Result<Self> {
        let path = path.into();
        // A mistake in the name is told now, and not when something is wrong.
        Format::of(&path)?;

        let mut options = Options::default();
        options.last = Some(last);
        arc_trace::start(options);
        Ok(Self { path })
    }

    /// Writes the timeline now, and says why. This blocks for some tenths of a second if there are
    /// many events.
    pub fn write(&self, why: impl Display) {
        let path = self.path.display();
        let line = match self.replace() {
            Ok(()) => format!("arc: {why}: see {path}"),
            Err(error) => {
                format!("arc: {why}: no timeline is written to {path}: {error}")
            }
        };
        // Where nobody reads standard error, there is nobody to tell.
        let _ = writeln!(std::io::stderr(), "{line}");
    }

    fn replace(&self) -> Result<()> {
        let ending = self.path.extension().unwrap_or_default();
        // The new file keeps its ending, by which its format is known.
        let mut new = self.path.with_extension("new").into_os_string();
        new.push(".");
        new.push(ending);
        arc_trace::write(&new)?;
        fs::rename(new, &self.path)
    }

    /// Returns a hook for [`on_long_poll`](arc_util::runtime::Builder::on_long_poll), which writes
    /// the timeline while the poll still lasts.
    pub fn on_long_poll(&self) -> impl Fn(&TaskInfo) + Send + Sync + 'static {
        let flight = self.clone();
        move |task| flight.write(format_args!("{task:#}"))
    }

    /// Writes the timeline at each signal of this kind, on a thread of the blocking pool. The task
    /// that waits for them goes on until it is aborted, or the runtime ends.
    ///
    /// The signal does no longer what it does by default. For `SIGQUIT` and `SIGUSR1` that is to
    /// end the program.
    ///
    /// # Errors
    ///
    /// The system's, when it refuses: as [`signal()`].
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    #[cfg(unix)]
    pub fn write_on_signal(&self, kind: SignalKind) -> Result<JoinHandle<()>> {
        // From here on the signal is ours, although nobody waits for it yet.
        let mut signals = signal(kind)?;

        let flight = self.clone();
        Ok(spawn_named("flight recorder", async move {
            while signals.recv().await.is_some() {
                let flight = flight.clone();
                let write = move || flight.write("a signal asked for the timeline");
                // It only fails when it panics or the runtime ends, and then nobody waits for it.
                let _ = spawn_blocking(write).await;
            }
        }))
    }
}
