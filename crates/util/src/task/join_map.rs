//! A map of tasks that are awaited in the order in which they end.

use super::join_set::JoinSet;
use super::local_set::{LocalAbortHandle, LocalSet};
use arc::runtime::Handle;
use arc::task::{AbortHandle, Id, JoinError};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::hash::Hash;

/// A map of tasks with outputs of one type. Each task has a key, by which it can be aborted, and
/// which comes with its output.
///
/// Dropping the map aborts all tasks that are in it. Names and meaning are tokio-util's, but keys
/// must be `Clone` here. (tokio-util finds a key by the hash of another one.)
///
/// # Examples
///
/// ```
/// use arc_util::task::JoinMap;
/// # #[arc::main]
/// # async fn main() {
/// let mut map = JoinMap::new();
/// map.spawn("answer", async { 42 });
/// map.spawn("pending", std::future::pending());
/// assert!(map.abort("pending"));
/// while let Some((key, result)) = map.join_next().await {
///     match key {
///         "answer" => assert_eq!(result.unwrap(), 42),
///         _ => assert!(result.unwrap_err().is_cancelled()),
///     }
/// }
/// # }
/// ```
pub struct JoinMap<K, V: 'static> {
    /// Also holds tasks that were replaced, until they are joined.
    tasks: JoinSet<V>,
    /// The keys of the tasks in the map.
    keys: HashMap<Id, K>,
    aborts: HashMap<K, Abort>,
}

/// Aborts a task of either kind.
enum Abort {
    Sent(AbortHandle),
    Local(LocalAbortHandle),
}

impl Abort {
    fn abort(&self) {
        match self {
            Self::Sent(task) => task.abort(),
            Self::Local(task) => task.abort(),
        }
    }

    fn id(&self) -> Id {
        match self {
            Self::Sent(task) => task.id(),
            Self::Local(task) => task.id(),
        }
    }
}

impl<K, V: 'static> JoinMap<K, V> {
    /// Creates a map without tasks. It needs no runtime.
    #[track_caller]
    pub fn new() -> Self {
        Self { tasks: JoinSet::new(), keys: HashMap::new(), aborts: HashMap::new() }
    }

    /// Returns the number of tasks that have not been joined yet.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether all tasks have been joined.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the keys of all tasks that have not been joined yet, in no particular order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.keys.values()
    }

    /// Returns whether the map has a task of this id, which has not been joined yet.
    pub fn contains_task(&self, task: &Id) -> bool {
        self.keys.contains_key(task)
    }

    /// Aborts all tasks. They stay in the map until they are joined.
    pub fn abort_all(&mut self) {
        self.tasks.abort_all();
    }
}

