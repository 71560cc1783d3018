//! What flags or a plan ask of a buffer study, and the complete request that it comes to.
//!
//! Owns the defaults by profile and testbed, the reading of loads, and what an added round trip
//! means for a testbed's name. Never runs a study, and never says where a text stood.

use measure::{FrameSize, Nanos, Rate, UnitError};
use method::{Background, BufferPorts, BufferSpec, Profile, StabilityLimits, StudySpec};
use trial::Subject;

use super::fit::Misfit;
use super::resolved::{Source, Testbed};
use super::study::replace;
use super::{lab_name, sim_name, testbed};

/// The largest IP packet where nothing tells another.
const USUAL_MTU: u32 = 1500;

/// MAC header and FCS.
const AROUND_IP: u32 = 18;

/// A host's link is crossed so often by a request and its answer: twice by each.
const LINKS_OF_A_ROUND_TRIP: u64 = 4;

/// It arrives at two hosts.
const HOSTS_OF_A_ROUND_TRIP: u64 = 2;

/// A buffer study with only what was said; the rest comes from the profile and the testbed.
#[derive(Debug, Clone, Default)]
pub struct BufferAsk {
    /// Quick where nothing is said.
    pub profile: Option<Profile>,
    /// Those left out follow from the topology.
    pub ports: BufferPorts,
    /// Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// Empty: CUBIC.
    pub congestion_controls: Vec<String>,
    /// Empty: two.
    pub streams: Vec<u16>,
    /// A fifth of the link where nothing is said; said to be none: TCP alone.
    pub backgrounds: Option<Vec<Background>>,
    /// As large as the MTU allows where nothing is said.
    pub background_size: Option<FrameSize>,
    /// The testbed's, where that is known, else 1,500.
    pub mtu: Option<u32>,
    /// The receiver's own, or what the device is limited to, where nothing is said.
    pub link_rate: Option<Rate>,
    /// What counts as stable.
    pub retransmits_per_gigabyte: Option<f64>,
    /// What counts as stable.
    pub variation: Option<f64>,
    /// What counts as stable.
    pub share: Option<f64>,
    /// The warm-up.
    pub omit: Option<Nanos>,
    /// What counts.
    pub duration: Option<Nanos>,
    /// How often the senders are read.
    pub interval: Option<Nanos>,
    /// Repeats.
    pub blocks: Option<u32>,
}

impl BufferAsk {
    /// The complete request.
    pub fn resolve(self, testbed: &Testbed) -> StudySpec {
        let mut spec = match self.profile {
            Some(Profile::Strict) => BufferSpec::strict(),
            _ => BufferSpec::quick(),
        };
        spec.ports = self.ports;
        spec.subjects = self.subjects;
        replace(&mut spec.congestion_controls, self.congestion_controls);
        replace(&mut spec.streams, self.streams);
        spec.backgrounds = self.backgrounds.unwrap_or(spec.backgrounds);
        spec.mtu = self.mtu.or_else(|| mtu(testbed)).unwrap_or(USUAL_MTU);
        let largest = FrameSize::new(spec.mtu + AROUND_IP).unwrap_or(FrameSize::MAX);
        spec.background_size = self.background_size.unwrap_or(largest);
        spec.link_rate = self.link_rate;
        spec.limits = StabilityLimits {
            retransmits_per_gigabyte: self
                .retransmits_per_gigabyte
                .unwrap_or(spec.limits.retransmits_per_gigabyte),
            variation: self.variation.unwrap_or(spec.limits.variation),
            share: self.share.unwrap_or(spec.limits.share),
        };
        spec.omit = self.omit.unwrap_or(spec.omit);
        spec.duration = self.duration.unwrap_or(spec.duration);
        spec.interval = self.interval.unwrap_or(spec.interval).min(spec.duration);
        spec.blocks = self.blocks.unwrap_or(spec.blocks);
        StudySpec::Buffer(spec)
    }
}

