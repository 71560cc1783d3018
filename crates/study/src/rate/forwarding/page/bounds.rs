//! Values that are only bounds on a device because the tester was the limit, with the reasons.
//!
//! Owns the reasons alone: the values are in the tables of rates and bursts. Never decides that the
//! tester was the limit; the study's verdict does.

use page::{Block, Caveat, Cell, Figure, Style};

use super::super::finding::{ForwardingFinding, OneWay};
use super::rated::{Kind, bound};
use super::rates;
use super::{listing, shows_bound};

/// Value that may be a bound.
struct Candidate<'a> {
    way: OneWay<'a, Figure>,
    /// Kind of rate; `None` for a burst.
    kind: Option<Kind>,
    cable: Option<&'a Figure>,
}

impl Candidate<'_> {
    fn reason(&self) -> Cell {
        let reason = if self.way.found.caveats.contains(&Caveat::SearchCeiling) {
            "it was never seen to fail: the search ended at the highest load that could be offered"
                .to_owned()
        } else {
            bound(&self.way, self.cable)
                .unwrap_or_else(|| "there is no device in this path".to_owned())
        };
        Cell::text(reason).with_style(Style::Long)
    }
}

pub(super) fn blocks(found: &ForwardingFinding) -> Vec<Block> {
    let rates = rates::all(found).into_iter().map(|rated| Candidate {
        way: rated.way.with(rated.value()),
        kind: Some(rated.kind()),
        cable: rated.cable,
    });
    let bursts = found.bursts.iter().map(|case| Candidate {
        way: case.device.way(),
        kind: None,
        cable: case.cable.as_ref().map(|cable| &cable.burst.value),
    });
    let is_told = |one: &Candidate<'_>| one.way.place().is_whole() && shows_bound(&one.way);
    let mut bounds: Vec<Candidate<'_>> = rates.chain(bursts).filter(is_told).collect();
    bounds.sort_by_key(|one| {
        let traffic = one.way.traffic;
        (traffic.frames.clone(), traffic.place.who.clone(), one.kind.is_none(), one.kind)
    });
    let title = "Tester-limited: the device does at least what is stated, and how much more is not \
                 known";
    let name = |kind: Option<Kind>| kind.map_or_else(|| "longest burst".to_owned(), Kind::name);
    let table = listing(title, bounds, |one| one.way)
        .column("what", |one| Cell::text(name(one.kind)))
        .column("why", Candidate::reason)
        .column("limited by", |one| Cell::limit(&[one.way.found]))
        .table()
        .page_only(&["octets", "device", "what", "why", "limited by"]);
    table.unless_empty().map(Block::Table).into_iter().collect()
}
