//! Random fabrics with a known fault: which port the fabric study names, and whether it calls a
//! device blocking that is not.
//!
//! Owns the draw and the score. The truth is the profile and the hosts; never a record of another
//! run. Seeds are printed; `SWITCHMARK_FABRICS` sets how many are drawn, as a number or as seeds
//! (`40..60`), and `SWITCHMARK_FABRIC_HOSTS` how many hosts they have at most.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use measure::{Nanos, Rate};
use page::{Figure, Key, Metric};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use sim::{Cabling, HostModel, SlowHost, VirtualTestbed};
use study::{Arrangement, FabricSpec, Finding as _, Nodes};

use crate::trials::profile;

const PORT: f64 = 100e6;

/// Length of a trial: forty messages of 64 KiB.
const TRIAL: Nanos = Nanos::from_millis(220);

/// Time of a message of 64 KiB at a port's rate, in seconds: 1448 octets a frame of 1538.
const MESSAGE_TIME: f64 = 65_536.0 * 8.0 / PORT * 1538.0 / 1448.0;

/// What is wrong with a fabric.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// A host sends at this share of its link.
    Egress(f64),
    /// A device's port sends at this share of the link.
    Ingress(f64),
    /// A cable's speed, as a share of the others'.
    Cable(f64),
    /// A cable damages this share of the frames that the host sends (true) or receives.
    Lossy(f64, bool),
    /// A host has each frame so late that an exchange takes this share longer.
    Late(f64),
    /// Half of the ports share an uplink of this share of their rates.
    Uplink(f64),
}

impl Fault {
    fn draw(chance: &mut Pcg64) -> Self {
        let share = chance.random_range(0.5..0.97);
        match chance.random_range(0..6) {
            0 => Self::Egress(share),
            1 => Self::Ingress(share),
            2 => Self::Cable(share),
            3 => Self::Lossy(10f64.powf(chance.random_range(-4.0..-1.301)), chance.random()),
            4 => Self::Late(1.0 / share - 1.0),
            _ => Self::Uplink(share),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Egress(_) => "egress",
            Self::Ingress(_) => "ingress",
            Self::Cable(_) => "cable",
            Self::Lossy(..) => "lossy",
            Self::Late(_) => "late",
            Self::Uplink(_) => "uplink",
        }
    }

    /// True if it makes at least a twentieth of difference. What a loss costs depends on the
    /// repair: from a frame in 200 on it is more than that.
    fn is_large(self) -> bool {
        match self {
            Self::Egress(share)
            | Self::Ingress(share)
            | Self::Cable(share)
            | Self::Uplink(share) => share < 0.95,
            Self::Lossy(share, _) => share > 0.005,
            Self::Late(more) => more > 1.0 / 0.95 - 1.0,
        }
    }
}

/// Fabric of known faults, by their ports.
#[derive(Debug)]
struct Fabric {
    seed: u64,
    ports: u16,
    faults: Vec<(u16, Fault)>,
    cabling: Cabling,
}

impl Fabric {
    fn draw(seed: u64, most: f64) -> Self {
        let mut chance = Pcg64::seed_from_u64(seed);
        let ports = 4.0 * (most / 4.0).powf(chance.random::<f64>());
        let ports = ports.round() as u16;
        let count = [0, 1, 1, 1, 1, 1, 2, 2][chance.random_range(0..8)];
        let mut faults: Vec<(u16, Fault)> = Vec::new();
        while faults.len() < count {
            let (port, fault) = (chance.random_range(0..ports), Fault::draw(&mut chance));
            let is_uplink = |fault: &Fault| matches!(fault, Fault::Uplink(_));
            let twice = |(other, known): &(u16, Fault)| {
                *other == port || (is_uplink(known) && is_uplink(&fault))
            };
            if !faults.iter().any(twice) {
                faults.push((port, fault));
            }
        }
        let cabling = if chance.random() { Cabling::Both } else { Cabling::Device };
        Self { seed, ports, faults, cabling }
    }

