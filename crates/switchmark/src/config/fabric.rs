//! What flags or a plan ask of a fabric study, and the complete request that it comes to.
//!
//! Owns the defaults by profile and the reading of carriers and margins. Never runs a study, and
//! never says where a text stood: that is the caller's.

use device::Edge;
use measure::{ByteCount, Nanos, Rate};
use method::{Arrangement, FabricSpec, Nodes, Profile, Recabling, StudySpec};
use trial::{Carrier, Subject};

use super::resolved::{Source, Testbed};
use super::study::replace;

/// Frames under way where nothing is said: more than a gigabit link and a switch hold at rest.
const CREDITS: u16 = 64;

/// A pair exchanges so many messages in a trial, if that is not too long: whether a device is
/// non-blocking is known to a message, and the margin is a twentieth.
const MESSAGES: f64 = 150.0;

/// A trial is made no longer for that than this.
const LONGEST: Nanos = Nanos::from_secs(3);

/// A fabric study with only what was said; the rest comes from the profile.
#[derive(Debug, Clone, Default)]
pub struct FabricAsk {
    /// Quick where nothing is said.
    pub profile: Option<Profile>,
    /// Empty: the profile's.
    pub arrangements: Vec<Arrangement>,
    /// Empty: 2, 4, 8… and all.
    pub nodes: Vec<u32>,
    /// Of the table by nodes.
    pub message: Option<ByteCount>,
    /// Empty: the profile's.
    pub messages: Vec<ByteCount>,
    /// TCP where nothing is said.
    pub carrier: Option<Carrier>,
    /// Whether groups of ports are told from floods; where nothing is said, they are unless
    /// arrangements were named.
    pub infer: Option<bool>,
    /// Fewer hosts than ports.
    pub recabling: Option<Recabling>,
    /// Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// A share.
    pub margin: Option<f64>,
    /// In what intervals receipts are summed up.
    pub interval: Option<Nanos>,
    /// The load phase.
    pub duration: Option<Nanos>,
    /// Repeats.
    pub blocks: Option<u32>,
}

impl FabricAsk {
    /// The complete request. Virtual time is exact, and a second of it for 48 busy ports takes
    /// several real ones: where nothing is said, a tenth of the profile's trials is enough there.
    pub fn resolve(self, testbed: &Testbed) -> StudySpec {
        let mut spec = match self.profile {
            Some(Profile::Strict) => FabricSpec::strict(),
            _ => FabricSpec::quick(),
        };
        if self.duration.is_none() && matches!(testbed.source, Source::Virtual(_)) {
            spec.duration = Nanos(spec.duration.0 / 10);
            spec.interval = Nanos(spec.interval.0 / 10);
        }
        if self.duration.is_none() {
            let message = self.message.unwrap_or(spec.message);
            let enough = slowest(testbed).map(|rate| long_enough(message, rate));
            spec.duration = enough.map_or(spec.duration, |enough| enough.max(spec.duration));
        }
        let infer = self.infer.unwrap_or(self.arrangements.is_empty());
        replace(&mut spec.arrangements, self.arrangements);
        if !self.nodes.is_empty() {
            spec.nodes = Nodes::These(self.nodes);
        }
        spec.message = self.message.unwrap_or(spec.message);
        replace(&mut spec.messages, self.messages);
        spec.carrier = self.carrier.unwrap_or(spec.carrier);
        spec.infer = infer || self.recabling.is_some();
        spec.recabling = self.recabling;
        if self.recabling.is_some() {
            // So few hosts can't be in them.
            spec.arrangements.clear();
        }
        spec.subjects = self.subjects;
        spec.margin = self.margin.unwrap_or(spec.margin);
        spec.duration = self.duration.unwrap_or(spec.duration);
        // A short trial still has an interval.
        spec.interval = self.interval.unwrap_or_else(|| spec.interval.min(spec.duration));
        spec.blocks = self.blocks.unwrap_or(spec.blocks);
        StudySpec::Fabric(spec)
    }
}

