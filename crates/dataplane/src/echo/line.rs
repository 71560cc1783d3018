//! Interface between carriers and request loops: one half sends a request, the other receives an
//! arrival. Also the learning frames, which are the same over every carrier.
//!
//! A half never counts and never decides when to send: the loops do.

use std::io;
use std::net::SocketAddr;

use measure::reading::Segment;
use measure::{FrameSize, Nanos};

use crate::socket::{is_away, is_pause, is_too_long};
use crate::{FlowError, clock};
use wire::Probe;

/// First sequence number of learning frames and greetings; these are never counted.
pub(super) const LEARNING: u32 = u32::MAX - 0xFF;

/// Answer to one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub sequence: u32,
    /// Send time that the packet itself carries; `None` if it has no room for one.
    pub carried: Option<Nanos>,
    /// Arrival time of the answer.
    pub at: Nanos,
    /// True if the kernel stamped `at`.
    pub by_kernel: bool,
}

/// Result of a receiving call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arrival {
    Answer(Answer),
    Malformed,
    Foreign,
    /// No arrival within the socket's time-out.
    Nothing,
}

/// Sending half.
pub(super) trait Outbound: Send {
    /// Sends request `sequence`, which carries `time`. After an error that `is_pause`, the same
    /// request must be sent again: a part of it may have left already.
    fn send(&mut self, sequence: u32, time: Nanos) -> io::Result<()>;
}

/// Receiving half.
pub(super) trait Inbound: Send {
    /// Receives the next arrival; waits at most [`crate::socket::TICK`].
    fn receive(&mut self) -> io::Result<Arrival>;
}

/// Path to a peer that answers.
pub(super) struct Line {
    pub outbound: Box<dyn Outbound>,
    pub inbound: Box<dyn Inbound>,
    /// Frame size that is really sent.
    pub frame_size: FrameSize,
    /// Segmentation by TCP; `None` over other carriers.
    pub segment: Option<Segment>,
    /// True if late requests count as lost. False if the carrier retransmits them itself (TCP).
    pub lossy: bool,
    pub remote: SocketAddr,
}

impl Line {
    /// Learns the path with a few round trips that warm addresses, routes and caches (RFC 2544
    /// §23). Returns the last one's duration. A frame never waits for the answer to the one before,
    /// even on a long path.
    pub(super) fn learn(&mut self) -> Result<Nanos, FlowError> {
        const ROUNDS: u32 = 5;
        // Two round trips over the longest satellite path: one for an address, one for a frame.
        const PATIENCE: Nanos = Nanos::from_secs(2);
        const EACH: Nanos = Nanos::from_millis(100);
        let start = clock::monotonic();
        let mut sent: Vec<Nanos> = Vec::new();
        let mut last = None;
        let mut answered = 0;
        while answered < ROUNDS && clock::monotonic() < start + PATIENCE {
            let now = clock::monotonic();
            match self.outbound.send(LEARNING + sent.len() as u32, now) {
                Ok(()) => sent.push(now),
                Err(e) if is_pause(&e) || is_not_yet(&e) => {
                    clock::wait_until(now + EACH / 10);
                    continue;
                }
                Err(e) => return Err(self.broke("send learning frame to", e)),
            }
            if let Some(took) = self.learned(&sent, now + EACH)? {
                last = Some(took);
                answered += 1;
            }
        }
        last.ok_or(FlowError::NoAnswer { peer: self.remote, waited: PATIENCE })
    }

    /// Returns the round-trip time of the next learning frame that comes back, given the send
    /// times.
    fn learned(&mut self, sent: &[Nanos], until: Nanos) -> Result<Option<Nanos>, FlowError> {
        while clock::monotonic() < until {
            match self.inbound.receive() {
                Ok(Arrival::Answer(answer)) => {
                    let number = answer.sequence.checked_sub(LEARNING);
                    let sent = number.and_then(|number| sent.get(number as usize));
                    if let Some(sent) = sent {
                        return Ok(Some(answer.at.saturating_sub(*sent)));
                    }
                }
                Ok(_) => {}
                Err(e) if is_pause(&e) || is_not_yet(&e) => {}
                Err(e) => return Err(self.broke("receive learning frame from", e)),
            }
        }
        Ok(None)
    }

    /// Converts a failed call to the flow's error. A frame too long for the path gets its own
    /// error, as the path may have changed since it was learned.
    pub(super) fn broke(&self, deed: &'static str, cause: io::Error) -> FlowError {
        if is_too_long(&cause) {
            too_long(self.frame_size, self.remote)
        } else {
            FlowError::kernel(deed, self.remote, cause)
        }
    }
}

/// Error: the path does not carry the frame whole.
pub(super) fn too_long(frame_size: FrameSize, remote: SocketAddr) -> FlowError {
    FlowError::Unsuitable(format!(
        "send {frame_size}-octet frames to {}: they need an MTU of {} on the whole path",
        remote.ip(),
        frame_size.mtu()
    ))
}

/// True if the peer's port may open soon, or its address be learned.
fn is_not_yet(error: &io::Error) -> bool {
    is_away(error) || error.kind() == io::ErrorKind::ConnectionRefused
}

/// Judges a probe that returned to the client of `expected`.
pub(super) fn judge(
    probe: Option<Probe>,
    expected: crate::Identity,
    at: Nanos,
    by_kernel: bool,
) -> Arrival {
    let Some(probe) = probe else { return Arrival::Malformed };
    if probe.token != expected.token || probe.flow != expected.flow {
        return Arrival::Foreign;
    }
    Arrival::Answer(Answer {
        sequence: probe.sequence,
        carried: Some(Nanos(probe.time_ns)),
        at,
        by_kernel,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Sent frames on a way that is longer than the gap between two of them.
    #[derive(Clone, Default)]
    struct LongWay(Arc<Mutex<VecDeque<(u32, Nanos)>>>);

    const ROUND_TRIP: Nanos = Nanos::from_millis(230);

    impl Outbound for LongWay {
        fn send(&mut self, sequence: u32, time: Nanos) -> io::Result<()> {
            self.0.lock().expect("one thread").push_back((sequence, time));
            Ok(())
        }
    }

    impl Inbound for LongWay {
        fn receive(&mut self) -> io::Result<Arrival> {
            let mut way = self.0.lock().expect("one thread");
            let due = way.front().is_some_and(|(_, sent)| clock::monotonic() >= *sent + ROUND_TRIP);
            let Some((sequence, sent)) = way.pop_front_if(|_| due) else {
                clock::wait_until(clock::monotonic() + Nanos::from_millis(1));
                return Ok(Arrival::Nothing);
            };
            let at = sent + ROUND_TRIP;
            Ok(Arrival::Answer(Answer { sequence, carried: None, at, by_kernel: false }))
        }
    }

    #[test]
    fn a_way_longer_than_the_gap_between_two_frames_is_learned() {
        let way = LongWay::default();
        let mut line = Line {
            outbound: Box::new(way.clone()),
            inbound: Box::new(way),
            frame_size: FrameSize::new(128).expect("a size"),
            segment: None,
            lossy: true,
            remote: SocketAddr::from(([198, 18, 0, 2], 7)),
        };
        assert_eq!(line.learn().expect("it answers"), ROUND_TRIP);
    }
}
