//! Link speeds at which this host's generator fills the line, by frame size.
//!
//! Owns the decision and its reasons. Never measures: the calibration has the rates.

use agents::protocol::HostFacts;
use measure::quantile::median_interval;
use measure::{FrameMix, FrameSize, Interval, Rate};
use page::Reply;
use serde_json::json;
use trial::{Backend, Topology};

use super::generator::{Calibration, Highest};
use super::readiness::BUSY;

/// The speeds that are asked for, in bits a second.
pub const SPEEDS: [Rate; 3] = [Rate(10_000_000_000), Rate(25_000_000_000), Rate(100_000_000_000)];
/// Confidence of a rate's interval; the calibration makes as many floods as that takes.
const CONFIDENCE: f64 = 0.95;

/// Cable that the frames crossed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cable {
    /// A lab's: no card, no driver and no speed of its own.
    Virtual,
    /// A link of this rate.
    Of(Rate),
    /// A link of which no rate is stated.
    Unknown,
}

/// Place of the measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The processors.
    pub machine: String,
    /// The kernel's release.
    pub kernel: String,
    /// Cable between the two ports.
    pub cable: Cable,
    /// True if sender and receiver share the processors.
    pub one_machine: bool,
}

/// Line rates that a host reaches.
#[derive(Debug, Clone, PartialEq)]
pub struct LineRates {
    /// Place of the measurement.
    pub place: Place,
    /// Largest share of the processors that others took meanwhile; `None` if too small to limit a
    /// host.
    pub taken: Option<f64>,
    /// Results by frame size.
    pub sizes: Vec<Most>,
}

/// The most that arrived at one frame size, and what follows for each speed.
#[derive(Debug, Clone, PartialEq)]
pub struct Most {
    /// Octets with FCS.
    pub frame_size: u32,
    /// Name of the sending backend.
    pub backend: &'static str,
    /// Frames a second received, the median of the floods.
    pub received: f64,
    /// Interval of that median.
    pub interval: Interval,
    /// True if something but the generator limited it: the rate is at least this.
    pub is_bound: bool,
    /// Decisions, one for each of [`SPEEDS`].
    pub at: Vec<AtSpeed>,
}

/// Decision for one speed at one frame size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtSpeed {
    /// Speed of the link.
    pub speed: Rate,
    /// Share of the speed's line rate that was received.
    pub share: f64,
    /// Reply to the question whether the line is filled.
    pub reply: Reply,
    /// Reason for which neither yes nor no is shown.
    pub because: Option<&'static str>,
}

impl Place {
    /// Describes a testbed and the host that sends.
    pub fn new(topology: &Topology, sender: Option<&HostFacts>) -> Self {
        let own = sender.map(|facts| facts.machine.clone()).unwrap_or_default();
        let model = own.cpu_model.unwrap_or_else(|| "an unknown processor".to_owned());
        let cores = own.cpus.map_or_else(String::new, |count| format!(", {count} processors"));
        let guest = own.hypervisor == Some(true);
        let cable = match topology.link_rate() {
            Some(rate) => Cable::Of(rate),
            None if topology.is_lab() => Cable::Virtual,
            None => Cable::Unknown,
        };
        Self {
            machine: format!("{model}{cores}{}", if guest { ", virtual machine" } else { "" }),
            kernel: own.kernel.unwrap_or_else(|| "unknown".to_owned()),
            cable,
            one_machine: topology.one_machine(),
        }
    }
}

