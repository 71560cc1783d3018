//! A watch in words, as a table and as a page: what changed, which ways were out, when nothing was
//! watched, and each way's figures by hour.
//!
//! Never decides: it words what `method::watch` found.

mod sections;
mod sentence;

use crate::moment;
use method::watch::{Gap, Hour, Incident, News, Outage, WatchSpec};
use page::{Answer, Page, Reply, Section};
use serde_json::{Value, json};

use super::{ReportError, ReportInput, TrialTotals, conditions, html, picture};
use crate::exposition::{WatchChange, WatchSeries, WatchTrials};
use crate::rows::SCHEMA;
use crate::run::RunMeta;
use crate::text;
use crate::text::Screen;
use page::words;

pub use sentence::{of_gap, of_incident, of_news, of_outage};

/// So many incidents stand above; the table has all that the journal was asked for.
const MOST_TOLD: usize = 5;

/// A watch, as far as it came.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The run.
    pub meta: RunMeta,
    /// What is watched.
    pub spec: WatchSpec,
    /// By way and time.
    pub hours: Vec<Hour>,
    /// In the order in which it came to light.
    pub news: Vec<News>,
}

impl Watched {
    /// Of a run; none where it is no watch.
    pub fn of(meta: RunMeta, hours: Vec<Hour>, news: Vec<News>) -> Option<Self> {
        let spec = meta.watch.clone()?;
        Some(Self { meta, spec, hours, news })
    }

    /// As they are known now, oldest first.
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

    /// Those that lasted, and those that last.
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

    /// Each way's figures since it began.
    pub fn totals(&self) -> Vec<Hour> {
        let total = |way: usize| {
            let mut all = Hour::around(way, self.meta.created_unix_ns, Hour::LONG);
            self.hours.iter().filter(|hour| hour.way == way).for_each(|hour| all.merge(hour));
            all
        };
        (0..self.spec.ways.len()).map(total).collect()
    }

    /// As Prometheus is told.
    pub fn exposed(&self) -> Vec<WatchSeries> {
        let gap = |news: &News| match news {
            News::Gap(gap) => Some(gap.clone()),
            _ => None,
        };
        let gaps: Vec<Gap> = self.news.iter().filter_map(gap).collect();
        let out: Vec<usize> = self
            .outages()
            .iter()
            .filter(|outage| outage.to_unix_ns.is_none())
            .map(|outage| outage.way)
            .collect();
        let one = |(at, total): (usize, Hour)| {
            let way = &self.spec.ways[at];
            let mut both = total.there;
            both.add(total.back);
            let mut hours = self.hours.iter().rev().filter(|hour| hour.way == at);
            WatchSeries {
                testbed: self.meta.topology.name.clone(),
                run: self.meta.id.clone(),
                version: self.meta.version.clone(),
                from: way.from.to_string(),
                to: way.to.to_string(),
                path: way.path,
                sent: both.sent,
                lost: both.lost,
                reordered: both.reordered,
                goodput: hours.find_map(Hour::goodput).map(|bits| bits / 8.0),
                trials: WatchTrials {
                    valid: total.valid + total.nothing,
                    invalid: total.invalid,
                    failed: total.failed,
                },
                changes: self.changes(at),
                outage: out.contains(&at),
                gaps: gaps.clone(),
                last_trial_unix_ns: Some(total.latest_unix_ns).filter(|at| *at > 0),
                rtt: total.rtt,
            }
        };
        self.totals().into_iter().enumerate().map(one).collect()
    }

    /// Of one way, each kind of change once.
    fn changes(&self, way: usize) -> Vec<WatchChange> {
        let mut all: Vec<WatchChange> = Vec::new();
        for incident in self.incidents() {
            for member in incident.members.iter().filter(|member| member.way == way) {
                let (quantity, direction) = (member.quantity, member.change.direction);
                let whose = incident.doing.clone();
                let is_same = |known: &&mut WatchChange| {
                    (known.quantity, known.direction, &known.whose) == (quantity, direction, &whose)
                };
                match all.iter_mut().find(is_same) {
                    Some(known) => known.count += 1,
                    None => all.push(WatchChange { quantity, direction, whose, count: 1 }),
                }
            }
        }
        all
    }

    /// As scripts read it.
    pub fn json(&self) -> Value {
        let way = |(at, total): (usize, Hour)| {
            let own = &self.spec.ways[at];
            let percentile = |q: f64| (!total.rtt.is_empty()).then(|| total.rtt.quantile(q).0);
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

    /// The answers and the tables.
    pub fn text(&self, screen: Screen) -> String {
        let name = &self.meta.topology.name;
        let mut out = format!("watch {}  {name}  seed {}\n", self.meta.id, self.meta.seed);
        for note in &self.meta.notes {
            text::put_wrapped(&mut out, screen, "", note);
        }
        out.push('\n');
        out.push_str(&text::told(&self.answers(), &self.sections(""), &[], screen));
        out
    }

    /// One self-contained HTML file. `generated_unix_ns` is the caller's wall clock.
    pub fn render(&self, generated_unix_ns: u64) -> Result<String, ReportError> {
        let meta = &self.meta;
        let anchor = "watch";
        let mut sections = self.sections(anchor);
        let trials = TrialTotals::default();
        let input =
            ReportInput { meta, figures: &[], pages: &[], trials: &trials, comparable: None };
        sections.push(conditions::section(anchor, &input));
        let page = Page {
            id: anchor.to_owned(),
            heading: format!("Watch on {}", meta.topology.name),
            line: format!(
                "Run {}, since {}, switchmark {}",
                meta.id,
                moment::moment(meta.created_unix_ns),
                meta.version
            ),
            notes: meta.notes.clone(),
            answers: self.answers(),
            picture: picture::picture(&meta.topology),
            sections,
        };
        html::render(format!("switchmark: {}", page.heading), vec![page], generated_unix_ns)
    }

    fn answers(&self) -> Vec<Answer> {
        let visits: u64 = self.totals().iter().map(|total| total.valid).sum();
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
            let text = "Nothing is known to have changed.";
            answers.push(Answer::new(text).to("Changed?", Reply::NotShown));
        }
        for incident in incidents.iter().rev().take(MOST_TOLD) {
            let reply = match incident.is_worse() {
                Some(true) => Reply::Worse,
                Some(false) => Reply::Better,
                None => Reply::Inconclusive,
            };
            let text = of_incident(&self.spec, incident);
            answers.push(Answer::new(text).to("Changed?", reply));
        }
        answers
    }

    fn sections(&self, anchor: &str) -> Vec<Section> {
        sections::all(anchor, self)
    }
}

/// Without the spaces that keep a number beside its unit.
fn plain(text: &str) -> String {
    text.replace('\u{a0}', " ")
}