    fn profile(&self) -> String {
        let mut text = format!(
            "name = \"sw\"\nports = {}\nrate = \"100Mbit\"\nbuffer = {{ per_port = \"512KiB\" }}\n\
             forwarding = {{ mode = \"store-and-forward\", latency = \"2us\" }}\n",
            self.ports
        );
        let mut cables = Vec::new();
        for (port, fault) in &self.faults {
            let port = port + 1;
            let rate = |share: f64| Rate((share * PORT) as u64);
            cables.extend(match *fault {
                Fault::Ingress(share) => {
                    Some(format!("ports = \"{port}\", shaped = \"{}\"", rate(share)))
                }
                Fault::Cable(share) => {
                    Some(format!("ports = \"{port}\", rate = \"{}\"", rate(share)))
                }
                Fault::Lossy(share, sends) => {
                    let way = if sends { "in" } else { "out" };
                    Some(format!("ports = \"{port}\", damaged = {{ {way} = {share:.6} }}"))
                }
                Fault::Uplink(share) => {
                    let half = self.ports / 2;
                    let uplink = Rate((share * PORT * f64::from(half)) as u64);
                    let group =
                        |ports: &str| format!("{{ ports = \"{ports}\", uplink = \"{uplink}\" }}");
                    let groups = [
                        group(&format!("1-{half}")),
                        group(&format!("{}-{}", half + 1, self.ports)),
                    ];
                    let _ = writeln!(text, "groups = [{}]", groups.join(", "));
                    None
                }
                Fault::Egress(_) | Fault::Late(_) => None,
            });
        }
        if !cables.is_empty() {
            let cables: Vec<String> = cables.iter().map(|cable| format!("{{ {cable} }}")).collect();
            let _ = writeln!(text, "cables = [{}]", cables.join(", "));
        }
        text
    }

    fn hosts(&self) -> HostModel {
        let slow = self.faults.iter().filter_map(|(host, fault)| {
            let (sends, late) = match fault {
                Fault::Egress(share) => (Some(Rate((share * PORT) as u64)), Nanos::ZERO),
                // Each end waits for the other in turn: one of two messages is late.
                Fault::Late(more) => (None, Nanos::from_secs_f64(2.0 * more * MESSAGE_TIME)),
                _ => return None,
            };
            Some(SlowHost { host: *host, sends, late })
        });
        HostModel { slow: slow.collect(), ..HostModel::ideal(self.ports) }
    }

    fn figures(&self) -> Vec<Figure> {
        // A sweep of many ports takes long, and so do its simulations.
        let rounds = if self.ports > 16 { Arrangement::Halves } else { Arrangement::Sweep };
        let spec = FabricSpec {
            arrangements: vec![Arrangement::Neighbours, rounds],
            nodes: Nodes::These(vec![2, u32::from(self.ports / 2 * 2)]),
            messages: Vec::new(),
            interval: TRIAL / 10,
            duration: TRIAL,
            blocks: study::Blocks::known(6),
            tries: study::Tries::known(1),
            infer: true,
            ..FabricSpec::quick()
        };
        let profile = profile(&self.profile());
        let mut bed = VirtualTestbed::new("sim:slow", profile, self.hosts(), self.seed)
            .with_cabling(self.cabling);
        spec.run(&mut bed, self.seed).expect("every trial has a record").rows()
    }

    /// Ports at fault.
    fn guilty(&self) -> BTreeSet<String> {
        let own = self.faults.iter().filter(|(_, fault)| !matches!(fault, Fault::Uplink(_)));
        own.map(|(port, _)| format!("h{}/eth1", port + 1)).collect()
    }

    /// Ports whose fault makes a difference that must be seen. With fewer than four good ports
    /// there is nothing to be compared with.
    fn certain(&self) -> BTreeSet<String> {
        let large = |(_, fault): &&(u16, Fault)| {
            usize::from(self.ports) >= 4 + self.guilty().len()
                && !matches!(fault, Fault::Uplink(_))
                && fault.is_large()
        };
        self.faults.iter().filter(large).map(|(port, _)| format!("h{}/eth1", port + 1)).collect()
    }

    fn blocks(&self) -> bool {
        self.faults.iter().any(|(_, fault)| matches!(fault, Fault::Uplink(_)))
    }
}

/// Results over the fabrics.
#[derive(Debug, Default)]
struct Score {
    fabrics: u32,
    /// Faults of a twentieth and more, and those of them that were named, by kind.
    kinds: BTreeMap<&'static str, [u32; 2]>,
    /// Fabrics in which a port without a fault was named.
    false_blame: Vec<String>,
    /// Fabrics whose device was called blocking and is not.
    false_blocking: Vec<String>,
    unnamed: Vec<String>,
}

