//! Announcement of virtual stations, so that a switch learns their port.
//!
//! Owns the frames: the shortest possible broadcast frames, of a type that no host processes (RFC
//! 9542's for local experiments). Never answers for a station.

use std::net::IpAddr;
use std::os::fd::AsRawFd;

use measure::Nanos;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send};
use trial::Destination;
use wire::MacAddr;

use super::{Traffic, interface, socket};
use crate::unfit::Unfit;
use crate::{FlowError, clock};

/// Octets of the shortest frame, without FCS.
const OCTETS: usize = 60;
/// IEEE 802 local experimental EtherType 1.
const EXPERIMENT: [u8; 2] = [0x88, 0xb5];

/// Sends a frame from each station by the interface that has `local`, at their rate; returns once
/// the last has left.
pub(super) fn announce(local: IpAddr, flow: &Traffic) -> Result<(), FlowError> {
    let Destination::Stations { count, learn_rate, .. } = flow.asked.destination else {
        return Ok(());
    };
    let (index, name) = interface::find(local).map_err(|unfit| match unfit {
        Unfit::Failed(error) => error,
        Unfit::NotHere(why) => {
            FlowError::Unavailable { asked: "stations behind a port".to_owned(), why }
        }
    })?;
    let failed = |e| FlowError::kernel("speak for stations on", &name, e);
    let packet = socket::packet_sender(index).map_err(failed)?;
    let mut frame = [0; OCTETS];
    frame[..6].copy_from_slice(&MacAddr::BROADCAST.0);
    frame[12..14].copy_from_slice(&EXPERIMENT);
    let begun = clock::monotonic();
    for number in 0..flow.asked.destination.announcements() {
        let after = u128::from(number) * 1_000_000_000 / u128::from(learn_rate.max(1));
        clock::wait_until(begun + Nanos(after as u64));
        frame[6..12].copy_from_slice(&flow.station(number, count).0);
        loop {
            match send(packet.as_raw_fd(), &frame, MsgFlags::empty()) {
                Ok(_) => break,
                Err(Errno::EINTR | Errno::ENOBUFS | Errno::EAGAIN) => {}
                Err(e) => return Err(failed(e.into())),
            }
        }
    }
    Ok(())
}
