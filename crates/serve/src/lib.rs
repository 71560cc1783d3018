//! A journal's pages over HTTP: its runs, their reports, two of them compared, one under way, and
//! `/metrics`.
//!
//! Owns the one port that switchmark ever listens at, when asked: who may reach it, what is taken
//! from whoever does, and the async runtime behind it. Reads through a [`Source`], and passes on
//! what a page may have done to a run ([`Deeds`]) where the server was started so; never measures,
//! and opens no file for a request.

mod deeds;
mod guard;
mod guesses;
mod handshake;
mod identity;
mod list;
mod listen;
mod live;
mod options;
mod pages;
pub mod parts;
mod refusal;
mod routes;
mod server;
mod source;
mod stall;
mod stream;
mod token;
mod validity;

pub use deeds::{Deed, Deeds, Possible};
pub use identity::{Identity, NoIdentity};
pub use listen::{Listen, PORT, Place};
pub use options::{Limits, Options};
pub use refusal::Refusal;
pub use server::{ServeError, Server, Stopper};
pub use source::{Kind, Listing, Source, Testbed, Unavailable, Watch};
pub use token::{NoToken, Token};
pub use validity::Validity;
