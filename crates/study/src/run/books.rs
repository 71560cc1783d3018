//! Places where frames were lost, by the counters of devices and hosts in the same trials.
//!
//! Owns the words for places and counters. Never counts a frame itself: the accounting of a trial
//! does.

mod held;

use std::collections::{BTreeMap, BTreeSet};

use page::{Answer, Block, Cell, Image, LossPlaces, Picture, Section, Table};
use trial::books::{self, Death, Place};
use trial::counters::{
    QDISC_DROPS, RX_CRC_ERRORS, RX_DROPPED, RX_ERRORS, RX_MISSED, TUNNEL_DROPS, TX_DROPPED,
    TX_ERRORS,
};
use trial::record::{ReadingDoubt, Side, TrialRecord};
use trial::{Path, Trial};

use crate::Who;
use page::words;

/// Number of doubts shown individually.
const MOST_DOUBTS: usize = 12;

/// Sum of the frame accounting over all of a device's valid trials.
#[derive(Debug, Clone, Default)]
struct Sum {
    trials: u64,
    sent: u64,
    lost: u64,
    deaths: BTreeMap<(Place, Option<String>), u64>,
    unexplained: i64,
    contradicted: u64,
    /// True if the device reported its own ports.
    reported: bool,
}

/// Frame accounting of a run, one trial at a time.
#[derive(Debug, Default)]
pub(super) struct Books {
    sums: BTreeMap<Who, Sum>,
    /// Doubts by device, each with its number of trials.
    doubts: BTreeMap<(String, String), u64>,
    held: held::Held,
}

impl Books {
    /// Adds a trial's accounting.
    pub(super) fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        self.take_sum(trial, record);
        self.held.take(trial, record);
        for reading in &record.device.readings {
            let each: BTreeSet<String> = reading.doubts.iter().map(doubt).collect();
            for doubt in each {
                *self.doubts.entry((reading.device.clone(), doubt)).or_default() += 1;
            }
        }
    }

    fn take_sum(&mut self, trial: &Trial, record: &TrialRecord) {
        let is_across = trial.path == Path::Device && record.outcome.is_valid();
        if !is_across || record.ports.iter().all(|port| port.side == Side::Tester) {
            return;
        }
        let Some(books) = books::balance(trial, record).filter(|books| !books.mixed) else {
            return;
        };
        let sum = self.sums.entry(Who::from_trial(trial)).or_default();
        sum.trials += 1;
        sum.sent +=
            record.flows.iter().filter_map(trial::record::FlowRecord::frames_sent).sum::<u64>();
        sum.lost += books.lost;
        sum.unexplained += books.unexplained;
        sum.contradicted += books.contradicted;
        sum.reported |= record.ports.iter().any(|port| port.side == Side::Reported);
        for Death { place, counter, frames } in books.deaths {
            *sum.deaths.entry((place, counter)).or_default() += frames;
        }
    }

    /// Sums of devices that reported their own ports, or lost frames.
    fn sums(&self) -> BTreeMap<&Who, &Sum> {
        self.sums.iter().filter(|(_, sum)| sum.reported || sum.lost > 0).collect()
    }
}

/// Answers and section about frame loss per device and about devices' own counters; `None` if no
/// device counted.
pub(super) fn report_losses(prefix: &str, books: &Books) -> Option<(Vec<Answer>, Section)> {
    let sums = books.sums();
    let doubts = &books.doubts;
    let held = books.held.summarise();
    if sums.is_empty() && doubts.is_empty() && held.is_none() {
        return None;
    }
    let (mut answers, mut blocks) = (Vec::new(), Vec::new());
    for (who, sum) in &sums {
        // Losses in a lab are expected: a study drives its devices to them. A bad cable is not.
        if sum.reported || sum.deaths.keys().any(|(place, _)| place.is_cable()) {
            answers.push(Answer::new(sentence(who, sum)));
        } else {
            blocks.push(Block::Paragraph(sentence(who, sum)));
        }
        blocks.extend(of_one(who, sum));
    }
    if let Some((answer, table)) = held {
        answers.push(answer);
        blocks.push(table);
    }
    if let Some(((device, doubt), trials)) = doubts.iter().max_by_key(|(_, trials)| **trials) {
        let trials = in_trials(*trials);
        answers.push(Answer::new(format!("The books of {device} stay open in {trials}: {doubt}.")));
        let rows = doubts.iter().map(|((device, doubt), trials)| {
            vec![Cell::text(device), Cell::text(doubt), Cell::number(words::count(*trials))]
        });
        let caption = "What devices did not tell of trials: their books stay open.".to_owned();
        let head = ["device", "what", "trials"];
        blocks.push(Block::Table(Table::new(caption, head).with_rows(rows.take(MOST_DOUBTS))));
    }
    let heading = "Where frames were lost".to_owned();
    Some((answers, Section { id: format!("{prefix}-books"), heading, blocks }))
}

/// One sentence per device.
pub(super) fn sentences(books: &Books) -> Vec<String> {
    books.sums().iter().map(|(who, sum)| sentence(who, sum)).collect()
}

