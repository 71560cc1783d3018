//! One flow between two hosts of a lab, with the kernel's counters of both ends: what every test of
//! datagram flows over virtual cables begins with. Says why where it cannot.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard};

use dataplane::counters::{InterfaceCounters, host, interfaces};
use dataplane::datagram::{Receiver, Sender, Spread, Traffic};
use dataplane::{FlowError, Halt, Identity, Side, Window, clock};
use lab::{Lab, LabSpec, Privilege, privilege, twin};
use measure::{FrameMix, FrameRate, FrameSize, Nanos};
use trial::record::{DatagramsRecord, Usage};
use trial::{Backend, Datagrams, Reception, Schedule};

pub const IDENTITY: Identity = Identity { token: 0x5eed_0003, flow: 1 };
pub const LIMIT: u64 = 20_000_000;
/// One flow at a time: two processors are few.
static MACHINE: Mutex<()> = Mutex::new(());

pub fn lab(spec: &LabSpec) -> Option<(MutexGuard<'static, ()>, Lab)> {
    if privilege() == Privilege::None {
        eprintln!("skipped: building a lab needs root or a user namespace");
        return None;
    }
    let alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Some((alone, Lab::build(spec).expect("build lab")))
}

pub fn size(octets: u32) -> FrameSize {
    FrameSize::new(octets).expect("a frame size")
}

/// A frame every so many nanoseconds.
pub fn every(gap_ns: f64) -> Schedule {
    Schedule::Paced(FrameRate(1e9 / gap_ns))
}

/// What is sent and by what it is counted.
#[derive(Debug, Clone)]
pub struct Flow {
    pub ipv6: bool,
    pub frames: FrameMix,
    pub vlan: Option<u16>,
    pub spread: Spread,
    pub schedule: Schedule,
    pub load: Nanos,
    pub sender: Backend,
    pub receiver: Reception,
}

impl Flow {
    /// Untagged IPv4 frames of one size, greedily for 200 ms.
    pub fn of(octets: u32, sender: Backend, receiver: Reception) -> Self {
        Self {
            ipv6: false,
            frames: size(octets).into(),
            vlan: None,
            spread: Spread::NONE,
            schedule: Schedule::Greedy,
            load: Nanos::from_millis(200),
            sender,
            receiver,
        }
    }
}

/// One end of the flow: a host and its first port.
pub struct End<'a> {
    pub lab: &'a Lab,
    pub host: &'a str,
    pub address: IpAddr,
    pub interface: String,
}

impl<'a> End<'a> {
    pub fn of(lab: &'a Lab, host: &'a str, ipv6: bool) -> Self {
        let port = &lab.plan().host(host).expect("a host").ports[0];
        let address = if ipv6 { twin(port.address).into() } else { port.address.into() };
        Self { lab, host, address, interface: port.interfaces[0].clone() }
    }

    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.lab.inside(self.host, work).expect("enter host")
    }

    pub fn counters(&self) -> InterfaceCounters {
        let name = [self.interface.clone()];
        self.inside(|| interfaces(&name)).expect("read counters").remove(0)
    }
}

/// What came of a flow.
pub struct Ran {
    pub sent: DatagramsRecord,
    pub got: DatagramsRecord,
    /// Of the sending interface.
    pub tx: InterfaceCounters,
    /// Of the receiving interface.
    pub rx: InterfaceCounters,
    /// Of the receiving host.
    pub host: Usage,
}

pub fn sender_spec(from: &End<'_>, remote: SocketAddr, flow: &Flow) -> dataplane::End<Traffic> {
    let plain = Datagrams::plain(flow.frames.clone(), flow.schedule, flow.sender, 32);
    let mut asked = Datagrams { receiver: flow.receiver, conversations: true, ..plain };
    asked.headers.vlan = flow.vlan.map(trial::VlanId::known);
    asked.headers.spread.source_ports = flow.spread.source_ports;
    asked.headers.spread.destination_ports = flow.spread.destination_ports;
    let Spread { sources, destinations, .. } = flow.spread;
    let flow = Traffic { sources, destinations, ..Traffic::new(asked, LIMIT) };
    dataplane::End {
        local: from.address,
        remote,
        opening: dataplane::opening::Opening::PLAIN,
        identity: IDENTITY,
        flow,
    }
}

pub fn receiver_spec(to: &End<'_>, peer: IpAddr, flow: &Flow) -> dataplane::End<Traffic> {
    sender_spec(to, SocketAddr::new(peer, 0), flow)
}

