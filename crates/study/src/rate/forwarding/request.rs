//! Request for a forwarding study.
//!
//! Owns its options. Anything left open follows from the profile.

use measure::{FrameMix, FrameSize, Refused};
use serde::Deserialize;
use trial::{Backend, Headers, IpVersion, PortRef, Reception, Spread, VlanId};

use super::{
    ForwardingSpec, ForwardingTest, LoadPercent, Repeats, SearchKind, Senders, Verifications,
};
use crate::request::given::{
    Given, Kind, Place, RefusedAt, Value, choice, no_such_word, ranged_values, set, set_all, value,
    values,
};
use crate::request::values::{Duration, Length, frames_of, once, place_in};
use crate::request::{StudyRequest, strict, subjects};
use crate::search::GoalName;
use crate::{Between, Blocks, Directions, Outline, Precision, Profile, SpecProblem, StudySpec};

measure::ranged! {
    /// Ports or addresses that the frames of a flow use in turn.
    Distinct(u16 as i64, 1..=4096, "ports or addresses in turn", "one is a single conversation; some hundreds spread over all queues");
}

ranged_values! { Senders VlanId Distinct LoadPercent Repeats Verifications }

choice! { GoalName:
    Rfc2544 "rfc2544" "Not one frame lost in one full-length trial (RFC 2544 section 26.1)";
    Tst009 "tst009" "The same, with loss verification (ETSI TST 009)";
    Ndr "ndr" "Nothing lost in most of many short trials (RFC 9971, CSIT's NDR)";
    Pdr "pdr" "At most 0.5 % lost in most of many short trials (RFC 9971, CSIT's PDR)";
}

choice! { SearchKind:
    Mlr "mlr" "MLRsearch (RFC 9971): all goals at once, short trials first";
    Binary "binary" "Halving the interval, one goal after another";
}

choice! { Backend:
    Auto "auto" "The fastest that works here; the record says which and why";
    XdpLive "xdp-live" "The kernel makes the frames itself: an XDP program run on live frames";
    AfXdp "af-xdp" "An AF_XDP socket";
    Packet "packet" "AF_PACKET and sendmmsg, past the qdisc";
    Udp "udp" "A UDP socket and sendmmsg";
    UdpGso "udp-gso" "A UDP socket whose large packets the kernel cuts up: bursts, so for the flood only";
}

choice! { Reception:
    Auto "auto" "The fastest that works here; the record says which and why";
    Xdp "xdp" "An XDP program that counts in the kernel";
    AfXdp "af-xdp" "An AF_XDP socket";
    Packet "packet" "An AF_PACKET ring";
    Udp "udp" "A UDP socket and recvmmsg";
}

