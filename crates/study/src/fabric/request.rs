//! Request for a fabric study.
//!
//! Owns its options, the parsing of carriers and margins, and the default length of a trial.
//! Anything else left open follows from the profile.

use std::convert::Infallible;

use measure::{ByteCount, Nanos, Ranged as _, Rate, Refused};
use serde::Deserialize;
use trial::collective::LARGEST_COLLECTIVE;
use trial::{Carrier, Collective, PortRef};

use super::arrangement::NotAnArrangement;
use super::{Arrangement, FabricSpec, Nodes};
use crate::request::given::{Given, Kind, RefusedAt, Value, set, set_all, values};
use crate::request::suggest::hint;
use crate::request::values::{Duration, unit};
use crate::request::{StudyRequest, strict, subjects};
use crate::{Between, Blocks, Outline, Profile, StudySpec};

/// Default number of frames in flight: more than a gigabit link and a switch hold at rest.
const CREDITS: u16 = 64;

/// Target number of messages of a pair in a trial. The error is one message, and the margin is a
/// twentieth.
const MESSAGES: f64 = 150.0;

/// Longest trial that is extended for these messages.
const LONGEST: Nanos = Nanos::from_secs(3);

/// Default sizes of collectives: from where latency counts to where the links do.
const DEFAULT_SIZES: [ByteCount; 5] = [
    ByteCount(8),
    ByteCount(1 << 10),
    ByteCount(64 << 10),
    ByteCount(1 << 20),
    ByteCount(16 << 20),
];

/// Flags of `fabric`, keys of `[study.fabric]`.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fabric {
    /// Pairing of the ports: neighbours, offset=N, sweep, bisections=N, tournament, halves, mesh,
    /// one-to-many, many-to-one, half-to-half, one-way [default: neighbours,sweep, and floods as
    /// with --infer]
    #[arg(long = "arrangement", value_name = "LIST", value_delimiter = ',')]
    pub arrangements: Vec<Given<Arrangement>>,
    /// Number of ports that talk at once [default: 2, 4, 8… and all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub nodes: Vec<Given<Paired>>,
    /// Message size of the table by nodes [default: 64KiB]
    #[arg(short = 'l', long, value_name = "BYTES")]
    pub message: Option<Given<Message>>,
    /// Message sizes of the table by size, with most ports talking [default:
    /// 1KiB,8KiB,32KiB,64KiB,128KiB; strict 1KiB,2KiB,4KiB,8KiB,16KiB,32KiB,64KiB,128KiB]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub messages: Vec<Given<Message>>,
    /// Carrier of the messages: tcp, datagrams[:CREDITS] [default: tcp]
    #[arg(long, value_name = "WHAT")]
    pub carrier: Option<Given<Carrier>>,
    /// Collectives among the ports: allreduce:ring, allreduce:halving-doubling, allreduce:tree,
    /// allgather, reduce-scatter, alltoall, broadcast [default: none; with it only a sweep of the
    /// pairs beside]
    #[arg(long = "collective", value_name = "LIST", value_delimiter = ',')]
    #[serde(rename = "collective")]
    pub collectives: Vec<Given<Collective>>,
    /// Sizes of the collectives [default: with --collective 8B,1KiB,64KiB,1MiB,16MiB]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub collective_sizes: Vec<Given<CollectiveSize>>,
    /// With --arrangement: also detect groups of ports and their uplinks, by floods
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub infer: Option<Given<bool>>,
    /// Only look for slow ports, in few rounds: halves, 6 repetitions of 0.3 s; 16 hosts take less
    /// than a minute
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub quick: Option<Given<bool>>,
    /// Refused like `ports`.
    #[arg(skip)]
    pub hosts: Option<Given<MovedCables>>,
    /// Refused: 0.2 had fewer hosts than ports, and a person who moved cables
    #[arg(long, hide = true)]
    pub ports: Option<Given<MovedCables>>,
    /// Largest loss of goodput against one pair alone that is not blocking [default: 0.05]
    #[arg(long, value_name = "SHARE")]
    pub margin: Option<Given<Margin>>,
    /// Sending ports; with --to only these take part, alone they come first [default: all, in the
    /// testbed's order]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub from: Vec<Given<PortRef>>,
    /// Receiving ports, one per sender in the same order; several for one-to-many [default: all, in
    /// the testbed's order]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub to: Vec<Given<PortRef>>,
    /// Devices under test, each NAME or NAME:VARIANT [default: the first, as it is found]
    #[arg(long = "device", value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<Given<String>>,
    /// Variants of the devices; as-found is an unchanged device [default: as each is found]
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<Given<String>>,
    /// Interval over which receipts are summed.
    #[arg(skip)]
    pub interval: Option<Given<Interval>>,
    /// Length of each trial, in seconds or with a unit [default: long enough for 150 messages, 1 s
    /// or more, of a model 0.1 s; strict 10 s, of a model 1 s]
    #[arg(short = 't', long = "time", value_name = "S")]
    pub duration: Option<Given<Duration>>,
    /// Repetitions of everything, in random order [default: 10]
    #[arg(long, value_name = "N")]
    pub blocks: Option<Given<Blocks>>,
    /// Length of the phases around each trial [default: quick]
    #[arg(long)]
    pub profile: Option<Given<Profile>>,
}

