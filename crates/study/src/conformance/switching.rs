//! Clauses of RFC 2889 and RFC 8239, and how a switching study treated each.
//!
//! Owns the requirements for each test. Lists only the suites of which the study made a test; the
//! missing tests of a suite are one deviation.

use measure::Nanos;

use super::{Clause, addresses, clause, final_duration, phases, sizes, soundness, tester};
use crate::rate::suite;
use crate::{SwitchTest, SwitchingSpec};
use page::{Caveat, Figure, Key, Metric};
use trial::Topology;

/// Returns all clauses that apply to the tests made, in the order of the RFCs.
pub fn switching(spec: &SwitchingSpec, topology: &Topology, figures: &[Figure]) -> Vec<Clause> {
    let made = |suite: &[SwitchTest]| spec.tests.iter().any(|test| suite.contains(test));
    let mut clauses = vec![tester(topology), addresses(topology)];
    if made(&SwitchTest::RFC2889) {
        clauses.extend(rfc2889(spec, topology, figures));
    }
    if made(&SwitchTest::RFC8239) {
        clauses.extend(rfc8239(spec, topology, figures));
    }
    clauses
}

fn rfc2889(spec: &SwitchingSpec, topology: &Topology, figures: &[Figure]) -> Vec<Clause> {
    let mut clauses = vec![
        sizes(&suite::RFC2889, &spec.frames),
        ports(spec, topology, "RFC 2889 §3"),
        directions(),
        bursts(),
        duration(spec, figures),
        phases(spec.profile),
        learning(),
    ];
    for test in SwitchTest::RFC2889.into_iter().filter(|test| spec.tests.contains(test)) {
        clauses.push(of_test(test, figures));
    }
    if spec.tests.contains(&SwitchTest::AddressCaching) {
        clauses.push(ageing(topology));
    }
    clauses.extend(left_out(spec, &SwitchTest::RFC2889, "RFC 2889 §5"));
    clauses
}

fn rfc8239(spec: &SwitchingSpec, topology: &Topology, figures: &[Figure]) -> Vec<Clause> {
    let asked = "the size of the buffer, from the delay at 1 % over";
    let elsewhere = "not here: the buffer study estimates it".to_owned();
    let mut clauses = vec![
        ports(spec, topology, "RFC 8239 §2.2"),
        clause("RFC 8239 §3", asked, elsewhere, false),
        repeats(),
    ];
    for test in SwitchTest::RFC8239.into_iter().filter(|test| spec.tests.contains(test)) {
        clauses.push(of_test(test, figures));
    }
    if spec.tests.contains(&SwitchTest::Incast) {
        clauses.push(bursts_of_incast(figures));
    }
    clauses.extend(left_out(spec, &SwitchTest::RFC8239, "RFC 8239"));
    clauses
}

fn bursts_of_incast(figures: &[Figure]) -> Clause {
    let asked = "the stateless traffic is a burst at the full rate, and the ports change";
    let of = |f: &&Figure| f.text(Key::Traffic) == Some("tcp-and-burst");
    let kept =
        figures.iter().any(|f| of(&f)) && figures.iter().filter(of).all(|f| f.value.is_some());
    let done = if kept {
        "10 ms at the line's rate into every port in turn, beside TCP of all others"
    } else {
        "not into every port: a trial could not be used, or a port's rate is not known"
    };
    clause("RFC 8239 §6.2", asked, done.to_owned(), kept)
}

fn ports(spec: &SwitchingSpec, topology: &Topology, name: &'static str) -> Clause {
    let asked = "all ports of the device take part";
    let device = spec.subjects.first().map(|subject| subject.device.as_str());
    let device = device.or_else(|| topology.devices.first().map(|device| device.name.as_str()));
    let there = topology.ports_of(device).len();
    let used = spec.ports_of(device, topology).len();
    let done = format!("{used} of the {there} ports that have a host");
    clause(name, asked, done, used == there)
}

/// Bidirectional patterns send the same amount in each direction.
fn directions() -> Clause {
    let asked = "bidirectional patterns send as much each way at the same time";
    clause("RFC 2889 §5.1.2", asked, "as much each way, all at once".to_owned(), true)
}

fn bursts() -> Clause {
    let asked = "bursts of 1 to 930 frames beside a constant load";
    let done = "a constant load only: each port goes round its receivers".to_owned();
    clause("RFC 2889 §5.1.2", asked, done, false)
}

/// Clause about trial durations. A throughput states its decisive duration; other tests use the
/// plan's.
fn duration(spec: &SwitchingSpec, figures: &[Figure]) -> Clause {
    let asked = "trials of 1 to 300 seconds, 30 recommended";
    let decided: Vec<Nanos> = figures.iter().filter_map(final_duration).collect();
    let suite = &suite::RFC2889;
    let kept = decided.iter().chain([&spec.duration]).all(|duration| suite.allows(*duration));
    let done = match decided.iter().min() {
        Some(shortest) => format!("{shortest} to decide, {} on the way", spec.duration),
        None => spec.duration.to_string(),
    };
    clause(suite.seconds_clause, asked, done, kept)
}

fn learning() -> Clause {
    let asked =
        "every port's address is learned before a load, and frames that go astray are counted";
    let done =
        "each end of each flow speaks first; floods are counted and never received".to_owned();
    clause("RFC 2889 §5.1.3", asked, done, true)
}

fn ageing(topology: &Topology) -> Clause {
    let asked = "the table is aged out before each trial";
    let simulated = topology.is_simulated();
    let done = if simulated { "each trial begins with an empty table" } else { "not made" };
    clause("RFC 2889 §5.7.2", asked, done.to_owned(), simulated)
}

fn repeats() -> Clause {
    let asked = "every test is made several times and the variation reported";
    clause("RFC 8239 §1.2", asked, "each trial once".to_owned(), false)
}

/// Clause of a test, and whether each of its figures is a result.
fn of_test(test: SwitchTest, figures: &[Figure]) -> Clause {
    let own: Vec<&Figure> =
        figures.iter().filter(|f| f.text(Key::Test) == Some(test.as_str())).collect();
    if let Some(figure) = own.iter().find(|f| f.caveats.contains(&Caveat::Unsupported)) {
        let reason = figure.condition_text(Key::Reason);
        let reason = reason.unwrap_or_else(|| "it cannot be made here".to_owned());
        return clause(test.clause(), test.requirement(), format!("not made: {reason}"), false);
    }
    let below = own.iter().any(|f| f.caveats.contains(&Caveat::LoadBelowAsked));
    let (done, conforms) = match soundness(&own) {
        _ if below => ("the tester could not offer that load".to_owned(), false),
        found => found,
    };
    // RFC 2889 §5.5 is about the device's reaction, whoever else dropped frames.
    let doubted = own.iter().any(|f| {
        f.metric == Metric::HeadOfLineBlocking && f.caveats.contains(&Caveat::TesterDrops)
    });
    let done = if doubted { format!("{done}; the tester itself dropped frames") } else { done };
    clause(test.clause(), test.requirement(), done, conforms && !doubted)
}

fn left_out(spec: &SwitchingSpec, suite: &[SwitchTest], name: &'static str) -> Option<Clause> {
    let left: Vec<&str> =
        suite.iter().filter(|test| !spec.tests.contains(*test)).map(|test| test.as_str()).collect();
    let asked = "all of its tests";
    (!left.is_empty()).then(|| clause(name, asked, format!("without {}", left.join(", ")), false))
}
