//! tokio's context on all threads of a runtime that arc's own builder builds.

use super::enter::handle;
use arc::runtime::Builder;
use arc_util::tokio_rt::enter_for_good;
use tokio::runtime::EnterGuard;

/// Puts tokio's context on every thread of the runtime that is built next, and on the calling one.
///
/// Crates that call tokio then work wherever they are called: in tasks, in jobs of
/// `spawn_blocking`, in the future of `block_on`, and when a value is dropped, also by the end of
/// the runtime. They can use tokio's timers and sockets, and call `tokio::spawn`.
///
/// A runtime of arc-async, or of arc-util, has the context by itself, with the feature `tokio-rt`:
/// this is for the builder of arc-runtime alone. There it is one line, the option `with` of
/// `#[arc::main]` and `#[arc::test]`:
///
/// ```
/// use std::time::Duration;
///
/// #[arc::main(with = arc_compat::tokio::everywhere)]
/// async fn main() {
///     // As a crate that knows only tokio does it.
///     let task = arc::spawn(async {
///         tokio::time::sleep(Duration::from_millis(1)).await;
///         tokio::spawn(async { 6 * 7 }).await
///     });
///     assert_eq!(task.await.unwrap().unwrap(), 42);
/// }
/// ```
///
/// The calling thread keeps the context until the value is dropped that this returns. Drop it after
/// the runtime, so that the context is still there when the runtime drops its tasks. The macros do
/// so. To put the context on the threads of the runtime alone, use
/// [`enter_tokio`](BuilderExt::enter_tokio).
///
/// # What it costs
///
/// It starts the same tokio runtime as [`enter`](super::enter()), once in a process: three threads
/// that sleep as long as nobody uses tokio, 8 descriptors, and 0.2 MB of memory. To be in the
/// context costs a task nothing. What runs on tokio costs what it costs inside `enter`: when a
/// tokio timer or socket is ready, tokio's thread wakes the arc task.
///
/// What `tokio::spawn` is given runs on tokio's thread, and may use arc's timers, tasks and
/// sockets. What it spawns on arc runs on the other thread.
///
/// # Panics
///
/// When tokio's runtime cannot be started because no descriptors or threads are left.
///
/// # Examples
///
/// With a runtime of one's own:
///
/// ```
/// use arc::runtime::Builder;
///
/// let mut builder = Builder::new_multi_thread();
/// let _tokio = arc_compat::tokio::everywhere(&mut builder);
/// let runtime = builder.build()?;
/// let task = runtime.block_on(async { tokio::spawn(async { 6 * 7 }).await });
/// assert_eq!(task?, 42);
/// # std::io::Result::Ok(())
/// ```
pub fn everywhere(builder: &mut impl BuilderExt) -> EnterGuard<'static> {
    builder.enter_tokio();
    handle().enter()
}

/// Adds tokio's context to the settings of a [`Builder`]. That of arc-util has it already.
pub trait BuilderExt {
    /// Puts tokio's context on every thread of the runtime: its workers, and those of
    /// `spawn_blocking`.
    ///
    /// A thread that calls `block_on` is no thread of the runtime, but for this flavor: a
    /// current-thread runtime runs its tasks there. Wrap the future in [`enter`](super::enter()),
    /// or use [`everywhere`], which says more.
    ///
    /// # Panics
    ///
    /// When tokio's runtime cannot be started because no descriptors or threads are left.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::runtime::Builder;
    /// use arc_compat::tokio::BuilderExt;
    ///
    /// let runtime = Builder::new_multi_thread().enter_tokio().build()?;
    /// let task = runtime.spawn(async { tokio::spawn(async { 6 * 7 }).await });
    /// assert_eq!(runtime.block_on(task)??, 42);
    /// # std::io::Result::Ok(())
    /// ```
    fn enter_tokio(&mut self) -> &mut Self;
}

impl BuilderExt for Builder {
    fn enter_tokio(&mut self) -> &mut Self {
        // A panic in the hook would only be printed: start the runtime here.
        handle();
        self.on_thread_start(enter_for_good)
    }
}

/// It does so by itself, with the feature that this trait is behind.
impl BuilderExt for arc_util::runtime::Builder {
    fn enter_tokio(&mut self) -> &mut Self {
        self
    }
}
