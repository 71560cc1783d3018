//! How a server is started: where it listens, who may read, what may be asked for, and its limits.
//!
//! Data alone.

use std::sync::Arc;
use std::time::Duration;

use crate::deeds::Deeds;
use crate::identity::Identity;
use crate::listen::Listen;
use crate::token::Token;

/// How a server is started.
#[derive(Debug, Default)]
pub struct Options {
    /// Where.
    pub listen: Listen,
    /// Who it is by TLS; without, it speaks plain HTTP.
    pub identity: Option<Identity>,
    /// What whoever reads has to know; needed where others than this machine can.
    pub token: Option<Token>,
    /// Names of this host, beside its addresses and `localhost`.
    pub names: Vec<String>,
    /// Who does what pages ask for; without, they only read.
    pub deeds: Option<Arc<dyn Deeds>>,
    /// What is taken from each connection, and how many there may be.
    pub limits: Limits,
}

/// What is taken from connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many there may be at once.
    pub connections: usize,
    /// How many of them may be in a TLS handshake: the others keep their places.
    pub handshakes: usize,
    /// Within this time a handshake has to be done, a request's head has to be there, and a form.
    pub request: Duration,
    /// So long a reader may read nothing of what it is sent.
    pub stalled: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            handshakes: 64,
            request: Duration::from_secs(10),
            stalled: Duration::from_secs(20),
        }
    }
}
