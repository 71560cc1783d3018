//! A device's data sheet from what studies found of it, and how far a twin is from the device.
//!
//! Owns what is asked for, and what a data sheet holds: `reading` tells which figures become which
//! part, `file` which part becomes which key, `difference` what a twin is held against, `page` how
//! near it is. Pure: never runs a study, and never writes a key that nothing measured.

mod difference;
mod file;
mod page;
mod reading;

use measure::{ByteCount, FrameMix, FrameSize, Nanos, Rate};

use super::fabric::{Arrangement, FabricSpec, Nodes};
use super::forwarding::{ForwardingSpec, ForwardingTest};
use super::latency::LatencySpec;
use super::switching::{LearnRate, Stations, SwitchTest, SwitchingSpec};
use super::{Blocks, DepthSpec, StudySpec};
use trial::{Carrier, Protocol};

pub use difference::{Difference, compare, compare_sheets};
pub use page::{is_near, twin_page};

/// Of a virtual trial no more frames than this, whatever the rate.
const FRAMES: f64 = 100_000.0;
/// The most addresses that are tried: above that a real device's table takes minutes.
const STATIONS: u32 = 16_384;
/// At how many frames a second stations are made known.
const LEARN_RATE: u64 = 10_000;
/// Hosts without which a test can't be made.
const FOR_BURSTS: usize = 3;
const FOR_ADDRESSES: usize = 3;
const FOR_GROUPS: usize = 4;

/// What is known of a testbed before anything runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bed {
    /// In virtual time, where trials are short since they are all alike.
    pub simulated: bool,
    /// The ports' rate, where it is known.
    pub link: Option<Rate>,
    /// At the device.
    pub hosts: usize,
    /// Only a switch has a table of addresses to fill.
    pub switch: bool,
    /// Whether something is known that can be done to the device while frames pass.
    pub deeds: bool,
}

impl Bed {
    /// How long a virtual trial with frames of that size is; `None` where time is real.
    pub(crate) fn virtual_time(self, size: FrameSize) -> Option<Nanos> {
        let line = self.link.filter(|_| self.simulated).map(|link| link.line_rate(size).0);
        line.map(|line| Nanos::from_secs_f64(FRAMES / line))
    }
}

/// When the device begins to send on what comes in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forwarding {
    /// Its delay does not grow with the frame.
    pub cut_through: bool,
    /// At rest, one way.
    pub latency: Nanos,
    /// By how much that grows with each octet of a frame, in nanoseconds.
    pub per_octet_ns: f64,
}

/// Where frames wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffer {
    /// Octets that one output alone can hold.
    pub size: f64,
    /// It may be larger: nothing overfilled it.
    pub at_least: bool,
    /// Where outputs share it.
    pub shared: Option<Shared>,
    /// Octets.
    pub cell: Option<f64>,
}

/// A buffer that outputs share by a dynamic threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    /// What is shared, without reserves, in octets.
    pub octets: f64,
    /// A queue takes up to so many times what is free of it.
    pub alpha: f64,
    /// What each queue has for itself; 0 where none was told.
    pub reserve: f64,
    /// The three are known to intervals only, or the threshold does not fit.
    pub doubted: bool,
}

/// Frames that the device decides on, whatever their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketLimit {
    /// A second.
    pub rate: u64,
    /// How many wait for it; none where nothing told.
    pub queue: Option<u64>,
}

/// Ports on one chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortGroup {
    /// From 1 on, in the order of hosts.
    pub ports: Vec<usize>,
    /// What carries their frames to the others; none where it was never surely the limit. Of two
    /// groups each is given what passes between them.
    pub uplink: Option<Rate>,
    /// What it carries at least, where nothing filled it alone.
    pub at_least: Option<Rate>,
}

/// What the table of addresses holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacTable {
    /// So many addresses at once.
    pub entries: u64,
    /// It may hold more.
    pub at_least: bool,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSheet {
    /// The device's.
    pub name: String,
    /// As many as hosts are attached to.
    pub ports: usize,
    /// Of each that is in neither of the two lists below.
    pub rate: Rate,
    /// Ports with a rate of their own, from 1 on.
    pub other_rates: Vec<(usize, Rate)>,
    /// Ports whose rate nothing told, from 1 on.
    pub assumed: Vec<usize>,
    /// None without a direct cable to compare with.
    pub forwarding: Option<Forwarding>,
    /// None where no burst could tell it.
    pub buffer: Option<Buffer>,
    /// Where frames a second run out before the line does.
    pub packets: Option<PacketLimit>,
    /// Empty where no uplink was ever short, or nothing could be told.
    pub groups: Vec<PortGroup>,
    /// None where nothing told.
    pub mac_table: Option<MacTable>,
}

/// The studies that a data sheet follows from, as far as there are hosts for them.
pub fn studies(bed: Bed) -> Vec<StudySpec> {
    let virtual_time = |size| bed.virtual_time(size);
    let sizes = [64, 256, 512, 1024, 1518].map(|octets| FrameSize::new(octets).expect("legal"));
    let latency = LatencySpec {
        protocols: vec![Protocol::Udp],
        sizes: sizes.to_vec(),
        duration: Nanos::from_millis(if bed.simulated { 5 } else { 300 }),
        // A data sheet states figures; nothing is compared.
        blocks: Blocks::known(6),
        ..LatencySpec::quick()
    };
    let forwarding = |size: FrameSize| {
        let quick = ForwardingSpec::quick();
        ForwardingSpec {
            frames: vec![FrameMix::of(size)],
            tests: vec![ForwardingTest::Throughput],
            duration: virtual_time(size).unwrap_or(quick.duration),
            final_duration: virtual_time(size).unwrap_or(quick.final_duration),
            link_rate: bed.link,
            ..quick
        }
    };
    let mut studies = vec![
        StudySpec::Latency(latency),
        StudySpec::Forwarding(forwarding(FrameSize::MIN)),
        StudySpec::Forwarding(forwarding(FrameSize::STANDARD_MAX)),
    ];
    if bed.hosts >= FOR_BURSTS {
        studies.push(StudySpec::Depth(DepthSpec::quick()));
    }
    if bed.hosts >= FOR_GROUPS {
        let round = virtual_time(FrameSize::STANDARD_MAX).map(|all| all / 10);
        studies.push(StudySpec::Fabric(groups(bed.hosts, round)));
    }
    if bed.switch && bed.hosts >= FOR_ADDRESSES {
        studies.push(StudySpec::Switching(SwitchingSpec {
            tests: vec![SwitchTest::AddressCaching],
            frames: vec![FrameSize::MIN],
            stations: Stations::known(STATIONS),
            learn_rate: LearnRate::known(LEARN_RATE),
            link_rate: bed.link,
            ..SwitchingSpec::quick()
        }));
    }
    studies
}

/// One round between neighbours, which every study of a fabric has, and the floods that tell
/// groups.
pub(crate) fn groups(hosts: usize, round: Option<Nanos>) -> FabricSpec {
    let duration = round.unwrap_or(Nanos::from_millis(300));
    FabricSpec {
        arrangements: vec![Arrangement::Neighbours],
        nodes: Nodes::These(vec![(hosts - hosts % 2) as u32]),
        message: ByteCount(64 << 10),
        messages: Vec::new(),
        carrier: Carrier::Datagrams { credits: 64 },
        infer: true,
        interval: duration.min(FabricSpec::quick().interval),
        duration,
        blocks: Blocks::known(1),
        ..FabricSpec::quick()
    }
}
