//! Buffers: each queue's own, shared by a threshold, and shared with a reserve for each queue.

use std::fmt::Write as _;

use measure::Rate;
use method::Profile;
use method::prove::{Known, Truth};
use page::Condition;
use page::{Key, Metric, Unit};

use crate::cli::prove::case::{Case, Kind, Question, World};
use crate::cli::prove::chance::Chance;

/// In turn.
pub const KINDS: [Kind; 3] = [Kind::OwnBuffers, Kind::SharedBuffer, Kind::Reserve];

const PORTS: u64 = 8;

/// One device of that kind.
pub fn draw(chance: &mut Chance, world: World, kind: Kind, rigor: Profile) -> Case {
    let rate = chance.one(&[1e8, 1e9, 1e10]);
    let most = if rigor == Profile::Quick { 1e6 } else { 3e5 };
    let size = chance.by_decades(65_536.0, most).round();
    let cell = chance.one(&[1, 64, 128, 256]);
    let alpha = 0.25 * 32f64.powf(chance.between(0.0, 1.0));
    let alpha = (alpha * 256.0).round() / 256.0;
    let reserved = (size / PORTS as f64 * chance.between(0.05, 0.5)).round();
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
    // A frame goes in whole or not at all, and one is on its way out.
    let frame = 1518f64.max(f64::from(cell)) + f64::from(cell);
    for estimator in ["one-shot", "burst", "delay"] {
        let known = Known::Number { low: alone - frame, high: alone + frame };
        let truth = Truth::new(Metric::Buffer, Unit::Bytes, known);
        truths.push(truth.at(Key::Estimator, Condition::from(estimator)));
    }
    let mut profile = format!(
        "name = \"{}\"\nports = {PORTS}\nrate = \"{}\"\nbuffer = {{ {buffer}, cell = {cell} }}\n",
        kind.as_str().replace(' ', "-"),
        Rate(rate as u64),
    );
    let latency = chance.by_decades(200.0, 10_000.0);
    let mode = chance.one(&["store-and-forward", "cut-through"]);
    let _ = writeln!(profile, "forwarding = {{ mode = \"{mode}\", latency = \"{latency:.0}ns\" }}");
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

/// The whole, and how much of what is free a queue may take.
fn shared(size: f64, alpha: f64) -> [Truth; 2] {
    let total = exactly(Metric::Buffer, Unit::Bytes, size);
    [
        total.at(Key::Estimator, Condition::from("sharing")),
        exactly(Metric::Alpha, Unit::Ratio, alpha),
    ]
}
