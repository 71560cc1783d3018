//! Watch as a page and as rows: changes, outages, gaps, and each path's figures by hour.
//!
//! Never decides: only presents the results.

mod sections;
mod sentence;

use page::{Answer, Found, Gauge, Headline, MarkKind, Page, Reply, SCHEMA, Unit, words};
use serde_json::{Value, json};

use super::{Hour, Incident, News, Outage, WatchSpec, WatchedWay};
use crate::run::conditions::{self, Ran};
use crate::run::{RunMeta, picture};

pub use sentence::{of_gap, of_incident, of_news, of_outage};

/// Number of incidents, and of ways, at the top; the tables have all that the journal returned.
const MOST_TOLD: usize = 5;

/// Watch with its results so far.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The run.
    pub meta: RunMeta,
    /// Specification of the watch.
    pub spec: WatchSpec,
    /// Totals by path and period.
    pub hours: Vec<Hour>,
    /// News in the order of detection.
    pub news: Vec<News>,
}

impl Watched {
    /// Creates the view of a run; `None` if it is no watch.
    pub fn from_run(meta: RunMeta, hours: Vec<Hour>, news: Vec<News>) -> Option<Self> {
        let spec = meta.watch.clone()?;
        Some(Self { meta, spec, hours, news })
    }

    /// Incidents in their latest state, oldest first.
    pub fn incidents(&self) -> Vec<&Incident> {
        let mut all: Vec<&Incident> = Vec::new();
        for news in &self.news {
            let (News::Changed(incident) | News::MoreOf(incident)) = news else { continue };
            all.retain(|known| known.number != incident.number);
            all.push(incident);
        }
        all.sort_by_key(|incident| incident.number);
        all
    }

