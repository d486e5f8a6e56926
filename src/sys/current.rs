//! A value that is replaced as a whole while others read it.

use std::sync::{Arc, PoisonError, RwLock};

/// What is in force. Whoever reads it keeps what they have read, however often it is replaced meanwhile.
pub struct HotSwap<T> {
    value: RwLock<Arc<T>>,
}

impl<T> HotSwap<T> {
    pub fn new(value: T) -> HotSwap<T> {
        HotSwap { value: RwLock::new(Arc::new(value)) }
    }

    pub fn get(&self) -> Arc<T> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        Arc::clone(&self.value.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn replace(&self, value: T) {
        *self.value.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }
}
