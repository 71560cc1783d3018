//! Test helper: a private virtual cable between two hosts, and frames to send along it.
//!
//! Owns the lab and its place in the queue: only one test runs at a time, as processors are few.
//! Never touches an interface of the machine.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lab::{Lab, LabDevice, LabSpec, Privilege, privilege};
use measure::Nanos;
use netlink::{Link, LinkStats};
use wire::{
    EtherType, EthernetHeader, IpProtocol, Ipv4Header, Ipv6Header, MacAddr, Probe, UdpHeader,
    VlanTag,
};

use crate::clock;
use crate::packet_ring::Selection;

pub(crate) const TOKEN: u32 = 0xdead_0007;
pub(crate) const PORT: u16 = 7007;

static MACHINE: Mutex<()> = Mutex::new(());

/// Host `h1`, where tests send, and host `h2`, where they receive.
pub(crate) struct Cable {
    lab: Lab,
    _alone: MutexGuard<'static, ()>,
}

/// Contents of a test frame, apart from its sequence number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub octets_without_fcs: usize,
    pub vlan: Option<u16>,
    pub v6: bool,
    pub token: u32,
    pub port: u16,
}

impl Layout {
    pub(crate) fn new(octets_without_fcs: usize) -> Self {
        Self { octets_without_fcs, vlan: None, v6: false, token: TOKEN, port: PORT }
    }
}

/// Selection of the flow's frames at its receiver.
pub(crate) fn selection() -> Selection {
    Selection { ports: PORT..=PORT, token: TOKEN }
}

impl Cable {
    /// Creates the cable; `None`, with the reason printed, if this machine cannot. `root` if the
    /// machine's own user namespace is needed.
    pub(crate) fn lay(root: bool) -> Option<Self> {
        let enough = match privilege() {
            Privilege::Root => true,
            Privilege::UserNamespace => !root,
            Privilege::None => false,
        };
        if !enough {
            let who = if root { "root" } else { "root or a user namespace" };
            eprintln!("skipped: this needs {who}");
            return None;
        }
        let alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let spec = LabSpec { bypass: false, ..LabSpec::new(LabDevice::Cable) };
        Some(Self { lab: Lab::build(&spec).expect("build lab"), _alone: alone })
    }

    pub(crate) fn inside<T: Send>(&self, host: &str, work: impl FnOnce() -> T + Send) -> T {
        self.lab.inside(host, work).expect("enter host")
    }

    pub(crate) fn interface(&self, host: &str) -> &str {
        &self.lab.plan().host(host).expect("a host").ports[0].interfaces[0]
    }

    pub(crate) fn address(&self, host: &str) -> Ipv4Addr {
        self.lab.plan().host(host).expect("a host").ports[0].address
    }

    pub(crate) fn link(&self, host: &str) -> Link {
        self.lab.netlink(host, |kernel| kernel.link(self.interface(host))).expect("read link")
    }

    pub(crate) fn counters(&self, host: &str) -> LinkStats {
        self.link(host).stats
    }

    /// Takes the host's end of the cable down or up.
    pub(crate) fn set_up(&self, host: &str, up: bool) {
        self.lab.set_link(host, self.interface(host), up).expect("set link");
    }

    /// Keeps the flow's port bound at `h2`, so that the stack answers nothing.
    pub(crate) fn reserve(&self) -> UdpSocket {
        let address = self.address("h2");
        let socket = self.inside("h2", || UdpSocket::bind((address, PORT))).expect("bind");
        crate::packet_ring::silence(&socket).expect("silence");
        socket
    }

