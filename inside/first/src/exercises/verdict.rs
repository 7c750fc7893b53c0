//! What an exercise says when it is not solved yet.

use std::process::exit;

/// Ends the exercise, with this message, unless the condition holds.
pub fn expect(condition: bool, message: &str) {
    if !condition {
        not_yet(message);
    }
}

/// Ends the exercise, with this message.
pub(super) fn not_yet(message: &str) -> ! {
    println!("not yet: {message}");
    exit(1);
}
