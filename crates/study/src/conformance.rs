//! Conformance to RFC 2544 and related RFCs, clause by clause.
//!
//! Owns the list of clauses and the rule for each. Never hides a deviation: a clause without
//! evidence does not count as met. Evidence comes from figures, never from the plan. Pure.

mod switching;
mod tests_of;

use measure::{FrameMix, FrameSize, Nanos, Rate};

use crate::rate::suite::{self, Suite};
use crate::{ForwardingSpec, ForwardingTest, Profile, StudySpec, SwitchTest};
use page::{Caveat, Figure, Key, Metric, Verdict};
use trial::Topology;
use trial::topology::HostPort;

pub use switching::switching;

/// Clause and how the study treated it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// Reference of the clause: `RFC 2544 §24`.
    pub clause: &'static str,
    /// Requirement in our words.
    pub requirement: &'static str,
    /// Actual procedure.
    pub done: String,
    /// True if the procedure meets the requirement.
    pub conforms: bool,
}

/// Conformance of a study's tests to the RFCs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conformance {
    /// Names of the RFCs, `RFC 2544`.
    pub rfcs: &'static str,
    /// True if all tests of one of them were requested.
    pub is_whole: bool,
    /// Clauses that apply to the tests made, in the order of the RFC.
    pub clauses: Vec<Clause>,
}

impl Conformance {
    /// Determines the conformance of a study's rows; `None` if no test of an RFC was made.
    pub fn from_study(study: &StudySpec, topology: &Topology, rows: &[Figure]) -> Option<Self> {
        match study {
            StudySpec::Forwarding(spec) => {
                let own = ForwardingTest::RFC2544;
                own.iter().any(|test| spec.wants(*test)).then(|| Self {
                    rfcs: "RFC 2544",
                    is_whole: own.iter().all(|test| spec.tests.contains(test)),
                    clauses: conformance(spec, topology, rows),
                })
            }
            StudySpec::Switching(spec) => {
                let suites = [&SwitchTest::RFC2889[..], &SwitchTest::RFC8239];
                let is_whole = |suite: &&[SwitchTest]| suite.iter().all(|t| spec.tests.contains(t));
                Some(Self {
                    rfcs: "RFC 2889 and RFC 8239",
                    is_whole: suites.iter().any(is_whole),
                    clauses: switching(spec, topology, rows),
                })
            }
            _ => None,
        }
    }

    /// Number of clauses that were met.
    pub fn kept(&self) -> usize {
        self.clauses.iter().filter(|clause| clause.conforms).count()
    }
}

/// Returns all clauses that apply to the tests of the study, in the order of the RFC.
pub fn conformance(spec: &ForwardingSpec, topology: &Topology, figures: &[Figure]) -> Vec<Clause> {
    let sent: Vec<FrameSize> = spec.frames.iter().filter_map(FrameMix::single).collect();
    let mut clauses = vec![
        tester(topology),
        sizes(&suite::RFC2544, &sent),
        modifiers(),
        streams(spec),
        directions(spec),
        ports(spec),
        highest_rate(spec.link(topology), figures),
        constant_load(figures),
        phases(spec.profile),
        duration(figures),
        addresses(topology),
    ];
    clauses.extend(tests_of::clauses(spec, figures));
    clauses
}

const fn clause(
    clause: &'static str,
    requirement: &'static str,
    done: String,
    conforms: bool,
) -> Clause {
    Clause { clause, requirement, done, conforms }
}

fn tester(topology: &Topology) -> Clause {
    let lab = topology.is_lab();
    let done = if topology.is_simulated() {
        "hosts and device are models"
    } else if lab {
        "hosts and device share one machine"
    } else {
        "hosts of their own"
    };
    let asked = "the tester stands beside the device and shares nothing with it but the links";
    clause("RFC 2544 §6", asked, done.to_owned(), !lab)
}

fn sizes(suite: &Suite, sent: &[FrameSize]) -> Clause {
    let asked = "Ethernet frames of 64, 128, 256, 512, 1024, 1280 and 1518 octets";
    let missing = suite.missing(sent);
    let done = if missing.is_empty() {
        "all of them".to_owned()
    } else {
        format!("without {}", missing.join(", "))
    };
    clause(suite.sizes_clause, asked, done, missing.is_empty())
}

fn modifiers() -> Clause {
    let asked = "again with broadcast and management frames, routing updates and filters";
    clause("RFC 2544 §11", asked, "not done".to_owned(), false)
}

fn streams(spec: &ForwardingSpec) -> Clause {
    const NETWORKS: u16 = 256;
    let addresses = spec.headers.spread.addresses;
    let asked = "first one stream, then destinations in 256 networks in random order";
    let done = match addresses {
        1 => "one stream".to_owned(),
        more => format!("{more} pairs of addresses in turn"),
    };
    clause("RFC 2544 §12", asked, done, addresses >= NETWORKS)
}

fn directions(spec: &ForwardingSpec) -> Clause {
    let asked = "both directions at once at the same rate";
    let done = if spec.bidirectional { "both directions" } else { "one direction" };
    clause("RFC 2544 §14", asked, done.to_owned(), spec.bidirectional)
}

/// The suite measures one port in and one out.
fn ports(spec: &ForwardingSpec) -> Clause {
    let asked = "devices of many ports also with many pairs of ports at once";
    let done = match spec.subjects.len() {
        0 | 1 => "one pair of ports".to_owned(),
        more => format!("one pair of ports of each of {more} subjects, one after the other"),
    };
    clause("RFC 2544 §16", asked, done, false)
}

