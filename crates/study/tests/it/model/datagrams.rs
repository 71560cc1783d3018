//! What a flow of datagrams comes to in the model: its counts from the rates and the buffer,
//! whatever its schedule.
//!
//! Owns the arithmetic that the tests hold the figures against. Never judges a trial.

use measure::sequence::SequenceCounts;
use measure::{Histogram, Nanos};
use rand::RngExt as _;
use rand_pcg::Pcg64;
use scripted::one_way;
use trial::record::{Clocks, DatagramsRecord, Delays};
use trial::{Datagrams, Schedule};

use super::Way;

/// Delays beyond the smallest are exponential with this mean.
pub const TAIL_NS: f64 = 1_000.0;

/// Delays drawn of a flow, where it has as many frames.
const DRAWN: u64 = 4_000;

/// One flow's surroundings.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    pub way: Way,
    /// Frames a second that the sender can make.
    pub tester: f64,
    pub load: Nanos,
    /// The share of its frames that a stalled sender gets out.
    pub kept: f64,
    pub bunched: f64,
}

impl Scene {
    /// Frames of that flow that the device holds.
    fn buffer(&self, asked: &Datagrams) -> f64 {
        self.way.buffer.min(self.way.buffer_octets / asked.frames.mean_octets())
    }

    /// What comes of a flow.
    pub fn datagrams(&self, asked: &Datagrams) -> DatagramsRecord {
        match asked.schedule {
            Schedule::Greedy => self.constant(asked, self.tester),
            Schedule::Paced(rate) => self.constant(asked, rate.0),
            Schedule::Burst(frames) => self.burst(asked, frames),
            Schedule::Falling { from, to, after } => self.falling(asked, (from.0, to.0), after),
        }
    }

    fn constant(&self, asked: &Datagrams, wanted: f64) -> DatagramsRecord {
        let seconds = self.load.as_secs_f64();
        let rate = wanted.min(self.tester) * self.kept;
        let offered = (wanted * seconds).round();
        let sent = (rate * seconds).round().min(offered);
        let passed = sent.min((self.way.capacity * seconds + self.buffer(asked)).floor());
        let mut record = record(offered, sent, passed, (sent - 1.0).max(0.0) / rate);
        // By another clock, which is slow by 200 ppm.
        record.receiving = span(passed, rate.min(self.way.capacity) * 1.0002);
        if let Schedule::Paced(_) = asked.schedule {
            let gap = Nanos::from_secs_f64(1.0 / rate);
            for at in 0..1_000 {
                let bunched = f64::from(at) < 1_000.0 * self.bunched;
                record.departures.record(if bunched { Nanos::ZERO } else { gap });
                record.arrivals.record(gap);
            }
        }
        record
    }

    /// While the burst comes in at the tester's rate the device sends on at its own.
    fn burst(&self, asked: &Datagrams, frames: u64) -> DatagramsRecord {
        let sent = frames as f64;
        let kept = (sent * self.kept).round();
        let held = kept * (1.0 - self.way.capacity / self.tester).max(0.0);
        let lost = (held - self.buffer(asked)).max(0.0).ceil();
        let mut record = record(sent, kept, kept - lost, kept / self.tester);
        record.receiving = span(kept - lost, self.tester.min(self.way.capacity));
        record
    }

    fn falling(&self, asked: &Datagrams, (from, to): (f64, f64), after: Nanos) -> DatagramsRecord {
        let (high, low) = (after.as_secs_f64(), self.load.saturating_sub(after).as_secs_f64());
        let able = (from.min(self.tester) * high * self.kept).round();
        let before = (from * high).round();
        let offered = before + (to * low).round();
        let sent = able + (to * low).round();
        let over = able - (self.way.capacity * high + self.buffer(asked)).floor();
        let mut record = record(offered, sent, sent, self.load.as_secs_f64());
        if over > 0.0 {
            let shaken = (to * self.way.recovery_ns / 1e9).floor().min(to * low);
            record.received.unique = (sent - over - (shaken / 2.0).floor()) as u64;
            // The frame that leaves as the device recovers is the last that it loses.
            let last = if shaken > 0.0 { able + shaken } else { able - 1.0 };
            record.received.last_missing = Some(last as u64);
            if last >= sent - 1.0 {
                record.received.highest = Some(sent as u64 - 2);
            }
        }
        record
    }

    /// A paced flow of which a reset takes a piece out.
    pub fn reset(&self, asked: &Datagrams) -> DatagramsRecord {
        let Schedule::Paced(rate) = asked.schedule else { panic!("a reset at no constant rate") };
        let down = (self.way.down_ns / 1e9).min(self.load.as_secs_f64() / 2.0);
        let gone = (rate.0 * down).round();
        let mut record = self.constant(asked, rate.0);
        record.received.unique -= gone as u64;
        record.received.last_missing = Some(record.sent / 2);
        record.arrivals.record(Nanos::from_secs_f64(down));
        if self.way.down_ns / 1e9 > down {
            // It was down until the end.
            record.received.highest = Some(record.sent / 2);
        }
        record
    }
}

/// Frames that were lost were lost in the middle.
fn record(offered: f64, sent: f64, passed: f64, seconds: f64) -> DatagramsRecord {
    let lost = sent > passed;
    let all = one_way(Nanos::from_secs_f64(seconds), sent as u64, passed as u64);
    DatagramsRecord {
        offered: offered as u64,
        received: SequenceCounts {
            highest: (sent as u64).checked_sub(1),
            last_missing: lost.then_some(sent as u64 / 2),
            ..all.received
        },
        ..all
    }
}

fn span(frames: f64, rate: f64) -> Nanos {
    Nanos::from_secs_f64((frames - 1.0).max(0.0) / rate)
}

/// One-way delays: half the way's round trip and an exponential tail; between two clocks, less the
/// smallest.
pub fn delays(way: Way, clocks: Clocks, frames: u64, chance: &mut Pcg64) -> Delays {
    let mut histogram = Histogram::new();
    let least = if clocks == Clocks::Same { way.rtt_ns / 2.0 } else { 0.0 };
    for _ in 0..frames.min(DRAWN) {
        let tail = -chance.random_range(1e-9..1.0f64).ln() * TAIL_NS;
        histogram.record(Nanos((least + tail) as u64));
    }
    Delays { clocks, histogram }
}
