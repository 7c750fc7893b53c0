//! Stage 00: what an `async fn` becomes.
//!
//! You write `async fn`, and the compiler writes a type. A value of that type is a *future*. It has
//! one method, `poll`, which runs the body up to the next `.await` that must wait, and returns. The
//! next call goes on there. So the value must remember two things: at which `.await` it stopped,
//! and every variable that is used after it.
//!
//! Here an `async fn` stands beside the same written by hand, as an enum. Each of its variants is a
//! place where the body can stand still. There is no runtime yet: `main` polls, again and again.
//! (`Context` and `Waker` say whom to wake. Nobody sleeps here. They are for stage 01.)
//!
//! The second half is about a variable that refers to another one. Such a future points into
//! itself, and must not be moved from then on. `Pin` is the promise that nobody moves it.
//!
//! # Break it
//!
//! Replace the `-` lines of a bug by its `+` lines in the code below, and run the program again.
//! `git checkout inside/examples` mends it.
//!
//! ```text
//! not-kept: the second question is a variable of `poll`, and is gone when `poll` returns
//!     - *self = Bill::AsksPrice { dishes, question: ask("What does one cost?", 20) };
//!     + let mut question = ask("What does one cost?", 20);
//!     + let Poll::Ready(price) = Pin::new(&mut question).poll(context) else {
//!     + return Poll::Pending;
//!     + };
//!     + return Poll::Ready(dishes * price);
//!     you see: Bill: still pending, and asks the same again and again
//!
//! moved: nothing says that it must not move, and it is moved out of its box
//!     - _pinned: PhantomPinned,
//!     + _pinned: (),
//!     - let second = future.as_mut().poll(&mut context);
//!     + let mut moved = *Pin::into_inner(future);
//!     + let second = Pin::new(&mut moved).poll(&mut context);
//!     you see: broken: it has moved, and its reference leads to where it was
//! ```

use std::marker::PhantomPinned;
use std::pin::{Pin, pin};
use std::ptr;
use std::task::{Context, Poll, Waker};

/// How often `main` polls a future before it gives up.
const POLLS_MAX: usize = 10;

/// A question, and the answer that comes later: the first poll asks, the second has the answer.
struct Answer {
    question: &'static str,
    answer: u64,
    is_asked: bool,
}

fn ask(question: &'static str, answer: u64) -> Answer {
    Answer { question, answer, is_asked: false }
}

impl Future for Answer {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<u64> {
        if self.is_asked {
            return Poll::Ready(self.answer);
        }
        println!("  {}", self.question);
        self.is_asked = true;
        Poll::Pending
    }
}

/// Two questions, one after the other.
async fn bill() -> u64 {
    let dishes = ask("How many dishes?", 3).await;
    let price = ask("What does one cost?", 20).await;
    dishes * price
}

/// The same by hand: a variant for each place where it can stand still.
enum Bill {
    Start,
    AsksDishes { question: Answer },
    AsksPrice { dishes: u64, question: Answer },
    Done,
}

impl Future for Bill {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        loop {
            match &mut *self {
                Bill::Start => {
                    *self = Bill::AsksDishes { question: ask("How many dishes?", 3) };
                }
                Bill::AsksDishes { question } => {
                    let Poll::Ready(dishes) = Pin::new(question).poll(context) else {
                        return Poll::Pending;
                    };
                    *self = Bill::AsksPrice { dishes, question: ask("What does one cost?", 20) };
                }
                Bill::AsksPrice { dishes, question } => {
                    let Poll::Ready(price) = Pin::new(question).poll(context) else {
                        return Poll::Pending;
                    };
                    let total = *dishes * price;
                    *self = Bill::Done;
                    return Poll::Ready(total);
                }
                Bill::Done => panic!("it was polled after its end"),
            }
        }
    }
}

/// A variable that refers to another one, across an await.
async fn last() -> u64 {
    let digits = [1, 2, 3];
    let last = &digits[2];
    ask("Shall I go on?", 1).await;
    *last
}

/// The same by hand. (The first poll sets `last`, which is null until then.)
struct Last {
    digits: [u64; 3],
    last: *const u64,
    question: Answer,
    /// Whoever has a pinned `Last` cannot move it any more.
    _pinned: PhantomPinned,
}

fn last_by_hand() -> Last {
    let question = ask("Shall I go on?", 1);
    Last { digits: [1, 2, 3], last: ptr::null(), question, _pinned: Default::default() }
}

impl Future for Last {
    type Output = u64;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        // SAFETY: nothing is moved out of it here.
        let this = unsafe { self.get_unchecked_mut() };
        if this.last.is_null() {
            this.last = &this.digits[2];
        }
        if Pin::new(&mut this.question).poll(context).is_pending() {
            return Poll::Pending;
        }

        // The compiler's code does not ask. It relies on `Pin`.
        if !ptr::eq(this.last, &this.digits[2]) {
            println!("broken: it has moved, and its reference leads to where it was");
            std::process::exit(1);
        }
        // SAFETY: it leads to the field beside it, as was just seen.
        Poll::Ready(unsafe { *this.last })
    }
}

/// Polls a future until it is ready, and tells of each poll.
fn poll_and_tell(name: &str, mut future: Pin<&mut impl Future<Output = u64>>) {
    let mut context = Context::from_waker(Waker::noop());
    for poll in 1..=POLLS_MAX {
        match future.as_mut().poll(&mut context) {
            Poll::Pending => println!("{name}: poll {poll} is pending"),
            Poll::Ready(output) => return println!("{name}: poll {poll} gives {output}"),
        }
    }
    println!("{name}: still pending, and asks the same again and again");
}

fn main() {
    poll_and_tell("bill()", pin!(bill()));
    poll_and_tell("Bill", pin!(Bill::Start));
    poll_and_tell("last()", pin!(last()));

    let mut context = Context::from_waker(Waker::noop());
    let mut future = Box::pin(last_by_hand());
    let first = future.as_mut().poll(&mut context);
    let second = future.as_mut().poll(&mut context);
    println!("Last: {first:?}, and then {second:?}");
}
