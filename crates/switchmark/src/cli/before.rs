//! What a run will take and change, in words, before anything happens.
//!
//! Owns those words. Never decides whether a run may begin, and touches no host.

use std::fmt::Write as _;
use std::num::NonZero;
use std::thread;

use dataplane::affinity;
use page::numbers;
use study::comparison::before_start;
use study::{Estimate, StudySpec};
use trial::{Offloads, Topology};

use super::memory::Need;
use super::run_request::Request;
use crate::config::resolved::{HostsConfig, Source, Testbed as Place};
use crate::terminal::screen::{is_full, wrapped};

/// Change to hosts whose agents may make none.
const AS_FOUND: &str = "no port is set up, since an agent may not (no CAP_NET_ADMIN): offloads and \
                        addresses stay as they are";

/// Describes trials and time of all studies in one line, the manual steps, and the changes to hosts
/// while it runs.
pub fn summary(place: &Place, studies: &[StudySpec], topology: &Topology) -> String {
    work(studies, topology) + &conditions(place, studies, topology)
}

/// Describes the manual steps, memory, and the changes to hosts.
fn conditions(place: &Place, studies: &[StudySpec], topology: &Topology) -> String {
    let mut out = String::new();
    let mut line = |lead: &str, text: &str| out += &wrapped(lead, text);
    for hands in studies.iter().filter_map(hands) {
        line("by hand: ", &hands);
    }
    if let Some(need) = Need::for_studies(studies, topology).note() {
        line("memory: ", &need);
    }
    if let Some(said) = before_start(studies) {
        line("comparison: ", &said);
    }
    match &place.source {
        Source::Hosts(_) if topology.settings_as_found => line("hosts: ", AS_FOUND),
        Source::Hosts(hosts) => line("hosts: ", &changes(hosts, studies)),
        Source::Lab(_) => {
            for said in few_processors(studies, Processors::here()) {
                line("processors: ", &said);
            }
        }
        Source::Virtual(_) => {}
    }
    out
}

/// Processors that this program may use.
#[derive(Debug, Clone, Copy)]
struct Processors {
    /// Number of processors that it may run on.
    count: usize,
    /// Limit in processors' time; `None` if unlimited.
    quota: Option<f64>,
}

impl Processors {
    fn here() -> Self {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        Self { count, quota: affinity::quota() }
    }

    fn time(self) -> f64 {
        self.quota.unwrap_or(f64::INFINITY).min(self.count as f64)
    }
}

/// Lists what a lab's hosts and devices cannot do on these processors.
fn few_processors(studies: &[StudySpec], here: Processors) -> Vec<String> {
    let mut all = Vec::new();
    if here.time() <= 1.0 {
        let time = here.time();
        all.push(format!(
            "hosts and devices share {time:.2} of one: they hold each other up, and where a load \
             cannot be held its figure is a bound (*at least*)"
        ));
    }
    let parts = studies.iter().flat_map(StudySpec::parts);
    let most = parts.map(|study| usize::from(study.needs().senders)).max().unwrap_or(1);
    if most > here.count.max(1) {
        let count = here.count;
        all.push(format!(
            "{most} senders share {count}: more than one for each slow each other down"
        ));
    }
    all
}

/// `about 240 trials, about 4 min 10 s`
fn work(studies: &[StudySpec], topology: &Topology) -> String {
    let all: Estimate = studies.iter().map(|study| study.estimate(topology)).sum();
    if all == Estimate::NONE {
        return String::new();
    }
    let Estimate { trials, time, searching, .. } = all;
    let trials = match trials {
        1 => "1 trial".to_owned(),
        _ if searching => format!("about {trials} trials"),
        _ => format!("{trials} trials"),
    };
    let time = numbers::span(time);
    let time = if topology.is_simulated() {
        format!("{time} of virtual time")
    } else {
        format!("about {time}")
    };
    let cells = if let [study] = studies { cells(study) } else { String::new() };
    let mut names: Vec<&str> = studies.iter().map(StudySpec::name).collect();
    names.dedup();
    wrapped(&format!("{}: ", names.join(", ")), &format!("{cells}{trials}; {time}"))
}

