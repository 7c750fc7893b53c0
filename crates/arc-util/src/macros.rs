//! `select!`, `race!`, `join!`, `try_join!` and `pin!`: macros by example, without `unsafe`.
//!
//! Each branch needs names of its own, and macros by example cannot make names up. So
//! [`__labels`](crate::__labels) has a list of them: for each branch a variable, a variant of
//! the enum that says which branch has won, and a number.

/// Runs several futures until one of them is ready, and drops the others.
///
/// The syntax is tokio's. A branch is `pattern = future [, if precondition] => handler`. Commas
/// separate the branches; a comma after a block may be left out. An optional `else => handler`
/// stands last.
///
/// - All preconditions are evaluated first, then the expressions of all futures. A branch whose
///   precondition is false is disabled: its future is not polled.
/// - The first future that is ready with an output that matches its pattern wins. If an output
///   does not match, its branch is disabled, and the others go on.
/// - When a branch has won, all futures are dropped. Then its handler runs, with the variables
///   that the pattern has bound.
/// - When all branches are disabled, the handler of `else` runs.
/// - Each poll begins with a random branch, so that a branch that is always ready does not
///   starve the others. With `biased;` as the first word, the branches are always polled in
///   their order.
///
/// There can be at most 64 branches. In a task, `select!` takes a unit of the budget before it
/// polls a branch for the first time: a loop over it lets other tasks run, even if a branch is
/// always ready.
///
/// # Panics
///
/// Panics when all branches are disabled and there is no `else`.
///
/// # Cancellation
///
/// The futures of the branches that did not win are dropped. In a loop, use futures that are
/// cancel safe, or make the future before the loop and await `&mut future`.
///
/// # Examples
///
/// ```
/// use arc_util::select;
/// use arc_util::sync::mpsc;
/// use std::time::Duration;
/// # #[arc::main]
/// # async fn main() {
/// let (sender, mut receiver) = mpsc::unbounded_channel();
/// sender.send(41).unwrap();
/// drop(sender);
/// let mut sum = 0;
/// loop {
///     select! {
///         biased;
///         Some(number) = receiver.recv(), if sum < 100 => sum += number,
///         () = arc::time::sleep(Duration::from_millis(10)) => {
///             sum += 1;
///             break;
///         }
///         else => unreachable!("the sleep always ends"),
///     }
/// }
/// assert_eq!(sum, 42);
/// # }
/// ```
#[macro_export]
macro_rules! select {
    (biased; $($branches:tt)*) => {
        $crate::__labels!([$crate::__select] [start: 0] $($branches)*)
    };
    ($($branches:tt)*) => {
        $crate::__labels!([$crate::__select] [start: $crate::__private::random] $($branches)*)
    };
}

/// Polls several futures until all have ended, and returns a tuple of their outputs.
///
/// The futures are polled within one task. The first poll goes through them in their order, and
/// each later one begins with a random future, so that a future that is always ready does not
/// starve the others. With `biased;` as the first word, they are always polled in their order.
///
/// There can be at most 64 futures.
///
/// # Cancellation
///
/// Dropping the `join!` drops all futures, and the outputs of those that have ended.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let (left, right) = arc_util::join!(async { 1 }, async { "two" });
/// assert_eq!((left, right), (1, "two"));
/// # }
/// ```
#[macro_export]
macro_rules! join {
    (biased; $($future:expr),* $(,)?) => {
        $crate::__labels!([$crate::__join] [join 0] $(($future))*)
    };
    ($($future:expr),* $(,)?) => {
        $crate::__labels!([$crate::__join] [join $crate::__private::random] $(($future))*)
    };
}

/// Polls several futures until all have returned `Ok`, or one has returned `Err`.
///
/// The result is `Ok` with a tuple of the values, or `Err` with the first error. Otherwise the
/// same as [`join!`](crate::join).
///
/// # Errors
///
/// Fails with the first error of any future. The other futures are dropped.
///
/// # Cancellation
///
/// Same as `join!`.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let numbers = arc_util::try_join!(async { "1".parse::<u8>() }, async { "2".parse::<u8>() });
/// assert_eq!(numbers, Ok((1, 2)));
/// let numbers = arc_util::try_join!(async { "1".parse::<u8>() }, async { "?".parse::<u8>() });
/// assert!(numbers.is_err());
/// # }
/// ```
#[macro_export]
macro_rules! try_join {
    (biased; $($future:expr),* $(,)?) => {
        $crate::__labels!([$crate::__join] [try_join 0] $(($future))*)
    };
    ($($future:expr),* $(,)?) => {
        $crate::__labels!([$crate::__join] [try_join $crate::__private::random] $(($future))*)
    };
}

