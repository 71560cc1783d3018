//! JSON of one tool or of several, one value after the other.
//!
//! Owns the recognition of a value's tool, and the handling of one that breaks off. Never reads a
//! value itself.

use serde_json::Value;

use crate::found::{Found, in_lines_of};
use crate::json::{Broken, Document};
use crate::{ImportError, fio, flent, fping, iperf3, irtt, mtr, rows};

/// Maximum number of reported values without results.
const MOST_PROBLEMS: usize = 20;

/// Values so far.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// Events of one iperf3 test, with the lines of the first and the last one.
    events: Option<((usize, usize), iperf3::Events)>,
    hosts: fping::Hosts,
    /// First and last line of fping's values.
    of_hosts: Option<(usize, usize)>,
    pub problems: Vec<ImportError>,
}

impl Objects {
    pub(crate) fn take(
        &mut self,
        number: usize,
        last: usize,
        document: Document,
        broken: Option<Broken>,
        found: &mut Found,
    ) {
        let is_event = document.value.get("event").is_some();
        if !is_event && broken.is_none() {
            self.end_events(found);
        }
        if let Some(Broken { number: at, why }) = broken {
            // The part before the break counts, if its tool can be recognised.
            if document.value.get("start").is_some() && !document.lists.is_empty() {
                let _ = in_lines_of(found, (number, last), |found| iperf3::read(&document, found));
            }
            self.note(ImportError::BrokenJson { number: at, why });
            return;
        }
        if is_event {
            let new = || ((number, last), iperf3::Events::default());
            let (lines, events) = self.events.get_or_insert_with(new);
            lines.1 = last;
            events.take(document.value);
            return;
        }
        let mut read = |found: &mut Found| match &document.value {
            Value::Array(all) => all.iter().try_for_each(|one| {
                let document = Document { value: one.clone(), ..Document::default() };
                self.one(&document, found)
            }),
            _ => self.one(&document, found),
        };
        // Our own rows have their places.
        let is_own = document.value.get("schema").is_some();
        let read = if is_own { read(found) } else { in_lines_of(found, (number, last), read) };
        if let Err(problem) = read {
            self.note(problem.at(number));
        }
        if document.value.is_object() && fping::Hosts::has(&document.value) {
            self.of_hosts = Some((self.of_hosts.map_or(number, |(first, _)| first), last));
        }
    }

    fn one(&mut self, document: &Document, found: &mut Found) -> Result<(), ImportError> {
        let value = &document.value;
        let has = |name: &str| value.get(name).is_some();
        if has("schema") {
            rows::read(value, found)
        } else if has("fio version") {
            fio::read(value, found)
        } else if has("round_trips") || has("irtt_version") {
            irtt::read(document, found)
        } else if has("raw_values") || has("x_values") {
            flent::read(document, found)
        } else if has("report") {
            mtr::of_json(value, found)
        } else if fping::Hosts::has(value) {
            self.hosts.take(value);
            Ok(())
        } else if has("start") || has("end") || has("intervals") {
            iperf3::read(document, found)
        } else {
            Err(ImportError::UnknownJson { number: 0 })
        }
    }

    fn end_events(&mut self, found: &mut Found) {
        let Some((lines, events)) = self.events.take() else { return };
        if let Err(problem) = in_lines_of(found, lines, |found| events.read(found)) {
            self.note(problem.at(lines.0));
        }
    }

    pub(crate) fn end(&mut self, found: &mut Found) {
        self.end_events(found);
        let hosts = std::mem::take(&mut self.hosts);
        in_lines_of(found, self.of_hosts.unwrap_or_default(), |found| hosts.add_to(found));
    }

    fn note(&mut self, problem: ImportError) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }
}
