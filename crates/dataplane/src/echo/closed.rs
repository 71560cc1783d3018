//! The closed loop: the next request leaves when the answer to the last is in, or is given up.
//!
//! One send and one receive a round trip; no allocation and no other system call while answers
//! come.

use measure::Nanos;

use super::line::{Arrival, Line};
use super::tally::{Departures, Tally};
use super::waiting::{AWAY, collect, pause_until};
use crate::socket::{is_away, is_pause};
use crate::{FlowError, Halt, Window, clock};

/// Asks over `window`; `learned` is a recent round trip, `gap` the least time between two requests.
/// Returns when the load ended.
pub(super) fn run(
    line: &mut Line,
    tally: &mut Tally,
    learned: Nanos,
    gap: Nanos,
    window: Window,
    halt: &Halt,
) -> Result<Nanos, FlowError> {
    let mut patience = Patience::new(learned);
    let mut sequence = 0;
    pause_until(window.start, halt);
    loop {
        let sent = clock::monotonic();
        if sent >= window.stop || halt.is_requested() {
            break;
        }
        match line.outbound.send(sequence, sent) {
            Ok(()) => {}
            Err(e) if is_pause(&e) => continue,
            Err(e) if is_away(&e) => {
                pause_until(sent + AWAY, halt);
                continue;
            }
            // The reflector may have heard of the halt first.
            Err(_) if halt.is_requested() => break,
            Err(e) => return Err(line.broke("send request to", e)),
        }
        tally.sent += 1;
        tally.departures = Departures::Greedy { last: Some((sequence, sent)) };
        let deadline =
            if line.lossy { window.stop.min(sent + patience.wait()) } else { window.stop };
        if let Some(rtt) = answered(line, tally, sequence, deadline, halt)? {
            patience.learn(rtt);
        }
        sequence += 1;
        if gap > Nanos::ZERO {
            pause_until(window.stop.min(sent + gap), halt);
        }
    }
    let end = clock::monotonic().min(window.stop);
    collect(line.inbound.as_mut(), tally, window, &|| halt.is_requested())
        .map_err(|e| line.broke("receive answer from", e))?;
    Ok(end)
}

/// Takes arrivals until `sequence` is answered: the last round trip that was learned meanwhile,
/// which may be an earlier request's where the deadline comes first.
fn answered(
    line: &mut Line,
    tally: &mut Tally,
    sequence: u32,
    deadline: Nanos,
    halt: &Halt,
) -> Result<Option<Nanos>, FlowError> {
    let mut learned = None;
    loop {
        let arrival = match line.inbound.receive() {
            Ok(arrival) => arrival,
            Err(_) if halt.is_requested() => return Ok(learned),
            Err(e) => return Err(line.broke("receive answer from", e)),
        };
        let nothing = matches!(arrival, Arrival::Nothing);
        if let Some((number, rtt)) = tally.arrive(arrival) {
            learned = Some(rtt);
            if number == sequence {
                return Ok(learned);
            }
        }
        // Asked on each arrival that is not the answer, or a flood of foreign ones would hold us
        // here.
        if clock::monotonic() >= deadline || (nothing && halt.is_requested()) {
            return Ok(learned);
        }
    }
}

/// Wait for an answer before the next request leaves: RFC 6298 §2's timer, 20 ms to 1 s.
#[derive(Debug, Clone, Copy)]
struct Patience {
    smoothed_ns: u64,
    variation_ns: u64,
}

impl Patience {
    fn new(rtt: Nanos) -> Self {
        Self { smoothed_ns: rtt.0, variation_ns: rtt.0 / 2 }
    }

    fn learn(&mut self, rtt: Nanos) {
        // RFC 6298 §2.3: beta 1/4, alpha 1/8, the variation first.
        let error = self.smoothed_ns.abs_diff(rtt.0);
        self.variation_ns = self.variation_ns - self.variation_ns / 4 + error / 4;
        self.smoothed_ns = self.smoothed_ns - self.smoothed_ns / 8 + rtt.0 / 8;
    }

    fn wait(self) -> Nanos {
        Nanos(self.smoothed_ns + 4 * self.variation_ns)
            .clamp(Nanos::from_millis(20), Nanos::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_follows_the_round_trips_within_its_bounds() {
        let mut patience = Patience::new(Nanos::from_micros(50));
        assert_eq!(patience.wait(), Nanos::from_millis(20));
        for _ in 0..100 {
            patience.learn(Nanos::from_millis(300));
        }
        let wait = patience.wait();
        assert!(wait >= Nanos::from_millis(299) && wait < Nanos::from_millis(400), "{wait}");
        for _ in 0..100 {
            patience.learn(Nanos::from_secs(30));
        }
        assert_eq!(patience.wait(), Nanos::from_secs(1));
    }
}