/// Runs several futures of one output type and returns the output of the first that is ready.
/// Drops the others.
///
/// Each poll begins with a random future. With `biased;` as the first word, the futures are
/// always polled in their order.
///
/// There can be at most 64 futures.
///
/// # Cancellation
///
/// Dropping the `race!` drops all futures.
///
/// # Examples
///
/// ```
/// use arc::time::{Duration, sleep};
/// use arc_util::race;
/// # #[arc::main]
/// # async fn main() {
/// let slow = async {
///     sleep(Duration::from_secs(3600)).await;
///     "slow"
/// };
/// let fast = async { "fast" };
/// assert_eq!(race!(slow, fast), "fast");
/// # }
/// ```
#[macro_export]
macro_rules! race {
    (biased; $($future:expr),+ $(,)?) => {
        $crate::select! { biased; $(output = $future => output,)+ }
    };
    ($($future:expr),+ $(,)?) => {
        $crate::select! { $(output = $future => output,)+ }
    };
}

/// Pins values on the stack: each variable becomes a `Pin<&mut _>` of its value.
///
/// The variables are moved, and new ones of the same names take their place. A `let` in the macro
/// declares a variable and pins it.
///
/// std's `pin!` is an expression instead: `let future = std::pin::pin!(future);`.
///
/// # Examples
///
/// ```
/// use arc_util::{pin, select};
/// # #[arc::main]
/// # async fn main() {
/// let answer = async { 42 };
/// pin!(answer);
/// assert_eq!(answer.as_mut().await, 42);
///
/// pin! {
///     let first = async { 1 };
///     let second = std::future::pending::<i32>();
/// }
/// let winner = select! {
///     number = &mut first => number,
///     number = &mut second => number,
/// };
/// assert_eq!(winner, 1);
/// # }
/// ```
#[macro_export]
macro_rules! pin {
    ($($name:ident),* $(,)?) => {
        $(
            #[allow(unused_mut, reason = "what is polled once by value need not be mutable")]
            let mut $name = $crate::__private::pin!($name);
        )*
    };
    ($(let $name:ident = $value:expr;)*) => {
        $(
            let $name = $value;
            $crate::pin!($name);
        )*
    };
}

/// Calls a macro with the names for its branches. Each has a variable, a variant and a number.
#[doc(hidden)]
#[macro_export]
macro_rules! __labels {
    ([$($macro:tt)*] [$($options:tt)*] $($rest:tt)*) => {
        $($macro)*! {
            @branches [$($options)*] []
            [
                __f0 B0 0, __f1 B1 1, __f2 B2 2, __f3 B3 3,
                __f4 B4 4, __f5 B5 5, __f6 B6 6, __f7 B7 7,
                __f8 B8 8, __f9 B9 9, __f10 B10 10, __f11 B11 11,
                __f12 B12 12, __f13 B13 13, __f14 B14 14, __f15 B15 15,
                __f16 B16 16, __f17 B17 17, __f18 B18 18, __f19 B19 19,
                __f20 B20 20, __f21 B21 21, __f22 B22 22, __f23 B23 23,
                __f24 B24 24, __f25 B25 25, __f26 B26 26, __f27 B27 27,
                __f28 B28 28, __f29 B29 29, __f30 B30 30, __f31 B31 31,
                __f32 B32 32, __f33 B33 33, __f34 B34 34, __f35 B35 35,
                __f36 B36 36, __f37 B37 37, __f38 B38 38, __f39 B39 39,
                __f40 B40 40, __f41 B41 41, __f42 B42 42, __f43 B43 43,
                __f44 B44 44, __f45 B45 45, __f46 B46 46, __f47 B47 47,
                __f48 B48 48, __f49 B49 49, __f50 B50 50, __f51 B51 51,
                __f52 B52 52, __f53 B53 53, __f54 B54 54, __f55 B55 55,
                __f56 B56 56, __f57 B57 57, __f58 B58 58, __f59 B59 59,
                __f60 B60 60, __f61 B61 61, __f62 B62 62, __f63 B63 63,
            ]
            $($rest)*
        }
    };
}

