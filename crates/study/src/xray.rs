//! Data sheet of a device from the findings of studies, and the differences between a twin and the
//! device.
//!
//! Owns the requests, and the contents of a data sheet. `reading` converts figures to its parts,
//! `file` writes the parts as keys, `difference` compares with a twin, and `page` reports how close
//! it is. Pure: never runs a study, and never writes a key that was not measured.

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

/// Maximum number of frames in a virtual trial, whatever the rate.
const FRAMES: f64 = 100_000.0;
/// Maximum number of addresses tried: above that a real device's table takes minutes.
const STATIONS: u32 = 16_384;
/// Frames a second at which stations are learned.
const LEARN_RATE: u64 = 10_000;
/// Minimum number of hosts for each test.
const FOR_BURSTS: usize = 3;
const FOR_ADDRESSES: usize = 3;
const FOR_GROUPS: usize = 4;

/// Known properties of a testbed before anything runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bed {
    /// True for virtual time, in which trials are short, as they are all alike.
    pub simulated: bool,
    /// Rate of the ports; `None` if unknown.
    pub link: Option<Rate>,
    /// Number of hosts on the device.
    pub hosts: usize,
    /// True for a switch, which has a table of addresses to fill.
    pub switch: bool,
    /// True if the testbed has deeds for the device.
    pub deeds: bool,
}

impl Bed {
    /// Duration of a virtual trial with frames of that size; `None` if time is real.
    pub(crate) fn virtual_time(self, size: FrameSize) -> Option<Nanos> {
        let line = self.link.filter(|_| self.simulated).map(|link| link.line_rate(size).0);
        line.map(|line| Nanos::from_secs_f64(FRAMES / line))
    }
}

/// Forwarding mode and latency of the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forwarding {
    /// True if the delay does not grow with the frame size.
    pub cut_through: bool,
    /// Idle latency, one way.
    pub latency: Nanos,
    /// Growth of the latency per octet of a frame, in nanoseconds.
    pub per_octet_ns: f64,
}

/// Buffer of the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffer {
    /// Octets that a single output can hold.
    pub size: f64,
    /// True if the buffer may be larger, as it was not overfilled.
    pub at_least: bool,
    /// Shared buffer; `None` if outputs do not share it.
    pub shared: Option<Shared>,
    /// Cell size in octets; `None` if unknown.
    pub cell: Option<f64>,
}

/// Buffer that outputs share by a dynamic threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    /// Shared octets, without reserves.
    pub octets: f64,
    /// Factor on the free octets up to which a queue may grow.
    pub alpha: f64,
    /// Reserve of each queue in octets; 0 if none was found.
    pub reserve: f64,
    /// True if the three are only known as intervals, or the threshold does not fit.
    pub doubted: bool,
}

/// Limit on the frames a second that the device forwards, whatever their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketLimit {
    /// Frames a second.
    pub rate: u64,
    /// Number of frames that queue for it; `None` if unknown.
    pub queue: Option<u64>,
}

/// Ports on one chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortGroup {
    /// Numbers of the ports, from 1 on, in the order of hosts.
    pub ports: Vec<usize>,
    /// Uplink rate to the other ports; `None` if it was never certainly the limit. With two groups,
    /// both have the rate between them.
    pub uplink: Option<Rate>,
    /// Lower bound of the uplink rate, if it was not filled alone; otherwise `None`.
    pub at_least: Option<Rate>,
}

/// Capacity of the address table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacTable {
    /// Addresses that it holds at once.
    pub entries: u64,
    /// True if it may hold more.
    pub at_least: bool,
}

/// Data sheet of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSheet {
    /// Name of the device.
    pub name: String,
    /// Number of ports with a host.
    pub ports: usize,
    /// Rate of every port that is in neither of the two lists below.
    pub rate: Rate,
    /// Ports with a different rate, numbered from 1.
    pub other_rates: Vec<(usize, Rate)>,
    /// Ports of unknown rate, numbered from 1.
    pub assumed: Vec<usize>,
    /// Forwarding; `None` without a direct cable for comparison.
    pub forwarding: Option<Forwarding>,
    /// Buffer; `None` if no burst showed it.
    pub buffer: Option<Buffer>,
    /// Packet limit; `None` if line rate is the limit.
    pub packets: Option<PacketLimit>,
    /// Groups of ports; empty if no uplink was short, or none could be found.
    pub groups: Vec<PortGroup>,
    /// Address table; `None` if unknown.
    pub mac_table: Option<MacTable>,
}

/// Studies that a data sheet needs, as far as there are enough hosts.
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
            frames: vec![FrameMix::from_size(size)],
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

/// Request for a fabric study with one round between neighbours, which is the minimum, and the
/// floods for groups.
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