/// The largest IP packet of the testbed's links, where that is known before anything runs.
fn mtu(testbed: &Testbed) -> Option<u32> {
    match &testbed.source {
        Source::Lab(lab) => Some(lab.mtu),
        Source::Virtual(config) => Some(config.hosts.mtu),
        Source::Hosts(_) => None,
    }
}

/// A load's text can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackgroundError {
    /// Neither a rate nor a share.
    #[error("`{0}` is not a load; write a rate of UDP payload, `2Gbit`, or a share, `20%`")]
    Unknown(String),
    /// A share of nothing, or of all.
    #[error("{0} leaves TCP nothing, or takes nothing; write a share above 0% and below 100%")]
    Share(String),
    /// Its rate.
    #[error(transparent)]
    Unit(#[from] UnitError),
}

/// Reads `2Gbit` (bits of UDP payload a second, as iperf3's `-b`) or `20%` (of the link).
pub fn background(text: &str) -> Result<Background, BackgroundError> {
    let text = text.trim();
    let unknown = || BackgroundError::Unknown(text.to_owned());
    let Some(percent) = text.strip_suffix('%') else {
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(unknown());
        }
        return Ok(Background::Payload(text.parse()?));
    };
    let percent: f64 = percent.trim().parse().map_err(|_| unknown())?;
    if percent > 0.0 && percent < 100.0 {
        return Ok(Background::Share(percent / 100.0));
    }
    Err(BackgroundError::Share(text.to_owned()))
}

/// The testbed's name with as much delay as a round trip of `rtt` needs: a model's links have it,
/// and hosts of a testbed file add it to what arrives. A lab's cables have none.
pub fn with_round_trip(name: &str, rtt: Nanos) -> Result<String, Misfit> {
    if name.starts_with(sim_name::PREFIX) || is_emulated(name) {
        return Ok(format!("{name},delay={}", rtt / LINKS_OF_A_ROUND_TRIP));
    }
    if !name.starts_with(lab_name::PREFIX) {
        return Ok(format!("{name}{}{}", testbed::DELAY, rtt / HOSTS_OF_A_ROUND_TRIP));
    }
    let needed = rtt / LINKS_OF_A_ROUND_TRIP;
    Err((
        format!("add a round trip of {rtt}: this lab's cables have no delay that could be set"),
        format!(
            "use a model (sim:PROFILE.toml) or an emulated device (lab:emulated=PROFILE.toml), whose \
             cables then have {needed} each; without --rtt the study runs at the path's own round trip"
        ),
    ))
}

/// Whether every device of a lab is a model, whose cables have a delay.
fn is_emulated(name: &str) -> bool {
    let Some(devices) = name.strip_prefix(lab_name::PREFIX) else { return false };
    let devices = devices.split(',').next().unwrap_or_default();
    devices.split('+').all(|device| device.starts_with("emulated="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_rates_or_shares() {
        assert_eq!(background("2Gbit"), Ok(Background::Payload(Rate(2_000_000_000))));
        assert_eq!(background("20%"), Ok(Background::Share(0.2)));
        assert_eq!(background(" 12.5 % "), Ok(Background::Share(0.125)));
        for wrong in ["", "2", "fast", "0%", "100%", "-5%", "x%", "2Gbyte", "50kpps"] {
            assert!(background(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_round_trip_is_four_links() {
        let rtt = Nanos::from_millis(50);
        assert_eq!(
            with_round_trip("sim:p.toml,mtu=9000", rtt).unwrap(),
            "sim:p.toml,mtu=9000,delay=12500us"
        );
        assert_eq!(
            with_round_trip("lab:emulated=p.toml,hosts=4", rtt).unwrap(),
            "lab:emulated=p.toml,hosts=4,delay=12500us"
        );
        assert_eq!(with_round_trip("testbed.toml", rtt).unwrap(), "testbed.toml,delay=25ms");
        for place in ["lab:bridge,hosts=4", "lab:emulated=p.toml+bridge"] {
            let (message, hint) = with_round_trip(place, rtt).unwrap_err();
            assert!(message.contains("50ms") && hint.contains("12500us"), "{message} {hint}");
        }
    }
}
