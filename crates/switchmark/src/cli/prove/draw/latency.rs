//! Two ports and a delay between them.

use measure::Rate;
use page::{Key, Metric, Unit};
use study::Profile;
use study::prove::{Known, Truth};
use trial::Protocol;

use crate::cli::prove::case::{Case, Kind, Question, World};
use crate::cli::prove::chance::Chance;

/// Kinds, taken in turn.
pub const KINDS: [Kind; 4] = [Kind::LineRate, Kind::Stalls, Kind::SlowWay, Kind::PacketLimit];
/// Kinds of two devices, taken in turn.
pub const PAIRS: [Kind; 3] = [Kind::Alike, Kind::LittleSlower, Kind::MuchSlower];

/// Preamble: wire time of a frame beside itself, until its last bit.
const PREAMBLE: f64 = 8.0;
/// Relative width of a histogram's buckets, which are a nanosecond at least.
const BUCKET: f64 = 0.005;

/// Requests and answers above this share of a packet limit fill its queue, or nearly.
const ROOM: f64 = 0.95;

/// A device that only adds delay.
#[derive(Debug, Clone, Copy)]
struct Slow {
    rate: f64,
    latency_ns: f64,
    cut_through: bool,
}

impl Slow {
    fn drawn(chance: &mut Chance) -> Self {
        Self {
            rate: chance.one(&[1e8, 1e9, 1e10]),
            latency_ns: chance.by_decades(300.0, 1e6).round(),
            cut_through: chance.yes(0.4),
        }
    }

    /// Time of a frame on one cable.
    fn frame_ns(self, size: u32) -> f64 {
        (f64::from(size) + PREAMBLE) * 8e9 / self.rate
    }

    /// Time that the device adds to a round trip over a cable alone.
    fn added_ns(self, size: u32) -> f64 {
        let stored = if self.cut_through { 0.0 } else { self.frame_ns(size) };
        2.0 * (self.latency_ns + stored)
    }

    fn profile(self, name: &str, more: &str) -> String {
        let mode = if self.cut_through { "cut-through" } else { "store-and-forward" };
        format!(
            "name = \"{name}\"\nports = 2\nrate = \"{}\"\nbuffer = {{ per_port = \"1MiB\" }}\n\
             forwarding = {{ mode = \"{mode}\", latency = \"{:.0}ns\" }}\n{more}",
            Rate(self.rate as u64),
            self.latency_ns
        )
    }
}

/// Draws a device of that kind.
pub fn draw(chance: &mut Chance, world: World, kind: Kind, rigor: Profile) -> Case {
    let slow = Slow::drawn(chance);
    let size = chance.one(&[64, 512, 1518]);
    let way = slow.rate * chance.between(0.05, 0.9);
    let limit = chance.by_decades(200.0, 50_000.0).round();
    let queue = chance.whole(16, 2048);
    // Request and answer both count.
    let of_limit = chance.between(0.3, 1.5);
    let open_loop = (kind == Kind::PacketLimit).then(|| (of_limit * limit / 2.0).round());
    let more = match kind {
        Kind::Stalls => {
            let often = chance.by_decades(0.1, 5.0);
            format!("stalls = {{ per_second = {often:.6}, length = \"3ms\" }}\n")
        }
        Kind::SlowWay => {
            let way = Rate(way as u64);
            format!(
                "groups = [{{ ports = \"1\", uplink = \"{way}\" }}, \
                 {{ ports = \"2\", uplink = \"{way}\" }}]\n"
            )
        }
        Kind::PacketLimit => format!("pps_limit = {limit:.0}\npps_queue = {queue}\n"),
        _ => String::new(),
    };
    let mut added = slow.added_ns(size);
    if kind == Kind::SlowWay {
        // Stored and forwarded once more at each end of the path, each way.
        added += 4.0 * (f64::from(size) + PREAMBLE) * 8e9 / way;
    }
    if kind == Kind::PacketLimit {
        // Each is decided on, one after the other.
        added += 2.0 * 1e9 / limit;
    }
    // Below the limit a request and an answer may still come at the same time, each way.
    let own = open_loop.map_or(0.0, |_| 2.0 * 1e9 / limit);
    let slack = (added * BUCKET).max(2.0);
    let truth = |protocol: Protocol| {
        let known = Known::Number { low: added - slack, high: added + own + slack };
        Truth::new(Metric::RttAdded, Unit::Nanoseconds, known)
            .of_quantile(0.5)
            .at(Key::Protocol, protocol.as_str())
            .at(Key::FrameSize, u64::from(size))
            .reachable(open_loop.is_none() || of_limit < ROOM)
    };
    let question = Question::Latency { sizes: vec![size], open_loop };
    let truths = vec![truth(Protocol::Icmp), truth(Protocol::Udp)];
    let profile = slow.profile(&kind.as_str().replace(' ', "-"), &more);
    Case { world, kind, seed: chance.seed(), rigor, mtu: 1500, profile, question, truths }
}

/// Draws two devices, and which is slower.
pub fn pair(chance: &mut Chance, world: World, kind: Kind, rigor: Profile) -> Case {
    let one = Slow::drawn(chance);
    let size = chance.one(&[64, 512, 1518]);
    let whole = |slow: Slow| 2.0 * slow.frame_ns(size) + slow.added_ns(size);
    let factor = match kind {
        Kind::Alike => 1.0,
        Kind::LittleSlower => chance.between(1.03, 1.3),
        _ => chance.by_decades(1.5, 1000.0),
    };
    let more = (whole(one) * (factor - 1.0) / 2.0).round();
    let other = Slow { latency_ns: one.latency_ns + more, ..one };
    let known = Known::TimesAsMuch { ratio: whole(other) / whole(one) };
    let truths = ["icmp", "udp"].map(|protocol| {
        Truth::new(Metric::Ratio, Unit::Ratio, known.clone())
            .at(Key::Of, "rtt")
            .at(Key::OfQuantile, 0.5)
            .at(Key::Protocol, protocol)
    });
    let question = Question::Compare { other: other.profile("other", ""), sizes: vec![size] };
    let profile = one.profile("one", "");
    let truths = truths.to_vec();
    Case { world, kind, seed: chance.seed(), rigor, mtu: 1500, profile, question, truths }
}