impl Score {
    fn take(&mut self, fabric: &Fabric) {
        let figures = fabric.figures();
        let named: BTreeSet<String> = figures
            .iter()
            .filter_map(|figure| Some(figure.text(Key::SlowPort)?.to_owned()))
            .collect();
        self.fabrics += 1;
        if named.difference(&fabric.guilty()).next().is_some() {
            self.false_blame.push(format!("{fabric:?}: {named:?}"));
        }
        let answer = figures.iter().find(|f| f.metric == Metric::Nonblocking);
        if answer.is_some_and(|f| f.value == Some(0.0)) && !fabric.blocks() {
            self.false_blocking.push(format!("{fabric:?}: {named:?} {answer:?}"));
        }
        let certain = fabric.certain();
        for (port, fault) in &fabric.faults {
            let name = format!("h{}/eth1", port + 1);
            if certain.contains(&name) {
                let kind = self.kinds.entry(fault.name()).or_default();
                kind[0] += 1;
                kind[1] += u32::from(named.contains(&name));
            }
        }
        if certain.difference(&named).next().is_some() {
            self.unnamed.push(format!("{fabric:?}: {named:?}"));
        }
    }
}

/// Sixteen hosts, one of them behind a cable of a tenth of the others' speed, or behind one that
/// damages a frame in a thousand: it is named, and the device is not called blocking.
#[test]
fn a_slow_or_a_damaged_cable_among_sixteen_is_named() {
    let table = [
        (Fault::Cable(0.1), Metric::PortShare, "link"),
        (Fault::Lossy(0.001, true), Metric::PortDamaged, "sends"),
        (Fault::Lossy(0.001, false), Metric::PortDamaged, "receives"),
    ];
    for (fault, metric, statistic) in table {
        let faults = vec![(6, fault)];
        let fabric = Fabric { seed: 7, ports: 16, faults, cabling: Cabling::Both };
        let figures = fabric.figures();
        let named: Vec<&Figure> =
            figures.iter().filter(|figure| figure.text(Key::SlowPort).is_some()).collect();
        let own = |figure: &&&Figure| {
            figure.metric == metric && figure.text(Key::Statistic) == Some(statistic)
        };
        assert!(named.iter().any(|figure| own(&figure)), "{fault:?}: {named:?}");
        let is_it = |figure: &&Figure| figure.text(Key::SlowPort) == Some("h7/eth1");
        assert!(named.iter().all(is_it), "{fault:?}: {named:?}");
        let answer = figures.iter().find(|figure| figure.metric == Metric::Nonblocking);
        assert_ne!(answer.and_then(|figure| figure.value), Some(0.0), "{fault:?}: {answer:?}");
    }
}

/// Seeds that are asked for, otherwise so many.
fn seeds(usual: u64) -> Range<u64> {
    let Ok(asked) = std::env::var("SWITCHMARK_FABRICS") else { return 0..usual };
    let (first, end) = asked.split_once("..").unwrap_or(("0", &asked));
    let number = |text: &str| text.parse().expect("`60` or `40..60`");
    number(first)..number(end)
}

/// The bars of the study: at least 98 % of the guilty named, at most 0.5 % of the fabrics with a
/// port blamed wrongly, no device called blocking that is not.
#[test]
fn the_guilty_port_is_named_and_no_other() {
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|level| level == "full");
    let seeds = seeds(if full { 400 } else { 12 });
    let hosts = std::env::var("SWITCHMARK_FABRIC_HOSTS").ok().and_then(|count| count.parse().ok());
    let hosts = hosts.unwrap_or(if full { 64.0 } else { 16.0 });
    let mut score = Score::default();
    for seed in seeds {
        let missed = score.unnamed.len();
        score.take(&Fabric::draw(seed, hosts));
        for fabric in &score.unnamed[missed..] {
            println!("not named: {fabric}");
        }
    }
    println!("{score:#?}");
    let [certain, named] =
        score.kinds.values().fold([0, 0], |sum, kind| [sum[0] + kind[0], sum[1] + kind[1]]);
    assert!(score.false_blocking.is_empty(), "{:#?}", score.false_blocking);
    assert!(
        score.false_blame.len() as f64 <= 0.005 * f64::from(score.fabrics),
        "{:#?}",
        score.false_blame
    );
    assert!(f64::from(named) >= 0.98 * f64::from(certain), "{:#?}", score.unnamed);
}
