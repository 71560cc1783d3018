//! Buffers: each queue's own, shared by a threshold, and shared with a reserve for each queue.

use std::fmt::Write as _;

use measure::Rate;
use page::Condition;
use page::{Key, Metric, Unit};
use study::Profile;
use study::prove::{Known, Truth};

use crate::cli::prove::case::{Case, Kind, Question, World};
use crate::cli::prove::chance::Chance;

/// Kinds, taken in turn.
pub const KINDS: [Kind; 3] = [Kind::OwnBuffers, Kind::SharedBuffer, Kind::Reserve];

const PORTS: u64 = 8;
/// The estimators' frames, with preamble and gap.
const LONGEST_ON_WIRE: f64 = 1538.0;
/// The smallest frames, with preamble and gap.
const SMALLEST_ON_WIRE: f64 = 84.0;
/// Least ratio of a packet limit to an egress port's rate that leaves room to overfill that port
/// alone.
const LEAST_APART: f64 = 1.06;

/// Further behaviour of a device with a buffer.
#[derive(Debug, Clone, Copy)]
enum Beside {
    Nothing,
    Stalls {
        per_second: f64,
        length_ns: f64,
    },
    RandomLoss(f64),
    /// Limit between one and two egress ports' rates in the estimators' frames.
    PacketLimit {
        rate: f64,
        queue: u64,
        times: f64,
    },
    /// Limit between one and all egress ports' rates in the smallest frames.
    HighPacketLimit {
        rate: f64,
        queue: u64,
    },
}

impl Beside {
    fn drawn(chance: &mut Chance, rate: f64) -> Self {
        let per_second = chance.by_decades(0.05, 3.0);
        let length_ns = chance.by_decades(1e6, 1e7).round();
        let loss = chance.by_decades(1e-6, 1e-2);
        let times = chance.between(1.0, 2.0);
        let limit = (times * rate / (8.0 * LONGEST_ON_WIRE)).round();
        let queue = chance.whole(16, 512);
        let high = chance.between(1.0, PORTS as f64) * rate / (8.0 * SMALLEST_ON_WIRE);
        match chance.whole(1, 10) {
            1..=4 => Self::Stalls { per_second, length_ns },
            5..=6 => Self::RandomLoss(loss),
            7 => Self::PacketLimit { rate: limit, queue, times },
            8 => Self::HighPacketLimit { rate: high.round(), queue },
            _ => Self::Nothing,
        }
    }

    /// True if an estimator can determine the buffer behind one output.
    fn shows(self, estimator: &str) -> bool {
        match self {
            Self::RandomLoss(_) => estimator != "burst",
            Self::PacketLimit { times, .. } => times > LEAST_APART,
            Self::Nothing | Self::Stalls { .. } | Self::HighPacketLimit { .. } => true,
        }
    }

    fn profile(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Stalls { per_second, length_ns } => {
                format!(
                    "stalls = {{ per_second = {per_second:.6}, length = \"{length_ns:.0}ns\" }}\n"
                )
            }
            Self::RandomLoss(share) => format!("loss = {share:.9}\n"),
            Self::PacketLimit { rate, queue, .. } | Self::HighPacketLimit { rate, queue } => {
                format!("pps_limit = {rate:.0}\npps_queue = {queue}\n")
            }
        }
    }
}

/// Draws a device of that kind.
pub fn draw(chance: &mut Chance, world: World, kind: Kind, rigor: Profile) -> Case {
    let rate = chance.one(&[1e8, 1e9, 1e10]);
    let most = if rigor == Profile::Quick { 2e6 } else { 3e5 };
    let size = chance.by_decades(65_536.0, most).round();
    let cell = chance.one(&[1, 64, 128, 256]);
    let alpha = 0.25 * 32f64.powf(chance.between(0.0, 1.0));
    let alpha = (alpha * 256.0).round() / 256.0;
    let reserved = (size / PORTS as f64 * chance.between(0.05, 0.5)).round();
    let beside = Beside::drawn(chance, rate);
    let mut truths = vec![flag(kind != Kind::OwnBuffers), exactly(Metric::Cell, Unit::Bytes, cell)];
    let (buffer, alone) = match kind {
        Kind::SharedBuffer => {
            truths.extend(shared(size, alpha));
            (format!("total = \"{size}B\", alpha = {alpha}"), size * alpha / (1.0 + alpha))
        }
        Kind::Reserve => {
            truths.extend(shared(size, alpha));
            let pool = size - PORTS as f64 * reserved;
            let buffer = format!(
                "total = \"{size}B\", alpha = {alpha}, reserved_per_port = \"{reserved}B\""
            );
            (buffer, pool * alpha / (1.0 + alpha) + reserved)
        }
        _ => (format!("per_port = \"{size}B\""), size),
    };
    // With frames of one size into one output, none of these can be determined.
    for truth in &mut truths {
        truth.reachable = !matches!(beside, Beside::PacketLimit { .. });
    }
    // A frame goes in whole or not at all, and one is on its way out.
    let frame = 1518f64.max(f64::from(cell)) + f64::from(cell);
    for estimator in ["one-shot", "burst", "delay"] {
        let known = Known::Number { low: alone - frame, high: alone + frame };
        let truth = Truth::new(Metric::Buffer, Unit::Bytes, known).at(Key::FrameSize, 1518_u64);
        let truth = truth.at(Key::Estimator, Condition::from(estimator));
        truths.push(truth.reachable(beside.shows(estimator)));
    }
    let mut profile = format!(
        "name = \"{}\"\nports = {PORTS}\nrate = \"{}\"\nbuffer = {{ {buffer}, cell = {cell} }}\n",
        kind.as_str().replace(' ', "-"),
        Rate(rate as u64),
    );
    let latency = chance.by_decades(200.0, 10_000.0);
    let mode = chance.one(&["store-and-forward", "cut-through"]);
    let _ = writeln!(profile, "forwarding = {{ mode = \"{mode}\", latency = \"{latency:.0}ns\" }}");
    profile.push_str(&beside.profile());
    let question = Question::Buffer {};
    Case { world, kind, seed: chance.seed(), rigor, mtu: 1500, profile, question, truths }
}

fn flag(shared: bool) -> Truth {
    Truth::new(Metric::BufferShared, Unit::Flag, Known::Flag(shared))
}

fn exactly(metric: Metric, unit: Unit, value: impl Into<f64>) -> Truth {
    let value = value.into();
    Truth::new(metric, unit, Known::Number { low: value, high: value })
}

/// Returns the whole buffer, and the share of free memory that a queue may take.
fn shared(size: f64, alpha: f64) -> [Truth; 2] {
    let total = exactly(Metric::Buffer, Unit::Bytes, size);
    [
        total.at(Key::Estimator, Condition::from("sharing")),
        exactly(Metric::Alpha, Unit::Ratio, alpha),
    ]
}
