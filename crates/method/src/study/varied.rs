//! What campaigns and comparisons ask of any study: of one device, in one size, once.
//!
//! A study without repetitions of its own, or without frames, says nothing.

use super::Blocks;
use measure::FrameSize;
use trial::Subject;

/// The parts of a request that others set.
pub trait Varied {
    /// The devices that are named; none: the first as it is found.
    fn subjects(&self) -> Vec<Subject>;

    /// Itself, whichever study it is.
    fn varied(&mut self) -> &mut dyn Varied
    where
        Self: Sized,
    {
        self
    }

    /// Has it ask about this device alone.
    fn set_subject(&mut self, subject: Subject);

    /// Has it use frames of this size alone; false where it has no frame size to vary.
    fn set_size(&mut self, _size: FrameSize) -> bool {
        false
    }

    /// How often all of it is repeated.
    fn blocks(&mut self) -> Option<&mut Blocks> {
        None
    }

    /// Leaves of it what its blocks repeat; false where that is nothing.
    fn keep_repeated(&mut self) -> bool {
        false
    }

    /// In how many figures of each device a comparison is about, where that is known beforehand.
    fn compared_figures(&self) -> Option<usize> {
        None
    }
}

/// For requests that have `subjects`, and `blocks` that repeat all of them.
macro_rules! repeated {
    ($spec:ty) => {
        impl $crate::study::varied::Varied for $spec {
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