    /// The frame with number `sequence` from `h1` to `h2`.
    pub(crate) fn frame(&self, layout: Layout, sequence: u32) -> Vec<u8> {
        let mac = |host| MacAddr(self.link(host).mac.expect("a mac"));
        let ip = if layout.v6 { EtherType::IPV6 } else { EtherType::IPV4 };
        let outer = if layout.vlan.is_some() { EtherType(0x8100) } else { ip };
        let mut frame = vec![0; EthernetHeader::LEN];
        EthernetHeader { destination: mac("h2"), source: mac("h1"), ether_type: outer }
            .emit(&mut frame);
        if let Some(id) = layout.vlan {
            let at = frame.len();
            frame.resize(at + VlanTag::LEN, 0);
            VlanTag { priority: 5, drop_eligible: false, id, ether_type: ip }
                .emit(&mut frame[at..]);
        }
        let network = frame.len();
        frame.resize(layout.octets_without_fcs, 0);
        let packet = &mut frame[network..];
        let udp_at = if layout.v6 { Ipv6Header::LEN } else { Ipv4Header::LEN };
        let udp = UdpHeader {
            source: PORT,
            destination: layout.port,
            length: (packet.len() - udp_at) as u16,
            checksum: 0,
        };
        self.network_header(layout, udp.length, packet);
        udp.emit(&mut packet[udp_at..]);
        let payload = &mut packet[udp_at + UdpHeader::LEN..];
        for (filler, number) in payload.iter_mut().zip(0_u8..=255) {
            *filler = number;
        }
        Probe { token: layout.token, flow: 1, sequence, time_ns: 0 }.emit(payload);
        frame
    }

    fn network_header(&self, layout: Layout, udp_octets: u16, packet: &mut [u8]) {
        let (source, destination) = (self.address("h1"), self.address("h2"));
        if layout.v6 {
            Ipv6Header {
                source: source.to_ipv6_mapped(),
                destination: destination.to_ipv6_mapped(),
                next_header: IpProtocol::UDP,
                payload_length: udp_octets,
                traffic_class: 0,
                flow_label: 0,
                hop_limit: 64,
            }
            .emit(packet);
        } else {
            Ipv4Header {
                source,
                destination,
                protocol: IpProtocol::UDP,
                total_length: udp_octets + Ipv4Header::LEN as u16,
                traffic_class: 0,
                identification: 0,
                dont_fragment: true,
                time_to_live: 64,
            }
            .emit(packet);
        }
    }

    /// Frames with numbers from 0 on.
    pub(crate) fn frames(&self, layout: Layout, count: u32) -> Vec<Vec<u8>> {
        let first = self.frame(layout, 0);
        let probe = Self::probe_at(layout);
        (0..count)
            .map(|sequence| {
                let mut frame = first.clone();
                Probe::stamp(&mut frame[probe..], sequence, 0);
                frame
            })
            .collect()
    }

    /// Offset of a frame's probe from the start of the frame, in octets.
    pub(crate) fn probe_at(layout: Layout) -> usize {
        let tag = if layout.vlan.is_some() { VlanTag::LEN } else { 0 };
        let ip = if layout.v6 { Ipv6Header::LEN } else { Ipv4Header::LEN };
        EthernetHeader::LEN + tag + ip + UdpHeader::LEN
    }
}

/// Polls `done` for up to two seconds; true if it became true. The kernel counts and delivers with
/// some delay.
pub(crate) fn soon(mut done: impl FnMut() -> bool) -> bool {
    let begun = clock::monotonic();
    loop {
        if done() {
            return true;
        }
        if clock::monotonic().saturating_sub(begun) > Nanos::from_secs(2) {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Runs `work` on a thread without the capabilities named by number, for that thread alone.
pub(crate) fn without<T: Send>(capabilities: &[u32], work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        scope
            .spawn(|| {
                drop_capabilities(capabilities);
                work()
            })
            .join()
            .expect("work")
    })
}

#[expect(unsafe_code, reason = "capget and capset have no wrapper")]
fn drop_capabilities(capabilities: &[u32]) {
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    // Effective, permitted and inheritable, of the low and then the high capabilities.
    let mut sets = [0_u32; 6];
    // SAFETY: both arrays have the size that version 3 asks for.
    let got = unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) };
    assert_eq!(got, 0, "read capabilities");
    for &capability in capabilities {
        let half = (capability / 32) as usize * 3;
        for set in &mut sets[half..half + 3] {
            *set &= !(1 << (capability % 32));
        }
    }
    // SAFETY: as above.
    let set = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) };
    assert_eq!(set, 0, "drop capabilities");
}
