//! What is asked of a study, by a verb's flags or by a plan's table: one struct a study, from which
//! both are read, and the complete request that it comes to.
//!
//! Owns the studies' options: to add one is to add a field. Never runs a study, and never decides
//! what nobody stated: that is the study's profile, or the testbed.

pub mod buffer;
pub mod depth;
pub mod fabric;
pub mod forwarding;
pub mod given;
pub mod latency;
pub mod storage;
pub mod switching;
pub mod tcp;
pub mod values;

use method::{Profile, StudySpec};

use crate::config::resolved::Testbed;
use crate::config::source::Fault;
pub use buffer::Buffer;
pub use depth::Depth;
pub use fabric::Fabric;
pub use forwarding::Forwarding;
use given::Given;
pub use latency::Latency;
pub use storage::Storage;
pub use switching::Switching;
pub use tcp::Tcp;

/// One study's options, as they were stated.
pub trait StudyRequest {
    /// The complete request on a testbed; a fault names the flag, or has its place in the plan.
    fn resolve(&self, testbed: &Testbed) -> Result<StudySpec, Fault>;

    /// Has so many hosts of the testbed go round the device's ports, and says whether it can.
    fn go_round(&mut self, _hosts: u32) -> bool {
        false
    }
}

/// Quick where nothing is stated.
#[expect(clippy::ref_option, reason = "a field of a request is an option")]
fn strict(profile: &Option<Given<Profile>>) -> bool {
    profile.as_ref().is_some_and(|profile| profile.value == Profile::Strict)
}
