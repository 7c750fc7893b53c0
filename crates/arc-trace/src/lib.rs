//! The timeline of a program on the async runtime arc: what it did when, why a task was late, and
//! what it waits for.
//!
//! With the feature `trace` of arc-async, a runtime tells this crate of each event. In a terminal,
//! one variable is enough:
//!
//! ```sh
//! ARC_TRACE=run.html cargo run --features trace
//! ```
//!
//! When the program's runtime ends, it writes `run.html`: one file, to be opened in a browser.
//! Other endings give other files: `.txt` names the culprits in a terminal, `.json` is for Perfetto
//! and `chrome://tracing`, and `.svg` is a picture.
//!
//! | variable | meaning |
//! |---|---|
//! | `ARC_TRACE` | the file; its ending says what is written |
//! | `ARC_TRACE_LAST` | only the last so many seconds are written |
//! | `ARC_TRACE_AFTER` | the file is also written after so many seconds, for a program that hangs |
//!
//! A program can decide for itself when to record, and when to write. It can record all the time,
//! and write the last seconds when something is wrong (a flight recorder):
//!
//! ```
//! use arc_trace::Options;
//! use std::time::Duration;
//! let mut options = Options::default();
//! options.last = Some(Duration::from_secs(5));
//! arc_trace::start(options);
//!
//! // Later, on a signal, or in `Builder::on_long_poll`:
//! let path = std::env::temp_dir().join("arc-trace-example.txt");
//! arc_trace::write(&path)?;
//! # std::fs::remove_file(path)?;
//! # std::io::Result::Ok(())
//! ```
//!
//! # What it costs
//!
//! An event takes 24 bytes. A thread keeps 100,000 events, unless
//! [`Options::events_per_thread`] says otherwise. Older ones are left out, and every output says
//! how many. While nothing is recorded, each event costs a call, and a load of one word.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `waits` | what each task waits for is known to [`waits`] also while nothing is recorded |
//!
//! `waits` is made for programs in production: what it costs is in docs/TIMELINE.md of arc.

#![forbid(unsafe_code)]

mod accuse;
mod behind;
mod cycle;
mod environment;
mod event;
mod findings;
mod html;
mod json;
mod listen;
mod lock;
mod now;
mod observer;
mod origins;
mod picture;
mod privileges;
mod program;
mod quote;
mod recorder;
mod recording;
mod resource;
mod ring;
mod row;
mod schedule;
mod sources;
mod switch;
mod sync;
mod text;
mod threads;
mod timeline;
mod waiting;
pub mod waits;
mod why;
mod write;

#[doc(hidden)]
pub mod tell;

/// Tells of an event, if anything is recorded: `tell!(step(task, number))` calls `tell::step`. Only
/// arc uses this.
#[doc(hidden)]
#[macro_export]
macro_rules! tell {
    (runs_worker($($fact:expr),*)) => {
        $crate::tell::runs_worker($($fact),*);
    };
    (blocks_on($($fact:expr),*)) => {
        $crate::tell::blocks_on($($fact),*);
    };
    ($event:ident($($fact:expr),*)) => {
        if $crate::is_on() {
            $crate::tell::$event($($fact),*);
        }
    };
}

pub use environment::is_on;
pub use event::{Event, Record};
pub use findings::Finding;
pub use listen::{Listener, listen};
pub use observer::attach;
pub use recorder::{ThreadRecorder, start};
pub use recording::{Origin, Recording, Thread};
pub use resource::{Resource, ResourceInfo, What};
pub use sources::Named;
pub use switch::{Options, stop};
pub use timeline::{
    By, Hold, Lane, Look, Place, Poll, Queued, ScheduleStep, Sleep, Task, Timeline, Wait,
};
pub use waits::recording;
pub use why::{Link, LinkKind, Why};
pub use write::{Format, write};
