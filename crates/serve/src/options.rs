//! Options of a server: where it listens, who may read, what may be requested, and its limits.
//!
//! Data alone.

use std::sync::Arc;
use std::time::Duration;

use crate::deeds::Deeds;
use crate::identity::Identity;
use crate::listen::Listen;
use crate::token::Token;

/// Options of a server.
#[derive(Debug, Default)]
pub struct Options {
    /// Place to listen at.
    pub listen: Listen,
    /// Identity in TLS; `None` for plain HTTP.
    pub identity: Option<Identity>,
    /// Secret that readers must know; required if other machines can reach the server.
    pub token: Option<Token>,
    /// Names of this host, beside its addresses and `localhost`.
    pub names: Vec<String>,
    /// Handler of the actions that pages request; `None` if pages are read-only.
    pub deeds: Option<Arc<dyn Deeds>>,
    /// Limits on connections.
    pub limits: Limits,
}

/// Limits on connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum connections at once.
    pub connections: usize,
    /// Maximum connections in a TLS handshake at once: the others keep their places.
    pub handshakes: usize,
    /// Time limit for a handshake, for a request's head, and for a form.
    pub request: Duration,
    /// Longest time for which a reader may read nothing of its answer.
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
