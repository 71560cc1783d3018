//! Settings that campaigns and comparisons make in any study: one device, one size, one block.
//!
//! A study without repetitions of its own, or without frames, keeps the defaults.

use super::Blocks;
use measure::FrameSize;
use trial::Subject;

/// Parts of a request that a campaign or comparison sets.
pub trait Varied {
    /// Named devices under test; if empty, the first as found.
    fn subjects(&self) -> Vec<Subject>;

    /// Returns the request as a trait object.
    fn varied(&mut self) -> &mut dyn Varied
    where
        Self: Sized,
    {
        self
    }

    /// Restricts the request to this device.
    fn set_subject(&mut self, subject: Subject);

    /// Restricts the request to frames of this size; false if it has no frame size to vary.
    fn set_size(&mut self, _size: FrameSize) -> bool {
        false
    }

    /// Number of repetitions of the whole request; `None` if it has none.
    fn blocks(&mut self) -> Option<&mut Blocks> {
        None
    }

    /// Keeps only the part that the blocks repeat; false if there is none.
    fn keep_repeated(&mut self) -> bool {
        false
    }

    /// Number of compared figures per device; `None` if unknown beforehand.
    fn compared_figures(&self) -> Option<usize> {
        None
    }
}

/// Implements [`Varied`] for requests with `subjects`, and with `blocks` that repeat all of them.
macro_rules! repeated {
    ($spec:ty) => {
        impl $crate::varied::Varied for $spec {
            fn subjects(&self) -> Vec<trial::Subject> {
                self.subjects.clone()
            }

            fn set_subject(&mut self, subject: trial::Subject) {
                self.subjects = vec![subject];
            }

            fn blocks(&mut self) -> Option<&mut Blocks> {
                Some(&mut self.blocks)
            }

            fn keep_repeated(&mut self) -> bool {
                true
            }
        }
    };
}
pub(super) use repeated;