/// Runs a flow from `h1` to `h2`; `meddle` may do as it likes meanwhile, and is told the receiver's
/// lowest port.
#[track_caller]
pub fn run(lab: &Lab, flow: &Flow, meddle: impl FnOnce(&End<'_>, u16)) -> Ran {
    try_run(lab, flow, meddle).unwrap_or_else(|error| panic!("{flow:?}: {error}"))
}

/// As [`run`], for flows that cannot be opened.
pub fn try_run(
    lab: &Lab,
    flow: &Flow,
    meddle: impl FnOnce(&End<'_>, u16),
) -> Result<Ran, FlowError> {
    let (from, to) = (End::of(lab, "h1", flow.ipv6), End::of(lab, "h2", flow.ipv6));
    let spec = receiver_spec(&to, from.address, flow);
    let receiver = to.inside(|| Receiver::open(&spec, &Halt::new()))?;
    let port = receiver.port();
    let remote = SocketAddr::new(to.address, port);
    let spec = sender_spec(&from, remote, flow);
    let sender = from.inside(|| Sender::open(&spec, &Halt::new()))?;
    // What learning called forth has come by the time the counters are read.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let before = to.inside(host).expect("read host's counters");
    let (tx, rx) = (from.counters(), to.counters());
    let start = clock::monotonic() + Nanos::from_millis(20);
    let stop = start + flow.load;
    let (window, halt) =
        (Window { start, stop, closed: stop + Nanos::from_millis(100) }, Halt::new());
    let (sent, got) = std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run(window, &halt));
        let sent = scope.spawn(|| sender.run(window, &halt));
        meddle(&from, port);
        (sent.join().expect("sender"), received.join().expect("receiver"))
    });
    let host = to.inside(host).expect("read host's counters").since(&before);
    let (sent, got) = (sent?, got?);
    Ok(Ran { sent, got, tx: from.counters().since(&tx), rx: to.counters().since(&rx), host })
}

pub fn report(ran: &Ran, flow: &Flow) {
    let pps = |frames: u64, time: Nanos| frames as f64 / time.as_secs_f64().max(1e-9);
    eprintln!(
        "{} -> {}, {} octets{}{}: offered {} sent {} ({:.0} pps) unique {} ({:.0} pps) drops {} burst {} late {} delay p50 {}; {}; {}",
        ran.sent.backend,
        ran.got.receiver,
        flow.frames,
        if flow.ipv6 { ", ipv6" } else { "" },
        if flow.vlan.is_some() { ", tagged" } else { "" },
        ran.sent.offered,
        ran.sent.sent,
        pps(ran.sent.sent, ran.sent.sending),
        ran.got.received.unique,
        pps(ran.got.received.unique, ran.got.receiving),
        ran.got.socket_drops,
        ran.sent.longest_burst,
        ran.sent.late,
        ran.got.delays.as_ref().map_or(Nanos::ZERO, |delays| delays.histogram.quantile(0.5)),
        ran.sent.backend_reason,
        ran.got.receiver_reason,
    );
}

/// What holds on a bare cable whatever the machine's mood.
#[track_caller]
pub fn check_conserved(ran: &Ran, flow: &Flow) {
    report(ran, flow);
    let (sent, got) = (&ran.sent, &ran.got);
    assert!(sent.sent > 0 && sent.sent <= sent.offered);
    assert_eq!(sent.sent, ran.tx.counters["tx_packets"], "sent is what left");
    assert_eq!(ran.rx.counters["rx_packets"], sent.sent, "a cable loses nothing");
    check_octets(ran, flow);
    let each = got.conversations.iter();
    assert_eq!(each.clone().count() as u64, flow.spread.conversations());
    assert_eq!(each.map(|own| own.received).sum::<u64>(), got.received.unique);
    let lost = got.received.lost(sent.sent);
    assert_eq!(lost, got.socket_drops, "what is lost, the receiver dropped");
    assert_eq!(got.received.duplicated + got.received.beyond_limit, 0);
    assert_eq!(got.rejected.malformed + got.rejected.foreign, 0);
    assert_eq!(sent.departures.count(), sent.sent - 1);
    assert_eq!(got.arrivals.count(), got.received.unique - 1);
    let delays = &got.delays.as_ref().expect("one clock stamped both").histogram;
    assert_eq!(delays.count(), got.received.unique);
    assert_eq!(got.received.last_lost(sent.sent).is_some(), lost > 0);
    assert!(!ran.host.counters.contains_key("udp_mem_errors"), "{:?}", ran.host.counters);
}

/// The kernel counts a veth's octets without the Ethernet header while its peer has an XDP program.
#[track_caller]
fn check_octets(ran: &Ran, flow: &Flow) {
    let octets: u64 =
        (0..ran.sent.sent).map(|i| u64::from(flow.frames.at(i).octets_without_fcs())).sum();
    let counted = ran.tx.counters["tx_bytes"];
    let bare = octets - 14 * ran.sent.sent;
    assert!(
        counted == octets || counted == bare,
        "{counted} octets left, and {octets} should have"
    );
}
