//! Whether ports are equally fast, where no slow one was found and nothing else was compared.
//!
//! Never calls ports equal whose intervals leave it open.

use measure::blocks::paired_ratio;
use trial::PortRef;

use super::Measured;
use super::own::{Of, OwnRates};
use super::slow::{SlowPort, is_level};
use crate::fabric::scene::FEWEST_PORTS;
use crate::rows::CONFIDENCE;

/// Comparison of ports with each other.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum Evenness {
    /// All ports are equally fast, within the margin.
    Even {
        /// Number of ports.
        ports: usize,
        /// Difference that does not matter.
        margin: f64,
    },
    /// Fewer ports than tell which of them is slow.
    FewPorts,
    /// Ports whose intervals reach below the margin.
    Open(Vec<String>),
}

/// Compares a scene's ports; `None` where one is slow, or where none met enough partners.
pub(super) fn evenness(
    measured: Measured<'_>,
    at: usize,
    own: &OwnRates,
    slow: &[SlowPort],
) -> Option<Evenness> {
    let compared = own.compared(&measured.scenes[at].ports);
    if !slow.is_empty() || compared.is_empty() {
        return None;
    }
    if compared.len() < FEWEST_PORTS {
        return Some(Evenness::FewPorts);
    }
    let margin = measured.spec.margin;
    let is_open = |port: &&&PortRef| {
        let ratio = paired_ratio(&own.beside_others(port, Of::Link), CONFIDENCE, measured.seed);
        !ratio.is_some_and(|ratio| is_level(ratio, margin))
    };
    let open: Vec<String> = compared.iter().filter(is_open).map(ToString::to_string).collect();
    Some(if open.is_empty() {
        Evenness::Even { ports: compared.len(), margin }
    } else {
        Evenness::Open(open)
    })
}