/// Flags of `forwarding`, keys of `[study.forwarding]`.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Forwarding {
    /// Tests with a flag of their own.
    #[command(flatten)]
    #[serde(skip)]
    pub named: Named,
    /// Tests by name.
    #[arg(skip)]
    pub tests: Vec<Given<Tests>>,
    /// Search for the highest rate that meets each named goal [default: rfc2544, beside a flood and
    /// a loss curve]
    #[arg(long, value_name = "GOALS", value_delimiter = ',')]
    pub search: Vec<Given<GoalName>>,
    /// Search method [default: mlr]
    #[arg(long, value_name = "HOW")]
    pub method: Option<Given<SearchKind>>,
    /// Frame sizes in octets, MAC address through FCS: 64…9018, or imix [default: 64,1518; strict
    /// 64,128,256,512,1024,1280,1518]
    #[arg(long = "size", value_name = "LIST", value_delimiter = ',')]
    pub sizes: Vec<Given<Size>>,
    /// IP packet lengths, as another way to give --size (frame size less 18, less 4 for a VLAN tag)
    /// [default: --size's]
    #[arg(long = "ip-length", value_name = "LIST", value_delimiter = ',')]
    pub ip_lengths: Vec<Given<Length>>,
    /// UDP payloads, as another way to give --size (frame size less 46, with IPv6 66, less 4 for a
    /// VLAN tag) [default: --size's]
    #[arg(short = 'l', long = "payload", value_name = "LIST", value_delimiter = ',')]
    pub payloads: Vec<Given<Length>>,
    /// Frames of several sizes in one flow, in these proportions: 64*7,594*4,1518 (may be repeated)
    /// [default: --size's]
    #[arg(long = "mix", value_name = "MIX")]
    pub mixes: Vec<Given<FrameMix>>,
    /// Use IPv6 instead of IPv4 (RFC 5180)
    #[arg(short = '6', long, num_args = 0, default_missing_value = "true")]
    pub ipv6: Option<Given<bool>>,
    /// VLAN ID of an 802.1Q tag on every frame, 1…4094 [default: no tag]
    #[arg(long, value_name = "ID")]
    pub vlan: Option<Given<VlanId>>,
    /// Number of source ports to use in turn, for devices that spread by flow, 1…4096 [default: 1]
    #[arg(long, visible_alias = "flows", value_name = "N")]
    pub source_ports: Option<Given<Distinct>>,
    /// Number of destination ports to use in turn [default: 1]
    #[arg(long, value_name = "N")]
    pub destination_ports: Option<Given<Distinct>>,
    /// Number of source and destination addresses to use in turn, from the blocks behind the ports
    /// [default: 1]
    #[arg(long, value_name = "N")]
    pub addresses: Option<Given<Distinct>>,
    /// Send the same load in the other direction at the same time
    #[arg(long, visible_alias = "bidir")]
    pub bidirectional: bool,
    /// Direction of the load: forward, reverse or both at once [default: forward]
    #[arg(long, value_name = "WAY", conflicts_with = "bidirectional")]
    pub direction: Option<Given<Directions>>,
    /// Sending port [default: the first host's]
    #[arg(long, value_name = "HOST/PORT")]
    pub from: Option<Given<PortRef>>,
    /// Receiving port [default: the next host's]
    #[arg(long, value_name = "HOST/PORT")]
    pub to: Option<Given<PortRef>>,
    /// Devices under test, each NAME or NAME:VARIANT [default: the first, as it is found]
    #[arg(long = "device", value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<Given<String>>,
    /// Variants of the devices; as-found is an unchanged device [default: as each is found]
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<Given<String>>,
    /// Backend that sends the frames [default: auto]
    #[arg(long, value_name = "HOW")]
    pub backend: Option<Given<Backend>>,
    /// Threads that share the load in each direction, with a queue of their own where possible
    /// [default: 1]
    #[arg(short = 'P', long, value_name = "N")]
    pub senders: Option<Given<Senders>>,
    /// Receiver that counts the frames [default: auto]
    #[arg(long, value_name = "HOW")]
    pub receiver: Option<Given<Reception>>,
    /// Length of each trial, in seconds or with a unit [default: 300ms; strict 10s]
    #[arg(short = 't', long = "time", value_name = "S")]
    pub duration: Option<Given<Duration>>,
    /// Length of the trial that confirms a throughput [default: 2s; strict 60s]
    #[arg(long = "final-time", value_name = "S")]
    pub final_duration: Option<Given<Duration>>,
    /// Load phase of a latency trial.
    #[arg(skip)]
    pub latency_duration: Option<Given<Duration>>,
    /// Longest burst on the wire.
    #[arg(skip)]
    pub burst_duration: Option<Given<Duration>>,
    /// Overload of the recovery test.
    #[arg(skip)]
    pub overload_duration: Option<Given<Duration>>,
    /// Load phase of the reset test.
    #[arg(skip)]
    pub reset_duration: Option<Given<Duration>>,
    /// Repetitions of the flood [default: 10]
    #[arg(long, value_name = "N")]
    pub blocks: Option<Given<Blocks>>,
    /// Loads of the latency test, in percent of the throughput.
    #[arg(skip)]
    pub latency_percents: Vec<Given<LoadPercent>>,
    /// Repetitions of a latency trial.
    #[arg(skip)]
    pub latency_repeats: Option<Given<Repeats>>,
    /// Repetitions of the back-to-back search.
    #[arg(skip)]
    pub burst_repeats: Option<Given<Repeats>>,
    /// Number of times that a burst with loss is sent again.
    #[arg(skip)]
    pub loss_verification: Option<Given<Verifications>>,
    /// Width of the bracket at which a search ends, relative to its upper end [default: 0.005]
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<Given<Precision>>,
    /// Length of the phases around each trial [default: quick]
    #[arg(long)]
    pub profile: Option<Given<Profile>>,
}