/// Cells and blocks of a campaign; empty for any other study.
fn cells(study: &StudySpec) -> String {
    study.campaign().map_or_else(String::new, |campaign| {
        let (cells, blocks) = (campaign.cells.len(), campaign.blocks);
        format!("{cells} cells and an A/A control in {blocks} blocks at most: ")
    })
}

/// Describes the manual steps between trials; `None` without any.
fn hands(study: &StudySpec) -> Option<String> {
    match study.campaign()?.changes_by_hand() {
        0 => None,
        1 => Some("the testbed is set up once".to_owned()),
        many => Some(format!("the testbed is set up again at most {many} times")),
    }
}

/// Describes what agents change on hosts: docs/threat-model.md.
fn changes(hosts: &HostsConfig, studies: &[StudySpec]) -> String {
    let mut all = Vec::new();
    let mut parts = studies.iter().flat_map(StudySpec::parts);
    if parts.any(|study| study.needs().offloads == Offloads::Off) {
        let off = "segmentation and receive offloads of the test ports are off during trials";
        all.push(off.to_owned());
    }
    if !hosts.own_addresses.is_empty() {
        let ports = hosts.own_addresses.len();
        all.push(format!("{ports} ports are taken up and get a test address"));
    }
    if hosts.delay != measure::Nanos::ZERO {
        all.push(format!("frames that arrive wait {} in a queue", hosts.delay));
    }
    let varied: Vec<String> = studies
        .iter()
        .flat_map(StudySpec::subjects)
        .filter_map(|subject| Some(format!("{} into {}", subject.device, subject.variant?)))
        .collect();
    if !varied.is_empty() {
        all.push(format!("the testbed file's commands put {}", varied.join(", ")));
    }
    if all.is_empty() {
        return "nothing is changed".to_owned();
    }
    format!(
        "{}; whatever agents change is put back when the run ends, however it ends",
        all.join("; ")
    )
}

/// Hosts that a rehearsal lists.
const MOST_HOSTS: usize = 8;

/// Describes a run that is not begun: what it takes, then its testbed.
pub fn rehearsed(request: &Request, topology: Option<&Topology>) -> String {
    let mut out = format!("testbed {}\n", request.testbed.name);
    let Some(topology) = topology else {
        let studies: Vec<&str> = request.studies.iter().map(StudySpec::name).collect();
        let _ = writeln!(
            out,
            "{}: a lab's trials are counted once it is built, in namespaces of this machine\nnothing was done",
            studies.join(", ")
        );
        return out;
    };
    out.extend(request.studies.iter().map(|study| work(std::slice::from_ref(study), topology)));
    out += &conditions(&request.testbed, &request.studies, topology);
    let shown = if is_full() { topology.hosts.len() } else { MOST_HOSTS };
    for host in topology.hosts.iter().take(shown) {
        let ports: Vec<String> =
            host.ports.iter().map(|port| format!("{} to {}", port.name, port.cable)).collect();
        out += &wrapped(&format!("  {:<8} ", host.name), &ports.join(", "));
    }
    if let more @ 1.. = topology.hosts.len().saturating_sub(shown) {
        let _ = writeln!(out, "  and {more} more hosts: --full has all");
    }
    out.push_str("nothing was done\n");
    out
}

#[cfg(test)]
mod tests {
    use study::ForwardingSpec;

    use super::*;

    #[test]
    fn a_lab_on_few_processors_says_what_it_cannot_do() {
        let studies = |senders| {
            vec![StudySpec::Forwarding(ForwardingSpec { senders, ..ForwardingSpec::quick() })]
        };
        let lines = |count, quota, senders| {
            few_processors(&studies(senders), Processors { count, quota }).len()
        };
        assert_eq!(lines(2, None, study::forwarding::Senders::known(2)), 0);
        assert_eq!(lines(1, None, study::forwarding::Senders::known(1)), 1, "one processor");
        assert_eq!(
            lines(16, Some(0.25), study::forwarding::Senders::known(1)),
            1,
            "a quarter of one"
        );
        assert_eq!(lines(16, Some(4.0), study::forwarding::Senders::known(16)), 0);
        assert_eq!(lines(2, None, study::forwarding::Senders::known(3)), 1, "a sender too many");
    }
}