/// Reads the branches one by one, then writes the code.
///
/// - `@branches [options] [branches read] [names left] tokens...` reads the next branch.
/// - `@push` gives the branch its names and adds it to those that were read.
/// - `@end` has all branches, and writes the code.
///
/// The compiler lets macros call themselves 128 times, so a branch takes one step, and its names
/// are taken off in the next one's.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@branches $o:tt [] $names:tt) => {
        ::std::compile_error!("select! needs a branch")
    };
    (@branches $o:tt [] $names:tt else => $else:expr $(,)?) => {
        $else
    };
    (@branches $o:tt $done:tt $names:tt) => {
        $crate::__select! {
            @end $o $done
            (::std::panic!("all branches of select! are disabled, and there is no `else`"))
        }
    };
    (@branches $o:tt $done:tt $names:tt else => $else:expr $(,)?) => {
        $crate::__select! { @end $o $done ($else) }
    };
    (@branches $o:tt $done:tt [] $($rest:tt)+) => {
        ::std::compile_error!("select! and race! take at most 64 branches")
    };
    (
        @branches $o:tt [$($done:tt)*]
        [$name:ident $variant:ident $number:tt, $($names:tt)*]
        $p:pat = $f:expr, if $if:expr => $h:block, $($rest:tt)*
    ) => {
        $crate::__select! {
            @branches $o [$($done)* { $name $variant $number ($p) ($f) ($if) ($h) }]
            [$($names)*]
            $($rest)*
        }
    };
    (
        @branches $o:tt [$($done:tt)*]
        [$name:ident $variant:ident $number:tt, $($names:tt)*]
        $p:pat = $f:expr, if $if:expr => $h:block $($rest:tt)*
    ) => {
        $crate::__select! {
            @branches $o [$($done)* { $name $variant $number ($p) ($f) ($if) ($h) }]
            [$($names)*]
            $($rest)*
        }
    };
    (
        @branches $o:tt [$($done:tt)*]
        [$name:ident $variant:ident $number:tt, $($names:tt)*]
        $p:pat = $f:expr, if $if:expr => $h:expr $(, $($rest:tt)*)?
    ) => {
        $crate::__select! {
            @branches $o [$($done)* { $name $variant $number ($p) ($f) ($if) ($h) }]
            [$($names)*]
            $($($rest)*)?
        }
    };
    (
        @branches $o:tt [$($done:tt)*]
        [$name:ident $variant:ident $number:tt, $($names:tt)*]
        $p:pat = $f:expr => $h:block, $($rest:tt)*
    ) => {
        $crate::__select! {
            @branches $o [$($done)* { $name $variant $number ($p) ($f) (true) ($h) }]
            [$($names)*]
            $($rest)*
        }
    };
    (
        @branches $o:tt [$($done:tt)*]
        [$name:ident $variant:ident $number:tt, $($names:tt)*]
        $p:pat = $f:expr => $h:block $($rest:tt)*
    ) => {
        $crate::__select! {
            @branches $o [$($done)* { $name $variant $number ($p) ($f) (true) ($h) }]
            [$($names)*]
            $($rest)*
        }
    };
    (
        @branches $o:tt [$($done:tt)*]
        [$name:ident $variant:ident $number:tt, $($names:tt)*]
        $p:pat = $f:expr => $h:expr $(, $($rest:tt)*)?
    ) => {
        $crate::__select! {
            @branches $o [$($done)* { $name $variant $number ($p) ($f) (true) ($h) }]
            [$($names)*]
            $($($rest)*)?
        }
    };

    (
        @end [start: $($start:tt)*]
        [$({
            $name:ident $variant:ident $number:tt
            ($p:pat) ($f:expr) ($if:expr) ($handler:expr)
        })+]
        ($else:expr)
    ) => {{
        enum __Selected<$($variant),+> {
            $($variant($variant),)+
            AllDisabled,
        }
        static __CHOICE: $crate::__private::Choice = $crate::__private::Choice::new();

        // Whether each branch is disabled.
        let mut is_disabled = [$(!$if),+];
        let selected = {
            // In a statement of its own, so that the temporaries of the expression stay.
            $(
                #[allow(unused_parens, reason = "as tokio's macro has it")]
                let $name = $f;
            )+
            $(let mut $name =
                $crate::__private::pin!(::std::future::IntoFuture::into_future($name));)+
            let branches = is_disabled.len();
            let mut has_paid = false;
            ::std::future::poll_fn(|context| {
                if !has_paid {
                    ::std::task::ready!($crate::__private::poll_budget(context));
                    has_paid = true;
                }

                // What is polled from here on is given up when another branch wins.
                let choice = $crate::__private::Choosing::begins();

                // Drawn for each poll: a branch that uses up the task's budget must not always
                // be the first.
                let start = $crate::__start!(branches, $($start)*);
                for turn in 0..branches {
                    match (start + turn) % branches {
                        $(#[allow(
                            unreachable_code,
                            clippy::diverging_sub_expression,
                            reason = "nothing follows the end of a future that has none"
                        )]
                        $number => {
                            if is_disabled[$number] {
                                continue;
                            }
                            let polled = ::std::future::Future::poll($name.as_mut(), context);
                            let ::std::task::Poll::Ready(output) = polled else {
                                continue;
                            };

                            // The future has ended. If its output does not match, it must not
                            // be polled again.
                            is_disabled[$number] = true;
                            let (is_selected, output) = $crate::__matches!(output, $p);
                            if is_selected {
                                __CHOICE.takes(choice, $number, branches);
                                return ::std::task::Poll::Ready(__Selected::$variant(output));
                            }
                        })+
                        _ => ::std::unreachable!("a number modulo their number"),
                    }
                }

                drop(choice);
                match is_disabled.contains(&false) {
                    true => ::std::task::Poll::Pending,
                    false => ::std::task::Poll::Ready(__Selected::AllDisabled),
                }
            })
            .await
        };

        // A value that is not named can be borrowed mutably, as `ref mut` does.
        match ::std::convert::identity(selected) {
            $(__Selected::$variant($p) => $handler,)+
            __Selected::AllDisabled => $else,
            #[allow(unreachable_patterns, reason = "patterns that match everything")]
            _ => ::std::unreachable!("the pattern has matched before"),
        }
    }};
}

