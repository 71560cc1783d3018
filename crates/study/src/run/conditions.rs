//! Exact conditions on the page: command, testbed, phases, offloads and timestamps. Unknown
//! conditions are left out, and nothing is guessed.

use std::collections::{BTreeMap, BTreeSet};

use measure::reading::Stamp;
use page::{Block, Cell, Figure, Section, Style, Table};
use trial::record::FlowRecord;
use trial::topology::{CableEnd, DeviceKind};
use trial::{Gate, Offloads, Phases};
use trial::{Topology, Trial, TrialRecord};

use super::RunMeta;
use page::words;

/// Number of ports beyond which their table is folded.
const MOST_PORTS: usize = 8;

/// Number of different texts listed per term.
const MOST_TEXTS: usize = 4;

/// Builds the section.
pub fn section(prefix: &str, meta: &RunMeta, ran: &Ran) -> Section {
    let mut blocks = vec![Block::Glossary(run_parameters(meta))];
    blocks.push(Block::Subheading("How each trial ran".to_owned()));
    blocks.push(Block::Glossary(ran.lines()));
    blocks.push(Block::Subheading("Hosts".to_owned()));
    let said = |table| Block::Folded { summary: "What each host said of itself".to_owned(), table };
    blocks.extend(facts_table(&meta.facts).map(said));
    let ports = ports_table(&meta.topology);
    blocks.push(if ports.rows.len() > MOST_PORTS {
        Block::Folded { summary: format!("All {} test ports", ports.rows.len()), table: ports }
    } else {
        Block::Table(ports)
    });
    blocks.extend(devices_table(&meta.topology).map(Block::Table));
    let studies = serde_json::to_string_pretty(&meta.studies).unwrap_or_default();
    blocks.push(Block::FoldedText { summary: "What was asked, in full".to_owned(), text: studies });
    Section { id: format!("{prefix}-conditions"), heading: "Conditions".to_owned(), blocks }
}

/// Builds the section for several runs that differ only in their testbeds, from one of them.
pub fn of_sweep(prefix: &str, meta: &RunMeta) -> Section {
    let studies = serde_json::to_string_pretty(&meta.studies).unwrap_or_default();
    let own = ["run", "testbed"];
    let asked = run_parameters(meta).into_iter().filter(|(term, _)| !own.contains(&term.as_str()));
    let blocks = vec![
        Block::Glossary(asked.collect()),
        Block::FoldedText { summary: "What was asked, in full".to_owned(), text: studies },
    ];
    Section { id: format!("{prefix}-conditions"), heading: "Conditions".to_owned(), blocks }
}

fn run_parameters(meta: &RunMeta) -> Vec<(String, String)> {
    let studies: Vec<&str> = meta.studies.iter().map(crate::StudySpec::name).collect();
    [
        ("run", meta.id.clone()),
        ("command line", meta.command_line.clone()),
        ("version", meta.version.clone()),
        ("began", words::moment(meta.created_unix_ns)),
        ("seed", meta.seed.to_string()),
        ("studies", studies.join(", ")),
        ("testbed", meta.topology.name.clone()),
    ]
    .map(|(term, text)| (term.to_owned(), text))
    .into()
}

/// Conditions of the trials by their records, each text once.
#[derive(Debug, Default)]
pub struct Ran {
    said: BTreeMap<&'static str, BTreeSet<String>>,
    spread: u64,
}

impl Ran {
    /// Adds the conditions of a trial.
    pub(super) fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        let mut say = |term, text: String| {
            self.said.entry(term).or_default().insert(text);
        };
        say("phases", phases(&trial.phases));
        let offloads = match trial.offloads {
            Offloads::Off => "TSO, GSO and GRO off on the ports in use, restored afterwards",
            Offloads::AsFound => "as the hosts had them",
        };
        say("offloads", offloads.to_owned());
        let gate = match trial.gate {
            Gate::Strict => "strict: any loss on the tester's side makes a trial invalid",
            Gate::Uneven => {
                "uneven: as strict, but late frames and busy processors do not make a trial invalid: the study \
                 allows for them"
            }
            Gate::Flood => "flood: the tester's own loss makes the figure a lower bound",
        };
        say("validity", gate.to_owned());
        self.spread = self.spread.max(record.start_spread.0);
        for flow in &record.flows {
            match flow {
                FlowRecord::Echo(e) => say(
                    "stamps",
                    format!(
                        "round trips: departure {}, arrival {}",
                        stamp(e.stamps.sent),
                        stamp(e.stamps.received)
                    ),
                ),
                FlowRecord::Datagrams(d) => {
                    say("sent by", reasoned(&d.backend, &d.backend_reason));
                    if !d.receiver.is_empty() {
                        say("counted by", reasoned(&d.receiver, &d.receiver_reason));
                    }
                }
                FlowRecord::Bulk(b) => say("congestion control", b.congestion_control.clone()),
                FlowRecord::Exchange(_) => {
                    say("stamps", "messages: at their receipt, by the receiver's clock".to_owned());
                }
                FlowRecord::Sessions(_) => {
                    let text =
                        "handshakes: from the SYN to the socket's readiness, by the opener's clock";
                    say("stamps", text.to_owned());
                }
                FlowRecord::Storage(_) => {
                    let text = "operations: from submission to completion, by the client's clock";
                    say("stamps", text.to_owned());
                }
            }
        }
    }

    fn lines(&self) -> Vec<(String, String)> {
        let each = self.said.iter().map(|(term, texts)| ((*term).to_owned(), join_texts(texts)));
        let mut lines: Vec<(String, String)> = each.collect();
        if self.spread > 0 {
            let spread = words::time(self.spread as f64);
            let text = format!("{spread} between the first and the last flow, at most");
            lines.push(("start".to_owned(), text));
        }
        lines
    }
}

