//! Which values are only bounds on a device, and why: where the tester was the limit.
//!
//! Owns the reasons alone: the values stand in the tables of rates and bursts. Never decides that
//! the tester was the limit; the study's verdict does.

use page::{Block, Caveat, Cell, Figure, Style, Table, Verdict};

use super::super::finding::{ForwardingFinding, Traffic, has_caveat};
use super::rates::{self, Kind, bound};
use crate::study::view::Place;

/// A value that shows the tester's limit and not the device's.
struct Bounded<'a> {
    traffic: &'a Traffic,
    place: Place,
    /// None of a burst.
    kind: Option<Kind>,
    value: &'a Figure,
    cable: Option<&'a Figure>,
}

impl Bounded<'_> {
    fn cells(&self) -> Vec<Cell> {
        let name = self.kind.map_or_else(|| "longest burst".to_owned(), Kind::name);
        vec![
            self.traffic.frames.cell(),
            self.place.cell(),
            Cell::text(name),
            Cell::text(self.reason()).with_style(Style::Long),
        ]
    }

    fn reason(&self) -> String {
        if has_caveat(self.value, Caveat::SearchCeiling) {
            return "it was never seen to fail: the search ended at the highest load that could be \
                    offered"
                .to_owned();
        }
        bound(self.traffic, self.value, self.cable)
            .unwrap_or_else(|| "there is no device in this path".to_owned())
    }
}

pub(super) fn blocks(found: &ForwardingFinding) -> Vec<Block> {
    let rates = rates::all(found);
    let rates = rates.into_iter().map(|rated| Bounded {
        traffic: rated.traffic,
        place: rated.place(),
        kind: Some(rated.kind()),
        value: rated.value(),
        cable: rated.cable,
    });
    let bursts = found.bursts.iter().map(|case| Bounded {
        traffic: &case.device.traffic,
        place: case.device.traffic.place.clone(),
        kind: None,
        value: &case.device.burst.value,
        cable: case.cable.as_ref().map(|cable| &cable.burst.value),
    });
    let is_bound = |one: &Bounded<'_>| {
        one.value.verdict == Verdict::TesterLimited
            && one.value.value.is_some()
            && one.place.is_whole()
            && !one.place.is_cable()
    };
    let mut bounded: Vec<Bounded<'_>> = rates.chain(bursts).filter(is_bound).collect();
    bounded.sort_by_key(|one| {
        (one.traffic.frames.clone(), one.place.who.clone(), one.kind.is_none(), one.kind)
    });
    let head = ["octets", "device", "what", "why"];
    let title = "Tester-limited: the device does at least what is stated, and how much more is not \
                 known";
    let rows = bounded.iter().map(Bounded::cells);
    let table = Table::new(title, head).page_only(&head).with_rows(rows).unless_empty();
    table.map(Block::Table).into_iter().collect()
}
