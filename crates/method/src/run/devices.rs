//! What the devices said of themselves in their variants, and what was done to them while a load
//! ran. Shows the words of a variant's probe as they came; never reads them.

use page::{Block, Cell, Section, Table};
use std::collections::BTreeMap;

use trial::{Trial, TrialRecord};

use crate::study::Who;
use page::words;

/// No more events are listed than this; the store has the rest.
const MOST_EVENTS: usize = 200;

/// The section; `None` where no device said anything and nothing was done to one.
pub(super) fn section(prefix: &str, devices: &Devices) -> Option<Section> {
    let mut blocks = probes(&devices.said);
    blocks.extend(deeds(devices).map(Block::Table));
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-devices"),
        heading: "The devices and what was done to them".to_owned(),
        blocks,
    })
}

/// What devices answered, by how many trials, and the first events as rows.
#[derive(Debug, Default)]
pub(super) struct Devices {
    said: BTreeMap<Who, BTreeMap<String, u64>>,
    rows: Vec<Vec<Cell>>,
    events: usize,
}

impl Devices {
    /// Adds what a trial says of them.
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

/// Each answer once, with how many trials had it: two answers of one variant are a doubt.
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

/// Every event that was carried out, and those that were asked for and were not.
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
