//! Exercise 05, size M, after stage 03: changed while it is being saved.
//!
//! Many threads change a document, and call `changed` after each change. It saves the document to a
//! file (`save`). Two threads must not write to the file at once. So if one of them is saving just
//! now, `changed` returns at once and leaves the work to that thread: but what it is writing may be
//! older than the change. Then it has to save once more, as a task that was woken during its poll
//! is polled once more. Once is enough, however many changes there were.
//!
//! Write `changed`. The atomic is yours: say what its values mean. `AtomicUsize` is std's, with two
//! additions. The exercise lets another thread act between two of your steps, and it knows what
//! your orderings make certain: what was changed before `changed`, a save after it must see, and
//! what one save has written, the next one must see.

use inside::exercises::threads::{
    AtomicUsize, Note, Ordering, by_turns, meanwhile, orders, other_thread,
};
use inside::exercises::{expect, set_alarm, solved};
use std::cell::RefCell;
use std::sync::atomic::{self, AtomicBool};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

// YOURS: from here
// to here

#[derive(Default)]
struct Saver {
    state: AtomicUsize,
    file: File,
}

impl Saver {
    /// The document was changed.
    fn changed(&self) {
        // YOURS: from here
        if self.state.swap(1, Ordering::AcqRel) == 0 {
            self.file.save();
            self.state.swap(0, Ordering::AcqRel);
        }
        // to here
    }
}

/// The file, and what was done to the document.
#[derive(Default)]
struct File {
    is_open: AtomicBool,
    saves: atomic::AtomicUsize,
    /// To write takes a moment, in which another thread may act.
    moment: AtomicUsize,
    /// A note for each change.
    changes: Mutex<Vec<Note>>,
    /// The notes of the changes that are in the file, and one of the thread that has written it.
    written: Mutex<Vec<Note>>,
}

thread_local! {
    /// What happens in the middle of the next save of this thread.
    static DURING_A_SAVE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

fn lock(notes: &Mutex<Vec<Note>>) -> MutexGuard<'_, Vec<Note>> {
    notes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl File {
    fn save(&self) {
        let was_open = self.is_open.swap(true, Ordering::Relaxed);
        expect(!was_open, "two threads save at once, and the file is a mixture of both");
        let message = "a save may not see what the save before it has written: two threads may \
                       save at once, or no Release and Acquire order the two (chapter 2)";
        expect(lock(&self.written).iter().all(|note| note.is_seen()), message);

        // What is written is what is seen now.
        let mut content = lock(&self.changes).clone();
        content.retain(|note| note.is_seen());
        self.moment.load(Ordering::Relaxed);
        if let Some(action) = DURING_A_SAVE.take() {
            action();
        }

        let own = Note::new();
        own.write();
        content.push(own);
        *lock(&self.written) = content;
        self.saves.fetch_add(1, Ordering::Relaxed);
        self.is_open.store(false, Ordering::Relaxed);
    }
}

impl Saver {
    fn change(&self) {
        let note = Note::new();
        note.write();
        lock(&self.file.changes).push(note);
        self.changed();
    }

    /// All threads have returned: everything must be in the file.
    fn expect_saved(&self) {
        let missing = lock(&self.file.changes).len() + 1 - lock(&self.file.written).len();
        let message = "a change is not in the file: it came during a save, or no Release and \
                       Acquire order the two, and nobody saves once more";
        expect(missing == 0, message);
    }

    fn saves(&self) -> usize {
        self.file.saves.load(Ordering::Relaxed)
    }
}

fn main() {
    // If it panics or does not come to its end, the exercise says so.
    set_alarm();
    let saver = Saver::default();
    for count in 1..=3 {
        saver.change();
        let message = "nobody else saves, and a change is not saved by the thread that made it";
        expect(saver.saves() >= count, message);
        let message = "nothing has changed since the last save, and it is saved once more";
        expect(saver.saves() == count, message);
        saver.expect_saved();
    }

    // Another thread makes changes after each step of the first.
    for step in 1..=8 {
        for changes in [1, 20] {
            let saver = Saver::default();
            let make = || {
                let is_during_a_save = saver.file.is_open.load(Ordering::Relaxed);
                (0..changes).for_each(|_| saver.change());
                is_during_a_save
            };
            let (is_during_a_save, ()) = meanwhile(step, make, || saver.change());
            saver.expect_saved();
            let saves = saver.saves();
            let message = format!(
                "it was changed {changes} times during a save, and then saved {} times more",
                saves - 1
            );
            expect(!is_during_a_save || saves == 2, &message);

            // A third thread comes later.
            other_thread(|| saver.change());
            let message = "nobody saves any more, and a change is not saved";
            expect(saver.saves() == saves + 1, message);
            saver.expect_saved();
        }
    }
    (1..=8).for_each(a_third_thread_comes);
    orders(5).for_each(|turns| both_are_stopped(&turns));
    solved();
}

/// Two threads make a change each. Each of them is stopped in the middle, and the other one goes
/// on: so a save may end between two steps of the other thread.
fn both_are_stopped(turns: &[usize]) {
    let saver = Saver::default();
    by_turns(turns, || saver.change(), || saver.change());
    saver.expect_saved();
    let saves = saver.saves();
    expect(saves <= 2, &format!("there were two changes, and {saves} saves"));

    let message = "nobody saves any more, and a change is not saved: somebody who has gone counts \
                   as saving";
    for count in 1..=2 {
        other_thread(|| saver.change());
        expect(saver.saves() == saves + count, message);
        saver.expect_saved();
    }
}

/// A change comes during the save of the first thread. After this step of it, a third thread makes
/// a change. If it saves, then the first thread goes on in the middle of that.
fn a_third_thread_comes(step: usize) {
    let saver = Arc::new(Saver::default());
    let other = saver.clone();
    let change = move || other_thread(|| other.change());
    DURING_A_SAVE.set(Some(Box::new(change)));

    let (saves, is_saving) = channel::<()>();
    let (resume, resumes) = channel::<()>();
    thread::scope(|scope| {
        let saver = &saver;
        let third = move || {
            DURING_A_SAVE.set(Some(Box::new(move || {
                drop(saves);
                // Nothing is sent. It ends when `resume` is dropped.
                let _ = resumes.recv();
            })));
            saver.change();
            drop(DURING_A_SAVE.take());
        };
        let act = move || {
            scope.spawn(third);
            let _ = is_saving.recv();
        };
        meanwhile(step, act, || saver.change());
        drop(resume);
    });
    saver.expect_saved();
}

// Hint 1: to know that somebody is saving is not enough. What else must the atomic say?
// Hint 2: "somebody saves, and what was changed is in it", "somebody saves, and must do so again",
// and "nobody saves" are three values.
// Hint 3: whoever saves says at its beginning that nothing has changed since, and goes on to
// "nobody saves" only if that is still so. `compare_exchange` does both in one step.
