//! Groups of ports and their uplinks, as floods show them.
//!
//! Owns the rows of a device's structure. Never tells more of a group than was found, and never a
//! group without its confidence and its price in trials.

use measure::Interval;
use measure::blocks::BlockEstimate;

use super::super::Recabling;
use super::super::infer::{Bound, Cabled, Fault, Finding, Group, Inferred, SURELY, Uplink};
use super::super::scene::Scene;
use super::Measured;
use crate::study::{Row, Ways};
use crate::verdict::{Evidence, Setting, Standing};
use page::{Caveat, Condition, Figure, Key, Metric, Unit};

/// What the floods of a device's ports show.
#[derive(Debug)]
pub(in super::super) struct PortGroups {
    pub(in super::super) found: Finding,
    /// Floods that were run.
    pub(in super::super) trials: u64,
    /// Ports of which nothing is known, and why; empty where there are none.
    pub(in super::super) missing: String,
    /// Where there were fewer hosts than ports.
    pub(in super::super) cabling: Option<Cabling>,
    /// The groups' ports in words.
    pub(in super::super) names: String,
    /// The number of each port's group in the device's order; none where nothing could be told.
    pub(in super::super) group_of_port: Vec<Option<u32>>,
    /// How many groups there are.
    pub(in super::super) value: Figure,
    /// Each group's.
    pub(in super::super) uplinks: Vec<UplinkCase>,
}

/// The uplink of one group.
#[derive(Debug)]
pub(in super::super) struct UplinkCase {
    /// Ports of the group.
    pub(in super::super) size: usize,
    /// In ports' rates.
    pub(in super::super) rate: Uplink,
    pub(in super::super) value: Figure,
}

/// What it cost whoever moved the cables.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Cabling {
    pub(in super::super) cabled: Cabled,
    /// By how much halves of all ports had to be oversubscribed to be seen; none where that is not
    /// known.
    pub(in super::super) excess_of_halves: Option<f64>,
}

impl PortGroups {
    /// Of one scene.
    pub(super) fn new(measured: Measured<'_>, scene: &Scene, found: &Inferred) -> Self {
        let cabling = found.cabled.map(|cabled| Cabling::new(cabled, scene));
        let mut row = row(measured, scene, found, cabling);
        let rows = Rows { scene, setting: setting(measured.ways, scene) };
        let uplinks = rows.describe(&mut row, &found.finding);
        let groups: Vec<Vec<usize>> = match &found.finding {
            Finding::Blocking { groups, .. } => groups.iter().map(|g| g.ports.clone()).collect(),
            _ => Vec::new(),
        };
        let count = (!uplinks.is_empty()).then_some(uplinks.len() as f64);
        Self {
            found: found.finding.clone(),
            trials: found.trials,
            missing: missing(found, scene),
            cabling,
            names: named_all(&groups, scene).to_string(),
            group_of_port: by_port(&groups, scene),
            value: row.single(Metric::PortGroups, Unit::Count, count),
            uplinks,
        }
    }

    /// Its values, in their rows' order.
    pub(super) fn values(&mut self) -> Vec<&mut Figure> {
        let uplinks = self.uplinks.iter_mut().map(|uplink| &mut uplink.value);
        std::iter::once(&mut self.value).chain(uplinks).collect()
    }
}

/// What all rows of a scene's floods share.
fn row(measured: Measured<'_>, scene: &Scene, found: &Inferred, cabling: Option<Cabling>) -> Row {
    let mut row = measured.row(scene);
    row.n = found.trials;
    for key in [Key::Carrier, Key::RateConvention] {
        row.conditions.remove(&key);
    }
    row.set(Key::Trials, found.trials);
    if !found.missing.is_empty() {
        row.set(Key::PortsMissing, missing(found, scene));
        row.caveats.insert(Caveat::SilentPairs);
    }
    if let Some(share) = found.local_share {
        row.set(Key::LocalShare, share);
    }
    if let Some(cabling) = cabling {
        cabling.describe(&mut row, scene);
    }
    row
}