fn highest_rate(link: Option<Rate>, figures: &[Figure]) -> Clause {
    const CLOSE: f64 = 0.99;
    let asked = "loads up to the highest rate that the media carries";
    let ratio = |figure: &Figure| Some(figure.value? / figure.number(Key::LineRate)?);
    let of = |metric| figures.iter().filter(move |f| f.metric == metric);
    let reached = of(Metric::Sent).filter_map(ratio).min_by(f64::total_cmp);
    let (done, conforms) = match (link, reached) {
        (None, _) => ("the link's rate is not known: up to the tester's own".to_owned(), false),
        (Some(link), None) => (format!("links of {link}; not seen whether it was reached"), false),
        (Some(link), Some(share)) => {
            let percent = 100.0 * share;
            (format!("at least {percent:.1} % of {link}, by frame size"), share >= CLOSE)
        }
    };
    clause("RFC 2544 §20", asked, done, conforms)
}

fn constant_load(figures: &[Figure]) -> Clause {
    const EVEN: f64 = 0.01;
    let asked = "a constant load: equal gaps between frames";
    let shares = figures.iter().filter(|f| f.metric == Metric::BurstFraction);
    let most = shares.filter_map(|f| f.value).max_by(f64::total_cmp);
    let done = match most {
        Some(share) => {
            let percent = 100.0 * share;
            format!("paced by software: up to {percent:.1} % of the frames too close together")
        }
        None => "paced by software: gaps not seen".to_owned(),
    };
    clause("RFC 1242 §3.4", asked, done, most.is_some_and(|share| share <= EVEN))
}

fn phases(profile: Profile) -> Clause {
    let asked = "learning, 2 s, the load, 2 s for residual frames, 5 s to settle";
    let phases = profile.phases(Nanos::ZERO);
    let done =
        format!("learning, {}, the load, {}, {}", phases.learned, phases.residual, phases.settle);
    clause("RFC 2544 §23", asked, done, profile == Profile::Strict)
}

/// Clause about the trials behind a throughput by RFC 2544's own goal; NDR and PDR do not count.
fn duration(figures: &[Figure]) -> Clause {
    let asked = "the trials that count last at least 60 s";
    let found = tests_of::throughputs(figures);
    let shortest = found.iter().map(|figure| final_duration(figure)).min().flatten();
    let (done, kept) = match shortest {
        Some(shortest) => (shortest.to_string(), suite::RFC2544.allows(shortest)),
        None => ("no throughput by RFC 2544's own goal".to_owned(), false),
    };
    let (sound, all) = soundness(&found);
    let done = if all { done } else { format!("{done}; {sound}") };
    clause(suite::RFC2544.seconds_clause, asked, done, kept && all)
}

/// Duration of the trials behind a figure, if stated.
fn final_duration(figure: &Figure) -> Option<Nanos> {
    figure.number(Key::FinalDuration).map(|ns| Nanos(ns as u64))
}

/// Summary of how many figures are results, and whether all are. A value must not be 0 where 0
/// means that nothing was found. A figure that claims a limit must have an attribution.
fn soundness(figures: &[&Figure]) -> (String, bool) {
    let all = figures.len();
    let count = |is: fn(&Figure) -> bool| figures.iter().filter(|figure| is(figure)).count();
    let valued = count(|figure| figure.value.is_some());
    let nothing = count(found_nothing);
    let irregular = count(|figure| figure.caveats.contains(&Caveat::Irregular));
    let open = count(is_open);
    if all == 0 {
        return ("no figures".to_owned(), false);
    }
    let mut parts = Vec::new();
    if valued < all {
        parts.push(format!("{valued} of {all} figures have a value"));
    }
    if nothing > 0 {
        parts.push(format!("{nothing} of {all} found nothing that passed"));
    }
    if irregular > 0 {
        parts.push(format!("{irregular} of {all} irregular"));
    }
    if open > 0 {
        parts.push(format!("{open} of {all} undetermined"));
    }
    let sound = parts.is_empty();
    if sound {
        parts.push("every figure has a value".to_owned());
    }
    (parts.join(", "), sound)
}

/// True if a search found nothing: no load, burst or number held.
fn found_nothing(figure: &Figure) -> bool {
    is_searched(figure.metric) && figure.value == Some(0.0)
}

/// True if a limit or a yes lacks an attribution. Mere counts, such as goodput, claim neither.
fn is_open(figure: &Figure) -> bool {
    let flag = matches!(figure.metric, Metric::HeadOfLineBlocking | Metric::Backpressure);
    let claims = flag || is_searched(figure.metric);
    claims && figure.value.is_some() && figure.verdict == Verdict::Undetermined
}

const fn is_searched(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Throughput
            | Metric::BackToBack
            | Metric::Microburst
            | Metric::AddressCapacity
            | Metric::AddressLearningRate
    )
}

/// Clause about test addresses: RFC 2544 appendix C.2.2; RFC 5180 §8 for IPv6.
fn addresses(topology: &Topology) -> Clause {
    let asked = "test addresses of 198.18.0.0/15, or of 2001:2::/48";
    let outside = |port: &&HostPort| {
        let v4 = match port.address {
            std::net::IpAddr::V4(address) => matches!(address.octets(), [198, 18 | 19, ..]),
            std::net::IpAddr::V6(address) => benchmarking(address),
        };
        !(v4 && port.address6.is_none_or(benchmarking))
    };
    let ports: Vec<&HostPort> = topology.hosts.iter().flat_map(|host| &host.ports).collect();
    let other = ports.iter().filter(|port| outside(port)).count();
    let done = match other {
        0 => "of these".to_owned(),
        some => format!("{some} of {} ports have others", ports.len()),
    };
    clause("RFC 2544 §C.2.2", asked, done, other == 0)
}

const fn benchmarking(address: std::net::Ipv6Addr) -> bool {
    matches!(address.segments(), [0x2001, 0x2, 0, ..])
}
