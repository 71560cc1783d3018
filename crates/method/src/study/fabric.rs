//! The study `fabric`: does every pair of ports get what one pair alone gets, whichever ports talk?
//!
//! In each trial all pairs of one arrangement exchange messages at once; floods tell which ports
//! share an uplink. Never times a send: a sender that is done has only filled a buffer.

pub mod arrangement;
mod cell;
mod finding;
mod floods;
mod gone;
mod infer;
mod page;
mod request;
mod rounds;
mod run;
mod scene;
mod spec;

pub use arrangement::{Arrangement, Matching};
pub use request::{Fabric, Margin};
pub use spec::{FabricSpec, Nodes};

/// A trial's place: its scene, its cell there, and the round.
type Place = (usize, usize, usize);
