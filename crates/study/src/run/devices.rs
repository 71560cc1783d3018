//! State of the devices by their variants' probes, and actions on them during a load. Shows the
//! output of a probe unchanged; never parses it.

use page::{Block, Cell, Section, Table};
use std::collections::BTreeMap;

use trial::{Trial, TrialRecord};

use crate::Who;
use page::words;

/// Largest number of events listed; the store has the rest.
const MOST_EVENTS: usize = 200;

/// Builds the section; `None` without probe output and actions.
pub(super) fn section(prefix: &str, devices: &Devices) -> Option<Section> {
    let mut blocks = probes(&devices.said);
    blocks.extend(deeds(devices).map(Block::Table));
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-devices"),
        heading: "The devices and what was done to them".to_owned(),
        blocks,
    })
}

/// Probe outputs, each with its number of trials, and the first events as rows.
#[derive(Debug, Default)]
pub(super) struct Devices {
    said: BTreeMap<Who, BTreeMap<String, u64>>,
    rows: Vec<Vec<Cell>>,
    events: usize,
}

impl Devices {
    /// Adds a trial.
    pub(super) fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        if let Some(probe) = &record.device.probe {
            let said = self.said.entry(Who::from_trial(trial)).or_default();
            *said.entry(probe.clone()).or_default() += 1;
        }
        let time = |time: measure::Nanos| words::time(time.0 as f64);
        for (at, event) in trial.events.iter().enumerate() {
            self.events += 1;
            if self.events > MOST_EVENTS {
                continue;
            }
            let (began, took) = match record.device.deeds.get(at) {
                Some(done) => (time(done.at), time(done.took)),
                None => ("not carried out".to_owned(), "–".to_owned()),
            };
            self.rows.push(vec![
                Cell::text(&trial.label),
                Cell::text(Who::from_trial(trial).name()),
                Cell::text(event.deed.to_string()),
                Cell::number(time(event.at)),
                Cell::number(began),
                Cell::number(took),
            ]);
        }
    }
}

/// Shows each output once, with its number of trials: two outputs of one variant are a doubt.
fn probes(said: &BTreeMap<Who, BTreeMap<String, u64>>) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !said.is_empty() {
        let text = "Before each trial the device was asked in which state it is. These are its \
                    answers, word for word.";
        blocks.push(Block::Paragraph(text.to_owned()));
    }
    for (who, answers) in said {
        let several = answers.len() > 1;
        if several {
            let text = format!(
                "{} gave {} different answers: its state may not have been the same in all trials.",
                who.name(),
                answers.len()
            );
            blocks.push(Block::Paragraph(text));
        }
        for (text, trials) in answers {
            let trials =
                if *trials == 1 { "1 trial".to_owned() } else { format!("{trials} trials") };
            let summary = format!("{}, in {trials}", who.name());
            blocks.push(Block::FoldedText { summary, text: text.trim_end().to_owned() });
        }
    }
    blocks
}

/// Table of every event, whether it was carried out or only requested.
fn deeds(devices: &Devices) -> Option<Table> {
    let all = devices.events;
    let head = ["trial", "device", "event", "asked for at", "began at", "took"];
    let of_all = if all > MOST_EVENTS {
        format!(" The first {MOST_EVENTS} of {all}.")
    } else {
        String::new()
    };
    let caption = format!(
        "What was done to devices during trials, from the load's start. A device may come up later \
         than its hook returns.{of_all}"
    );
    (all > 0).then(|| Table::new(caption, head).with_rows(devices.rows.iter().cloned()))
}
