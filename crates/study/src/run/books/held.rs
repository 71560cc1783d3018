//! Ports that PAUSE frames stopped, and for how long, by the devices' counters. Owns the sums over
//! trials. Never says that a device limited a rate by it.

use std::collections::BTreeMap;

use measure::Nanos;
use page::{Answer, Block, Cell, Table};
use trial::books;
use trial::record::TrialRecord;
use trial::{Path, Trial};

use page::words;

/// Sum over all trials in which one port was counted.
#[derive(Debug, Default)]
struct Sum {
    frames: u64,
    time: Option<Nanos>,
    load: Nanos,
}

/// Sums over trials, by the paused port and the port that paused it.
#[derive(Debug, Default)]
pub(super) struct Held(BTreeMap<(String, String), Sum>);

impl Held {
    /// Adds a trial. An invalid one counts too: paused senders may be the reason.
    pub(super) fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        if trial.path != Path::Device {
            return;
        }
        for held in books::pause_counts(record) {
            let sum = self.0.entry((held.port, held.by)).or_default();
            sum.frames += held.frames;
            sum.load += trial.phases.load;
            if let Some(time) = held.time {
                let so_far = sum.time.unwrap_or(Nanos::ZERO);
                sum.time = Some(Nanos(so_far.0.saturating_add(time.0)));
            }
        }
    }

    /// Sentence about the port that was paused longest, and a table of all; `None` if none was.
    pub(super) fn summarise(&self) -> Option<(Answer, Block)> {
        let waited = |sum: &Sum| sum.frames > 0 || sum.time.is_some_and(|time| time > Nanos::ZERO);
        summarise_pauses(&self.0.iter().filter(|(_, sum)| waited(sum)).collect())
    }
}

fn summarise_pauses(sums: &BTreeMap<&(String, String), &Sum>) -> Option<(Answer, Block)> {
    let (most, sum) = sums.iter().max_by_key(|(_, sum)| (sum.time, sum.frames))?;
    let (port, by) = most;
    let how_long = sum.share().map_or_else(String::new, |share| format!(", {share} of the load"));
    let frames = words::count(sum.frames);
    let answer =
        format!("{by} made {port} wait: {frames} PAUSE frames{how_long}. Nothing is lost by that.");
    let rows = sums.iter().map(|((port, by), sum)| {
        let time =
            sum.time.map_or_else(|| "not counted".to_owned(), |own| words::time(own.0 as f64));
        let share = sum.share().unwrap_or_else(|| "–".to_owned());
        let frames = words::count(sum.frames);
        let numbers = [frames, time, share].map(Cell::number);
        [Cell::text(port), Cell::text(by)].into_iter().chain(numbers).collect()
    });
    let caption = "Ports that were held back by PAUSE frames (802.3x)".to_owned();
    let head = ["port", "held back by", "PAUSE frames", "time", "of the load"];
    Some((
        Answer::new(answer).with_question("Flow control"),
        Block::Table(Table::new(caption, head).with_rows(rows)),
    ))
}

impl Sum {
    /// Counters are read before and after the load, so shares above 100 % are clamped.
    fn share(&self) -> Option<String> {
        let share = self.time?.0 as f64 / self.load.0.max(1) as f64;
        Some(format!("{:.1}\u{a0}%", 100.0 * share.min(1.0)))
    }
}
