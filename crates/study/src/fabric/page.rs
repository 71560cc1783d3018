//! A fabric on a page: whether it blocks, the goodput of pairs by nodes and by message size, and
//! pictures of its groups of ports and of its pairs.
//!
//! Owns the tables. Never computes a value.

mod answers;
mod collectives;
mod pictures;
mod slow;

use std::collections::BTreeMap;

use page::words::Scaled;
use page::{Block, Cell, Column, Figure, Picture, Room, Section, Table, Unit};

use measure::ByteCount;

use super::Arrangement;
use super::finding::{Exchange, FabricFinding, Goodput, SceneFinding};
use crate::view::{Finding, StudyPage, Topic, Values, Who, streams};

/// Megabytes of 10^6 octets, the unit of exchanges.
const MEGABYTES: Scaled = (8e6, "MB/s");

impl Values for FabricFinding {
    fn gather<'a>(&'a mut self, all: &mut Vec<&'a mut Figure>) {
        all.extend(self.values_mut());
    }
}

impl Finding for FabricFinding {
    fn page(&self) -> StudyPage {
        page(self)
    }
}

fn page(found: &FabricFinding) -> StudyPage {
    let pictures = |all: Vec<Picture>| (!all.is_empty()).then_some(Block::Pictures(all));
    let tables =
        [slow::table(found), collectives::table(found), by_nodes(found), by_message(found)];
    let tables = tables.into_iter().flatten().map(Block::Table);
    let blocks: Vec<Block> = pictures(pictures::pairs(found))
        .into_iter()
        .chain(tables)
        .chain(pictures(pictures::groups(found)))
        .collect();
    let section = Section { id: "fabric".to_owned(), heading: "Fabric".to_owned(), blocks };
    let own = Some(section).filter(|section| !section.blocks.is_empty());
    let sections = own.into_iter().chain(streams::section(&found.streams, None));
    StudyPage { sections: sections.collect(), ..StudyPage::default() }
        .with_answers(Topic::SlowPorts, slow::answers(found))
        .with_answers(Topic::NonBlocking, answers::nonblocking(found))
        .with_answers(Topic::Groups, answers::groups(found))
        .with_answers(Topic::Collectives, collectives::answers(found))
}

/// Layout of one of the two tables.
struct Layout<'a> {
    title: String,
    /// Name of the rows' column, and the format of a row.
    head: &'a str,
    name: fn(u64) -> String,
    /// Row of an exchange; `None` if it is not in the table.
    row: &'a dyn Fn(&Exchange) -> Option<u64>,
    goodput: fn(&Exchange) -> Option<&Goodput>,
}

/// Mean over pairs for every number of nodes, and the worst round of arrangements with several.
fn by_nodes(found: &FabricFinding) -> Option<Table> {
    let message = found.message;
    let layout = Layout {
        title: format!("Exchanges by nodes, MB/s each way: mean over pairs, messages of {message}"),
        head: "nodes",
        name: |nodes| nodes.to_string(),
        row: &|exchange| (exchange.message == message).then_some(exchange.nodes as u64),
        goodput: Exchange::worst_mean,
    };
    Some(layout.table(found)?.with_note("Of an arrangement of several rounds its worst round."))
}

/// Worst pair for every message size, with the most nodes.
fn by_message(found: &FabricFinding) -> Option<Table> {
    let exchanges = found.scenes.iter().flat_map(|scene| &scene.exchanges);
    let most = exchanges.filter(|e| e.has_one_round()).map(|e| e.nodes).max()?;
    let layout = Layout {
        title: format!("Exchanges by message size, MB/s each way: the worst pair of {most} nodes"),
        head: "message",
        name: |octets| ByteCount(octets).to_string(),
        row: &|exchange| (exchange.nodes == most).then_some(exchange.message.0),
        goodput: |exchange| exchange.has_one_round().then_some(&exchange.minimum),
    };
    layout.table(found)
}

/// Goodputs of one row by arrangement, and that of the direct cables.
#[derive(Default)]
struct Line<'a> {
    own: BTreeMap<Arrangement, &'a Goodput>,
    cables: Option<&'a Goodput>,
}

