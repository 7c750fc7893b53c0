//! `select!`, `race!`, `join!` and `try_join!`: macros by example, without `unsafe`.
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
/// There can be at most 26 branches.
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
/// use arc_util::sync::mpmc;
/// use std::time::Duration;
/// # #[arc::main]
/// # async fn main() {
/// let (sender, receiver) = mpmc::unbounded();
/// sender.try_send(41).unwrap();
/// drop(sender);
/// let mut sum = 0;
/// loop {
///     select! {
///         biased;
///         Ok(number) = receiver.recv(), if sum < 100 => sum += number,
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
/// There can be at most 26 futures.
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
/// There can be at most 26 futures.
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

/// Calls a macro with the names for its branches. Each has a variable, a variant and a number.
#[doc(hidden)]
#[macro_export]
macro_rules! __labels {
    ([$($macro:tt)*] [$($options:tt)*] $($rest:tt)*) => {
        $($macro)*! {
            @pattern [$($options)*] []
            [
                __a A 0, __b B 1, __c C 2, __d D 3, __e E 4, __f F 5, __g G 6, __h H 7,
                __i I 8, __j J 9, __k K 10, __l L 11, __m M 12, __n N 13, __o O 14, __p P 15,
                __q Q 16, __r R 17, __s S 18, __t T 19, __u U 20, __v V 21, __w W 22, __x X 23,
                __y Y 24, __z Z 25,
            ]
            [] $($rest)*
        }
    };
}

/// Reads the branches one by one, then writes the code.
///
/// - `@pattern [options] [branches read] [names left] [pattern so far] tokens...` takes tokens
///   up to the `=`.
/// - `@branch` takes the rest of the branch: the future, the precondition and the handler.
/// - `@push` gives the branch its names and adds it to those that were read.
/// - `@end` has all branches, and writes the code.
///
/// The compiler lets macros call themselves 128 times, so each step takes as many tokens as it
/// can.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@pattern [$($o:tt)*] [] [$($names:tt)*] []) => {
        ::std::compile_error!("select! needs a branch")
    };
    (@pattern [$($o:tt)*] [$($done:tt)*] [$($names:tt)*] []) => {
        $crate::__select! {
            @end [$($o)*] [$($done)*]
            (::std::panic!("all branches of select! are disabled, and there is no `else`"))
        }
    };
    (@pattern [$($o:tt)*] [$($done:tt)*] [$($names:tt)*] [] else => $else:expr $(,)?) => {
        $crate::__select! { @end [$($o)*] [$($done)*] ($else) }
    };
    (@pattern [$($o:tt)*] [$($done:tt)*] [$($names:tt)*] [$($p:tt)+] = $($rest:tt)*) => {
        $crate::__select! { @branch [$($o)*] [$($done)*] [$($names)*] [$($p)+] $($rest)* }
    };
    (@pattern $o:tt $d:tt $n:tt [$($p:tt)*] $q:tt = $($rest:tt)*) => {
        $crate::__select! { @branch $o $d $n [$($p)* $q] $($rest)* }
    };
    (@pattern $o:tt $d:tt $n:tt [$($p:tt)*] $q:tt $r:tt = $($rest:tt)*) => {
        $crate::__select! { @branch $o $d $n [$($p)* $q $r] $($rest)* }
    };
    (@pattern $o:tt $d:tt $n:tt [$($p:tt)*] $q:tt $r:tt $s:tt = $($rest:tt)*) => {
        $crate::__select! { @branch $o $d $n [$($p)* $q $r $s] $($rest)* }
    };
    (@pattern $o:tt $d:tt $n:tt [$($p:tt)*] $q:tt $r:tt $s:tt $t:tt $($rest:tt)+) => {
        $crate::__select! { @pattern $o $d $n [$($p)* $q $r $s $t] $($rest)+ }
    };
    (@pattern $o:tt $d:tt $n:tt $p:tt $($rest:tt)*) => {
        ::std::compile_error!("a branch of select! is `pattern = future => handler`")
    };

    (@branch $o:tt $d:tt [] $p:tt $($rest:tt)*) => {
        ::std::compile_error!("select! and race! take at most 26 branches")
    };
    (@branch $o:tt $d:tt $n:tt $p:tt $f:expr, if $if:expr => $h:block, $($rest:tt)*) => {
        $crate::__select! { @push $o $d $n $p ($f) ($if) ($h) $($rest)* }
    };
    (@branch $o:tt $d:tt $n:tt $p:tt $f:expr, if $if:expr => $h:block $($rest:tt)*) => {
        $crate::__select! { @push $o $d $n $p ($f) ($if) ($h) $($rest)* }
    };
    (@branch $o:tt $d:tt $n:tt $p:tt $f:expr, if $if:expr => $h:expr $(, $($rest:tt)*)?) => {
        $crate::__select! { @push $o $d $n $p ($f) ($if) ($h) $($($rest)*)? }
    };
    (@branch $o:tt $d:tt $n:tt $p:tt $f:expr => $h:block, $($rest:tt)*) => {
        $crate::__select! { @push $o $d $n $p ($f) (true) ($h) $($rest)* }
    };
    (@branch $o:tt $d:tt $n:tt $p:tt $f:expr => $h:block $($rest:tt)*) => {
        $crate::__select! { @push $o $d $n $p ($f) (true) ($h) $($rest)* }
    };
    (@branch $o:tt $d:tt $n:tt $p:tt $f:expr => $h:expr $(, $($rest:tt)*)?) => {
        $crate::__select! { @push $o $d $n $p ($f) (true) ($h) $($($rest)*)? }
    };

    (
        @push $o:tt [$($d:tt)*] [$name:ident $variant:ident $number:tt, $($n:tt)*]
        $p:tt $f:tt $if:tt $h:tt $($rest:tt)*
    ) => {
        $crate::__select! {
            @pattern $o [$($d)* { $name $variant $number $p $f $if $h }] [$($n)*] [] $($rest)*
        }
    };

    (
        @end [start: $($start:tt)*]
        [$({
            $name:ident $variant:ident $number:tt
            [$($p:tt)+] ($f:expr) ($if:expr) ($handler:expr)
        })+]
        ($else:expr)
    ) => {{
        enum __Selected<$($variant),+> {
            $($variant($variant),)+
            AllDisabled,
        }

        // Whether each branch is disabled.
        let mut is_disabled = [$(!$if),+];
        let selected = {
            $(let mut $name =
                $crate::__private::pin!(::std::future::IntoFuture::into_future($f));)+
            let branches = is_disabled.len();
            ::std::future::poll_fn(|context| {
                // Drawn for each poll: a branch that uses up the task's budget must not always
                // be the first.
                let start = $crate::__start!(branches, $($start)*);
                for turn in 0..branches {
                    match (start + turn) % branches {
                        $($number => {
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
                            #[allow(unused_variables, unreachable_patterns,
                                reason = "the pattern is only tried here")]
                            match &output {
                                $crate::__tried!([] [] $($p)+) => {}
                                _ => continue,
                            }
                            return ::std::task::Poll::Ready(__Selected::$variant(output));
                        })+
                        _ => ::std::unreachable!("a number modulo their number"),
                    }
                }

                match is_disabled.contains(&false) {
                    true => ::std::task::Poll::Pending,
                    false => ::std::task::Poll::Ready(__Selected::AllDisabled),
                }
            })
            .await
        };

        match selected {
            $(__Selected::$variant($($p)+) => $handler,)+
            __Selected::AllDisabled => $else,
            #[allow(unreachable_patterns, reason = "patterns may match always")]
            _ => ::std::unreachable!("the pattern has matched before"),
        }
    }};
}

