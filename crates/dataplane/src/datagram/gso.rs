//! Super-frames by a connected UDP socket: the kernel takes up to 64 payloads of one size at once
//! and cuts them into separate datagrams (UDP_SEGMENT).
//!
//! Owns the memory of the super-frames and the refusal of loads that they would falsify. They leave
//! as bursts of up to 64 frames at line rate, so they serve overload with one frame size only. A
//! super-frame is taken whole or not at all, and counts as its frames. Frames that the driver drops
//! after the cut are not reported by the kernel and count as sent. Never waits, never numbers.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

use measure::FrameSize;
use netlink::Netlink;
use trial::Schedule;

use super::batch::SLOTS;
use super::layout::{layout, payload_octets};
use super::{Traffic, Way, udp_socket};
use crate::End;
use crate::socket::set;
use crate::unfit::Unfit;

/// Maximum datagrams of a super-frame, in every Linux that supports them.
const SEGMENTS: usize = 64;

/// Maximum UDP payload of an IPv4 packet, in octets; IPv6 would allow a little more.
const MOST_OCTETS: usize = 65_507;

/// Consecutive frames of a call, and the kernel's headers for its super-frames.
pub(super) struct SuperFrames {
    payload_octets: usize,
    /// Frames of one super-frame.
    segments: usize,
    octets: Vec<u8>,
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

#[expect(unsafe_code, reason = "the kernel's headers hold pointers")]
// SAFETY: the pointers in `parts` and `headers` are written before each call and not used after it.
unsafe impl Send for SuperFrames {}

/// Makes the path's own socket cut super-frames. The string describes how it sends. Fit are only
/// greedy loads of one frame size and one pair of ports and addresses, by an interface that cuts
/// super-frames before they leave it.
pub(super) fn open(spec: &End<Traffic>, way: &Way) -> Result<(SuperFrames, String), Unfit> {
    let size = check(spec)?;
    check_interface(way)?;
    let payload = payload_octets(layout(spec.remote.is_ipv6(), None), size);
    cut(&way.reserved, payload).map_err(|e| {
        Unfit::NotHere(format!("the kernel cuts no udp payloads into frames ({e})"))
    })?;
    let frames = SuperFrames::new(payload);
    let how = format!(
        "a udp socket hands over up to {} frames at once, which leave {} as a burst",
        frames.segments, way.interface
    );
    Ok((frames, how))
}

/// Returns the single size of a load that may leave in bursts.
fn check(spec: &End<Traffic>) -> Result<FrameSize, Unfit> {
    udp_socket::check(spec)?;
    if spec.flow.asked.schedule != Schedule::Greedy {
        return Err(Unfit::NotHere(format!(
            "super-frames leave as bursts of up to {SEGMENTS} frames at the rate of the line, which \
             serves overload and neither a pace nor a search for zero loss"
        )));
    }
    spec.flow.asked.frames.single().ok_or_else(|| {
        Unfit::NotHere(format!(
            "the frames of a super-frame have one size, and {} has more",
            spec.flow.asked.frames
        ))
    })
}

/// Refuses a virtual interface that segments "in hardware": it forwards super-frames whole, and a
/// 64 KiB frame is not one of the requested frames.
fn check_interface(way: &Way) -> Result<(), Unfit> {
    let Some(kind) = &way.kind else { return Ok(()) };
    if Netlink::open()?.offloads(&way.interface)?.udp_segmentation {
        return Err(Unfit::NotHere(format!(
            "{} is a virtual interface ({kind}) that hands super-frames on whole while its \
             tx-udp-segmentation is on",
            way.interface
        )));
    }
    Ok(())
}

/// Makes `socket` cut each message into payloads of the given octets.
fn cut(socket: impl AsFd, payload_octets: usize) -> io::Result<()> {
    set(socket.as_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, &(payload_octets as libc::c_int))
}

impl SuperFrames {
    /// Allocates room for the frames of one call, each with the given octets of UDP payload.
    fn new(payload_octets: usize) -> Self {
        let segments = (MOST_OCTETS / payload_octets).clamp(1, SEGMENTS);
        let messages = SLOTS.div_ceil(segments);
        let no_part = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        Self {
            payload_octets,
            segments,
            octets: vec![0; payload_octets * SLOTS],
            parts: vec![no_part; messages],
            headers: vec![no_header(); messages],
        }
    }

