//! RTTs on a page: answers, and the section with plots and tables.
//!
//! Owns the wording of the answers. Never computes a value.

mod plots;
mod tables;
mod under_load;

use page::{Answer, Block, Caveat, Figure, Gauge, Headline, MarkKind};

use super::finding::{Added, LatencyCase, LatencyFinding, PathTrips, SizeTrips};
use crate::view::{Finding, PlaceLabels, StudyPage, Topic, stated, streams};

impl Finding for LatencyFinding {
    fn page(&self) -> StudyPage {
        let mut blocks = plots::blocks(self);
        blocks.extend(tables::delays(self).into_iter().map(Block::Table));
        blocks.extend(tables::under_load(self).map(Block::Table));
        let mut page = StudyPage::new("latency", "Latency", blocks);
        page.sections.extend(streams::section(&self.streams, tables::load(self)));
        let mut all = answers(self);
        all.extend(under_load::answers(self));
        page.with_answers(Topic::Latency, all)
    }
}

/// RTTs of one protocol and size under one load on one path.
#[derive(Clone, Copy)]
struct Trips<'a> {
    case: &'a LatencyCase,
    size: &'a SizeTrips,
    path: &'a PathTrips,
}

impl<'a> Trips<'a> {
    /// RTTs of a case, in the order of the rows.
    fn of_case(case: &'a LatencyCase) -> impl Iterator<Item = Self> {
        let trips =
            move |size: &'a SizeTrips| size.paths.iter().map(move |path| Self { case, size, path });
        case.sizes.iter().flat_map(trips)
    }

    /// `UDP`
    fn protocol(self) -> String {
        self.case.protocol.as_str().to_uppercase()
    }

    /// `UDP, 64 octets, idle`
    fn label(self) -> String {
        let (size, load) = (self.path.frames.label(), self.case.load.abbreviate());
        format!("{} {size}, {load}", self.protocol())
    }

    /// Answer: the latency added by the device if there is a direct cable, otherwise the RTT
    /// itself.
    fn answer(self) -> Answer {
        let median = self.path.median();
        let rtt = || led(median, "").with_question("RTT");
        let added = self.path.added.as_ref();
        added.map_or_else(rtt, |added| self.added_answer(added).with_question("Added latency"))
    }

    fn added_answer(self, added: &Added) -> Answer {
        let value = added.median();
        let (through, direct) = (self.path.median(), self.size.over_cable(added).median());
        let device = self.path.place.who.name();
        let gauge = Gauge::new("Median RTT", value.unit).with_cable(Some(direct)).with(
            MarkKind::Device,
            device,
            through,
        );
        let not_significant = value.caveats.contains(&Caveat::NotResolved);
        let text = if not_significant { NOT_SIGNIFICANT } else { "" };
        let answer = led(value, text);
        let headline = answer.headline.clone().map(Headline::signed);
        answer.with_headline(headline).with_gauge(gauge)
    }
}

/// Answer led by a value; without one, it states the reason.
fn led(value: &Figure, text: &str) -> Answer {
    let text = if value.value.is_none() { NO_VALID_TRIAL } else { text };
    stated(text.to_owned(), value).led_by(value)
}

const NO_VALID_TRIAL: &str = "No trial was valid.";
const NOT_SIGNIFICANT: &str =
    "Not significant: smaller than the repetitions resolve. More or longer ones would tell.";

/// Values of each device, protocol and load at the smallest frame.
fn smallest(found: &LatencyFinding) -> Vec<Trips<'_>> {
    let mut smallest: Vec<Trips<'_>> = Vec::new();
    for case in &found.cases {
        let mut trips: Vec<_> = Trips::of_case(case).filter(|t| !t.path.place.is_cable()).collect();
        trips.sort_by_key(|trips| (&trips.path.place, &trips.path.frames));
        trips.dedup_by_key(|trips| &trips.path.place);
        smallest.extend(trips);
    }
    smallest.sort_by_key(|trips| (&trips.path.frames, &trips.path.place.who));
    smallest
}

/// Answers, one for each device, protocol and load, at the smallest frame.
fn answers(found: &LatencyFinding) -> Vec<Answer> {
    let smallest = smallest(found);
    let label = labels(&smallest);
    smallest.iter().map(|trips| trips.answer().of_case(label(*trips))).collect()
}

/// Label of each case, with its device if there are several.
fn labels<'a>(all: &[Trips<'a>]) -> impl Fn(Trips<'a>) -> String + use<'a> {
    let places = PlaceLabels::new(all.iter().map(|trips| &trips.path.place));
    move |trips| {
        let place = places.label(&trips.path.place).map(|place| format!(", {place}"));
        trips.label() + &place.unwrap_or_default()
    }
}