impl LineRates {
    /// Decides on a calibration's rates. Leaves out the kernel's own bursts: they keep to no rate,
    /// so that no study could search with them.
    pub fn from_calibration(calibration: &Calibration, place: Place) -> Self {
        let mut sizes: Vec<u32> = calibration.highest.iter().map(|row| row.frame_size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let most = |size: u32| {
            let gso = Backend::UdpGso.as_str();
            let own = |row: &&Highest| row.frame_size == size && row.backend != gso;
            most(calibration.highest.iter().filter(own), &place)
        };
        let taken = calibration.highest.iter().map(|row| row.taken_ratio).fold(0.0, f64::max);
        let taken = Some(taken).filter(|taken| *taken > BUSY);
        Self { sizes: sizes.into_iter().filter_map(most).collect(), taken, place }
    }

    /// Returns it as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let at = |size: &Most| -> Vec<serde_json::Value> {
            let one = |at: &AtSpeed| {
                json!({
                    "link_bits_per_s": at.speed.0,
                    "share_of_line_rate": at.share,
                    "line_rate": at.reply.word(),
                    "because": at.because,
                })
            };
            size.at.iter().map(one).collect()
        };
        let size = |size: &Most| {
            json!({
                "frame_size": size.frame_size,
                "backend": size.backend,
                "received_frames_per_s": size.received,
                "low": size.interval.low,
                "high": (!size.is_bound).then_some(size.interval.high),
                "confidence": size.interval.confidence,
                "speeds": at(size),
            })
        };
        json!({
            "machine": self.place.machine,
            "kernel": self.place.kernel,
            "one_machine": self.place.one_machine,
            "taken_ratio": self.taken,
            "sizes": self.sizes.iter().map(size).collect::<Vec<_>>(),
        })
    }
}

/// The backend that surely carries the most.
fn most<'a>(rows: impl Iterator<Item = &'a Highest>, place: &Place) -> Option<Most> {
    let known = rows.filter_map(|row| {
        let interval = median_interval(&row.received_floods_frames_per_s, CONFIDENCE)?;
        Some((row, interval))
    });
    let known: Vec<(&Highest, Interval)> = known.collect();
    let (best, interval) = known.iter().max_by(|a, b| a.1.low.total_cmp(&b.1.low))?;
    // A no of the host has to hold for every backend.
    let ceiling = known.iter().map(|(_, interval)| interval.high).fold(0.0, f64::max);
    let any = Interval { high: ceiling, ..*interval };
    let size = FrameSize::new(best.frame_size).ok()?;
    let filled = match place.cable {
        Cable::Of(rate) => ceiling >= line(size, rate),
        Cable::Virtual => false,
        Cable::Unknown => true,
    };
    let disturbed = known.iter().any(|(row, _)| row.taken_ratio > BUSY);
    let kept_from_more = match (filled, disturbed) {
        (true, _) => Some("the link that it was measured on may carry no more"),
        (_, true) => Some("other programs, or a hypervisor, took the processors meanwhile"),
        _ => None,
    };
    let at = |speed: Rate| {
        let line = line(size, speed);
        let (reply, because) = decide(any, line, kept_from_more);
        AtSpeed { speed, share: best.received_frames_per_s / line, reply, because }
    };
    Some(Most {
        frame_size: best.frame_size,
        backend: best.backend,
        received: best.received_frames_per_s,
        interval: *interval,
        is_bound: kept_from_more.is_some() || place.one_machine,
        at: SPEEDS.into_iter().map(at).collect(),
    })
}

fn line(size: FrameSize, speed: Rate) -> f64 {
    FrameMix::from_size(size).line_rate(speed).0
}

