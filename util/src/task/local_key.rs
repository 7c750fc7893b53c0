//! Values that belong to a task, as thread-locals belong to a thread.

use pin_project_lite::pin_project;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

/// Declares [`LocalKey`]s, as `thread_local!` declares thread-locals, but without a
/// value: that is given for as long as a future runs.
///
/// # Examples
///
/// ```
/// arc_util::task_local! {
///     /// Whose request it is.
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

/// A value that a task sees while it runs in a [`scope`](Self::scope), on whatever
/// thread; made by [`task_local!`](crate::task_local). Tasks that it spawns do not
/// see it. (But do not call `block_on` in a [`sync_scope`](Self::sync_scope): the thread runs
/// other tasks meanwhile, and they see the value.)
pub struct LocalKey<T: 'static> {
    value: thread::LocalKey<RefCell<Option<T>>>,
}

impl<T: 'static> LocalKey<T> {
    // The macro has to reach it.
    #[doc(hidden)]
    pub const fn __new(value: thread::LocalKey<RefCell<Option<T>>>) -> Self {
        Self { value }
    }

    /// Gives the future the value, whenever it is polled, and when it is dropped.
    /// Scopes of one key can be nested: the innermost counts.
    ///
    /// # Panics
    ///
    /// The future panics when it is polled inside [`with`](Self::with) of the same key. When
    /// it is dropped there, its drop sees the value that `with` looks at.
    ///
    /// # Cancellation
    ///
    /// As the inner future's.
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> TaskLocalFuture<T, F> {
        TaskLocalFuture { future: Some(future), value: Some(value), key: self }
    }

    /// Gives a function the value.
    ///
    /// # Panics
    ///
    /// When the function does; inside [`with`](Self::with) of the same key; and if the
    /// thread is about to end.
    #[track_caller]
    pub fn sync_scope<R>(&'static self, value: T, function: impl FnOnce() -> R) -> R {
        let mut value = Some(value);
        let _guard = Swapped::new(self, &mut value);
        function()
    }

    /// Looks at the value.
    ///
    /// # Panics
    ///
    /// Outside a scope of this key.
    #[track_caller]
    pub fn with<R>(&'static self, act: impl FnOnce(&T) -> R) -> R {
        let result = self.try_with(act);
        result.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Looks at the value.
    ///
    /// # Errors
    ///
    /// Outside a scope of this key.
    pub fn try_with<R>(&'static self, act: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let result = self.value.try_with(|value| value.borrow().as_ref().map(act));
        result.ok().flatten().ok_or(AccessError(()))
    }

    /// A copy of the value.
    ///
    /// # Panics
    ///
    /// Outside a scope of this key.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// A copy of the value.
    ///
    /// # Errors
    ///
    /// Outside a scope of this key.
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

/// There is no value outside a scope of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessError(());

impl fmt::Display for AccessError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a task-local value was used outside a scope of its key")
    }
}

impl std::error::Error for AccessError {}

/// Has the thread's value and another's place changed; changes them back at its end,
/// which may be a panic.
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
        assert!(swapped, "a scope of a task-local value was entered inside `with` of its key");
        Self { key, value }
    }
}

impl<T: 'static> Drop for Swapped<'_, T> {
    fn drop(&mut self) {
        // The thread's value is gone only if the thread ends, with the task on it.
        let swap = |place: &RefCell<Option<T>>| {
            std::mem::swap(&mut *place.borrow_mut(), self.value);
        };
        let _ = self.key.value.try_with(swap);
    }
}

pin_project! {
    /// A future that has a value of its own; from [`LocalKey::scope`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct TaskLocalFuture<T: 'static, F> {
        // None once it is dropped.
        #[pin]
        future: Option<F>,
        // None while it is polled.
        value: Option<T>,
        key: &'static LocalKey<T>,
    }

    impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                // What is dropped inside may want the value, but need not have it.
                let is_free = this.key.value.try_with(|value| value.try_borrow_mut().is_ok());
                let _guard = (is_free == Ok(true)).then(|| Swapped::new(this.key, this.value));
                this.future.set(None);
            }
        }
    }
}

impl<T: 'static, F> TaskLocalFuture<T, F> {
    /// Takes the value out; then the future has none. None: it was taken before.
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
            // Here, where it has the value.
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
