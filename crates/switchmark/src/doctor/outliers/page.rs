//! Words for what differs among a rack's hosts: one sentence a difference, and the table of all.
//! Never compares.

use std::collections::BTreeSet;

use page::{Cell, Listing, Style, Table, words};
use trial::topology::PortRef;

use super::{Difference, Fact, Group};

/// Sentences beside the other answers; the table has all differences.
const MOST_SENTENCES: usize = 3;
/// Names in a sentence; the table has all.
const MOST_NAMES: usize = 3;

/// States the first differences, and how many more there are.
pub fn sentences(differences: &[Difference]) -> Vec<String> {
    let mut all: Vec<String> = differences.iter().take(MOST_SENTENCES).map(sentence).collect();
    match differences.len().saturating_sub(MOST_SENTENCES) {
        0 => {}
        more => all.push(format!("{more} more differences: see the table of hosts that differ")),
    }
    all
}

/// Lists every difference; `None` if there is none.
pub fn table(differences: &[Difference]) -> Option<Table> {
    Listing::new("Hosts that differ", differences.iter().flat_map(rows))
        .column("property", |row| Cell::text(property(&row.group.found)))
        .column("hosts", |row| Cell::text(every_name(&row.group.places)).with_style(Style::Long))
        .column("found", |row| Cell::text(value(&row.group.found)).with_style(Style::Long))
        .column("others", |row| Cell::text(&row.others).with_style(Style::Long))
        .table()
        .unless_empty()
}

/// Group of ports, and what the others have.
struct Row<'a> {
    group: &'a Group,
    others: String,
}

/// Rows of a difference: the outlier's, or one for each group.
fn rows(difference: &Difference) -> Vec<Row<'_>> {
    let counted = |group: &Group| format!("{} ({})", value(&group.found), ports(group));
    match difference {
        Difference::Outlier { outlier, others, .. } => {
            vec![Row { group: outlier, others: counted(others) }]
        }
        Difference::Split { groups } => {
            let row = |group| {
                let others = groups.iter().filter(|other| *other != group).map(counted);
                Row { group, others: others.collect::<Vec<_>>().join("; ") }
            };
            groups.iter().map(row).collect()
        }
    }
}

fn sentence(difference: &Difference) -> String {
    match difference {
        Difference::Outlier { outlier, others, are_all_others } => {
            let verbs = Verbs::from_fact(&outlier.found);
            let verb = if outlier.places.len() == 1 { verbs.one } else { verbs.many };
            let count = others.places.len();
            let rest = if *are_all_others {
                format!("the other {count}")
            } else {
                format!("{count} others")
            };
            let names = first_names(&outlier.places);
            match (&outlier.found, &others.found) {
                (Fact::Offloads(own), Fact::Offloads(usual)) => {
                    format!("{names} {verb} {}, unlike {rest}", changes(own, usual))
                }
                (own, usual) => {
                    format!(
                        "{names} {verb} {}, {rest} {} {}",
                        value(own),
                        verbs.others,
                        value(usual)
                    )
                }
            }
        }
        Difference::Split { groups } => {
            let part = |group: &Group| {
                let verbs = Verbs::from_fact(&group.found);
                let verb = if group.places.len() == 1 { verbs.one } else { verbs.many };
                format!("{} {verb} {}", ports(group), value(&group.found))
            };
            let parts: Vec<String> = groups.iter().map(part).collect();
            format!("{}: {} groups, no majority", parts.join(", "), groups.len())
        }
    }
}

/// Verbs before a value.
struct Verbs {
    /// Verb for one port.
    one: &'static str,
    /// Verb for several ports.
    many: &'static str,
    /// Verb for the majority.
    others: &'static str,
}

impl Verbs {
    const fn from_fact(fact: &Fact) -> Self {
        match fact {
            Fact::SpeedMbits(_) | Fact::FullDuplex(_) => {
                Self { one: "negotiates", many: "negotiate", others: "have" }
            }
            Fact::SendsBitsPerS(_) => Self { one: "sends", many: "send", others: "send" },
            Fact::ReceivesBitsPerS(_) => {
                Self { one: "receives", many: "receive", others: "receive" }
            }
            Fact::Mtu(_) | Fact::Driver(_) | Fact::Firmware(_) | Fact::Offloads(_) => {
                Self { one: "has", many: "have", others: "have" }
            }
        }
    }
}

const fn property(fact: &Fact) -> &'static str {
    match fact {
        Fact::SpeedMbits(_) => "speed",
        Fact::FullDuplex(_) => "duplex",
        Fact::Mtu(_) => "MTU",
        Fact::Driver(_) => "driver",
        Fact::Firmware(_) => "firmware",
        Fact::Offloads(_) => "offloads",
        Fact::SendsBitsPerS(_) => "send rate",
        Fact::ReceivesBitsPerS(_) => "receive rate",
    }
}

/// Formats a value with its unit or its name: `MTU 9000`, `10 Gbit/s`.
fn value(fact: &Fact) -> String {
    match fact {
        Fact::SpeedMbits(mbits) if *mbits < 1000 => format!("{mbits} Mbit/s"),
        Fact::SpeedMbits(mbits) => format!("{} Gbit/s", f64::from(*mbits) / 1000.0),
        Fact::FullDuplex(true) => "full duplex".to_owned(),
        Fact::FullDuplex(false) => "half duplex".to_owned(),
        Fact::Mtu(octets) => format!("MTU {octets}"),
        Fact::Driver(name) => format!("driver {name}"),
        Fact::Firmware(version) => format!("firmware {version}"),
        Fact::Offloads(features) if features.is_empty() => "no offloads".to_owned(),
        Fact::Offloads(features) => features.iter().cloned().collect::<Vec<_>>().join(", "),
        Fact::SendsBitsPerS(rate) | Fact::ReceivesBitsPerS(rate) => words::bit_rate(*rate as f64),
    }
}

/// Features that are off and on, against the usual ones: `rx-gro off`.
fn changes(own: &BTreeSet<String>, usual: &BTreeSet<String>) -> String {
    let off = usual.difference(own).map(|name| format!("{name} off"));
    let on = own.difference(usual).map(|name| format!("{name} on"));
    off.chain(on).collect::<Vec<_>>().join(", ")
}

fn ports(group: &Group) -> String {
    match group.places.len() {
        1 => "1 port".to_owned(),
        count => format!("{count} ports"),
    }
}

fn every_name(places: &[PortRef]) -> String {
    places.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Names the first ports, and counts the others.
fn first_names(places: &[PortRef]) -> String {
    let names: Vec<String> = places.iter().map(ToString::to_string).collect();
    words::first_names(&names, MOST_NAMES)
}