impl<K: Clone + Eq + Hash, V: 'static> JoinMap<K, V> {
    /// Spawns a future that need not be `Send` as a task of the current [`LocalSet`]. See
    /// [`spawn`](Self::spawn).
    ///
    /// # Panics
    ///
    /// Panics outside a `LocalSet`.
    #[track_caller]
    pub fn spawn_local(&mut self, key: K, future: impl Future<Output = V> + 'static) {
        let task = self.tasks.spawn_local(future);
        self.insert(key, Abort::Local(task));
    }

    /// Does the same as [`spawn_local`](Self::spawn_local) in the given set of local tasks.
    pub fn spawn_local_on(
        &mut self,
        key: K,
        future: impl Future<Output = V> + 'static,
        local_set: &LocalSet,
    ) {
        let task = self.tasks.spawn_local_on(future, local_set);
        self.insert(key, Abort::Local(task));
    }

    /// Puts a task into the map. A task that has the key already is aborted, and forgotten.
    fn insert(&mut self, key: K, task: Abort) {
        self.keys.insert(task.id(), key.clone());
        if let Some(replaced) = self.aborts.insert(key, task) {
            self.keys.remove(&replaced.id());
            replaced.abort();
        }
    }

    /// Waits until one of the tasks ends, removes it from the map, and returns its key and its
    /// output. Returns `None` when the map is empty.
    ///
    /// # Errors
    ///
    /// The inner result is an error when the task panicked or was cancelled.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: a wait that is dropped removes no task.
    pub async fn join_next(&mut self) -> Option<(K, Result<V, JoinError>)> {
        loop {
            let joined = self.tasks.join_next_with_id().await?;
            if let Some(joined) = self.remove(joined) {
                return Some(joined);
            }
        }
    }

    /// Removes a task that has ended, and returns its key and its output. Does not wait. Returns
    /// `None` when no task has ended.
    ///
    /// # Errors
    ///
    /// Same as [`join_next`](Self::join_next).
    pub fn try_join_next(&mut self) -> Option<(K, Result<V, JoinError>)> {
        loop {
            let joined = self.tasks.try_join_next_with_id()?;
            if let Some(joined) = self.remove(joined) {
                return Some(joined);
            }
        }
    }

    /// Returns `None` for a task that was replaced.
    fn remove(&mut self, joined: Result<(Id, V), JoinError>) -> Option<(K, Result<V, JoinError>)> {
        let (id, result) = match joined {
            Ok((id, output)) => (id, Ok(output)),
            Err(error) => (error.id(), Err(error)),
        };
        let key = self.keys.remove(&id)?;
        self.aborts.remove(&key);
        Some((key, result))
    }

    /// Aborts the task with this key. It stays in the map until it is joined. Returns false when
    /// the map has no such task.
    pub fn abort<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let task = self.aborts.get(key);
        task.inspect(|task| task.abort()).is_some()
    }

    /// Aborts all tasks whose keys `matches` returns true for.
    pub fn abort_matching(&mut self, mut matches: impl FnMut(&K) -> bool) {
        for (key, task) in &self.aborts {
            if matches(key) {
                task.abort();
            }
        }
    }

    /// Returns whether the map has a task with this key, which has not been joined yet.
    pub fn contains_key<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.aborts.contains_key(key)
    }

    /// Removes all tasks from the map without aborting them: they continue to run.
    pub fn detach_all(&mut self) {
        self.tasks.detach_all();
        self.keys.clear();
        self.aborts.clear();
    }

    /// Aborts all tasks and waits until they have ended.
    ///
    /// # Cancellation
    ///
    /// If the future was polled at least once, all tasks have been aborted. The tasks that it did
    /// not get to join are still in the map.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }
}

/// Spawning tasks that may run on any thread.
impl<K: Clone + Eq + Hash, V: Send + 'static> JoinMap<K, V> {
    /// Spawns a future as a task of the current runtime, and puts it into the map under a key.
    ///
    /// If the map has a task with this key, that one is aborted, and is no longer in the map: its
    /// output is lost.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn(&mut self, key: K, future: impl Future<Output = V> + Send + 'static) {
        let task = self.tasks.spawn(future);
        self.insert(key, Abort::Sent(task));
    }

    /// Does the same as [`spawn`](Self::spawn) in the given runtime.
    #[track_caller]
    pub fn spawn_on(
        &mut self,
        key: K,
        future: impl Future<Output = V> + Send + 'static,
        handle: &Handle,
    ) {
        let task = self.tasks.spawn_on(future, handle);
        self.insert(key, Abort::Sent(task));
    }

    /// Runs a function that blocks on a thread of its own, and puts it into the map as a task. See
    /// [`spawn`](Self::spawn) and [`JoinSet::spawn_blocking`].
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn_blocking(&mut self, key: K, function: impl FnOnce() -> V + Send + 'static) {
        let task = self.tasks.spawn_blocking(function);
        self.insert(key, Abort::Sent(task));
    }
}

impl<K, V: 'static> Default for JoinMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: 'static> fmt::Debug for JoinMap<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JoinMap ")?;
        formatter.debug_set().entries(self.keys()).finish()
    }
}
