//! Check before the first trial that a testbed can work at all.
//!
//! Owns which of the doctor's findings refuse a run, and how they are reported: each at its place
//! in the testbed's file. Never looks at a lab, which this program built, nor at a model.

use std::fmt::Write as _;

use measure::units::FRAMING_OCTETS;
use measure::{FrameSize, Nanos};
use page::words::first_names;
use study::StudySpec;
use trial::{PortRef, Protocol};

use super::Failure;
use crate::config::ConfigError;
use crate::config::resolved::{Source, Testbed as Place};
use crate::config::written::Part;
use crate::controller::Opened;
use crate::doctor::{self, Finding, Looked, Spoils, State};

/// Most things found that a run's notes name.
const MOST_DOUBTS: usize = 12;
/// Most places named for one of them.
const NAMED: usize = 6;

/// What a check found that refuses nothing.
#[derive(Debug, Default)]
pub struct Noted {
    /// What may only spoil figures.
    pub doubts: Vec<String>,
    /// Pairs of which one end only may begin, or is seen under another address.
    pub directions: Vec<String>,
    /// Tunnel with the smallest MTU among the test ports, and that MTU.
    pub shortest_tunnel: Option<(PortRef, u32)>,
}

impl Noted {
    /// Everything, for a run's notes.
    pub fn into_notes(self) -> Vec<String> {
        self.directions.into_iter().chain(self.doubts).collect()
    }
}

/// Refuses hosts, ports and cables with which no trial can be valid. Returns what else was found;
/// the testbed keeps which ways open.
pub fn check(opened: &mut Opened, place: &Place, studies: &[StudySpec]) -> Result<Noted, Failure> {
    let Source::Hosts(_) = &place.source else { return Ok(Noted::default()) };
    let changing = studies.iter().any(is_changing);
    let Some(live) = opened.live() else { return Ok(Noted::default()) };
    // Devices that are yet to be set up lead nowhere, nor do cables that are yet to be plugged.
    let Looked { findings, shortest_tunnel } =
        if changing { doctor::look_at_hosts(live)? } else { doctor::look(live, Nanos::ZERO)? };
    let bad = || findings.iter().filter(|finding| finding.state == State::Bad);
    let refused: Vec<ConfigError> =
        bad().filter_map(|finding| refusal(finding, place, studies)).collect();
    let Some(first) = one_error(&refused, &place.name) else {
        let directions = findings.iter().filter(|finding| finding.check == doctor::DIRECTIONS);
        let directions = directions.map(|finding| finding.found.clone()).collect();
        return Ok(Noted { doubts: warnings(bad()), directions, shortest_tunnel });
    };
    Err(first.into())
}

/// Shortens frames of new studies that the testbed's shortest tunnel does not take; returns a
/// warning of it.
pub fn shorten(noted: &Noted, studies: &mut [StudySpec]) -> Option<String> {
    let (port, mtu) = noted.shortest_tunnel.as_ref()?;
    let most = FrameSize::new(mtu + FRAMING_OCTETS).ok()?;
    let mut longer: Vec<FrameSize> =
        studies.iter_mut().flat_map(|study| study.shorten_frames(most)).collect();
    longer.sort_unstable();
    longer.dedup();
    let sizes = longer.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let warning = format!(
        "{port}: MTU: {mtu} takes no frames of {sizes} octets: frames of {most} are measured instead"
    );
    (!longer.is_empty()).then_some(warning)
}

/// True if cables are plugged or a command changes the device before a trial can work.
fn is_changing(study: &StudySpec) -> bool {
    let varied = study.subjects().iter().any(|subject| subject.variant.is_some());
    varied || study.campaign().is_some()
}

fn refusal(finding: &Finding, place: &Place, studies: &[StudySpec]) -> Option<ConfigError> {
    let (of, part) = match &finding.spoils {
        Spoils::Everything { of, part } => (of, *part),
        Spoils::Flows { protocol, of } if carry(studies, *protocol) => (of, Part::Address),
        Spoils::Flows { .. } | Spoils::Figures => return None,
    };
    if part == Part::Cable && studies.iter().any(is_changing) {
        return None;
    }
    let hint = finding.fix.as_deref().unwrap_or_default();
    let message = format!("{}: {}: {}", finding.place, finding.check, finding.found);
    Some(place.written.error(of, part, &message, hint))
}

/// True if a study, or one of a campaign, needs flows of this protocol.
fn carry(studies: &[StudySpec], protocol: Protocol) -> bool {
    studies.iter().any(|study| match study.campaign() {
        Some(campaign) => carry(&campaign.studies, protocol),
        None => study.needs().carries(protocol),
    })
}

/// Joins all of them, the first as the error.
fn one_error(refused: &[ConfigError], testbed: &str) -> Option<ConfigError> {
    let (first, more) = refused.split_first()?;
    let mut also = String::new();
    for other in more {
        let _ = write!(also, "also: {}", other.render(&other.hint));
    }
    let hint = format!(
        "{}; `switchmark doctor --testbed {testbed}` shows all that was looked at",
        first.hint
    );
    Some(ConfigError { hint, also, ..first.clone() })
}

/// One line for each thing that was found, with the first places where it was found; the fix is
/// that of the first.
fn warnings<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<String> {
    let mut grouped: Vec<(&Finding, Vec<String>)> = Vec::new();
    for finding in findings {
        let is_same = |one: &Finding| one.check == finding.check && one.found == finding.found;
        match grouped.iter_mut().find(|(first, _)| is_same(first)) {
            Some((_, places)) => places.push(finding.place.clone()),
            None => grouped.push((finding, vec![finding.place.clone()])),
        }
    }
    let more = grouped.len().saturating_sub(MOST_DOUBTS);
    let line = |(finding, places): (&Finding, Vec<String>)| {
        let fix = finding.fix.as_ref().map_or_else(String::new, |fix| format!(" (`{fix}`)"));
        let places = first_names(&places, NAMED);
        format!("{places}: {}: {}{fix}", finding.check, finding.found)
    };
    let lines = grouped.into_iter().take(MOST_DOUBTS).map(line);
    let others =
        || format!("and {more} more of the hosts, ports and cables: `switchmark doctor` has all");
    lines.chain((more > 0).then(others)).collect()
}
