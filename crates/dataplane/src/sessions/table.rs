//! Connections by their descriptors: the kernel always gives the lowest free number, so that a
//! vector has few holes.
//!
//! Never closes a connection by itself: the caller drops what it takes out.

use std::os::fd::AsRawFd;

/// Values by descriptor.
pub(super) struct Table<T> {
    places: Vec<Option<T>>,
    count: u64,
}

impl<T> Table<T> {
    pub(super) const fn new() -> Self {
        Self { places: Vec::new(), count: 0 }
    }

    pub(super) fn insert(&mut self, socket: &impl AsRawFd, value: T) {
        let at = socket.as_raw_fd() as usize;
        if self.places.len() <= at {
            self.places.resize_with(at + 1, || None);
        }
        self.count += u64::from(self.places[at].is_none());
        self.places[at] = Some(value);
    }

    pub(super) fn get(&mut self, at: usize) -> Option<&mut T> {
        self.places.get_mut(at)?.as_mut()
    }

    pub(super) fn take(&mut self, at: usize) -> Option<T> {
        let value = self.places.get_mut(at)?.take();
        self.count -= u64::from(value.is_some());
        value
    }

    /// Number of values.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Descriptors with a value.
    pub(super) fn in_use(&self) -> Vec<usize> {
        let taken = self.places.iter().enumerate().filter(|(_, place)| place.is_some());
        taken.map(|(at, _)| at).collect()
    }
}
