//! Frames that prove a cable: sent from one port and looked for at others.
//!
//! Owns their format: EtherType 0x88B5, which IEEE 802 reserves for local experiments, and a random
//! mark that identifies them. Also checks whether another host has a port's address (RFC 5227
//! §2.1.1). Never answers, and never sends to a single station: any device at the cable's end
//! receives it.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use measure::Nanos;
use netlink::Netlink;
use nix::poll::PollFlags;
use nix::sys::socket::{MsgFlags, recv, send};

use crate::packet_ring::socket as packets;
use crate::stream::wait_for;
use crate::{FlowError, clock, socket};

/// IEEE Std 802, Local Experimental EtherType 1.
const EXPERIMENT: [u8; 2] = [0x88, 0xb5];
const ARP: [u8; 2] = [0x08, 0x06];
/// IEEE Std 802.1Q §8.6.3: the Nearest Bridge group address, which no bridge passes on.
const NEAREST_BRIDGE: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e];
const HEADER: usize = 14;
/// Copies sent of each frame, so that one lost frame does not look like a broken cable.
const COPIES: usize = 3;
/// Largest frame that is examined, in octets.
const LONGEST: usize = 16 * 1024;

/// Identity of a probe frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sign {
    /// Random mark of this probing run.
    pub mark: u32,
    /// Number of the frame within the run.
    pub number: u16,
}

/// Intended receivers of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// All hosts, through any switches between.
    Everybody,
    /// Only the other end of this cable: a switch does not forward it (IEEE Std 802.1Q §8.6.3),
    /// though some cheap ones do.
    FarEnd,
}

/// Receive buffer of a listener, in octets: every port of a testbed sends at once.
const BUFFER: usize = 4 << 20;
/// Longest reading of what arrived before it was asked for.
const READING: Nanos = Nanos::from_secs(1);

/// Listener at one port, from its opening on. A thread reads, so that nothing fills the buffer.
#[derive(Debug)]
pub struct CableProbeListener {
    reader: Option<JoinHandle<Result<BTreeSet<u16>, FlowError>>>,
    asked: Arc<AtomicBool>,
    interface: String,
}

impl CableProbeListener {
    /// Opens a listener at the interface of this name.
    pub fn open(interface: &str, mark: u32) -> Result<Self, FlowError> {
        let socket = open(interface)?;
        socket::enlarge_receive_buffer(&socket, BUFFER);
        packets::filter(&socket, &mut only(EXPERIMENT))
            .map_err(|e| FlowError::kernel("listen for probe frames at", interface, e))?;
        let failed = |e| FlowError::kernel("hear the nearest bridge's group at", interface, e);
        let index = nix::net::if_::if_nametoindex(interface).map_err(|e| failed(e.into()))?;
        let mut octets = [0; 8];
        octets[..6].copy_from_slice(&NEAREST_BRIDGE);
        let group = libc::packet_mreq {
            mr_ifindex: index as libc::c_int,
            mr_type: libc::PACKET_MR_MULTICAST as libc::c_ushort,
            mr_alen: 6,
            mr_address: octets,
        };
        socket::set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &group)
            .map_err(failed)?;
        let asked = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&asked);
        let reader = thread::Builder::new()
            .name("cable probes".to_owned())
            .spawn(move || receive_until(&socket, mark, &ends))
            .map_err(failed)?;
        Ok(Self { reader: Some(reader), asked, interface: interface.to_owned() })
    }

    /// The port's name.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Returns the numbers of all frames of the mark received until now.
    pub fn receive_numbers(mut self) -> Result<BTreeSet<u16>, FlowError> {
        self.asked.store(true, Ordering::Relaxed);
        let read = self.reader.take().map(JoinHandle::join);
        read.map_or_else(
            || Ok(BTreeSet::new()),
            |end| end.unwrap_or_else(|panic| resume_unwind(panic)),
        )
    }
}

impl Drop for CableProbeListener {
    /// The reader ends by itself.
    fn drop(&mut self) {
        self.asked.store(true, Ordering::Relaxed);
    }
}

/// Reads until asked for, and then what arrived before.
fn receive_until(
    socket: &OwnedFd,
    mark: u32,
    asked: &AtomicBool,
) -> Result<BTreeSet<u16>, FlowError> {
    let mut all = BTreeSet::new();
    let mut octets = vec![0; LONGEST];
    let mut until = None;
    loop {
        let now = clock::monotonic();
        if until.is_none() && asked.load(Ordering::Relaxed) {
            until = Some(now + READING);
        }
        let wait = if until.is_some() { Nanos::ZERO } else { now + socket::TICK };
        match next(socket, &mut octets, wait)? {
            Some(length) => all.extend(read(&octets[..length], mark)),
            None if until.is_some() => return Ok(all),
            None => {}
        }
        if until.is_some_and(|until| now >= until) {
            return Ok(all);
        }
    }
}