/// Yes if the whole interval reaches line rate; no if all of it lies below and only the generator
/// kept it there.
fn decide(
    interval: Interval,
    line: f64,
    kept_from_more: Option<&'static str>,
) -> (Reply, Option<&'static str>) {
    if interval.confidence < CONFIDENCE {
        (Reply::NotShown, Some("too few floods"))
    } else if interval.low >= line {
        (Reply::Yes, None)
    } else if kept_from_more.is_some() {
        (Reply::NotShown, kept_from_more)
    } else if interval.high >= line {
        (Reply::NotShown, Some("line rate lies within the interval"))
    } else {
        (Reply::No, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIGABIT: u64 = 1_000_000_000;

    fn highest(backend: &'static str, frame_size: u32, floods: &[f64]) -> Highest {
        Highest::from_rates(backend, "xdp".to_owned(), frame_size, floods)
    }

    fn rates(rows: Vec<Highest>, cable: Cable, one_machine: bool) -> LineRates {
        let of = Calibration {
            testbed: "t".to_owned(),
            from: "h1/eth1".parse().expect("a port"),
            to: "h2/eth1".parse().expect("a port"),
            highest: rows,
            pacing: Vec::new(),
            unavailable: Vec::new(),
        };
        let place = Place { machine: "m".to_owned(), kernel: "k".to_owned(), cable, one_machine };
        LineRates::from_calibration(&of, place)
    }

    /// Six floods around a rate, a share apart.
    fn around(rate: f64, share: f64) -> Vec<f64> {
        (0..6).map(|at| rate * (1.0 + share * (f64::from(at) - 2.5) / 2.5)).collect()
    }

    /// Rates of 64-octet frames; line rate is 14.88 M, 37.2 M and 148.8 M a second.
    #[test]
    fn yes_and_no_only_where_the_whole_interval_says_so() {
        use Reply::{No, NotShown, Yes};
        let of = |gigabits: u64| Cable::Of(Rate(gigabits * GIGABIT));
        let table = [
            (Cable::Virtual, around(3.2e6, 0.05), [No, No, No], false),
            (Cable::Virtual, around(16e6, 0.05), [Yes, No, No], false),
            // The interval holds line rate.
            (Cable::Virtual, around(15e6, 0.05), [NotShown, No, No], false),
            // Five floods have no interval of 95 %.
            (Cable::Virtual, around(16e6, 0.01)[1..].to_vec(), [NotShown; 3], false),
            // A link of 10 Gbit/s that was filled shows nothing of faster ones.
            (of(10), vec![14_880_953.0; 6], [Yes, NotShown, NotShown], true),
            // One of 100 that was not filled does.
            (of(100), around(40e6, 0.01), [Yes, Yes, No], false),
            (of(10), around(3e6, 0.01), [No, No, No], false),
            (Cable::Unknown, around(14e6, 0.01), [NotShown; 3], true),
        ];
        for (cable, floods, expected, is_bound) in table {
            let said = rates(vec![highest("xdp-live", 64, &floods)], cable, false);
            let [most] = &said.sizes[..] else { panic!("{said:?}") };
            let replies: Vec<Reply> = most.at.iter().map(|at| at.reply).collect();
            assert_eq!(replies, expected, "{cable:?} {floods:?}");
            assert_eq!(most.is_bound, is_bound, "{cable:?} {floods:?}");
            for at in &most.at {
                assert_eq!(at.because.is_some(), at.reply == NotShown, "{at:?}");
            }
        }
    }

    /// What other programs took is not the host's to lack; what it did beside them it can do.
    #[test]
    fn nothing_is_denied_of_a_busy_host() {
        let mut busy = highest("xdp-live", 1518, &around(1.3e6, 0.05));
        busy.taken_ratio = 0.4;
        let said = rates(vec![busy], Cable::Virtual, false);
        let replies: Vec<Reply> = said.sizes[0].at.iter().map(|at| at.reply).collect();
        assert_eq!(replies, [Reply::Yes, Reply::NotShown, Reply::NotShown]);
        assert!(said.sizes[0].is_bound && said.taken.is_some());
        assert!(said.sizes[0].at[1].because.is_some_and(|why| why.starts_with("other programs")));
    }

    #[test]
    fn the_backend_that_surely_carries_the_most_is_named_and_bursts_are_not() {
        let rows = vec![
            highest("af-xdp", 64, &around(2e6, 0.01)),
            highest("xdp-live", 64, &around(3e6, 0.01)),
            highest("packet", 64, &around(14e6, 0.9)),
            highest("udp-gso", 64, &around(20e6, 0.01)),
            highest("udp", 1518, &around(2e5, 0.01)),
        ];
        let said = rates(rows, Cable::Virtual, true);
        let named: Vec<(u32, &str)> =
            said.sizes.iter().map(|size| (size.frame_size, size.backend)).collect();
        assert_eq!(named, [(64, "xdp-live"), (1518, "udp")]);
        // No backend's interval may reach what is denied: packet's is wide.
        let replies: Vec<Reply> = said.sizes[0].at.iter().map(|at| at.reply).collect();
        assert_eq!(replies, [Reply::NotShown, Reply::No, Reply::No]);
        assert!(said.sizes[0].is_bound, "one machine is both ends");
        let json = said.to_json();
        assert_eq!(json["sizes"][0]["high"], serde_json::Value::Null);
        assert_eq!(json["sizes"][0]["speeds"][1]["line_rate"], "no");
    }
}
