//! Last output on a stream.
//!
//! Owns how much is kept. Never understands it.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

/// Octets that are kept.
const TAIL_BYTES: usize = 4096;

/// Last output on a stream, shared with the thread that reads it.
#[derive(Debug, Clone, Default)]
pub struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Reads `from` until it ends, and keeps the last octets.
    pub fn keep(&self, from: &mut impl Read) {
        let mut some = [0; 512];
        while let Ok(count) = from.read(&mut some) {
            if count == 0 {
                return;
            }
            let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            tail.extend(&some[..count]);
            let surplus = tail.len().saturating_sub(TAIL_BYTES);
            tail.drain(..surplus);
        }
    }

    /// Octets kept until now.
    pub fn octets(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}
