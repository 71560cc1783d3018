//! JSON of one tool or of several, one value after the other.
//!
//! Owns which tool a value is of, and what is made of one that breaks off. Never reads a value
//! itself.

use serde_json::Value;

use crate::found::Found;
use crate::json::{Broken, Document};
use crate::problem::Problem;
use crate::{ImportError, fio, flent, fping, iperf3, irtt, mtr, rows};

/// So many are told of those that tell nothing.
const MOST_PROBLEMS: usize = 20;

/// The values so far.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// iperf3's events of one test, with the first one's line.
    events: Option<(usize, iperf3::Events)>,
    hosts: fping::Hosts,
    pub problems: Vec<ImportError>,
}

impl Objects {
    pub(crate) fn take(
        &mut self,
        number: usize,
        document: Document,
        broken: Option<Broken>,
        found: &mut Found,
    ) {
        let is_event = document.value.get("event").is_some();
        if !is_event && broken.is_none() {
            self.end_events(found);
        }
        if let Some(Broken { number: at, why }) = broken {
            // What came before it breaks off counts, where its tool can be told.
            if document.value.get("start").is_some() && !document.lists.is_empty() {
                let _ = iperf3::read(&document, found);
            }
            self.note(Problem::Broken(why).at(at));
            return;
        }
        if is_event {
            let (_, events) =
                self.events.get_or_insert_with(|| (number, iperf3::Events::default()));
            if events.take(document.value) {
                self.end_events(found);
            }
            return;
        }
        let read = match &document.value {
            Value::Array(all) => all.iter().try_for_each(|one| {
                let document = Document { value: one.clone(), ..Document::default() };
                self.one(&document, found)
            }),
            _ => self.one(&document, found),
        };
        if let Err(problem) = read {
            self.note(problem.at(number));
        }
    }

    fn one(&mut self, document: &Document, found: &mut Found) -> Result<(), Problem> {
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
        } else if ["resp", "summary", "vSum", "timeout", "intSum", "stats"].into_iter().any(has) {
            self.hosts.take(value);
            Ok(())
        } else if has("start") || has("end") || has("intervals") {
            iperf3::read(document, found)
        } else {
            Err(Problem::Unknown)
        }
    }

    fn end_events(&mut self, found: &mut Found) {
        if let Some((number, events)) = self.events.take()
            && let Err(problem) = events.read(found)
        {
            self.note(problem.at(number));
        }
    }

    pub(crate) fn end(&mut self, found: &mut Found) {
        self.end_events(found);
        std::mem::take(&mut self.hosts).put(found);
    }

    fn note(&mut self, problem: ImportError) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }
}