/// Tests with a flag of their own; a plan has them in a list.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Named {
    /// All six tests of RFC 2544: throughput, latency, loss, back-to-back, recovery, reset
    #[arg(long)]
    pub rfc2544: bool,
    /// Forwarding rate under flood: send as fast as the tester can
    #[arg(long)]
    pub flood: bool,
    /// One-way delay at the throughput (RFC 2544 section 26.2, RFC 8219)
    #[arg(long)]
    pub latency: bool,
    /// Loss at 100 %, 90 %, 80 %… of the highest rate (RFC 2544 section 26.3)
    #[arg(long)]
    pub loss_curve: bool,
    /// Longest burst without loss (RFC 2544 section 26.4, RFC 9004)
    #[arg(long)]
    pub back_to_back: bool,
    /// Recovery time after an overload (RFC 2544 section 26.5)
    #[arg(long)]
    pub recovery: bool,
    /// Interruption by a reset (RFC 6201)
    #[arg(long)]
    pub reset: bool,
}

impl StudyRequest for Forwarding {
    const FIRST: &'static [&'static str] = &["size", "flood", "rfc2544"];

    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let mut spec =
            if strict(&self.profile) { ForwardingSpec::strict() } else { ForwardingSpec::quick() };
        let tests = self.tests();
        if !tests.is_empty() {
            spec.tests = tests;
        }
        spec.headers = self.headers();
        let frames = self.frames(spec.headers)?;
        if !frames.is_empty() {
            spec.frames = frames;
        }
        set_all(&mut spec.goals, &self.search);
        set(&mut spec.search, &self.method);
        spec.subjects = subjects::resolve(&self.devices, &self.variants, testbed)?;
        let direction = value(&self.direction);
        spec.between = Between::one_pair(value(&self.from), value(&self.to)).toward(direction);
        spec.bidirectional = self.bidirectional || direction == Some(Directions::Both);
        set(&mut spec.backend, &self.backend);
        set(&mut spec.receiver, &self.receiver);
        set(&mut spec.senders, &self.senders);
        set(&mut spec.duration, &self.duration);
        set(&mut spec.final_duration, &self.final_duration);
        // A confirming trial is never shorter than those before it.
        spec.final_duration = spec.final_duration.max(spec.duration);
        set(&mut spec.latency_duration, &self.latency_duration);
        set(&mut spec.burst_duration, &self.burst_duration);
        set(&mut spec.overload_duration, &self.overload_duration);
        set(&mut spec.reset_duration, &self.reset_duration);
        set(&mut spec.blocks, &self.blocks);
        set_all(&mut spec.latency_percents, &self.latency_percents);
        set(&mut spec.latency_repeats, &self.latency_repeats);
        set(&mut spec.burst_repeats, &self.burst_repeats);
        set(&mut spec.loss_verification, &self.loss_verification);
        set(&mut spec.precision, &self.precision);
        spec.link_rate = testbed.slowest_link();
        Ok(StudySpec::Forwarding(spec))
    }

    fn place_of(&self, problem: &SpecProblem) -> Option<&Place> {
        let backend = self.backend.as_ref().map(Given::place);
        let ipv6 = self.ipv6.as_ref().map(Given::place);
        match *problem {
            SpecProblem::TooLarge { size, .. } => {
                let is_it = |frames: &FrameMix| frames.largest() == size;
                let (octets, headers) = (size.octets(), self.headers());
                place_in(&self.sizes, is_it)
                    .or_else(|| place_in(&self.mixes, is_it))
                    .or_else(|| place_in(&self.ip_lengths, |ip| ip + headers.above_ip() == octets))
                    .or_else(|| {
                        place_in(&self.payloads, |own| own + headers.above_payload() == octets)
                    })
            }
            SpecProblem::NoIpv6 { .. } => ipv6,
            SpecProblem::FewAddresses { .. } => self.addresses.as_ref().map(Given::place),
            SpecProblem::NoChoice { of: "receiver" } => self.receiver.as_ref().map(Given::place),
            SpecProblem::NoChoice { .. } | SpecProblem::Bursts { .. } => backend,
            _ => None,
        }
    }
}

