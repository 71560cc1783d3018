//! What the floods say of a device's structure, as figures: its groups of ports and their uplinks.
//!
//! Owns the rows and their words. Never tells more of a group than was found, and never a group
//! without its confidence and its price in trials.

use std::collections::BTreeMap;

use measure::blocks::BlockEstimate;
use measure::{Interval, Nanos, Rate};
use rand::SeedableRng as _;
use rand_pcg::Pcg64;

use super::floods::Flooding;
use super::infer::{
    Bound, Cabled, Fault, Finding, Group, Inferred, SURELY, Uplink, infer, infer_in_sittings,
};
use super::scene::Scene;
use super::{FabricSpec, Recabling};
use crate::study::{Estimate, Row, Session, Ways};
use crate::verdict::{Evidence, Setting, Standing};
use page::{Caveat, Condition, Figure, Key, Metric, Unit, Verdict};
use trial::Result;
use trial::topology::Topology;

/// By scene.
pub(super) type Structures = BTreeMap<usize, Inferred>;

/// How many floods there will be, roughly: what a device of four groups takes.
const TYPICAL_FLOODS: u64 = 16;

/// Their length, roughly.
const TYPICAL_LOAD: Nanos = Nanos::from_millis(150);

/// What the floods of a scene take, roughly: how many there are shows as they run.
pub(super) fn estimate(spec: &FabricSpec, scene: &Scene) -> Estimate {
    let each = spec.profile.trial(TYPICAL_LOAD);
    match (scene.floods, scene.names.len() - scene.ports.len()) {
        (false, _) => Estimate::NONE,
        (true, 0) => (each * TYPICAL_FLOODS).searching(),
        // Half of the hosts go on to a new port at each sitting; how long cables take, nobody
        // knows.
        (true, more) => {
            (each * TYPICAL_FLOODS * (2 + 2 * more / scene.ports.len()) as u64).searching()
        }
    }
}

/// Floods every scene that asks for it.
pub(super) fn all(
    scenes: &[Scene],
    topology: &Topology,
    session: &mut Session<'_>,
    seed: u64,
) -> Result<Structures> {
    let mut found = Structures::new();
    for (at, scene) in scenes.iter().enumerate().filter(|(_, scene)| scene.floods) {
        let own: Vec<Option<Rate>> = scene.ports.iter().map(|port| topology.rate(port)).collect();
        let few = scene.names.len() > own.len();
        // A host takes its rate along: at every port there is the slowest's.
        let rates = if few { vec![scene.link; scene.names.len()] } else { own };
        let seats = (0..scene.ports.len()).collect();
        let chance = Pcg64::seed_from_u64(seed);
        let outruns = !topology.is_simulated();
        let mut flooding = Flooding {
            session,
            scene,
            rates,
            chance: chance.clone(),
            outruns,
            seats,
            stretch: 1,
            paused: false,
        };
        let told = if few {
            infer_in_sittings((scene.names.len(), scene.ports.len()), &mut flooding, chance)?
        } else {
            infer(scene.ports.len(), &mut flooding, &chance)?
        };
        session.cabling.clear();
        found.insert(at, told);
    }
    Ok(found)
}

/// The rows of one scene; `row` is the subject's.
pub(super) fn figures(found: &Inferred, scene: &Scene, ways: &Ways, row: Row) -> Vec<Figure> {
    let setting = setting(ways, scene);
    let judge = |evidence: &Evidence<'_>| evidence.verdict(setting);
    let mut row = row;
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
    if let Some(cabled) = found.cabled {
        tell_cabling(&mut row, cabled, scene);
    }
    match &found.finding {
        Finding::Nothing => {
            row.caveats.insert(Caveat::NoValidTrial);
            vec![row.single(Metric::PortGroups, Unit::Count, None)]
        }
        Finding::Queued { kept_up } => {
            row.caveats.insert(Caveat::NotResolved);
            row.set(Key::KeptUp, *kept_up);
            vec![row.single(Metric::PortGroups, Unit::Count, None)]
        }
        Finding::Clean { groups, excess } => {
            row.verdict = judge(&Evidence::Bound);
            clean(row, scene, groups, *excess)
        }
        Finding::Blocking { groups, confidence, between, share } => {
            // Groups are told only where traffic that stays inside them is not held up.
            let in_control = (!groups.is_empty()).then_some(false);
            row.verdict = judge(&Evidence::Sight { seen: true, in_control });
            row.set(Key::WorstShare, *share);
            blocking(row, scene, groups, (*confidence, *between), &judge)
        }
    }
}

/// Traffic of as many hosts at once that stays inside its groups is the control, and no direct
/// cable says more; but for hosts that do the device's work too.
fn setting(ways: &Ways, scene: &Scene) -> Setting {
    let own = ways.setting(scene.way);
    if own.shared_processors { own } else { Setting { standing: Standing::Beside, ..own } }
}