fn join_texts(texts: &BTreeSet<String>) -> String {
    let more = texts.len().saturating_sub(MOST_TEXTS);
    let first: Vec<String> = texts.iter().take(MOST_TEXTS).cloned().collect();
    let more = if more > 0 { format!("; and {more} others") } else { String::new() };
    first.join("; ") + &more
}

fn reasoned(name: &str, reason: &str) -> String {
    if reason.is_empty() { name.to_owned() } else { format!("{name} ({reason})") }
}

fn phases(p: &Phases) -> String {
    let name = if *p == Phases::strict(p.load) {
        "strict"
    } else if *p == Phases::quick(p.load) {
        "quick"
    } else {
        "own"
    };
    format!(
        "{name}: {} after learning, {} load, {} for residual frames, {} to settle",
        p.learned, p.load, p.residual, p.settle
    )
}

const fn stamp(stamp: Stamp) -> &'static str {
    match stamp {
        Stamp::User => "by the program",
        Stamp::Kernel => "by the kernel",
        Stamp::Hardware => "by the NIC",
        Stamp::Intended => "as scheduled",
    }
}

fn facts_table(facts: &BTreeMap<String, BTreeMap<String, String>>) -> Option<Table> {
    let names: BTreeSet<&String> = facts.values().flat_map(BTreeMap::keys).collect();
    let mut head = vec!["fact".to_owned()];
    head.extend(facts.keys().cloned());
    let rows: Vec<Vec<Cell>> = names
        .into_iter()
        .map(|name| {
            let mut cells = vec![Cell::text(name)];
            cells.extend(
                facts.values().map(|host| Cell::text(host.get(name).map_or("–", String::as_str))),
            );
            cells
        })
        .collect();
    let caption = "What each host said of itself when the run began.".to_owned();
    Table::new(caption, head).with_rows(rows).unless_empty()
}

fn ports_table(topology: &Topology) -> Table {
    let rows = topology.hosts.iter().flat_map(|host| {
        host.ports.iter().map(|port| {
            let cable = match &port.cable {
                CableEnd::Device { .. } => port.cable.to_string(),
                CableEnd::Host(end) => format!("{end} (direct)"),
            };
            vec![
                Cell::text(format!("{}/{}", host.name, port.name)),
                Cell::text(&host.reach),
                Cell::text(port.address.to_string()),
                Cell::text(cable),
                Cell::text(port.interfaces.join(", ")),
                Cell::text(port.rate.map_or_else(|| "not known".to_owned(), |r| r.to_string())),
            ]
        })
    });
    let head = ["port", "reached", "address", "cable to", "interfaces", "rate"];
    Table::new("The hosts' test ports.".to_owned(), head).with_rows(rows)
}

fn devices_table(topology: &Topology) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = topology
        .devices
        .iter()
        .map(|device| {
            let kind = match device.kind {
                DeviceKind::Switch => "switch (forwards by MAC address)",
                DeviceKind::Router => "router (forwards by IP address)",
            };
            let limit =
                |text: Option<String>| Cell::text(text.unwrap_or_else(|| "none set".to_owned()));
            let facts: Vec<String> =
                device.facts.iter().map(|(k, v)| format!("{k}: {v}")).collect();
            vec![
                Cell::text(&device.name),
                Cell::text(kind),
                limit(device.port_rate.map(|r| r.to_string())),
                limit(device.port_queue.map(|q| q.to_string())),
                Cell::text(facts.join(", ")),
            ]
        })
        .collect();
    let head = ["device", "kind", "port rate", "port queue", "facts"];
    Table::new("The devices", head).with_rows(rows).unless_empty()
}

/// Table of every figure, for an expert who wants no selection.
pub(super) fn every_figure(prefix: &str, figures: &[Figure]) -> Option<Section> {
    if figures.is_empty() {
        return None;
    }
    let rows = figures.iter().map(|f| {
        let conditions: Vec<String> = f
            .conditions
            .keys()
            .map(|k| format!("{k} {}", f.condition_text(k).unwrap_or_default()))
            .collect();
        let quantile = f.quantile.map(words::quantile).unwrap_or_default();
        vec![
            Cell::text(f.metric.as_str()).with_note(quantile),
            Cell::value(f),
            Cell::samples(&[f]),
            Cell::text(conditions.join(", ")).with_style(Style::Small),
            Cell::limit(&[f]),
        ]
    });
    let head = ["metric", "value", "n", "where", "limited by"];
    let caption =
        "As in the JSON rows; the report shows no number that is not among them or counted \
                   from the trials."
            .to_owned();
    let table = Table::new(caption, head).with_rows(rows);
    Some(Section {
        id: format!("{prefix}-figures"),
        heading: "Every figure".to_owned(),
        blocks: vec![Block::Folded { summary: format!("{} figures", figures.len()), table }],
    })
}
