//! Checks of a buffer study's request, before anything is built or sent.
//!
//! Owns the allowed contents of a request, and the choice of its link. Never changes a request.

use measure::units::FRAMING_OCTETS;
use measure::{Nanos, Rate};

use super::ends::Ends;
use super::{Background, BufferSpec};
use crate::Known;
use crate::problem::{self, SpecProblem, out_of_range};
use trial::topology::{PortRef, Topology};

/// Rate of the oversubscribed link: as stated, otherwise the receiver's own, otherwise the limit of
/// its device's ports.
pub(super) fn link_rate(spec: &BufferSpec, topology: &Topology, to: &PortRef) -> Option<Rate> {
    topology.port(to)?;
    spec.link_rate.or(topology.rate(to)).or(topology.limit(to))
}

/// See [`crate::StudySpec::check`].
pub(super) fn check(spec: &BufferSpec, known: Known<'_>) -> Result<(), SpecProblem> {
    problem::some("congestion control", &spec.congestion_controls)?;
    problem::some("number of streams", &spec.streams)?;
    problem::lasts(spec.duration)?;
    check_numbers(spec)?;
    let Some(topology) = known.topology else { return Ok(()) };
    let ways = spec.ways(topology)?;
    for way in ways.subjects() {
        let ends = Ends::new(ways.pair(way), spec, topology)?;
        let link = link_rate(spec, topology, &ends.to);
        for background in &spec.backgrounds {
            if let Background::Share(share) = background
                && !(*share > 0.0 && *share < 1.0)
            {
                let range = "above 0 and below 1";
                return Err(out_of_range("the background's share", &share, range));
            }
            let rate = background.frames(spec.background_size, link);
            let rate = rate.ok_or_else(|| SpecProblem::NoLinkRate { port: ends.to.to_string() })?;
            problem::rate("the background's rate", rate, spec.background_size, link)?;
        }
    }
    Ok(())
}

fn check_numbers(spec: &BufferSpec) -> Result<(), SpecProblem> {
    if spec.interval == Nanos::ZERO || spec.interval > spec.duration {
        let range = "above 0 and at most the duration";
        return Err(out_of_range("the interval", &spec.interval, range));
    }
    if spec.background_size.octets() > spec.mtu.get() + FRAMING_OCTETS {
        let range = "at most the MTU and 18 octets";
        let given = spec.background_size.to_string();
        return Err(out_of_range("the background's frame size", &given, range));
    }
    problem::link(spec.link_rate)?;
    Ok(())
}
