//! Demands of a flow of connections on a host: files, ports and memory.
//!
//! Owns their limits. Never opens a socket by itself.

use std::io;

use measure::Nanos;
use trial::{FASTEST_OPENING, Hold, MOST_SESSIONS, Opening, Sessions, Transport};

use crate::{End, FlowError, open_files};

/// Most connections of a paced flow without hold that are under way at once.
const MOST_UNDER_WAY: u64 = 200_000;

/// Refuses flows that no host should be asked for.
pub(super) fn check(flow: &Sessions) -> Result<(), FlowError> {
    let words = match (flow.opening, flow.most, flow.hold) {
        (_, Some(most), _) if most > MOST_SESSIONS => {
            format!("open {most} connections: {MOST_SESSIONS} is the limit")
        }
        (Opening::Paced(rate), ..) if !(rate.0 > 0.0 && rate <= FASTEST_OPENING) => {
            format!("open {} connections a second: above 0 and up to 1,000,000", rate.0)
        }
        (Opening::Greedy(0), ..) => "open connections with none under way".to_owned(),
        (_, None, Hold::UntilEnd | Hold::Idle) => {
            "hold connections without a limit of their number".to_owned()
        }
        _ if flow.timeout == Nanos::ZERO => "give connections no time at all".to_owned(),
        _ => return Ok(()),
    };
    Err(FlowError::Unsuitable(words))
}

/// Makes room for the flow's connections; returns how many may be open at once. What does not fit
/// is not begun, which is the tester's limit.
pub(super) fn room(flow: &Sessions) -> u64 {
    let wanted = match (flow.hold, flow.most, flow.opening) {
        (Hold::UntilEnd | Hold::Idle, Some(most), _) => most,
        (_, _, Opening::Paced(rate)) => {
            let under_way = (rate.0 * 2.0 * flow.timeout.as_secs_f64()).ceil() as u64 + 64;
            under_way.min(MOST_UNDER_WAY)
        }
        (_, _, Opening::Greedy(under_way)) => under_way.into(),
    };
    open_files::make_room(wanted)
}

/// Sockets of a far end at the flow's ports; an error if these are not free.
pub(super) fn all_ports<T>(
    end: &End<Sessions>,
    found: io::Result<Option<(Vec<T>, u16)>>,
) -> Result<(Vec<T>, u16), FlowError> {
    let deed = match end.flow.transport {
        Transport::Tcp => "listen for tcp at",
        Transport::Udp => "bind udp socket to",
    };
    let found = found.map_err(|e| FlowError::kernel(deed, end.local, e))?;
    let ports = end.flow.ports();
    found.ok_or_else(|| {
        FlowError::Unsuitable(format!("listen at {ports} consecutive ports: none are free"))
    })
}
