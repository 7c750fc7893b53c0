//! The word of readiness against a model that keeps flags and a count apart.

use proptest::prelude::*;

use crate::driver::readiness::*;
use crate::sync::AtomicUsize;

#[derive(Clone, Copy, Debug)]
enum Step {
    Set {
        hangup: bool,
    },
    SetGone,
    Load,
    /// With one of the words that were read so far.
    Clear(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<bool>().prop_map(|hangup| Step::Set { hangup }),
        1 => Just(Step::SetGone),
        4 => Just(Step::Load),
        4 => any::<usize>().prop_map(Step::Clear),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Model {
    ready: bool,
    hangup: bool,
    gone: bool,
    events: usize,
}

fn check(seen: Seen, model: Model) {
    assert_eq!(seen.is_ready(), model.ready || model.gone);
    assert_eq!(seen.is_hung_up(), model.hangup);
    assert_eq!(seen.is_gone(), model.gone);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn word_is_what_its_parts_are(
        ready in any::<bool>(),
        // Where the count is about to wrap around, too.
        events in prop_oneof![Just(0), Just(usize::MAX / ONE_EVENT - 2)],
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let word = events * ONE_EVENT + if ready { READY } else { 0 };
        let readiness = Readiness(AtomicUsize::new(word));
        let mut model = Model { ready, hangup: false, gone: false, events: 0 };
        let mut seen = vec![(readiness.load(), model)];
        for step in steps {
            match step {
                Step::Set { hangup } => {
                    readiness.set(if hangup { READY | HANG_UP } else { READY });
                    model.hangup |= hangup;
                    model = Model { ready: true, events: model.events + 1, ..model };
                }
                Step::SetGone => {
                    readiness.set(GONE);
                    model = Model { gone: true, events: model.events + 1, ..model };
                }
                Step::Load => {
                    seen.push((readiness.load(), model));
                }
                Step::Clear(random) => {
                    let (seen, then) = seen[random % seen.len()];
                    readiness.clear(seen);
                    // Nothing may have happened since, an event least of all.
                    if then == model {
                        model.ready = false;
                    }
                }
            }
            check(readiness.load(), model);
        }
    }
}

#[test]
fn begins_ready() {
    let seen = Readiness::new_ready().load();
    assert!(seen.is_ready() && !seen.is_hung_up() && !seen.is_gone());
}

#[test]
fn event_after_the_word_was_read_stands() {
    let readiness = Readiness::new_ready();
    let before = readiness.load();
    readiness.set(READY);
    readiness.clear(before);
    assert!(readiness.load().is_ready());
    readiness.clear(readiness.load());
    assert!(!readiness.load().is_ready());
    // Word for word the same as before the event, but for the count.
    readiness.set(READY);
    readiness.clear(before);
    assert!(readiness.load().is_ready());
}