impl Layout<'_> {
    /// Table with a row for each device and place, and a column for each arrangement.
    fn table(self, found: &FabricFinding) -> Option<Table> {
        let mut arrangements: Vec<Arrangement> = Vec::new();
        let mut lines: Vec<(&Who, u64, Line<'_>)> = Vec::new();
        for SceneFinding { who, exchanges, .. } in found.devices() {
            let mut own: BTreeMap<u64, Line<'_>> = BTreeMap::new();
            for exchange in exchanges {
                let (Some(arrangement), Some(goodput), Some(row)) =
                    (exchange.arrangement, (self.goodput)(exchange), (self.row)(exchange))
                else {
                    continue;
                };
                if !arrangements.contains(&arrangement) {
                    arrangements.push(arrangement);
                }
                let line = own.entry(row).or_default();
                line.own.insert(arrangement, goodput);
                line.cables = found.over_cables(exchange).and_then(self.goodput);
            }
            lines.extend(own.into_iter().map(|(row, line)| (who, row, line)));
        }
        let rows = lines.iter().map(|(who, row, line)| {
            let lead = [Cell::path(who.name()), Cell::number((self.name)(*row))];
            lead.into_iter().chain(line.cells(&arrangements)).collect()
        });
        Table::new(&self.title, self.columns(&arrangements))
            .stating(Unit::BitsPerSecond)
            .written_in(MEGABYTES)
            .with_rows(rows)
            .unless_empty()
    }

    fn columns(&self, arrangements: &[Arrangement]) -> Vec<Column> {
        let mut columns = ["device", self.head].map(Column::from).to_vec();
        columns.extend(arrangements.iter().map(|arrangement| arrangement.to_string().into()));
        // On a terminal they give way to the others' values, but not to the intervals of those.
        for (name, rank) in [("direct cables", 2), ("wire", 3)] {
            columns.push(Column { name: name.to_owned(), room: Room::Spare(rank) });
        }
        columns.push("worst limited by".into());
        columns
    }
}

impl Line<'_> {
    fn cells(&self, arrangements: &[Arrangement]) -> Vec<Cell> {
        let own = || arrangements.iter().map(|arrangement| self.own.get(arrangement));
        let goodputs: Vec<&Goodput> = own().flatten().copied().collect();
        let values: Vec<&Figure> = goodputs.iter().map(|goodput| &goodput.value).collect();
        let value = |figure: &Figure| figure.value.unwrap_or(f64::NEG_INFINITY);
        let slowest = values.iter().min_by(|a, b| value(a).total_cmp(&value(b)));
        let cell = |goodput: &Goodput| Cell::value(&goodput.value).with_note(&goodput.round);
        let wire = goodputs.first().and_then(|first| first.wire);
        let wire = wire.map(|wire| Cell::quantity(Unit::BitsPerSecond, Some(wire)));
        let mut cells: Vec<Cell> = own().map(|own| own.map_or(Cell::Blank, |g| cell(g))).collect();
        cells.extend([self.cables.map(cell), wire].map(Option::unwrap_or_default));
        cells.push(slowest.map_or(Cell::Blank, |slowest| Cell::limit_of(slowest, &values)));
        cells
    }
}

#[cfg(test)]
mod tests {
    use page::{Image, Metric, Verdict};
    use trial::Subject;

    use super::super::finding::{PairCase, PortGroups};
    use super::super::infer::{Bound, Finding, Group, Inferred, Uplink};
    use super::super::rounds::CellPlace;
    use super::*;
    use crate::view::streams::Firsts;

    fn goodput(megabytes: Option<f64>) -> Goodput {
        let bits = megabytes.map(|megabytes| megabytes * MEGABYTES.0);
        let value = Figure::new(Metric::PairGoodput, Unit::BitsPerSecond, bits);
        Goodput { value, wire: Some(119.0 * MEGABYTES.0), round: String::new() }
    }

    fn exchange(arrangement: Option<Arrangement>, nodes: usize, megabytes: f64) -> Exchange {
        let [mean, minimum, worst] = [1.0, 0.5, 0.1].map(|part| goodput(Some(megabytes * part)));
        let mut exchange = Exchange::of_one_round(arrangement, nodes, [mean, minimum, worst]);
        exchange.cables = arrangement.map(|_| CellPlace { scene: 1, cell: 0 });
        exchange
    }

    fn pair(ports: [usize; 2], is_one_way: bool, megabytes: Option<f64>) -> PairCase {
        PairCase { ports, is_one_way, goodput: goodput(megabytes) }
    }

    fn groups() -> PortGroups {
        let uplink = |ports: &[usize], rate| Group {
            ports: ports.to_vec(),
            uplink: Uplink::AtLeast(rate, Bound::Ports),
        };
        let groups = vec![uplink(&[0, 3], 1.0), uplink(&[1, 2], 1.5)];
        let finding = Finding::Blocking { groups, confidence: 0.999, between: None, share: 0.5 };
        let rate = |bits| Figure::new(Metric::UplinkRate, Unit::BitsPerSecond, Some(bits));
        PortGroups {
            found: Inferred { finding, trials: 12, missing: vec![], local_share: None },
            missing: "p5 (silent)".to_owned(),
            names: "p1, p4; p2, p3".to_owned(),
            value: Figure {
                verdict: Verdict::DeviceLimited,
                ..Figure::new(Metric::PortGroups, Unit::Count, Some(2.0))
            },
            uplinks: [1e9, 1.5e9].map(rate).to_vec(),
        }
    }

