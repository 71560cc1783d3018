//! Packet socket for sending whole Ethernet frames, past the queueing discipline.
//!
//! Owns the socket and the meaning of its refusals. Never asks for addresses: the path is known.

use std::io;
use std::os::fd::OwnedFd;

use super::frames::Frames;
use super::output::Output;
use super::{Traffic, Way, socket};
use crate::socket::{TICK, bound_waits};
use crate::unfit::Unfit;
use crate::{End, FlowError};

/// Opens the packet backend. The string describes how it sends.
pub(super) fn open(spec: &End<Traffic>, way: Way) -> Result<(Output, String), Unfit> {
    let (packet, bypasses) = socket_on(&way)?;
    socket::let_queue(&packet, spec.flow.asked.schedule);
    let frames = Frames::whole(spec, &way)?;
    let how = match bypasses {
        Ok(()) if !way.hops.is_empty() => {
            "each frame goes straight to the interface of its conversation's own way".to_owned()
        }
        Ok(()) => format!("frames go straight to {}, past its queue", way.interface),
        Err(e) => format!(
            "frames go through the queue of {}, which could not be passed by ({e})",
            way.interface
        ),
    };
    Ok((Output::packet(packet, way, frames), how))
}

/// Opens the socket; true if it bypasses the queueing discipline.
fn socket_on(way: &Way) -> Result<(OwnedFd, io::Result<()>), Unfit> {
    let packet = socket::packet_sender(way.index).map_err(|e| {
        Unfit::NotHere(match e.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                "raw packets are not permitted (CAP_NET_RAW is missing)".to_owned()
            }
            _ => format!("there is no packet socket on {} ({e})", way.interface),
        })
    })?;
    bound_waits(&packet, TICK)
        .map_err(|e| FlowError::kernel("bound the waits of packet socket on", &way.interface, e))?;
    let bypasses = socket::bypass_qdisc(&packet);
    Ok((packet, bypasses))
}