/// Returns whether a value matches a pattern, and the value.
///
/// The guard runs when the pattern matches, and the value has not been moved then. As the guard
/// is false, it is not moved at all.
#[doc(hidden)]
#[macro_export]
macro_rules! __matches {
    ($value:ident, $pattern:pat) => {{
        let mut is_match = false;
        #[allow(unused_variables, unused_mut, reason = "the pattern is only tried here")]
        #[allow(unreachable_patterns, reason = "the value may be of a type without values")]
        let value = match ::std::convert::identity($value) {
            $pattern
                if {
                    is_match = true;
                    false
                } =>
            {
                ::std::unreachable!("the guard is false")
            }
            value => value,
        };
        (is_match, value)
    }};
}

/// Returns the number of the branch that a poll begins with.
#[doc(hidden)]
#[macro_export]
macro_rules! __start {
    ($branches:expr, 0) => {
        0
    };
    ($branches:expr, $($random:tt)*) => {
        $($random)*($branches)
    };
}

/// Gives each future its names, then writes the code.
#[doc(hidden)]
#[macro_export]
macro_rules! __join {
    (@branches $kind:tt [$($done:tt)*] [] $($rest:tt)+) => {
        ::std::compile_error!("at most 64 futures")
    };
    (
        @branches $kind:tt [$($done:tt)*] [$name:ident $variant:ident $number:tt, $($names:tt)*]
        ($future:expr) $($rest:tt)*
    ) => {
        $crate::__join! {
            @branches $kind [$($done)* { $name $number $future }] [$($names)*] $($rest)*
        }
    };
    (@branches [join $($start:tt)+] [$({ $name:ident $number:tt $future:expr })*] $names:tt) => {{
        $(let mut $name = $crate::__private::pin!($crate::__private::maybe_done(
            ::std::future::IntoFuture::into_future($future)
        ));)*
        let futures = <[usize]>::len(&[$($number),*]);
        let mut start = 0;

        ::std::future::poll_fn(|_context| {
            let mut is_pending = false;
            for turn in 0..futures {
                let polled: bool = match (start + turn) % futures {
                    $($number => {
                        ::std::future::Future::poll($name.as_mut(), _context).is_pending()
                    })*
                    _ => $crate::__private::beyond(),
                };
                is_pending |= polled;
            }

            match is_pending {
                true => {
                    start = $crate::__start!(futures, $($start)+);
                    ::std::task::Poll::Pending
                }
                false => ::std::task::Poll::Ready(($($crate::__private::taken(
                    $name.as_mut().take_output()
                ),)*)),
            }
        })
        .await
    }};
    (
        @branches [try_join $($start:tt)+] [$({ $name:ident $number:tt $future:expr })*] $names:tt
    ) => {{
        $(let mut $name = $crate::__private::pin!($crate::__private::try_maybe_done(
            ::std::future::IntoFuture::into_future($future)
        ));)*
        let futures = <[usize]>::len(&[$($number),*]);
        let mut start = 0;

        ::std::future::poll_fn(|_context| {
            let mut is_pending = false;
            for turn in 0..futures {
                let number = (start + turn) % futures;
                let polled: ::std::task::Poll<::std::result::Result<(), _>> = match number {
                    $($number => ::std::future::Future::poll($name.as_mut(), _context),)*
                    _ => $crate::__private::beyond(),
                };
                match polled {
                    ::std::task::Poll::Pending => is_pending = true,
                    ::std::task::Poll::Ready(::std::result::Result::Ok(())) => {}
                    ::std::task::Poll::Ready(::std::result::Result::Err(error)) => {
                        return ::std::task::Poll::Ready(::std::result::Result::Err(error));
                    }
                }
            }

            match is_pending {
                true => {
                    start = $crate::__start!(futures, $($start)+);
                    ::std::task::Poll::Pending
                }
                false => ::std::task::Poll::Ready(::std::result::Result::Ok((
                    $($crate::__private::taken($name.as_mut().take_output()),)*
                ))),
            }
        })
        .await
    }};
}

