//! Values that belong to a task, as thread-locals belong to a thread.

use pin_project_lite::pin_project;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

/// Declares [`LocalKey`]s, as `thread_local!` declares thread-locals.
///
/// Unlike a thread-local, a key has no initial value: [`scope`](crate::task::LocalKey::scope)
/// gives it one for as long as a future runs.
///
/// # Examples
///
/// ```
/// arc_util::task_local! {
///     /// The user that sent the request.
///     static USER: String;
///     static DEPTH: u32;
/// }
///
/// # #[arc::main]
/// # async fn main() {
/// let task = arc::spawn(USER.scope("ann".to_owned(), async {
///     arc::task::yield_now().await;
///     USER.with(|user| format!("hello {user}"))
/// }));
/// assert_eq!(task.await.unwrap(), "hello ann");
/// assert!(USER.try_with(|_| ()).is_err());
/// assert_eq!(DEPTH.sync_scope(1, || DEPTH.get() + 1), 2);
/// # }
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$meta:meta])* $visibility:vis static $name:ident: $type:ty $(; $($rest:tt)*)?) => {
        $(#[$meta])*
        $visibility static $name: $crate::task::LocalKey<$type> = {
            ::std::thread_local! {
                static VALUE: ::std::cell::RefCell<::std::option::Option<$type>> =
                    const { ::std::cell::RefCell::new(::std::option::Option::None) };
            }
            $crate::task::LocalKey::__new(VALUE)
        };
        $($crate::task_local! { $($rest)* })?
    };
}

/// A key for a value that belongs to a task; declared by [`task_local!`](crate::task_local).
///
/// A task sees the value while it runs inside a [`scope`](Self::scope), on whatever thread it
/// runs. Tasks that it spawns do not see the value.
///
/// Do not call `block_on` of a current-thread runtime inside a
/// [`sync_scope`](Self::sync_scope): it runs the runtime's tasks on the calling thread, and
/// they would see the value.
pub struct LocalKey<T: 'static> {
    value: thread::LocalKey<RefCell<Option<T>>>,
}

impl<T: 'static> LocalKey<T> {
    // Public because the expansion of `task_local!` calls it.
    #[doc(hidden)]
    pub const fn __new(value: thread::LocalKey<RefCell<Option<T>>>) -> Self {
        Self { value }
    }

    /// Wraps a future so that it sees `value` whenever it is polled, and when it is dropped.
    ///
    /// Scopes of one key can be nested: the value of the innermost scope counts.
    ///
    /// # Panics
    ///
    /// The returned future panics when it is polled inside [`with`](Self::with) of the same
    /// key. When it is dropped inside `with`, it does not panic: its drop sees the value that
    /// `with` looks at.
    ///
    /// # Cancellation
    ///
    /// As cancel safe as the inner future.
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> TaskLocalFuture<T, F> {
        TaskLocalFuture {
            future: Some(future),
            value: Some(value),
            key: self,
            pinned: PhantomPinned,
        }
    }

    /// Calls a function that sees `value`.
    ///
    /// # Panics
    ///
    /// Panics when the function does, when called inside [`with`](Self::with) of the same key,
    /// and when the thread is about to end.
    #[track_caller]
    pub fn sync_scope<R>(&'static self, value: T, function: impl FnOnce() -> R) -> R {
        let mut value = Some(value);
        let _guard = Swapped::new(self, &mut value);
        function()
    }

    /// Calls a function with a reference to the value.
    ///
    /// # Panics
    ///
    /// Panics outside a scope of this key.
    #[track_caller]
    pub fn with<R>(&'static self, act: impl FnOnce(&T) -> R) -> R {
        // Not inside a closure, so that the panic has the caller's location.
        match self.try_with(act) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// Calls a function with a reference to the value.
    ///
    /// # Errors
    ///
    /// Fails outside a scope of this key.
    pub fn try_with<R>(&'static self, act: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let result = self.value.try_with(|value| value.borrow().as_ref().map(act));
        result.ok().flatten().ok_or(AccessError(()))
    }

    /// Returns a clone of the value.
    ///
    /// # Panics
    ///
    /// Panics outside a scope of this key.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// Returns a clone of the value.
    ///
    /// # Errors
    ///
    /// Fails outside a scope of this key.
    pub fn try_get(&'static self) -> Result<T, AccessError>
    where
        T: Clone,
    {
        self.try_with(T::clone)
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LocalKey")
    }
}

/// The error of using a task-local value outside a scope of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessError(());

impl fmt::Display for AccessError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a task-local value was used outside a scope of its key")
    }
}

impl std::error::Error for AccessError {}

/// Exchanges the thread's value with `value`, and exchanges them back when it is dropped, even
/// by a panic.
struct Swapped<'a, T: 'static> {
    key: &'static LocalKey<T>,
    value: &'a mut Option<T>,
}

impl<'a, T: 'static> Swapped<'a, T> {
    #[track_caller]
    fn new(key: &'static LocalKey<T>, value: &'a mut Option<T>) -> Self {
        let swapped = key.value.with(|place| match place.try_borrow_mut() {
            Ok(mut place) => {
                std::mem::swap(&mut *place, value);
                true
            }
            Err(_) => false,
        });

        // Not inside the closure, so that the panic has the caller's location.
        assert!(swapped, "a scope of a task-local value was entered inside `with` of its key");
        Self { key, value }
    }
}

impl<T: 'static> Drop for Swapped<'_, T> {
    fn drop(&mut self) {
        // This fails only when the thread-local is destroyed: the thread ends and drops the
        // task. Then there is no place to restore.
        let swap = |place: &RefCell<Option<T>>| {
            std::mem::swap(&mut *place.borrow_mut(), self.value);
        };
        let _ = self.key.value.try_with(swap);
    }
}

pin_project! {
    /// A future that sees its own value of a key; made by [`LocalKey::scope`]. As tokio's, it must
    /// be pinned.
    #[must_use = "futures do nothing unless awaited"]
    pub struct TaskLocalFuture<T: 'static, F> {
        // `None` once the future has been dropped.
        #[pin]
        future: Option<F>,
        // `None` while the future is polled: the thread-local holds the value then.
        value: Option<T>,
        key: &'static LocalKey<T>,
        #[pin]
        pinned: PhantomPinned,
    }

    impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                // Drops inside the future see its value, unless `with` borrows the place now.
                // A drop must not panic for that.
                let is_free = this.key.value.try_with(|value| value.try_borrow_mut().is_ok());
                let _guard = (is_free == Ok(true)).then(|| Swapped::new(this.key, this.value));
                this.future.set(None);
            }
        }
    }
}

impl<T: 'static, F> TaskLocalFuture<T, F> {
    /// Takes the value out, so that the future no longer sees it. Returns `None` if it was
    /// taken before.
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.project().value.take()
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let _guard = Swapped::new(this.key, this.value);

        let future = this.future.as_mut().as_pin_mut();
        let polled = future.map_or(Poll::Pending, |future| future.poll(context));
        if polled.is_ready() {
            // Drop the future while the guard still gives it the value.
            this.future.set(None);
        }
        polled
    }
}

impl<T: 'static, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TaskLocalFuture")
    }
}