    /// Outages, past and present.
    pub fn outages(&self) -> Vec<Outage> {
        let mut all: Vec<Outage> = Vec::new();
        for news in &self.news {
            match news {
                News::Out(outage) => all.push(*outage),
                News::Back(outage) => {
                    let is_same = |known: &&mut Outage| {
                        (known.way, known.from_unix_ns) == (outage.way, outage.from_unix_ns)
                    };
                    match all.iter_mut().find(is_same) {
                        Some(known) => *known = *outage,
                        None => all.push(*outage),
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// Totals per path since the start.
    pub fn totals(&self) -> Vec<Hour> {
        let total = |way: usize| {
            let mut all = Hour::around(way, self.meta.created_unix_ns, Hour::LONG);
            self.hours.iter().filter(|hour| hour.way == way).for_each(|hour| all.merge(hour));
            all
        };
        (0..self.spec.ways.len()).map(total).collect()
    }

    /// Serialises the watch for scripts.
    pub fn json(&self) -> Value {
        let way = |(at, total): (usize, Hour)| {
            let own = &self.spec.ways[at];
            let percentile = |q: f64| total.rtt_quantile(q);
            json!({
                "from": own.from, "to": own.to, "path": own.path, "device": own.device,
                "visits": total.valid, "unanswered": total.nothing, "left_out": total.invalid + total.failed,
                "rtt_p50_ns": percentile(0.5), "rtt_p99_ns": percentile(0.99),
                "round_trips": total.rtt.count(),
                "loss": total.there.loss(), "loss_back": total.back.loss(),
                "sent": total.there.sent, "sent_back": total.back.sent,
                "reordered": total.there.reordered, "reordered_back": total.back.reordered,
                "goodput_bits_per_s": total.goodput(),
            })
        };
        let said = |incident: &&Incident| {
            json!({
                "incident": incident,
                "sentence": plain(&of_incident(&self.spec, incident)),
            })
        };
        let gap = |news: &News| match news {
            News::Gap(gap) => Some(json!(gap)),
            _ => None,
        };
        json!({
            "schema": SCHEMA,
            "run": self.meta.id,
            "verb": "watch",
            "testbed": self.meta.topology.name,
            "ways": self.totals().into_iter().enumerate().map(way).collect::<Vec<_>>(),
            "incidents": self.incidents().iter().map(said).collect::<Vec<_>>(),
            "outages": self.outages(),
            "gaps": self.news.iter().filter_map(gap).collect::<Vec<_>>(),
        })
    }

    /// Builds the page.
    pub fn page(&self) -> Page {
        let (meta, anchor, answers) = (&self.meta, "watch", self.answers());
        let place = format!("watch on {}", meta.topology.name);
        Page {
            id: anchor.to_owned(),
            heading: Found::from_answers(&answers)
                .map_or_else(|| words::capital(&place), |found| found.to_string()),
            line: format!(
                "{place} · since {} · run {} · switchmark {}",
                words::moment(meta.created_unix_ns),
                meta.id,
                meta.version
            ),
            notes: meta.notes.clone(),
            answers,
            picture: picture(&meta.topology),
            sections: sections::all(anchor, self),
            background: vec![conditions::section(anchor, meta, &Ran::default())],
            ..Page::default()
        }
    }

    fn answers(&self) -> Vec<Answer> {
        let totals = self.totals();
        let visits: u64 = totals.iter().map(|total| total.valid).sum();
        if visits == 0 {
            return vec![Answer::new("No visit with figures yet.")];
        }
        let mut answers = Vec::new();
        let outages = self.outages();
        let open: Vec<&Outage> = outages.iter().filter(|one| one.to_unix_ns.is_none()).collect();
        let counted = words::count(visits);
        if open.is_empty() {
            let before = match outages.len() {
                0 => format!("{counted} visits, and none of the ways was out."),
                1 => format!("{counted} visits. One outage, which is over."),
                n => format!("{counted} visits. {n} outages, which are over."),
            };
            answers.push(Answer::new(before).to("Do all ways answer?", Reply::Yes));
        }
        for outage in open {
            let text = of_outage(&self.spec, outage);
            answers.push(Answer::new(text).to("Do all ways answer?", Reply::No));
        }
        let incidents = self.incidents();
        if incidents.is_empty() {
            let text =
                "No change is known. One of 5 % is found within 20 visits, once there are 60.";
            answers.push(Answer::new(text).to("As before?", Reply::NotShown));
        }
        for incident in incidents.iter().rev().take(MOST_TOLD) {
            let reply = match incident.is_worse() {
                Some(true) => Reply::Worse,
                Some(false) => Reply::Better,
                None => Reply::Inconclusive,
            };
            let text = of_incident(&self.spec, incident);
            answers.push(Answer::new(text).to("As before?", reply));
        }
        answers.extend(self.medians(&totals));
        answers
    }

    /// Median RTT of each way through a device, beside the direct cable's.
    fn medians(&self, totals: &[Hour]) -> Vec<Answer> {
        let median = |total: &Hour| total.rtt_quantile(0.5).map(|median| median as f64);
        let all = || self.spec.ways.iter().zip(totals);
        let through = all().filter(|(way, _)| !way.is_direct()).filter_map(|(way, total)| {
            let value = median(total)?;
            let beside = |(other, _): &(&WatchedWay, &Hour)| {
                other.is_direct() && other.hosts() == way.hosts()
            };
            let cable = all().find(beside).and_then(|(_, total)| median(total));
            let device = way.device.as_deref().unwrap_or("cable");
            let gauge = Gauge::new("Median RTT", Unit::Nanoseconds)
                .with_value(MarkKind::Cable, "direct cable", cable, None)
                .with_value(MarkKind::Device, device, Some(value), None);
            let headline = Headline::written(words::time(value));
            let answer = Answer::default().with_headline(headline).with_gauge(gauge);
            Some(answer.with_question("Median RTT").of_case(way.label()))
        });
        through.take(MOST_TOLD).collect()
    }
}

/// Replaces no-break spaces by plain ones.
fn plain(text: &str) -> String {
    text.replace('\u{a0}', " ")
}