    fn found() -> FabricFinding {
        let (offset, sweep) = (Some(Arrangement::Offset(2)), Some(Arrangement::Sweep));
        let mut told = exchange(offset, 4, 41.26);
        told.pairs = vec![pair([1, 3], false, Some(41.0)), pair([0, 2], true, None)];
        let mut rounds = exchange(sweep, 4, 90.0);
        rounds.worst_round = Some(goodput(Some(40.0)));
        let device = SceneFinding {
            slow: Vec::new(),
            evenness: None,
            met: Vec::new(),
            who: Who::Named(Subject { device: "sw1".to_owned(), variant: None }),
            ports: (1..=5).map(|number| format!("p{number}")).collect(),
            exchanges: vec![exchange(offset, 2, 108.0), told, rounds],
            collectives: Vec::new(),
            groups: Some(groups()),
            nonblocking: None,
        };
        let cables = SceneFinding {
            slow: Vec::new(),
            evenness: None,
            met: Vec::new(),
            who: Who::Cable,
            ports: Vec::new(),
            exchanges: vec![exchange(None, 4, 111.0)],
            collectives: Vec::new(),
            groups: None,
            nonblocking: None,
        };
        let message = ByteCount(65_536);
        FabricFinding { message, scenes: vec![device, cables], streams: Firsts::default() }
    }

    fn texts(row: &[Cell]) -> Vec<String> {
        let text = |cell: &Cell| match cell {
            Cell::Text { text, .. } => text.clone(),
            Cell::Value { quantity, .. } => format!("{:.1}", quantity.value.unwrap() / MEGABYTES.0),
            _ => String::new(),
        };
        row.iter().map(text).collect()
    }

    #[test]
    fn two_tables_and_two_pictures() {
        let page = page(&found());
        let [
            Block::Pictures(pairs),
            Block::Table(nodes),
            Block::Table(messages),
            Block::Pictures(groups),
        ] = &page.sections[0].blocks[..]
        else {
            panic!("{page:?}")
        };
        let heads: Vec<&str> = nodes.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(heads[..5], ["device", "nodes", "offset=2", "sweep", "direct cables"]);
        assert_eq!(texts(&nodes.rows[0])[..4], ["sw1", "2", "108.0", ""]);
        assert_eq!(texts(&nodes.rows[1])[1..6], ["4", "41.3", "40.0", "111.0", "119.0"]);
        assert_eq!(texts(&messages.rows[0])[1..4], ["64KiB", "20.6", "55.5"]);

        let Image::Shares(shares) = &pairs[0].image else { panic!("{pairs:?}") };
        assert_eq!(shares.ports, ["p1", "p2", "p3", "p4"], "those that take part");
        let fields: Vec<_> = shares.fields.iter().map(|f| (f.row, f.column, f.share)).collect();
        assert_eq!(fields, [(0, 2, 0.0), (1, 3, 1.0), (3, 1, 1.0)], "one way is one half");
        assert_eq!(shares.fields[0].text, "p1 and p3: nothing");
        assert_eq!(shares.fields[1].text, "p2 and p4: 41.0 MB/s, offset=2");
        assert!(shares.outlined.is_empty());

        let Image::Groups(ports) = &groups[0].image else { panic!("{groups:?}") };
        let of_ports: Vec<_> = ports.ports.iter().map(|port| port.group).collect();
        assert_eq!(of_ports, [Some(0), Some(1), Some(1), Some(0), None]);
        assert!(ports.groups[1].starts_with("group 2, 2 ports: its uplink carries at least 1.50"));
        assert!(groups[0].caption.contains("12 floods"), "{}", groups[0].caption);
    }

    #[test]
    fn groups_have_their_uplinks_rates_and_a_sentence() {
        let mut found = found();
        let answer = |found: &FabricFinding| {
            let answer = answers::groups(found).remove(0);
            let headline = answer.headline.expect("always one").value;
            [headline, answer.text].map(|text| text.replace('\u{a0}', " "))
        };
        assert_eq!(
            answer(&found),
            [
                "at least 1.00 Gbit/s and at least 1.50 Gbit/s",
                "Groups p1, p4; p2, p3 (confidence 99.9 %, 12 floods). With all traffic between groups \
                 a port gets 50.0 % of its rate. Of p5 (silent) nothing is known."
            ]
        );
        let groups = found.scenes[0].groups.as_mut().expect("told");
        groups.uplinks[1].value = Some(1.04e9);
        assert_eq!(answer(&found)[0], "at least 1.00 Gbit/s");
        let groups = found.scenes[0].groups.as_mut().expect("told");
        groups.found.finding = Finding::Clean { groups: Vec::new(), excess: f64::INFINITY };
        assert_eq!(answer(&found)[0], "not shown");
    }

    #[test]
    fn nothing_exchanged_is_no_section() {
        let nothing = FabricFinding { scenes: Vec::new(), ..found() };
        assert_eq!(page(&nothing), StudyPage::default());
    }
}