impl Cabling {
    fn new(cabled: Cabled, scene: &Scene) -> Self {
        // The same uplink is shorter for larger groups; the largest that share out a device are
        // halves.
        let excess = |uplink| scene.names.len() as f64 / 2.0 / uplink - 1.0;
        Self { cabled, excess_of_halves: cabled.uplink_seen.map(excess) }
    }

    /// What it cost, and what it must have cost.
    fn describe(self, row: &mut Row, scene: &Scene) {
        let Self { cabled, excess_of_halves } = self;
        let ports = scene.names.len() as u32;
        let (once, together) = Recabling { hosts: cabled.hosts as u32, ports }.least_moves();
        let numbers = [
            (Key::Ports, u64::from(ports)),
            (Key::Hosts, cabled.hosts as u64),
            (Key::Cablings, cabled.steps),
            (Key::CablesMoved, cabled.moves),
            (Key::MovesToEachPort, once.into()),
            (Key::MovesToEveryTwoPorts, together.into()),
        ];
        row.conditions.extend(numbers.map(|(name, number)| (name, number.into())));
        if let Some((uplink, excess)) = cabled.uplink_seen.zip(excess_of_halves) {
            row.set(Key::UplinkSeenPorts, uplink);
            row.set(Key::ExcessOfHalvesSeen, excess);
            row.set(Key::ChanceSeen, SURELY);
        }
    }
}

/// Traffic of as many hosts at once that stays inside its groups is the control, and no direct
/// cable says more; but for hosts that do the device's work too.
fn setting(ways: &Ways, scene: &Scene) -> Setting {
    let own = ways.setting(scene.way);
    if own.shared_processors { own } else { Setting { standing: Standing::Beside, ..own } }
}

/// What the rows of one scene's floods are made by.
struct Rows<'a> {
    scene: &'a Scene,
    setting: Setting,
}