impl StudyRequest for Fabric {
    const FIRST: &'static [&'static str] = &["nodes", "arrangement", "infer"];

    /// Virtual time is exact, and a second of it takes several real ones for 48 busy ports. So the
    /// default trials are a tenth as long there.
    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let few = self.quick.as_ref().is_some_and(|quick| quick.value);
        let mut spec =
            if strict(&self.profile) { FabricSpec::strict() } else { FabricSpec::quick() };
        if few {
            spec = spec.for_slow_ports();
        }
        set(&mut spec.message, &self.message);
        if self.duration.is_none() {
            if testbed.is_simulated {
                spec.duration = Nanos(spec.duration.0 / 10);
                spec.interval = Nanos(spec.interval.0 / 10);
            }
            let slowest = testbed.slowest_link().or(testbed.bucket);
            let enough = slowest.map(|rate| long_enough(spec.message, rate));
            spec.duration = enough.map_or(spec.duration, |enough| enough.max(spec.duration));
        }
        let open = !few && self.arrangements.is_empty() && self.collectives.is_empty();
        spec.infer = self.infer.as_ref().map_or(open, |infer| infer.value);
        if !self.collectives.is_empty() {
            // A sweep shows which port is slow.
            spec.arrangements = vec![Arrangement::Sweep];
            spec.collective_sizes = DEFAULT_SIZES.to_vec();
        }
        set_all(&mut spec.collectives, &self.collectives);
        set_all(&mut spec.collective_sizes, &self.collective_sizes);
        set_all(&mut spec.arrangements, &self.arrangements);
        if !self.nodes.is_empty() {
            spec.nodes = Nodes::These(values(&self.nodes));
        }
        set_all(&mut spec.messages, &self.messages);
        set(&mut spec.carrier, &self.carrier);
        spec.subjects = subjects::resolve(&self.devices, &self.variants, testbed)?;
        spec.between = Between { from: values(&self.from), to: values(&self.to), reversed: false };
        set(&mut spec.margin, &self.margin);
        set(&mut spec.duration, &self.duration);
        // A short trial still has one interval.
        spec.interval = spec.interval.min(spec.duration);
        if let Some(interval) = &self.interval {
            if interval.value > spec.duration {
                let message =
                    format!("{} is longer than a trial's {}", interval.value, spec.duration);
                return Err(interval.refused(Refused::new(message, USUAL_INTERVAL)));
            }
            spec.interval = interval.value;
        }
        set(&mut spec.blocks, &self.blocks);
        Ok(StudySpec::Fabric(spec))
    }
}