impl Forwarding {
    /// Named tests, without duplicates; empty if none is named.
    fn tests(&self) -> Vec<ForwardingTest> {
        let Named { rfc2544, flood, latency, loss_curve, back_to_back, recovery, reset } =
            self.named;
        let searched = self.search.iter().any(Given::is_flag);
        let flags = [
            (flood, ForwardingTest::Flood),
            (rfc2544 || searched, ForwardingTest::Throughput),
            (rfc2544 || latency, ForwardingTest::Latency),
            (rfc2544 || loss_curve, ForwardingTest::LossCurve),
            (rfc2544 || back_to_back, ForwardingTest::BackToBack),
            (rfc2544 || recovery, ForwardingTest::Recovery),
            (rfc2544 || reset, ForwardingTest::Reset),
        ];
        let flags = flags.into_iter().filter(|(said, _)| *said).map(|(_, test)| test);
        once(flags.chain(values(&self.tests).concat()))
    }

    fn headers(&self) -> Headers {
        let mut headers = Headers::default();
        let Spread { source_ports, destination_ports, addresses } = &mut headers.spread;
        let stated = [
            (source_ports, &self.source_ports),
            (destination_ports, &self.destination_ports),
            (addresses, &self.addresses),
        ];
        for (count, distinct) in stated {
            *count = value(distinct).map_or(*count, Distinct::get);
        }
        headers.vlan = self.vlan.as_ref().map(|vlan| vlan.value);
        if self.ipv6.as_ref().is_some_and(|six| six.value) {
            headers.version = IpVersion::V6;
        }
        headers
    }

    fn frames(&self, headers: Headers) -> Result<Vec<FrameMix>, RefusedAt> {
        let lengths = frames_of(&self.ip_lengths, &self.payloads, headers)?;
        let all =
            values(&self.sizes).into_iter().chain(lengths.into_iter().map(FrameMix::from_size));
        Ok(once(all.chain(values(&self.mixes))))
    }
}

/// Name of a test, or `rfc2544` for its six.
#[derive(Debug, Clone)]
pub struct Tests;

impl Value for Tests {
    type Is = Vec<ForwardingTest>;

    fn read(text: &str) -> Result<Vec<ForwardingTest>, Refused> {
        let mut known = vec![("rfc2544", ForwardingTest::RFC2544.to_vec())];
        let one = |test: ForwardingTest| (test.as_str(), vec![test]);
        known.push(one(ForwardingTest::Flood));
        known.extend(ForwardingTest::RFC2544.map(one));
        let found = known.iter().find(|(word, _)| *word == text).map(|(_, tests)| tests.clone());
        let words: Vec<_> = known.iter().map(|(word, _)| (*word, "")).collect();
        found.ok_or_else(|| no_such_word(text, &words))
    }
}

/// Single size, or `imix`; commas in a list separate frames of different trials.
#[derive(Debug, Clone)]
pub struct Size;

impl Value for Size {
    type Is = FrameMix;
    const KIND: Kind = Kind::Octets;

    fn read(text: &str) -> Result<FrameMix, Refused> {
        if text.trim() == "imix" {
            return Ok(FrameMix::imix());
        }
        FrameSize::read(text).map(FrameMix::from_size)
    }
}

impl Value for FrameMix {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Refused> {
        let like = "write \"imix\", or each size with its share: \"64*7,594*4,1518\"";
        text.parse().map_err(|error: measure::UnitError| Refused::new(error.to_string(), like))
    }
}
