//! Numbered pieces of work on several threads, and their messages while they go on.
//!
//! Owns the threads. What a piece is and when there is none left is the caller's to say.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Interval between two looks at the clock.
const LOOK: Duration = Duration::from_millis(100);

/// Returns the number of this machine's processors.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Does pieces 0, 1, 2… on `workers` threads until `work` returns that there is none left. `hear`
/// gets their messages, and nothing when there was none for a while.
pub fn side_by_side<T: Send>(
    workers: usize,
    work: impl Fn(usize, &Sender<T>) -> bool + Sync,
    mut hear: impl FnMut(Option<T>),
) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for _ in 0..workers {
            let (tell, next, work) = (tell.clone(), &next, &work);
            scope.spawn(move || while work(next.fetch_add(1, Ordering::Relaxed), &tell) {});
        }
        drop(tell);
        loop {
            match told.recv_timeout(LOOK) {
                Ok(one) => hear(Some(one)),
                Err(RecvTimeoutError::Timeout) => hear(None),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    });
}
