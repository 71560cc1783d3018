//! What a flag or a plan asks of a study, and the complete request that it comes to.
//!
//! Owns the defaults by profile and the reading of load and test names. Never runs a study, and never
//! says where a text stood: that is the caller's.

use measure::{FrameMix, FrameRate, FrameSize, Nanos, Rate};
use method::trial::{Backend, Protocol, Schedule};
use method::{ForwardingSpec, ForwardingTest, LatencySpec, Load, Profile, StudySpec};

use super::frame_rate;
use super::resolved::{Source, Testbed};

/// A latency study with only what was said; the rest comes from the profile.
#[derive(Debug, Clone, Default)]
pub struct LatencyAsk {
    /// Quick where nothing is said.
    pub profile: Option<Profile>,
    /// Empty: the profile's.
    pub protocols: Vec<Protocol>,
    /// Empty: the profile's.
    pub sizes: Vec<FrameSize>,
    /// Empty: idle.
    pub loads: Vec<Load>,
    /// Closed loop where nothing is said.
    pub open_loop: Option<FrameRate>,
    /// The load phase.
    pub duration: Option<Nanos>,
    /// Repeats.
    pub blocks: Option<u32>,
}

/// A forwarding study with only what was said; the rest comes from the profile.
#[derive(Debug, Clone, Default)]
pub struct ForwardingAsk {
    /// Quick where nothing is said.
    pub profile: Option<Profile>,
    /// Empty: the profile's.
    pub tests: Vec<ForwardingTest>,
    /// Empty: the profile's.
    pub sizes: Vec<FrameSize>,
    /// The fastest that works where nothing is said.
    pub backend: Option<Backend>,
    /// The load phase.
    pub duration: Option<Nanos>,
    /// The confirming trial of a search.
    pub final_duration: Option<Nanos>,
    /// Repeats of the flood.
    pub blocks: Option<u32>,
    /// Where a search stops, relative.
    pub precision: Option<f64>,
}

impl LatencyAsk {
    /// The complete request.
    pub fn resolve(self) -> StudySpec {
        let mut spec = match self.profile {
            Some(Profile::Strict) => LatencySpec::strict(),
            _ => LatencySpec::quick(),
        };
        replace(&mut spec.protocols, self.protocols);
        replace(&mut spec.sizes, self.sizes);
        replace(&mut spec.loads, self.loads);
        spec.schedule = self.open_loop.map_or(spec.schedule, Schedule::Paced);
        spec.duration = self.duration.unwrap_or(spec.duration);
        spec.blocks = self.blocks.unwrap_or(spec.blocks);
        StudySpec::Latency(spec)
    }
}

impl ForwardingAsk {
    /// The complete request, on links of `link_rate` where that is known.
    pub fn resolve(self, link_rate: Option<Rate>) -> StudySpec {
        let mut spec = match self.profile {
            Some(Profile::Strict) => ForwardingSpec::strict(),
            _ => ForwardingSpec::quick(),
        };
        replace(&mut spec.tests, self.tests);
        replace(&mut spec.frames, self.sizes.into_iter().map(FrameMix::of).collect());
        spec.backend = self.backend.unwrap_or(spec.backend);
        spec.duration = self.duration.unwrap_or(spec.duration);
        // A confirming trial is never shorter than those that led to it.
        spec.final_duration = self.final_duration.unwrap_or(spec.final_duration).max(spec.duration);
        spec.blocks = self.blocks.unwrap_or(spec.blocks);
        spec.precision = self.precision.unwrap_or(spec.precision);
        spec.link_rate = link_rate;
        StudySpec::Forwarding(spec)
    }
}

fn replace<T>(target: &mut Vec<T>, said: Vec<T>) {
    if !said.is_empty() {
        *target = said;
    }
}

/// A load's text can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Neither `idle`, `udp:…` nor `tcp`.
    #[error("`{0}` is not a load; known are `idle`, `udp:RATE[@SIZE]` and `tcp[:STREAMS]`")]
    Unknown(String),
    /// Its rate or size.
    #[error(transparent)]
    Unit(#[from] measure::UnitError),
}

