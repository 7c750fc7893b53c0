//! Thread-locals of the models' threads, with the names and methods of std's.

use crate::sync::{AccessError, RawKey};
use std::cell::{Cell, RefCell};

/// Takes the place of std's in the modules that come after this one.
macro_rules! thread_local {
    ($(#[$attribute:meta])* static $name:ident: $kind:ty = const $init:block $(;)?) => {
        $(#[$attribute])*
        static $name: crate::local::LocalKey<$kind> =
            crate::local::LocalKey(crate::sync::RawKey {
                init: || $init,
                _p: std::marker::PhantomData,
            });
    };
    // What the system tells of a thread differs from run to run. Here that is nothing.
    ($(#[$attribute:meta])* static $name:ident: $kind:ty = $told:expr $(;)?) => {
        thread_local! {
            $(#[$attribute])*
            static $name: $kind = const {
                let _ = || -> $kind { $told };
                None
            };
        }
    };
}

pub(crate) struct LocalKey<T: 'static>(pub(crate) RawKey<T>);

impl<T> LocalKey<T> {
    pub(crate) fn with<R>(&'static self, function: impl FnOnce(&T) -> R) -> R {
        self.0.with(function)
    }

    pub(crate) fn try_with<R>(
        &'static self,
        function: impl FnOnce(&T) -> R,
    ) -> Result<R, AccessError> {
        self.0.try_with(function)
    }
}

impl<T: Copy> LocalKey<Cell<T>> {
    pub(crate) fn set(&'static self, value: T) {
        self.0.with(|cell| cell.set(value));
    }

    pub(crate) fn get(&'static self) -> T {
        self.0.with(Cell::get)
    }

    pub(crate) fn replace(&'static self, value: T) -> T {
        self.0.with(|cell| cell.replace(value))
    }
}

impl<T> LocalKey<RefCell<T>> {
    pub(crate) fn with_borrow<R>(&'static self, function: impl FnOnce(&T) -> R) -> R {
        self.0.with(|cell| function(&cell.borrow()))
    }

    pub(crate) fn with_borrow_mut<R>(&'static self, function: impl FnOnce(&mut T) -> R) -> R {
        self.0.with(|cell| function(&mut cell.borrow_mut()))
    }

    pub(crate) fn replace(&'static self, value: T) -> T {
        self.0.with(|cell| cell.replace(value))
    }
}