/// The time of [`MESSAGES`], or of as many as [`LONGEST`] has.
fn long_enough(message: ByteCount, rate: Rate) -> Nanos {
    let seconds = MESSAGES * 8.0 * message.0 as f64 / rate.bits_per_second();
    Nanos::from_secs_f64(seconds).min(LONGEST)
}

/// The slowest port's rate, where it is known before anything is built.
fn slowest(testbed: &Testbed) -> Option<Rate> {
    match &testbed.source {
        Source::Virtual(of) => (0..of.profile.edges()).map(|e| of.profile.edge_rate(Edge(e))).min(),
        Source::Hosts(hosts) => {
            hosts.hosts.iter().flat_map(|host| &host.ports).filter_map(|port| port.rate).min()
        }
        Source::Lab(lab) => lab.rate,
    }
}

/// Reads `tcp`, `datagrams` or `datagrams:32`.
pub fn carrier(text: &str) -> Result<Carrier, String> {
    let unknown =
        || format!("`{text}` is not a carrier; known are `tcp` and `datagrams[:CREDITS]`");
    match text.split_once(':') {
        None if text == "tcp" => Ok(Carrier::Tcp),
        None if text == "datagrams" => Ok(Carrier::Datagrams { credits: CREDITS }),
        Some(("datagrams", credits)) => match credits.parse() {
            Ok(credits @ 1..) => Ok(Carrier::Datagrams { credits }),
            _ => Err(unknown()),
        },
        _ => Err(unknown()),
    }
}

/// Reads `5%` or `0.05`.
pub fn margin(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    match share {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!("`{text}` is not a margin; write a share such as `5%` or `0.05`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn testbed(name: &str) -> Testbed {
        crate::config::testbed::from_argument("--testbed", name).expect(name)
    }

    #[test]
    fn carriers_and_margins_are_read() {
        assert_eq!(carrier("tcp"), Ok(Carrier::Tcp));
        assert_eq!(carrier("datagrams:7"), Ok(Carrier::Datagrams { credits: 7 }));
        assert_eq!(carrier("datagrams"), Ok(Carrier::Datagrams { credits: CREDITS }));
        for wrong in ["", "udp", "tcp:2", "datagrams:0", "datagrams:x", "datagrams:70000"] {
            assert!(carrier(wrong).is_err(), "{wrong}");
        }
        assert_eq!(margin("5%"), Ok(0.05));
        assert_eq!(margin("0.02"), Ok(0.02));
        for wrong in ["", "0", "1", "100%", "-1%", "x%", "NaN"] {
            assert!(margin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_left_open_comes_from_the_profile() {
        let lab = testbed("lab:bridge");
        let StudySpec::Fabric(quick) = FabricAsk::default().resolve(&lab) else { panic!() };
        assert_eq!(quick, FabricSpec { infer: true, ..FabricSpec::quick() });
        let ask = FabricAsk {
            nodes: vec![2, 8],
            duration: Some(Nanos::from_millis(50)),
            ..FabricAsk::default()
        };
        let StudySpec::Fabric(short) = ask.clone().resolve(&lab) else { panic!() };
        assert_eq!(short.nodes, Nodes::These(vec![2, 8]));
        assert_eq!(short.interval, short.duration);
        let profiles = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
        let sim = testbed(&format!("sim:{profiles}/s400-48t.toml"));
        let StudySpec::Fabric(told) = ask.resolve(&sim) else { panic!() };
        assert_eq!(told.duration, Nanos::from_millis(50));
        let StudySpec::Fabric(virtual_time) = FabricAsk::default().resolve(&sim) else { panic!() };
        assert_eq!(virtual_time.duration, Nanos::from_millis(100));
        assert_eq!(virtual_time.interval, Nanos::from_millis(10));
    }
}