/// Gives the number of the branch that is polled first: 0, or a random one.
#[doc(hidden)]
#[macro_export]
macro_rules! __start {
    ($branches:ident, 0) => {
        0
    };
    ($branches:ident, $($random:tt)*) => {
        $($random)*($branches)
    };
}

/// Removes `mut`, `ref` and `&` from a pattern: what is left matches a reference to whatever
/// the pattern matches.
///
/// The form is `[outer groups] [done] tokens...`. The macro enters each group to clean its
/// contents, and puts the group together again when the contents end.
#[doc(hidden)]
#[macro_export]
macro_rules! __tried {
    ($outer:tt $done:tt mut $($rest:tt)*) => { $crate::__tried!($outer $done $($rest)*) };
    ($outer:tt $done:tt ref $($rest:tt)*) => { $crate::__tried!($outer $done $($rest)*) };
    ($outer:tt $done:tt & $($rest:tt)*) => { $crate::__tried!($outer $done $($rest)*) };
    ($outer:tt $done:tt && $($rest:tt)*) => { $crate::__tried!($outer $done $($rest)*) };
    ($outer:tt $done:tt ($($inner:tt)*) $($rest:tt)*) => {
        $crate::__tried!([round $outer $done $($rest)*] [] $($inner)*)
    };
    ($outer:tt $done:tt [$($inner:tt)*] $($rest:tt)*) => {
        $crate::__tried!([square $outer $done $($rest)*] [] $($inner)*)
    };
    ($outer:tt $done:tt {$($inner:tt)*} $($rest:tt)*) => {
        $crate::__tried!([curly $outer $done $($rest)*] [] $($inner)*)
    };
    ($outer:tt [$($done:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__tried!($outer [$($done)* $next] $($rest)*)
    };
    ([round $outer:tt [$($before:tt)*] $($rest:tt)*] [$($done:tt)*]) => {
        $crate::__tried!($outer [$($before)* ($($done)*)] $($rest)*)
    };
    ([square $outer:tt [$($before:tt)*] $($rest:tt)*] [$($done:tt)*]) => {
        $crate::__tried!($outer [$($before)* [$($done)*]] $($rest)*)
    };
    ([curly $outer:tt [$($before:tt)*] $($rest:tt)*] [$($done:tt)*]) => {
        $crate::__tried!($outer [$($before)* {$($done)*}] $($rest)*)
    };
    ([] [$($done:tt)*]) => { $($done)* };
}

/// Gives each future its names, then writes the code.
#[doc(hidden)]
#[macro_export]
macro_rules! __join {
    (@pattern $kind:tt [$($done:tt)*] [] [] $($rest:tt)+) => {
        ::std::compile_error!("at most 26 futures")
    };
    (
        @pattern $kind:tt [$($done:tt)*] [$name:ident $variant:ident $number:tt, $($names:tt)*] []
        ($future:expr) $($rest:tt)*
    ) => {
        $crate::__join! {
            @pattern $kind [$($done)* { $name $number $future }] [$($names)*] [] $($rest)*
        }
    };
    (@pattern [join $($start:tt)+] [$({ $name:ident $number:tt $future:expr })*] $names:tt []) => {{
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
        @pattern [try_join $($start:tt)+] [$({ $name:ident $number:tt $future:expr })*] $names:tt []
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