/// Reads `idle`, `udp:50kpps`, `udp:50kpps@512`, `tcp` or `tcp:4`.
pub fn load(text: &str) -> Result<Load, LoadError> {
    let unknown = || LoadError::Unknown(text.to_owned());
    let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
    match (kind, rest) {
        ("idle", None) => Ok(Load::Idle),
        ("udp", Some(rest)) => {
            let (rate, size) = rest.split_once('@').unwrap_or((rest, "64"));
            let octets: u32 = size.parse().map_err(|_| unknown())?;
            Ok(Load::Datagrams {
                frame_size: FrameSize::new(octets)?,
                rate: frame_rate::parse(rate)?,
            })
        }
        ("tcp", streams) => {
            let streams = streams.unwrap_or("1").parse().map_err(|_| unknown())?;
            if !(1..=256).contains(&streams) {
                return Err(unknown());
            }
            Ok(Load::Bulk { streams, congestion_control: "cubic".to_owned() })
        }
        _ => Err(unknown()),
    }
}

/// Why a value can't be had on a testbed: message and hint.
pub type Misfit = (String, String);

/// The links' speed, where it is known before anything runs: the slowest counts. A lab's cables have
/// none, and what its ports are limited to is not a link's speed: see [`rate_fits`].
pub fn link_rate(testbed: &Testbed) -> Option<Rate> {
    match &testbed.source {
        Source::Lab(_) => None,
        Source::Hosts(hosts) => {
            hosts.hosts.iter().flat_map(|h| h.ports.iter().filter_map(|p| p.rate)).min()
        }
    }
}

/// Whether a frame fits the testbed's links.
pub fn size_fits(size: FrameSize, testbed: &Testbed) -> Result<(), Misfit> {
    let Source::Lab(lab) = &testbed.source else { return Ok(()) };
    if size.mtu() <= lab.mtu {
        return Ok(());
    }
    let device = lab.device.as_str();
    Err((
        format!(
            "a frame of {size} octets needs an MTU of {size} - 18 = {}, the lab's links have {}",
            size.mtu(),
            lab.mtu
        ),
        format!("give the lab a larger one: lab:{device},mtu={}", size.mtu()),
    ))
}

/// Whether so many frames of that size fit the testbed's links. A real link also carries preamble and
/// gap; a lab's token bucket counts neither these nor the FCS.
pub fn rate_fits(rate: FrameRate, size: FrameSize, testbed: &Testbed) -> Result<(), Misfit> {
    let (limit, octets, sum) = match &testbed.source {
        Source::Lab(lab) => (lab.rate, size.octets_without_fcs(), "- 4"),
        Source::Hosts(_) => (link_rate(testbed), size.wire_octets(), "+ 20"),
    };
    let Some(limit) = limit else { return Ok(()) };
    let most = (limit.bits_per_second() / (8.0 * f64::from(octets))).floor();
    if rate.0 <= most {
        return Ok(());
    }
    Err((
        format!(
            "{:.0} frames/s of {size} octets are more than {limit} carries: \
             {} bit/s / (8 * ({size} {sum})) = {most:.0} frames/s",
            rate.0, limit.0
        ),
        format!("ask for at most {most:.0}pps"),
    ))
}

/// Whether all that a load sends fits the testbed's links.
pub fn load_fits(load: &Load, testbed: &Testbed) -> Result<(), Misfit> {
    match load {
        Load::Datagrams { frame_size, rate } => {
            size_fits(*frame_size, testbed)?;
            rate_fits(*rate, *frame_size, testbed)
        }
        Load::Idle | Load::Bulk { .. } => Ok(()),
    }
}

/// Every size and rate of a request, against the testbed; for requests that came without places.
pub fn fits(study: &StudySpec, testbed: &Testbed) -> Result<(), Misfit> {
    let sizes: Vec<FrameSize> = match study {
        StudySpec::Latency(spec) => spec.sizes.clone(),
        StudySpec::Forwarding(spec) => spec.frames.iter().map(FrameMix::largest).collect(),
    };
    for size in sizes {
        size_fits(size, testbed)?;
    }
    let StudySpec::Latency(spec) = study else { return Ok(()) };
    for load in &spec.loads {
        load_fits(load, testbed)?;
    }
    if let Schedule::Paced(rate) = spec.schedule {
        let largest = spec.sizes.iter().max().copied().unwrap_or(FrameSize::MIN);
        rate_fits(rate, largest, testbed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read() {
        assert_eq!(load("idle"), Ok(Load::Idle));
        assert_eq!(
            load("udp:50kpps@512"),
            Ok(Load::Datagrams {
                frame_size: FrameSize::new(512).unwrap(),
                rate: FrameRate(50_000.0)
            })
        );
        assert!(matches!(load("tcp:4"), Ok(Load::Bulk { streams: 4, .. })));
        for wrong in ["", "udp", "udp:50", "udp:5kpps@63", "tcp:0", "tcp:x", "idle:1", "sctp"] {
            assert!(load(wrong).is_err(), "{wrong}");
        }
    }
}