/// Items that the expansions of the macros use, in any crate.
#[doc(hidden)]
pub mod private {
    pub use futures_util::future::{maybe_done, try_maybe_done};
    pub use std::pin::pin;

    use crate::sync::told::{Told, What, begins_choice, ends_choice};
    use std::future::Future;
    use std::task::{Context, Poll};

    /// What the timeline gets to know of a `select!`.
    #[derive(Debug)]
    pub struct Choice(Told);

    impl Choice {
        #[allow(clippy::new_without_default, reason = "it is made in a `static`")]
        #[track_caller]
        pub const fn new() -> Self {
            Self(Told::new(What::Select))
        }

        /// The branch of this number, from 0, has won.
        #[inline]
        pub fn takes(&self, mut choosing: Choosing, branch: usize, branches: usize) {
            choosing.0 = true;
            self.0.chooses(branch + 1, branches);
        }
    }

    /// A poll of a `select!`. Its drop tells that it has ended, and whether a branch has won.
    #[derive(Debug)]
    pub struct Choosing(bool);

    impl Choosing {
        #[inline]
        pub fn begins() -> Self {
            begins_choice();
            Self(false)
        }
    }

    impl Drop for Choosing {
        #[inline]
        fn drop(&mut self) {
            ends_choice(self.0);
        }
    }

    /// Takes one unit of the task's budget.
    pub fn poll_budget(context: &mut Context<'_>) -> Poll<()> {
        // By its path: this file has a macro of that name itself.
        std::pin::pin!(arc::task::consume_budget()).poll(context)
    }

    /// Returns a random branch number.
    pub fn random(branches: usize) -> usize {
        fastrand::usize(..branches)
    }

    /// Panics; never called, as each number below the number of futures has an arm.
    #[track_caller]
    pub fn beyond<T>() -> T {
        unreachable!("a number modulo their number")
    }

    /// Returns the output of a future that has ended, and whose output has not been taken yet.
    #[track_caller]
    pub fn taken<T>(output: Option<T>) -> T {
        output.unwrap_or_else(|| unreachable!("the future has ended"))
    }
}