/// Sends a frame of `size` octets, including its FCS, from the port.
pub fn send_frame(
    interface: &str,
    sign: Sign,
    size: u32,
    audience: Audience,
) -> Result<(), FlowError> {
    let failed = |e| FlowError::kernel("send a frame out of", interface, e);
    let socket = open(interface)?;
    let mut frame = header(own_mac(interface)?, EXPERIMENT);
    if audience == Audience::FarEnd {
        frame[..6].copy_from_slice(&NEAREST_BRIDGE);
    }
    frame.extend(sign.mark.to_be_bytes());
    frame.extend(sign.number.to_be_bytes());
    frame.extend(size.to_be_bytes());
    // The network card adds the FCS.
    frame.resize((size as usize).saturating_sub(4).clamp(60, LONGEST), 0);
    for _ in 0..COPIES {
        send(socket.as_raw_fd(), &frame, MsgFlags::empty()).map_err(|e| failed(e.into()))?;
    }
    Ok(())
}

/// Returns the MAC addresses of other hosts that claim `address`, within `patience`. RFC 5227
/// §2.1.1: the probe has no sender address, so that no ARP table changes.
pub fn owners(
    interface: &str,
    address: Ipv4Addr,
    patience: Nanos,
) -> Result<Vec<[u8; 6]>, FlowError> {
    let failed = |e| FlowError::kernel("ask about an address at", interface, e);
    let socket = open(interface)?;
    let own = own_mac(interface)?;
    let mut probe = header(own, ARP);
    probe.extend([0, 1, 8, 0, 6, 4, 0, 1]);
    probe.extend(own);
    probe.extend([0; 10]);
    probe.extend(address.octets());
    probe.resize(60, 0);
    send(socket.as_raw_fd(), &probe, MsgFlags::empty()).map_err(|e| failed(e.into()))?;
    let until = clock::monotonic() + patience;
    let mut others = Vec::new();
    let mut octets = vec![0; LONGEST];
    while let Some(length) = next(&socket, &mut octets, until)? {
        let frame = &octets[..length];
        // True if another host claims the address: an answer, or its own probe (RFC 5227 §2.1.1).
        let speaks = frame.len() >= 42 && frame[12..14] == ARP && frame[28..32] == address.octets();
        if let Some(mac) = frame.get(22..28).and_then(|octets| octets.try_into().ok())
            && speaks
            && mac != own
            && !others.contains(&mac)
        {
            others.push(mac);
        }
    }
    Ok(others)
}

fn open(interface: &str) -> Result<OwnedFd, FlowError> {
    let failed = |e| FlowError::kernel("open a packet socket on", interface, e);
    let index = nix::net::if_::if_nametoindex(interface).map_err(|e| failed(e.into()))?;
    let socket = packets::new().map_err(failed)?;
    socket::set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32)
        .map_err(failed)?;
    packets::bind(&socket, index).map_err(failed)?;
    Ok(socket)
}

/// Program that lets only frames of this EtherType through.
fn only(kind: [u8; 2]) -> [libc::sock_filter; 4] {
    let step = |code: u32, jf, k| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    [
        step(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 0, 12),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, u16::from_be_bytes(kind).into()),
        step(libc::BPF_RET | libc::BPF_K, 0, u32::MAX),
        step(libc::BPF_RET | libc::BPF_K, 0, 0),
    ]
}

fn own_mac(interface: &str) -> Result<[u8; 6], FlowError> {
    let failed = |e: netlink::NetlinkError| {
        FlowError::kernel("read the address of", interface, std::io::Error::other(e))
    };
    let link = Netlink::open().and_then(|mut kernel| kernel.link(interface)).map_err(failed)?;
    Ok(link.mac.unwrap_or([0; 6]))
}

fn header(own: [u8; 6], kind: [u8; 2]) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend(own);
    frame.extend(kind);
    frame
}

/// Receives the next frame; `None` once `until` has passed.
fn next(socket: &OwnedFd, octets: &mut [u8], until: Nanos) -> Result<Option<usize>, FlowError> {
    let failed = |e| FlowError::kernel("receive at", "a packet socket", e);
    loop {
        match recv(socket.as_raw_fd(), octets, MsgFlags::MSG_DONTWAIT) {
            Ok(length) => return Ok(Some(length)),
            // A port that is down receives nothing; its state is reported elsewhere.
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::ENETDOWN) => {}
            Err(e) => return Err(failed(e.into())),
        }
        if clock::monotonic() >= until {
            return Ok(None);
        }
        // Returns early now and then, with or without a frame.
        wait_for(socket, PollFlags::POLLIN, until).map_err(failed)?;
    }
}

/// Returns the number of a complete frame of this mark.
fn read(frame: &[u8], mark: u32) -> Option<u16> {
    if frame.get(12..HEADER)? != EXPERIMENT || frame.get(14..18)? != mark.to_be_bytes() {
        return None;
    }
    let size = u32::from_be_bytes(frame.get(20..24)?.try_into().ok()?) as usize;
    let whole = frame.len() + 4 >= size.min(LONGEST);
    whole.then_some(u16::from_be_bytes(frame.get(18..20)?.try_into().ok()?))
}
