//! What a flag or a plan asks of a latency study, and the complete request that it comes to.
//!
//! Owns the defaults by profile and the reading of loads. Never runs a study, and never
//! says where a text stood: that is the caller's.

use measure::{FrameRate, FrameSize, Nanos};
use method::{LatencySpec, Load, Profile, StudySpec};
use trial::{Protocol, Schedule, Subject};

use super::frame_rate;

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
    /// Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// Closed loop where nothing is said.
    pub open_loop: Option<FrameRate>,
    /// The load phase.
    pub duration: Option<Nanos>,
    /// Repeats.
    pub blocks: Option<u32>,
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
        replace(&mut spec.subjects, self.subjects);
        spec.schedule = self.open_loop.map_or(spec.schedule, Schedule::Paced);
        spec.duration = self.duration.unwrap_or(spec.duration);
        spec.blocks = self.blocks.unwrap_or(spec.blocks);
        StudySpec::Latency(spec)
    }
}

/// A list that was stated goes before the profile's.
pub(super) fn replace<T>(target: &mut Vec<T>, said: Vec<T>) {
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
