//! Round trips on a page: answers, and the section with plots and tables.
//!
//! Owns the answers' words. Never works out a value.

mod plots;
mod tables;

use page::{Answer, Block, Caveat, words};

use super::finding::{Added, LatencyCase, LatencyFinding, PathTrips, SizeTrips};
use crate::study::view::{Finding, StudyPage, Topic, stated, streams};

impl Finding for LatencyFinding {
    fn page(&self) -> StudyPage {
        let mut blocks = plots::blocks(self);
        blocks.extend(tables::delays(self).into_iter().map(Block::Table));
        let mut page = StudyPage::new("latency", "Latency", blocks);
        page.sections.extend(streams::section(&self.streams, tables::load(self)));
        page.with_answers(Topic::Latency, answers(self))
    }
}

/// Round trips of one protocol and size under one load on one path.
#[derive(Clone, Copy)]
struct Trips<'a> {
    case: &'a LatencyCase,
    size: &'a SizeTrips,
    path: &'a PathTrips,
}

impl<'a> Trips<'a> {
    /// All of a case, in the rows' order.
    fn of_case(case: &'a LatencyCase) -> impl Iterator<Item = Self> {
        let trips =
            move |size: &'a SizeTrips| size.paths.iter().map(move |path| Self { case, size, path });
        case.sizes.iter().flat_map(trips)
    }

    /// `UDP`
    fn protocol(self) -> String {
        self.case.protocol.as_str().to_uppercase()
    }

    /// `the idle UDP RTT of 64-octet frames, h1 → h2`
    fn describe(self) -> String {
        let load = &self.case.load;
        let (idle, load) = if load.is_idle() {
            ("idle ", String::new())
        } else {
            ("", format!(" under load ({})", load.describe()))
        };
        let PathTrips { frames, place, .. } = self.path;
        let (protocol, size, hosts) = (self.protocol(), frames.label(), place.hosts());
        format!("the {idle}{protocol} RTT of {size}-octet frames{load}, {hosts}")
    }

    /// Time added by the device, where a direct cable tells it; otherwise the round trip itself.
    fn answer(self) -> Answer {
        match &self.path.added {
            Some(added) => self.added_answer(added).asked("Added latency?"),
            None => self.rtt_answer().asked("RTT?"),
        }
    }

    fn rtt_answer(self) -> Answer {
        let median = self.path.median();
        if median.value.is_none() {
            return stated(self.without_value(), median);
        }
        let interval = words::with_interval(median);
        stated(format!("The median of {}, is {interval}.", self.describe()), median)
    }

    fn added_answer(self, added: &Added) -> Answer {
        let value = added.median();
        if value.value.is_none() {
            return stated(self.without_value(), value);
        }
        let (device, trip) = (self.path.place.who.in_words(), self.describe());
        let interval = words::with_interval(value);
        if value.caveats.contains(&Caveat::NotResolved) {
            let text = format!("What {device} adds to {trip}, is not significant: {interval}.");
            return stated(text, value);
        }
        let text = format!("{device} adds {interval} to {trip}");
        let (through, direct) = (self.path.median(), self.size.over_cable(added).median());
        let (Some(long), Some(short)) = (through.value, direct.value) else {
            return stated(text + ".", value);
        };
        let (long, short) = (words::time(long), words::time(short));
        let sides = format!("the median RTT is {long} through it, {short} over the direct cable");
        stated(format!("{text}: {sides}."), value).stating([through, direct])
    }

    fn without_value(self) -> String {
        format!("No figure for {}: no trial was valid.", self.describe())
    }
}

/// One for each device, protocol and load, at the smallest frame.
fn answers(found: &LatencyFinding) -> Vec<Answer> {
    let mut smallest: Vec<Trips<'_>> = Vec::new();
    for case in &found.cases {
        let mut trips: Vec<_> = Trips::of_case(case).filter(|t| !t.path.place.is_cable()).collect();
        trips.sort_by_key(|trips| (&trips.path.place, &trips.path.frames));
        trips.dedup_by_key(|trips| &trips.path.place);
        smallest.extend(trips);
    }
    smallest.sort_by_key(|trips| (&trips.path.frames, &trips.path.place.who));
    smallest.into_iter().map(Trips::answer).collect()
}