/// What it cost whoever moved the cables, and what it must have cost.
fn tell_cabling(row: &mut Row, cabled: Cabled, scene: &Scene) {
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
    if let Some(uplink) = cabled.uplink_seen {
        // The same uplink is shorter for larger groups; the largest that share out a device are
        // halves.
        let excess = f64::from(ports) / 2.0 / uplink - 1.0;
        row.set(Key::UplinkSeenPorts, uplink);
        row.set(Key::ExcessOfHalvesSeen, excess);
        row.set(Key::ChanceSeen, SURELY);
    }
}

/// Nothing says that a device without a short uplink has but one group: only that no group was held
/// up.
fn clean(mut row: Row, scene: &Scene, groups: &[Vec<usize>], excess: f64) -> Vec<Figure> {
    row.caveats.insert(Caveat::DeviceNotDriven);
    if excess.is_finite() {
        row.set(Key::ExcessSeen, excess);
        row.set(Key::ChanceSeen, 0.99);
    }
    if !groups.is_empty() {
        row.set(Key::GroupsUnhindered, named_all(groups, scene));
    }
    vec![row.single(Metric::PortGroups, Unit::Count, None)]
}

fn blocking(
    mut row: Row,
    scene: &Scene,
    groups: &[Group],
    (confidence, between): (f64, Option<BlockEstimate>),
    judge: &dyn Fn(&Evidence<'_>) -> Verdict,
) -> Vec<Figure> {
    if groups.is_empty() {
        row.caveats.insert(Caveat::NotResolved);
        return vec![row.single(Metric::PortGroups, Unit::Count, None)];
    }
    let ports: Vec<Vec<usize>> = groups.iter().map(|group| group.ports.clone()).collect();
    row.set(Key::Groups, named_all(&ports, scene));
    row.set(Key::GroupsConfidence, confidence);
    row.set(Key::GroupOfPorts, by_port(&ports, scene));
    if confidence < 0.95 {
        row.caveats.insert(Caveat::NotResolved);
    }
    let mut answer = row.clone();
    if let Some((between, link)) = between.zip(scene.link) {
        let Interval { low, high, .. } = between.interval;
        let rates = [
            (Key::BetweenGroups, between.value),
            (Key::BetweenGroupsLow, low),
            (Key::BetweenGroupsHigh, high),
        ];
        let of = |(key, ports): (Key, f64)| (key, (ports * link.0 as f64).into());
        answer.conditions.extend(rates.map(of));
    }
    let count = Some(groups.len() as f64);
    let mut figures = vec![answer.single(Metric::PortGroups, Unit::Count, count)];
    for (at, group) in groups.iter().enumerate() {
        figures.push(uplink(row.clone(), scene, (at, group), judge));
    }
    figures
}

fn uplink(
    mut row: Row,
    scene: &Scene,
    (at, group): (usize, &Group),
    judge: &dyn Fn(&Evidence<'_>) -> Verdict,
) -> Figure {
    for key in [Key::Groups, Key::GroupOfPorts] {
        row.conditions.remove(&key);
    }
    row.set(Key::RateConvention, "L1");
    row.set(Key::Group, at as u64 + 1);
    row.set(Key::GroupPorts, Condition::Ports(named(&group.ports, scene)));
    row.set(Key::GroupSize, group.ports.len() as u64);
    let in_bits = |ports: f64| scene.link.map(|link| ports * link.0 as f64);
    match group.uplink {
        Uplink::Rate(rate) => {
            row.set(Key::UplinkPorts, rate.value);
            let bits = scene.link.map(|link| rate.scaled(link.0 as f64));
            let mut figure = row.of_estimate(Metric::UplinkRate, Unit::BitsPerSecond, bits);
            figure.blocks = rate.blocks as u32;
            figure
        }
        Uplink::AtLeast(ports, bound) => {
            let by = match bound {
                Bound::Ports => "its ports",
                Bound::OtherUplinks => "the other groups' uplinks",
                Bound::OneOfTwo => "the narrower of the two groups' uplinks",
                Bound::Pauses => "the device, which had its senders pause",
            };
            row.verdict = judge(match bound {
                Bound::Ports => &Evidence::Bound,
                Bound::OtherUplinks | Bound::OneOfTwo | Bound::Pauses => &Evidence::Nothing,
            });
            row.set(Key::Bound, "at least");
            row.set(Key::BoundedBy, by);
            row.set(Key::UplinkPorts, ports);
            row.caveats.insert(Caveat::DeviceNotDriven);
            let mut figure = row.single(Metric::UplinkRate, Unit::BitsPerSecond, in_bits(ports));
            figure.low = figure.value;
            figure
        }
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
fn by_port(groups: &[Vec<usize>], scene: &Scene) -> Condition {
    let group = |port| groups.iter().position(|group| group.contains(&port));
    Condition::OfPorts((0..scene.names.len()).map(|p| Some(group(p)? as u32 + 1)).collect())
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