    /// Sends the payloads, at most [`SLOTS`] of the one size; returns the number that the kernel
    /// took, at least one.
    #[expect(unsafe_code, reason = "sendmmsg without an allocation a call")]
    pub(super) fn send<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        payloads: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<usize> {
        let mut count = 0;
        for (room, payload) in self.octets.chunks_exact_mut(self.payload_octets).zip(payloads) {
            room.copy_from_slice(payload);
            count += 1;
        }
        let filled = &self.octets[..count * self.payload_octets];
        let mut messages = 0;
        for (super_frame, (part, header)) in filled
            .chunks(self.segments * self.payload_octets)
            .zip(self.parts.iter_mut().zip(&mut self.headers))
        {
            // The kernel only reads what a sender's part points to.
            part.iov_base = super_frame.as_ptr().cast_mut().cast();
            part.iov_len = super_frame.len();
            header.msg_hdr.msg_iov = &raw mut *part;
            header.msg_hdr.msg_iovlen = 1;
            messages += 1;
        }
        // SAFETY: the first `messages` headers point to one part each, which points to whole
        // payloads; all of it outlives the call.
        let taken =
            unsafe { libc::sendmmsg(socket.as_raw_fd(), self.headers.as_mut_ptr(), messages, 0) };
        let taken = usize::try_from(taken).map_err(|_| io::Error::last_os_error())?;
        Ok((taken * self.segments).min(count))
    }
}

#[expect(unsafe_code, reason = "a header has private padding on some targets")]
fn no_header() -> libc::mmsghdr {
    // SAFETY: integers and pointers; all zeros is an empty header.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use measure::{FrameMix, FrameRate, Nanos};
    use wire::Probe;

    use super::super::frames::Frames;
    use super::*;
    use crate::Identity;
    use crate::af_xdp::cable::{Cable, PORT, TOKEN, selection};
    use crate::packet_ring;
    use trial::{Backend, Datagrams};

    fn spec(cable: &Cable, octets: u32) -> End<Traffic> {
        let size = FrameSize::new(octets).expect("a size");
        let asked = Datagrams::plain(size, Schedule::Greedy, Backend::UdpGso, 1);
        let flow = Traffic::new(asked, 1_000_000);
        End {
            local: cable.address("h1").into(),
            remote: SocketAddr::new(cable.address("h2").into(), PORT),
            opening: crate::opening::Opening::PLAIN,
            identity: Identity { token: TOKEN, flow: 1 },
            flow,
        }
    }

    #[test]
    fn each_frame_of_a_super_frame_is_sent_counted_and_numbered() {
        let Some(cable) = Cable::lay(false) else { return };
        let _reserved = cable.reserve();
        cable
            .inside("h1", || Netlink::open()?.offloads_off(cable.interface("h1")))
            .expect("turn offloads off");
        let (index, name) = (cable.link("h2").index, cable.interface("h2"));
        for octets in [64, 100, 1_518, 9_018] {
            let spec = spec(&cable, octets);
            let ring = cable
                .inside("h2", || packet_ring::Receive::bind(index, name, &selection()))
                .expect("bind ring");
            let way = cable.inside("h1", || Way::find(&spec)).expect("find the way");
            let (mut gso, how) = cable.inside("h1", || open(&spec, &way)).expect("open");
            let mut frames = Frames::payloads(&spec).expect("build payloads");
            let before = cable.counters("h1");
            let mut sent = 0_u32;
            for count in [1, 64, 63, 2, 64, 50, 7] {
                let mut left = count;
                while left > 0 {
                    let payloads = frames.stamped(sent, left, Nanos(7));
                    let taken = gso.send(way.reserved.as_fd(), payloads).expect("send");
                    left -= taken;
                    sent += taken as u32;
                }
            }
            let counted = cable.counters("h1").since(&before);
            assert_eq!(counted.tx_packets, u64::from(sent), "{octets}: {how}");
            assert_eq!(counted.tx_bytes, u64::from(sent) * u64::from(octets - 4));
            let mut came = Vec::new();
            let drops = ring.close(|arrival| {
                assert_eq!(arrival.octets.len(), octets as usize - 4);
                came.push(Probe::parse(&arrival.octets[42..]).expect("a probe").sequence);
            });
            assert_eq!(drops.expect("close"), 0);
            assert!(came.iter().copied().eq(0..sent), "{octets}: {came:?}");
        }
    }

    #[track_caller]
    fn check_unfit(spec: &End<Traffic>, word: &str) {
        match check(spec) {
            Err(Unfit::NotHere(why)) => assert!(why.contains(word), "{why}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn loads_that_bursts_would_falsify_are_refused() {
        let Some(cable) = Cable::lay(false) else { return };
        let fit = spec(&cable, 64);
        check(&fit).expect("greedy frames of one size are fit");
        let changed = |change: &dyn Fn(&mut Datagrams), word: &str| {
            let mut spec = fit.clone();
            change(&mut spec.flow.asked);
            check_unfit(&spec, word);
        };
        let (from, to) = (FrameRate(1e5), FrameRate(5e4));
        for schedule in [
            Schedule::Paced(from),
            Schedule::Burst(10),
            Schedule::Falling { from, to, after: Nanos(1) },
        ] {
            changed(&|asked| asked.schedule = schedule, "bursts of up to 64 frames");
        }
        changed(&|asked| asked.frames = FrameMix::imix(), "one size");
        changed(&|asked| asked.headers.vlan = Some(trial::VlanId::known(5)), "vlan");
        changed(&|asked| asked.headers.spread.source_ports = 2, "one port");
    }

    #[test]
    fn an_interface_that_hands_super_frames_on_whole_is_refused() {
        let Some(cable) = Cable::lay(false) else { return };
        let name = cable.interface("h1").to_owned();
        let spec = spec(&cable, 64);
        let way = cable.inside("h1", || Way::find(&spec)).expect("find the way");
        cable.inside("h1", || {
            let mut netlink = Netlink::open().expect("open netlink");
            netlink.set_features(&name, &[("tx-udp-segmentation", true)]).expect("set features");
        });
        match cable.inside("h1", || open(&spec, &way).map(drop)) {
            Err(Unfit::NotHere(why)) => {
                assert!(why.contains(&name) && why.contains("veth"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
}
