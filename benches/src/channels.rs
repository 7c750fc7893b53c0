//! The channels of arc_util beside tokio's: the same lines for both, as their names are the same.

use crate::Runtime;
use crate::runtimes::{Arc, Tokio};
use std::time::{Duration, Instant};

/// One use of a channel.
pub struct Row {
    /// How tables call it.
    pub name: &'static str,
    /// The number of workers.
    pub workers: usize,
    /// The number of messages in a run that is timed.
    pub count: usize,
    /// What is compared, with what each one runs. Every ratio is to the second one.
    pub sides: [Side; 3],
}

/// A channel, and the runtime that it is used on.
#[derive(Clone, Copy)]
pub struct Side {
    /// How tables call it.
    pub name: &'static str,
    /// Starts a runtime of its own with this many workers. Returns what sends this many messages.
    pub start: fn(usize) -> Box<dyn Fn(usize) -> Duration>,
}

/// Defines the uses, with the channels of one crate.
macro_rules! uses {
    ($module:ident, $channels:path) => {
        #[allow(clippy::extra_unused_type_parameters, reason = "all uses are called alike")]
        mod $module {
            use super::*;
            use $channels as mpsc;

            /// One task sends a hundred messages, and receives them.
            pub async fn alone<R: Runtime>(count: usize) {
                let (sender, mut receiver) = mpsc::unbounded_channel();
                for start in (0..count).step_by(100) {
                    for number in start..start + 100 {
                        sender.send(number).expect("the receiver is there");
                    }
                    for number in start..start + 100 {
                        assert_eq!(receiver.recv().await, Some(number));
                    }
                }
            }

            /// One task sends a message and receives it.
            pub async fn one_by_one<R: Runtime>(count: usize) {
                let (sender, mut receiver) = mpsc::unbounded_channel();
                for number in 0..count {
                    sender.send(number).expect("the receiver is there");
                    assert_eq!(receiver.recv().await, Some(number));
                }
            }

            /// Tasks send, and this one receives. The channel has room for `places` messages.
            pub async fn bounded<R: Runtime>(count: usize, places: usize, senders: usize) {
                let (sender, mut receiver) = mpsc::channel(places);
                let each = count / senders;
                for _ in 0..senders {
                    let sender = sender.clone();
                    R::spawn_detached(async move {
                        for number in 0..each {
                            sender.send(number).await.expect("the receiver is there");
                        }
                    });
                }
                drop(sender);
                let mut sum = 0;
                while let Some(number) = receiver.recv().await {
                    sum += number;
                }
                assert_eq!(sum, senders * (each * (each - 1) / 2));
            }

            /// Tasks send into an unbounded channel. After a few messages each lets others run.
            pub async fn unbounded<R: Runtime>(count: usize, senders: usize) {
                let (sender, mut receiver) = mpsc::unbounded_channel();
                let each = count / senders;
                for _ in 0..senders {
                    let sender = sender.clone();
                    R::spawn_detached(async move {
                        for number in 0..each {
                            sender.send(number).expect("the receiver is there");
                            if number % 32 == 31 {
                                R::yield_now().await;
                            }
                        }
                    });
                }
                drop(sender);
                let mut sum = 0;
                while let Some(number) = receiver.recv().await {
                    sum += number;
                }
                assert_eq!(sum, senders * (each * (each - 1) / 2));
            }
        }
    };
}

uses!(ours, arc_util::sync::mpsc);
uses!(tokios, tokio::sync::mpsc);

/// Makes the three sides of a row from a use and its further arguments.
macro_rules! sides {
    ($use:ident $(, $argument:expr)*) => {
        [
            Side {
                name: "arc",
                start: |workers| run::<Arc, _>(workers, |it| {
                    ours::$use::<Arc>(it $(, $argument)*)
                }),
            },
            Side {
                name: "tokio",
                start: |workers| run::<Tokio, _>(workers, |it| {
                    tokios::$use::<Tokio>(it $(, $argument)*)
                }),
            },
            Side {
                name: "tokio's channel on arc",
                start: |workers| run::<Arc, _>(workers, |it| {
                    tokios::$use::<Arc>(it $(, $argument)*)
                }),
            },
        ]
    };
}

/// Starts a runtime, on which a use runs as a task, as often as it is asked for.
fn run<R, F>(workers: usize, uses: fn(usize) -> F) -> Box<dyn Fn(usize) -> Duration>
where
    R: Runtime,
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = R::start(workers);
    Box::new(move |count| {
        runtime.block_on(async move {
            let start = Instant::now();
            R::spawn(uses(count)).await;
            start.elapsed()
        })
    })
}

/// All of them.
pub fn all() -> Vec<Row> {
    let row = |name, workers, sides| Row { name, workers, count: 80_000, sides };
    vec![
        row("unbounded, one task, batches of 100", 1, sides!(alone)),
        row("unbounded, one task, one by one", 1, sides!(one_by_one)),
        row("unbounded, 1 sender", 1, sides!(unbounded, 1)),
        row("unbounded, 8 senders", 2, sides!(unbounded, 8)),
        row("16 places, 1 sender", 1, sides!(bounded, 16, 1)),
        row("1 place, 1 sender", 1, sides!(bounded, 1, 1)),
        row("16 places, 8 senders", 1, sides!(bounded, 16, 8)),
        row("16 places, 8 senders", 2, sides!(bounded, 16, 8)),
        row("1,000 places, 8 senders", 2, sides!(bounded, 1_000, 8)),
    ]
}
