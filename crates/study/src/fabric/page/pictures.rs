//! Pictures of a fabric: its ports in the groups that share an uplink, and each pair of ports by
//! its goodput.
//!
//! Never shows a group that was not found, nor a pair that was not measured.

use std::collections::{BTreeMap, BTreeSet};

use page::{Figure, GroupedPort, Image, Picture, RowId, ShareField, Shares, Unit, words};

use super::super::finding::{FabricFinding, PortGroups, SceneFinding};
use super::super::infer::{Finding, Group, Uplink};
use super::MEGABYTES;

/// Maximum number of ports in a picture.
const MOST_PORTS: usize = 128;

/// Pictures of the devices with groups.
pub(super) fn groups(found: &FabricFinding) -> Vec<Picture> {
    found.scenes.iter().filter_map(ports_in_groups).collect()
}

fn ports_in_groups(scene: &SceneFinding) -> Option<Picture> {
    let PortGroups { found, uplinks, .. } = scene.groups.as_ref()?;
    let Finding::Blocking { groups, confidence, .. } = &found.finding else { return None };
    if groups.is_empty() {
        return None;
    }
    let port = |port: usize| {
        let group = groups.iter().position(|group| group.ports.contains(&port));
        let known = group.map(|group| format!("group {}", group + 1));
        let known = known.unwrap_or_else(|| "nothing is known of it".to_owned());
        let label = (port + 1).to_string();
        GroupedPort { text: format!("port {label}: {known}"), label, group }
    };
    let title =
        format!("The ports of {} in the groups that share an uplink", scene.who.to_phrase());
    let caption = format!(
        "{title}, in the device's order; told from {} floods, all of it right with a confidence of {}.",
        found.trials,
        words::probability(*confidence)
    );
    let groups = (1..).zip(groups.iter().zip(uplinks));
    let image = Image::Groups(page::PortGroups {
        title,
        ports: (0..scene.ports.len()).map(port).collect(),
        groups: groups.map(|(number, (group, uplink))| legend(number, group, uplink)).collect(),
    });
    Some(Picture { image, caption })
}

fn legend(number: u32, group: &Group, uplink: &Figure) -> String {
    let (ports, at_least) = match group.uplink {
        Uplink::Rate(ports) => (ports.value, ""),
        Uplink::AtLeast(ports, _) => (ports, "at least "),
    };
    let carries = uplink.value.map_or_else(
        || "its uplink was not driven to its limit".to_owned(),
        |rate| {
            let rate = words::bit_rate(rate);
            format!("its uplink carries {at_least}{rate} each way, {ports:.1} ports' rate")
        },
    );
    format!("group {number}, {} ports: {carries}", group.ports.len())
}

/// Pictures of the devices with single pairs.
pub(super) fn pairs(found: &FabricFinding) -> Vec<Picture> {
    found.devices().into_iter().filter_map(shares).collect()
}

/// Goodput of a pair in one round or arrangement.
struct Told {
    ports: [usize; 2],
    is_one_way: bool,
    bits: Option<f64>,
    /// Words for the round or arrangement.
    round: String,
    id: Option<RowId>,
}

impl Told {
    fn all(scene: &SceneFinding) -> Vec<Self> {
        let exchanges = scene.exchanges.iter().filter_map(|e| Some((e.arrangement?, &e.pairs)));
        let single = exchanges.flat_map(|(arrangement, pairs)| {
            pairs.iter().map(move |pair| Self {
                ports: pair.ports,
                is_one_way: pair.is_one_way,
                bits: pair.goodput.value.value,
                round: arrangement.to_string(),
                id: pair.goodput.value.id(),
            })
        });
        let met = scene.met.iter().map(|met| Self {
            ports: met.ports,
            is_one_way: false,
            bits: Some(met.bits),
            round: met.round.clone(),
            id: None,
        });
        single.chain(met).collect()
    }
}

fn shares(scene: &SceneFinding) -> Option<Picture> {
    let told = Told::all(scene);
    let best = told.iter().filter_map(|told| told.bits).max_by(f64::total_cmp)?;
    let taking_part: BTreeSet<usize> = told.iter().flat_map(|told| told.ports).collect();
    if taking_part.len() > MOST_PORTS || best <= 0.0 {
        return None;
    }
    let ports: Vec<usize> = taking_part.into_iter().collect();
    let place = |port: usize| ports.partition_point(|other| *other < port);
    let field = |([row, column], told): ([usize; 2], &Told)| ShareField {
        row: place(row),
        column: place(column),
        share: (told.bits.unwrap_or(0.0) / best).clamp(0.0, 1.0),
        text: told.text(scene),
        id: told.id,
    };
    let is_slow =
        |port: &usize| scene.slow.iter().any(|slow| slow.port.to_string() == scene.ports[*port]);
    let outlined: Vec<usize> =
        ports.iter().filter(|port| is_slow(port)).map(|p| place(*p)).collect();
    let title = format!("What each pair of ports of {} got", scene.who.to_phrase());
    let odd = if outlined.is_empty() { "" } else { " Slow ports are outlined." };
    let caption = format!(
        "{title}, each way; the best of them got {} MB/s. The value is on each field.{odd}",
        in_megabytes(best)
    );
    let image = Image::Shares(Shares {
        title,
        ports: ports.iter().map(|port| scene.ports[*port].clone()).collect(),
        fields: worst_of_each(&told).into_iter().map(field).collect(),
        outlined,
        scale: [1.0, 0.75, 0.5, 0.25, 0.0].map(|share| in_megabytes(best * share)).to_vec(),
        unit: MEGABYTES.1.to_owned(),
    });
    Some(Picture { image, caption })
}

/// Fields of the square: if rounds share a pair, the one with the lower goodput.
fn worst_of_each(told: &[Told]) -> BTreeMap<[usize; 2], &Told> {
    let rate = |told: &Told| told.bits.unwrap_or(-1.0);
    let mut worst: BTreeMap<[usize; 2], &Told> = BTreeMap::new();
    for told in told {
        let [from, to] = told.ports;
        let back = (!told.is_one_way).then_some([to, from]);
        for field in std::iter::once([from, to]).chain(back) {
            let known = worst.entry(field).or_insert(told);
            if rate(told) < rate(known) {
                *known = told;
            }
        }
    }
    worst
}

impl Told {
    /// `h1/eth1 and h3/eth1: 41.0 MB/s, offset=2`
    fn text(&self, scene: &SceneFinding) -> String {
        let [from, to] = self.ports.map(|port| &scene.ports[port]);
        let got = self.bits.map_or_else(
            || "nothing".to_owned(),
            |bits| format!("{} MB/s, {}", in_megabytes(bits), self.round),
        );
        format!("{from} and {to}: {got}")
    }
}

fn in_megabytes(bits: f64) -> String {
    words::value_in(Unit::BitsPerSecond, bits, MEGABYTES)
}
