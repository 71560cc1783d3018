//! Sequence numbers of a flood: a receiver needs a bit of memory for each of them.
//!
//! Owns the assumed rate, which grows with the fastest sender seen, so that a flood ends by its
//! time and not for lack of numbers. Never sends anything.

use measure::{FrameRate, Nanos};
use trial::record::FlowRecord;
use trial::{Flow, FlowKind, Schedule};

/// Assumed rate at first, enough for most hosts; a faster one is noticed.
const FIRST: FrameRate = FrameRate(4e6);
/// Factor above the fastest sender so far.
const HEADROOM: f64 = 2.0;
/// Extra numbers for a schedule's last batch and for rounding.
pub const MARGIN: u64 = 1024;
/// Maximum per flow, unless [`FIRST`] needs more: 256 MiB at its receiver.
const MOST: f64 = 2_147_483_648.0;

/// Known demand of floods on this testbed.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    fastest: FrameRate,
    ran_out: bool,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { fastest: FIRST, ran_out: false }
    }
}

impl Numbers {
    /// Numbers for one greedy sender over a load of this duration.
    pub fn for_flood(self, load: Nanos) -> f64 {
        let seconds = load.as_secs_f64();
        (self.fastest.0 * seconds).min(MOST.max(FIRST.0 * seconds))
    }

    /// True if an observed sender ran out of numbers before its time, and more are available.
    /// Resets the flag.
    pub fn take_ran_out(&mut self) -> bool {
        std::mem::take(&mut self.ran_out)
    }

    /// Learns from each sender's use of its numbers.
    pub fn observe(&mut self, flows: &[Flow], records: &[FlowRecord], load: Nanos) {
        let had = self.for_flood(load);
        for (flow, record) in flows.iter().zip(records) {
            let (FlowKind::Datagrams(asked), FlowRecord::Datagrams(seen)) = (&flow.kind, record)
            else {
                continue;
            };
            let used_up = (seen.sent + MARGIN) as f64 >= had;
            if asked.schedule == Schedule::Greedy && used_up && seen.sending < load {
                let wanted = FrameRate(HEADROOM * seen.sending_rate().0);
                let fastest = FrameRate(self.fastest.0.max(wanted.0));
                self.ran_out |= Self { fastest, ran_out: false }.for_flood(load) > had;
                self.fastest = fastest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::FrameSize;
    use trial::{Backend, Datagrams, Role};

    use super::*;

    /// A sender at this frame rate, until its time or its numbers run out.
    fn flood(numbers: Numbers, fps: f64, load: Nanos) -> FlowRecord {
        let frames = (fps * load.as_secs_f64()).min(numbers.for_flood(load) + MARGIN as f64);
        let kind = kind();
        let mut record = FlowRecord::nothing(&kind).expect("datagrams");
        if let FlowRecord::Datagrams(seen) = &mut record {
            seen.sent = frames as u64;
            seen.sending = Nanos((frames / fps * 1e9) as u64);
        }
        record
    }

    fn kind() -> FlowKind {
        FlowKind::Datagrams(Datagrams::plain(FrameSize::MIN, Schedule::Greedy, Backend::Auto, 0))
    }

    /// Seen: a sender of 8.4 M frames/s was done after 95 of 200 ms.
    #[test]
    fn a_flood_lasts_its_time_however_fast_its_sender_is() {
        for (fps, tries, lasts) in
            [(3e6, 1, true), (8.4e6, 2, true), (60e6, 2, true), (3e10, 2, false)]
        {
            let load = Nanos::from_millis(200);
            let flow = Flow {
                id: 1,
                from: "h1/eth1".parse().expect("a port"),
                to: "h2/eth1".parse().expect("a port"),
                role: Role::Measured,
                kind: kind(),
            };
            let mut numbers = Numbers::default();
            let mut tried = 0;
            let last = loop {
                tried += 1;
                let record = flood(numbers, fps, load);
                numbers.observe(std::slice::from_ref(&flow), std::slice::from_ref(&record), load);
                if !numbers.take_ran_out() {
                    break record;
                }
            };
            let FlowRecord::Datagrams(last) = last else { panic!("datagrams") };
            assert_eq!(tried, tries, "{fps}");
            assert_eq!(last.sending.as_secs_f64() > 0.19, lasts, "{fps}: {}", last.sending);
        }
    }
}
