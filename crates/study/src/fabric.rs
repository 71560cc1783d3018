//! The study `fabric`: does every pair of ports get what one pair alone gets, for any pairing?
//!
//! In each trial all pairs of one arrangement exchange messages at once, or all ports carry out a
//! collective; floods show which ports share an uplink. Never times a send: a completed send has
//! only filled a buffer.

pub mod arrangement;
mod cell;
mod collective;
mod control;
mod finding;
mod floods;
mod gone;
mod infer;
mod page;
mod payload;
mod probe;
mod quiet;
mod request;
mod rounds;
mod run;
mod scene;
mod spec;

pub use arrangement::{Arrangement, Matching};
pub use request::{Fabric, Margin};
pub use spec::{FabricSpec, Nodes};

/// Place of a trial: its scene, its cell there, and the round.
type Place = (usize, usize, usize);