/// Picture and table of a device that lost frames.
fn of_one(who: &Who, sum: &Sum) -> Vec<Block> {
    let Some(table) = table(who, sum) else { return Vec::new() };
    let deaths = sum.deaths.iter().map(|((place, _), frames)| (place, *frames));
    let picture = lost_at(who.to_phrase(), deaths);
    vec![Block::Pictures(vec![picture]), Block::Table(table)]
}

/// Frames lost at each place; ports of one kind together.
fn lost_at<'a>(device: String, deaths: impl Iterator<Item = (&'a Place, u64)>) -> Picture {
    let mut lost = [0; 7];
    for (place, frames) in deaths {
        let at = match place {
            Place::Sender(_) => 0,
            Place::CableIn { .. } => 1,
            Place::Tunnel(_) | Place::Ingress(_) => 2,
            Place::Inside(_) => 3,
            Place::Egress(_) => 4,
            Place::CableOut { .. } => 5,
            Place::Receiver(_) => 6,
        };
        lost[at] += frames;
    }
    let title = format!("Frames lost on the way through {device}, by place");
    let caption = format!("{title}.");
    Picture { image: Image::Losses(LossPlaces { title, device, lost }), caption }
}

fn sentence(who: &Who, sum: &Sum) -> String {
    let trials = in_trials(sum.trials);
    let by = format!("By the counters of {} and the hosts", who.to_phrase());
    let sent = format!("{} frames sent in {trials}", words::count(sum.sent));
    let off = sum.unexplained.unsigned_abs().max(sum.contradicted);
    let others = format!("counters moved by {} for frames of others", words::count(off));
    match (sum.lost, off) {
        (0, 0) => return format!("{by}, none of {sent} was lost: they agree frame for frame."),
        (0, _) => return format!("{by}, none of {sent} was lost; {others}."),
        _ => {}
    }
    let most = sum.deaths.iter().max_by_key(|(_, frames)| **frames);
    let most = most.map_or_else(String::new, |((place, counter), frames)| {
        let how = counter.as_deref().map_or("missing".to_owned(), counter_meaning);
        let more = if sum.deaths.len() > 1 { ", the others below" } else { "" };
        format!(": {} at {place} ({how}){more}", words::count(*frames))
    });
    let lost = format!("{by}, {} of {sent} were lost", words::count(sum.lost));
    match sum.unexplained {
        0 if sum.contradicted == 0 => format!("{lost}, and each is accounted for{most}."),
        left if left > 0 && sum.contradicted == 0 => {
            format!("{lost}, of which {} are not accounted for{most}.", words::count(off))
        }
        _ => format!("{lost}{most}; {others}."),
    }
}

fn in_trials(trials: u64) -> String {
    if trials == 1 { "one trial".to_owned() } else { format!("{} trials", words::count(trials)) }
}

fn table(who: &Who, sum: &Sum) -> Option<Table> {
    let share =
        |frames: u64| format!("{:.1}\u{a0}%", 100.0 * frames as f64 / sum.lost.max(1) as f64);
    let mut rows: Vec<Vec<Cell>> = sum
        .deaths
        .iter()
        .map(|((place, counter), frames)| {
            let how = counter
                .as_deref()
                .map_or_else(|| "more came in than went on".to_owned(), counter_meaning);
            vec![
                Cell::text(place.to_string()),
                Cell::text(how).with_note(counter.clone().unwrap_or_default()),
                Cell::number(words::count(*frames)),
                Cell::number(share(*frames)),
            ]
        })
        .collect();
    if sum.unexplained > 0 && !rows.is_empty() {
        let left = sum.unexplained.unsigned_abs();
        rows.push(vec![
            Cell::text("not accounted for"),
            Cell::text("no counter moved for them"),
            Cell::number(words::count(left)),
            Cell::number(share(left)),
        ]);
    }
    let caption =
        format!("Where the frames of {} died, in the order of their way.", who.to_phrase());
    let head = ["where", "what says so", "frames", "of those lost"];
    Table::new(caption, head).with_rows(rows).unless_empty()
}

/// Meaning of a counter in words.
fn counter_meaning(counter: &str) -> String {
    match counter {
        RX_DROPPED | TX_DROPPED => "discarded",
        QDISC_DROPS => "dropped by its queue",
        TUNNEL_DROPS => "dropped before it sent them",
        RX_CRC_ERRORS => "wrong FCS",
        RX_ERRORS | TX_ERRORS => "errors",
        RX_MISSED => "no buffer",
        "socket_drops" => "the socket was full",
        other => other,
    }
    .to_owned()
}

fn doubt(doubt: &ReadingDoubt) -> String {
    match doubt {
        ReadingDoubt::Unread { why } => format!("its counters could not be read: {why}"),
        ReadingDoubt::Restarted => "it began anew, and its counters with it".to_owned(),
        ReadingDoubt::WentBack { port, counter } => {
            format!(
                "{counter} of port {port} went back: it was cleared, or has 32 bits (bits = 32)"
            )
        }
        ReadingDoubt::Gone { port } => format!("port {port} was there before and not after"),
        ReadingDoubt::Untold { port } => {
            format!("nothing told which of its ports {port} is: say it, by ports = …")
        }
        ReadingDoubt::Moving => "its counters still moved when they were last read".to_owned(),
    }
}
