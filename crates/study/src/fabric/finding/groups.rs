//! Groups of ports and their uplinks, as floods show them.
//!
//! Owns the rows of a device's structure. Never states more about a group than was found, and never
//! a group without its confidence and its cost in trials.

use measure::Interval;
use measure::blocks::BlockEstimate;

use super::super::infer::{Bound, Fault, Finding, Group, Inferred, SURELY, Uplink};
use super::super::scene::Scene;
use super::Measured;
use crate::verdict::{Evidence, Setting, Standing};
use crate::{Row, Ways};
use page::{AT_LEAST, Caveat, Condition, Figure, Key, Metric, Unit, phrase};

/// Groups of a device's ports, as floods show them.
#[derive(Debug)]
pub(in super::super) struct PortGroups {
    pub(in super::super) found: Inferred,
    /// Ports without results, with the reasons; empty if there are none.
    pub(in super::super) missing: String,
    /// Ports of the groups in words.
    pub(in super::super) names: String,
    /// Number of groups.
    pub(in super::super) value: Figure,
    /// Rate of each group's uplink.
    pub(in super::super) uplinks: Vec<Figure>,
}

impl PortGroups {
    /// Computes the groups that one scene's floods show.
    pub(super) fn new(measured: Measured<'_>, scene: &Scene, found: &Inferred) -> Self {
        let rows = Rows { scene, setting: setting(measured.ways, scene) };
        let mut row = rows.shared(measured.row(scene), found);
        let uplinks = rows.describe(&mut row, &found.finding);
        let count = (!uplinks.is_empty()).then_some(uplinks.len() as f64);
        let value = row.single(Metric::PortGroups, Unit::Count, count);
        let names = named_all(found.groups().iter().map(|group| &group.ports), scene).to_string();
        Self { found: found.clone(), missing: missing(found, scene), names, value, uplinks }
    }

    /// All values, in the order of their rows.
    pub(super) fn values(&mut self) -> Vec<&mut Figure> {
        std::iter::once(&mut self.value).chain(&mut self.uplinks).collect()
    }
}

impl Inferred {
    /// Groups behind short uplinks; empty if none was found.
    pub(in super::super) fn groups(&self) -> &[Group] {
        if let Finding::Blocking { groups, .. } = &self.finding { groups } else { &[] }
    }
}

/// Setting of the verdicts. Traffic of as many hosts inside their groups is the control, and a
/// direct cable adds nothing. Hosts that also run the device are the exception.
fn setting(ways: &Ways, scene: &Scene) -> Setting {
    let own = ways.setting(scene.way);
    if own.shared_processors { own } else { Setting { standing: Standing::Beside, ..own } }
}

/// Builder of the rows of one scene's floods.
struct Rows<'a> {
    scene: &'a Scene,
    setting: Setting,
}