/// Time for [`MESSAGES`] messages, at most [`LONGEST`].
fn long_enough(message: ByteCount, rate: Rate) -> Nanos {
    let seconds = MESSAGES * 8.0 * message.0 as f64 / rate.bits_per_second();
    Nanos::from_secs_f64(seconds).min(LONGEST)
}

impl Value for Arrangement {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Refused> {
        let example =
            "write \"neighbours\", \"offset=12\", \"sweep\", \"bisections=50\" or \"tournament\"";
        text.parse().map_err(|error: NotAnArrangement| Refused::new(error.to_string(), example))
    }
}

/// Option of 0.2 for fewer hosts than ports.
#[derive(Debug, Clone)]
pub struct MovedCables;

impl Value for MovedCables {
    type Is = Infallible;
    const KIND: Kind = Kind::Whole;

    fn read(_: &str) -> Result<Infallible, Refused> {
        Err(Refused::new(
            "no cable is moved while a fabric is measured: every port needs a host of its own",
            "leave it out, with as many hosts in the testbed as ports to measure",
        ))
    }
}

measure::ranged! {
    /// Ports that talk at once.
    AtOnce(u32 as i64, 2..=4096, "ports that talk at once", "2, 4, 8… are usual");
}

/// Ports that talk at once, in pairs.
#[derive(Debug, Clone)]
pub struct Paired;

impl Value for Paired {
    type Is = u32;
    const KIND: Kind = Kind::Whole;

    fn read(text: &str) -> Result<u32, Refused> {
        let count = AtOnce::from_text(text)?.get();
        if count.is_multiple_of(2) {
            return Ok(count);
        }
        let message = format!("{count} ports cannot all be in pairs");
        Err(Refused::new(message, "give an even number"))
    }
}

/// Size of a message.
#[derive(Debug, Clone)]
pub struct Message;

impl Value for Message {
    type Is = ByteCount;

    fn read(text: &str) -> Result<ByteCount, Refused> {
        let size: ByteCount = unit(text, "\"64KiB\"")?;
        if (1..=16 << 20).contains(&size.0) {
            return Ok(size);
        }
        let message = format!("{size} is outside the range of a message, 1B…16MiB");
        Err(Refused::new(message, "1 to 128 KiB are usual"))
    }
}

/// Size of a collective.
#[derive(Debug, Clone)]
pub struct CollectiveSize;

impl Value for CollectiveSize {
    type Is = ByteCount;

    fn read(text: &str) -> Result<ByteCount, Refused> {
        let size: ByteCount = unit(text, "\"1MiB\"")?;
        if (1..=LARGEST_COLLECTIVE).contains(&size.0) {
            return Ok(size);
        }
        let message = format!("{size} is outside the range of a collective, 1B…1GiB");
        Err(Refused::new(message, "8 B to 16 MiB are usual"))
    }
}

/// `allreduce:ring`, `alltoall`.
impl Value for Collective {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Refused> {
        text.parse().map_err(|_| {
            let known = Self::ALL.map(Self::as_str);
            Refused::new(format!("`{text}` is not a collective"), hint(text, &known))
        })
    }
}

const USUAL_INTERVAL: &str = "a tenth of the duration is usual";

/// Interval over which receipts are summed.
#[derive(Debug, Clone)]
pub struct Interval;

impl Value for Interval {
    type Is = Nanos;

    fn read(text: &str) -> Result<Nanos, Refused> {
        match unit(text, "\"100ms\"")? {
            Nanos::ZERO => Err(Refused::new("an interval of 0 has no rate", USUAL_INTERVAL)),
            interval => Ok(interval),
        }
    }
}

/// `tcp`, `datagrams` or `datagrams:32`.
impl Value for Carrier {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Refused> {
        let unknown = || {
            let known = "known are `tcp` and `datagrams[:CREDITS]`";
            Refused::new(format!("`{text}` is not a carrier"), known)
        };
        match text.split_once(':') {
            None if text == "tcp" => Ok(Self::Tcp),
            None if text == "datagrams" => Ok(Self::Datagrams { credits: CREDITS }),
            Some(("datagrams", credits)) => match credits.parse() {
                Ok(credits @ 1..) => Ok(Self::Datagrams { credits }),
                _ => Err(unknown()),
            },
            _ => Err(unknown()),
        }
    }
}