impl Rows<'_> {
    /// Says in the groups' row what was found; the uplinks' rows.
    fn describe(&self, row: &mut Row, found: &Finding) -> Vec<UplinkCase> {
        match found {
            Finding::Nothing => {
                row.caveats.insert(Caveat::NoValidTrial);
            }
            Finding::Queued { kept_up } => {
                row.caveats.insert(Caveat::NotResolved);
                row.set(Key::KeptUp, *kept_up);
            }
            Finding::Clean { groups, excess } => self.describe_clean(row, groups, *excess),
            Finding::Blocking { groups, confidence, between, share } => {
                // Groups are told only where traffic that stays inside them is not held up.
                let in_control = (!groups.is_empty()).then_some(false);
                let seen = Evidence::Sight { seen: true, in_control };
                row.verdict = seen.verdict(self.setting);
                row.set(Key::WorstShare, *share);
                if groups.is_empty() {
                    row.caveats.insert(Caveat::NotResolved);
                    return Vec::new();
                }
                row.set(Key::GroupsConfidence, *confidence);
                if *confidence < 0.95 {
                    row.caveats.insert(Caveat::NotResolved);
                }
                let numbered = (1..).zip(groups);
                let uplinks =
                    numbered.map(|(number, group)| self.uplink(row.clone(), number, group));
                let uplinks = uplinks.collect();
                self.describe_groups(row, groups, *between);
                return uplinks;
            }
        }
        Vec::new()
    }

    /// Nothing says that a device without a short uplink has but one group: only that no group was
    /// held up.
    fn describe_clean(&self, row: &mut Row, groups: &[Vec<usize>], excess: f64) {
        row.verdict = Evidence::Bound.verdict(self.setting);
        row.caveats.insert(Caveat::DeviceNotDriven);
        if excess.is_finite() {
            row.set(Key::ExcessSeen, excess);
            row.set(Key::ChanceSeen, SURELY);
        }
        if !groups.is_empty() {
            row.set(Key::GroupsUnhindered, named_all(groups, self.scene));
        }
    }

    fn describe_groups(&self, row: &mut Row, groups: &[Group], between: Option<BlockEstimate>) {
        let ports: Vec<Vec<usize>> = groups.iter().map(|group| group.ports.clone()).collect();
        row.set(Key::Groups, named_all(&ports, self.scene));
        row.set(Key::GroupOfPorts, Condition::OfPorts(by_port(&ports, self.scene)));
        let Some(between) = between else { return };
        let Interval { low, high, .. } = between.interval;
        let rates = [
            (Key::BetweenGroups, between.value),
            (Key::BetweenGroupsLow, low),
            (Key::BetweenGroupsHigh, high),
        ];
        for (key, ports) in rates {
            if let Some(bits) = self.in_bits(ports) {
                row.set(key, bits);
            }
        }
    }

    fn uplink(&self, mut row: Row, number: u64, group: &Group) -> UplinkCase {
        let size = group.ports.len();
        row.set(Key::RateConvention, "L1");
        row.set(Key::Group, number);
        row.set(Key::GroupPorts, Condition::Ports(named(&group.ports, self.scene)));
        row.set(Key::GroupSize, size as u64);
        let value = match group.uplink {
            Uplink::Rate(rate) => {
                row.set(Key::UplinkPorts, rate.value);
                let bits = self.scene.link.map(|link| rate.scaled(link.0 as f64));
                let mut figure = row.of_estimate(Metric::UplinkRate, Unit::BitsPerSecond, bits);
                figure.blocks = rate.blocks as u32;
                figure
            }
            Uplink::AtLeast(ports, bound) => self.uplink_at_least(row, ports, bound),
        };
        UplinkCase { size, rate: group.uplink, value }
    }

    fn uplink_at_least(&self, mut row: Row, ports: f64, bound: Bound) -> Figure {
        let by = match bound {
            Bound::Ports => "its ports",
            Bound::OtherUplinks => "the other groups' uplinks",
            Bound::OneOfTwo => "the narrower of the two groups' uplinks",
            Bound::Pauses => "the device, which had its senders pause",
        };
        let evidence = match bound {
            Bound::Ports => Evidence::Bound,
            Bound::OtherUplinks | Bound::OneOfTwo | Bound::Pauses => Evidence::Nothing,
        };
        row.verdict = evidence.verdict(self.setting);
        row.set(Key::Bound, "at least");
        row.set(Key::BoundedBy, by);
        row.set(Key::UplinkPorts, ports);
        row.caveats.insert(Caveat::DeviceNotDriven);
        let bits = self.in_bits(ports);
        let mut figure = row.single(Metric::UplinkRate, Unit::BitsPerSecond, bits);
        figure.low = figure.value;
        figure
    }

    /// So many ports' rates.
    fn in_bits(&self, ports: f64) -> Option<f64> {
        self.scene.link.map(|link| ports * link.0 as f64)
    }
}

/// The ports' names.
fn named(group: &[usize], scene: &Scene) -> Vec<String> {
    group.iter().map(|port| scene.names[*port].clone()).collect()
}

fn named_all(groups: &[Vec<usize>], scene: &Scene) -> Condition {
    Condition::Groups(groups.iter().map(|group| named(group, scene)).collect())
}

/// The number of each port's group in the device's order; none where nothing could be told.
fn by_port(groups: &[Vec<usize>], scene: &Scene) -> Vec<Option<u32>> {
    let group = |port| groups.iter().position(|group| group.contains(&port));
    (0..scene.names.len()).map(|port| Some(group(port)? as u32 + 1)).collect()
}

/// `h3/eth1 (nothing it sent arrived)`
fn missing(found: &Inferred, scene: &Scene) -> String {
    let said = |(port, fault): &(usize, Fault)| {
        let why = match fault {
            Fault::Mute => "nothing it sent arrived",
            Fault::Deaf => "nothing arrived at it",
            Fault::Dead => "silent",
        };
        format!("{} ({why})", scene.names[*port])
    };
    found.missing.iter().map(said).collect::<Vec<_>>().join("; ")
}