impl Rows<'_> {
    /// Conditions and caveats that all rows of a scene's floods share.
    fn shared(&self, mut row: Row, found: &Inferred) -> Row {
        row.n = found.trials;
        for key in [Key::Carrier, Key::Credits, Key::RateConvention] {
            row.conditions.remove(&key);
        }
        row.set(Key::Trials, found.trials);
        if !found.missing.is_empty() {
            let all = || found.missing.iter();
            let ports = all().map(|(port, _)| self.scene.ports[*port].to_string());
            row.set(Key::PortsMissing, Condition::List(ports.collect()));
            let why = all().map(|(_, fault)| fault.as_str().to_owned());
            row.set(Key::PortsMissingFor, Condition::List(why.collect()));
            row.caveats.insert(Caveat::SilentPairs);
        }
        if let Some(share) = found.local_share {
            row.set(Key::LocalShare, share);
        }
        row
    }

    /// Writes the finding into the groups' row, and returns the uplinks' rows.
    fn describe(&self, row: &mut Row, found: &Finding) -> Vec<Figure> {
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
                // Groups are reported only if traffic inside them is not limited.
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

    /// Describes a device without a short uplink. It may still have several groups; none was
    /// limited.
    fn describe_clean(&self, row: &mut Row, groups: &[Vec<usize>], excess: f64) {
        row.verdict = Evidence::Bound.verdict(self.setting);
        row.caveats.insert(Caveat::DeviceNotDriven);
        if excess.is_finite() {
            row.set(Key::ExcessSeen, excess);
            row.set(Key::ChanceSeen, SURELY);
        }
        if !groups.is_empty() {
            row.set(Key::GroupsUnhindered, named_all(groups.iter(), self.scene));
        }
    }

    fn describe_groups(&self, row: &mut Row, groups: &[Group], between: Option<BlockEstimate>) {
        let group = |port| groups.iter().position(|group| group.ports.contains(&port));
        let number = |port| Some(group(port)? as u32 + 1);
        let of_port = (0..self.scene.ports.len()).map(number).collect();
        row.set(Key::Groups, named_all(groups.iter().map(|group| &group.ports), self.scene));
        row.set(Key::GroupOfPorts, Condition::OfPorts(of_port));
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

    fn uplink(&self, mut row: Row, number: u64, group: &Group) -> Figure {
        row.set(Key::RateConvention, "L1");
        row.set(Key::Group, number);
        row.set(Key::GroupPorts, Condition::List(named(&group.ports, self.scene)));
        row.set(Key::GroupSize, group.ports.len() as u64);
        match group.uplink {
            Uplink::Rate(rate) => {
                row.set(Key::UplinkPorts, rate.value);
                let bits = self.scene.link.map(|link| rate.scaled(link.0 as f64));
                let mut figure = row.of_estimate(Metric::UplinkRate, Unit::BitsPerSecond, bits);
                figure.blocks = rate.blocks as u32;
                figure
            }
            Uplink::AtLeast(ports, bound) => self.uplink_at_least(row, ports, bound),
        }
    }

    fn uplink_at_least(&self, mut row: Row, ports: f64, bound: Bound) -> Figure {
        let by = match bound {
            Bound::Ports => "own-ports",
            Bound::OtherUplinks => "other-uplinks",
            Bound::OneOfTwo => "narrower-uplink",
            Bound::Pauses => "pauses",
        };
        let evidence = match bound {
            Bound::Ports => Evidence::Bound,
            Bound::OtherUplinks | Bound::OneOfTwo | Bound::Pauses => Evidence::Nothing,
        };
        row.verdict = evidence.verdict(self.setting);
        row.set(Key::Bound, AT_LEAST);
        row.set(Key::BoundedBy, by);
        row.set(Key::UplinkPorts, ports);
        row.caveats.insert(Caveat::DeviceNotDriven);
        let bits = self.in_bits(ports);
        let mut figure = row.single(Metric::UplinkRate, Unit::BitsPerSecond, bits);
        figure.low = figure.value;
        figure
    }

    /// Rate of `ports` ports, in bits a second.
    fn in_bits(&self, ports: f64) -> Option<f64> {
        self.scene.link.map(|link| ports * link.0 as f64)
    }
}

/// Names of the ports.
fn named(group: &[usize], scene: &Scene) -> Vec<String> {
    group.iter().map(|port| scene.ports[*port].to_string()).collect()
}

fn named_all<'a>(groups: impl Iterator<Item = &'a Vec<usize>>, scene: &Scene) -> Condition {
    Condition::Groups(groups.map(|group| named(group, scene)).collect())
}

impl Fault {
    /// Code word in rows.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Mute => "sends-nothing",
            Self::Deaf => "receives-nothing",
            Self::Dead => "silent",
        }
    }
}

/// `h3/eth1 (nothing it sent arrived)`
fn missing(found: &Inferred, scene: &Scene) -> String {
    let said = |(port, fault): &(usize, Fault)| {
        let why = phrase::code(&Key::PortsMissingFor, fault.as_str());
        format!("{} ({why})", scene.ports[*port])
    };
    found.missing.iter().map(said).collect::<Vec<_>>().join("; ")
}