/// `5%` or `0.05`.
#[derive(Debug, Clone)]
pub struct Margin;

impl Value for Margin {
    type Is = f64;

    fn read(text: &str) -> Result<f64, Refused> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
            None => text.parse(),
        };
        match share {
            Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
            _ => Err(Refused::new(
                format!("`{text}` is not a margin"),
                "write a share such as `5%` or `0.05`",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_and_their_sizes_are_read() {
        assert_eq!(<Collective as Value>::read("alltoall"), Ok(Collective::AllToAll));
        let refused = |text| <Collective as Value>::read(text).unwrap_err();
        assert_eq!(refused("allreduce:rings").hint, "did you mean `allreduce:ring`?");
        assert!(refused("gossip").hint.contains("`broadcast`"), "{:?}", refused("gossip"));
        assert_eq!(CollectiveSize::read("1GiB"), Ok(ByteCount(1 << 30)));
        for wrong in ["0B", "2GiB", "64TiB", "x"] {
            assert!(CollectiveSize::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn collectives_bring_a_sweep_unless_arrangements_are_named() {
        let spec = |request: &Fabric| match request.spec(&Outline::default()) {
            Ok(StudySpec::Fabric(spec)) => spec,
            other => panic!("{other:?}"),
        };
        let asked = |more: &str| -> Fabric {
            toml::from_str(&format!("collective = [\"alltoall\"]\n{more}")).unwrap()
        };
        let swept = spec(&asked(""));
        assert_eq!(swept.collectives, [Collective::AllToAll]);
        assert_eq!(swept.collective_sizes, DEFAULT_SIZES);
        assert_eq!((swept.arrangements, swept.infer), (vec![Arrangement::Sweep], false));
        let named = spec(&asked("arrangements = [\"neighbours\"]"));
        assert_eq!(named.arrangements, [Arrangement::Neighbours]);
        assert_eq!(spec(&Fabric::default()).collective_sizes, []);
    }

    #[test]
    fn quick_asks_few_rounds_and_no_floods() {
        let spec = |text: &str| {
            let request: Fabric = toml::from_str(text).unwrap();
            match request.spec(&Outline::default()) {
                Ok(StudySpec::Fabric(spec)) => spec,
                other => panic!("{other:?}"),
            }
        };
        let quick = spec("quick = true");
        assert_eq!(quick, FabricSpec::quick().for_slow_ports());
        assert_eq!((&quick.arrangements[..], quick.infer), (&[Arrangement::Halves][..], false));
        let longer = spec("quick = true\narrangements = [\"sweep\"]\nblocks = 10");
        assert_eq!(longer.arrangements, [Arrangement::Sweep]);
        assert_eq!((longer.blocks.get(), longer.infer), (10, false));
        assert_eq!(spec("quick = false"), spec(""));
    }

    #[test]
    fn carriers_and_margins_are_read() {
        assert_eq!(Carrier::read("tcp"), Ok(Carrier::Tcp));
        assert_eq!(Carrier::read("datagrams:7"), Ok(Carrier::Datagrams { credits: 7 }));
        assert_eq!(Carrier::read("datagrams"), Ok(Carrier::Datagrams { credits: CREDITS }));
        for wrong in ["", "udp", "tcp:2", "datagrams:0", "datagrams:x", "datagrams:70000"] {
            assert!(Carrier::read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Margin::read("5%"), Ok(0.05));
        assert_eq!(Margin::read("0.02"), Ok(0.02));
        for wrong in ["", "0", "1", "100%", "-1%", "x%", "NaN"] {
            assert!(Margin::read(wrong).is_err(), "{wrong}");
        }
    }
}
