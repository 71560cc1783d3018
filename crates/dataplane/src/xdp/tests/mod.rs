//! The programs over virtual cables of our own: frame for frame against the kernel's counters.
//! Needs root, and says so otherwise. Rates are printed and never asserted.

mod attaching;
mod counting;
mod loads;
mod peers;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lab::{Lab, LabDevice, LabSpec};
use measure::{FrameMix, FrameRate, FrameSize, Nanos};

use super::counter::Counter;
use super::live::LiveSender;
use crate::counters::{InterfaceCounters, interfaces};
use crate::datagram::{Spread, Traffic, Way};
use crate::{End, Halt, Identity, Window, clock};
use trial::record::DatagramsRecord;
use trial::{Backend, Datagrams, Reception, Schedule};

const IDENTITY: Identity = Identity { token: 0x5eed_0a0b, flow: 3 };

/// One flow at a time: two processors are few.
static MACHINE: Mutex<()> = Mutex::new(());

/// A lab's cable between `h1` and `h2`.
struct Cable {
    lab: Lab,
    _alone: MutexGuard<'static, ()>,
}

/// What a flow is asked to be.
#[derive(Clone)]
struct Asked {
    frames: FrameMix,
    version: u8,
    vlan: Option<u16>,
    spread: Spread,
    schedule: Schedule,
    load: Nanos,
    cpus: (Option<usize>, Option<usize>),
    halted_after: Option<Nanos>,
    relieves_sender: bool,
}

/// A frame every so many nanoseconds.
fn every(gap_ns: f64) -> Schedule {
    Schedule::Paced(FrameRate(1e9 / gap_ns))
}

/// What came of it, with the changes of both interfaces' counters.
struct Ran {
    sent: DatagramsRecord,
    got: DatagramsRecord,
    tx: InterfaceCounters,
    rx: InterfaceCounters,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            frames: FrameMix::from_size(FrameSize::MIN),
            version: 4,
            vlan: None,
            spread: Spread::NONE,
            schedule: Schedule::Greedy,
            load: Nanos::from_millis(200),
            cpus: (Some(0), Some(1)),
            halted_after: None,
            relieves_sender: false,
        }
    }
}

fn cable() -> Option<Cable> {
    lab_of(&LabSpec::new(LabDevice::Cable))
}

fn lab_of(spec: &LabSpec) -> Option<Cable> {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: loading programs into the kernel needs root");
        return None;
    }
    let alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let lab = Lab::build(spec).expect("build lab");
    Some(Cable { lab, _alone: alone })
}

impl Cable {
    fn interface(&self, host: &str) -> String {
        let port = &self.lab.plan().host(host).expect("a host").ports[0];
        port.interfaces[0].clone()
    }

    fn inside<T: Send>(&self, host: &str, work: impl FnOnce() -> T + Send) -> T {
        self.lab.inside(host, work).expect("enter host")
    }

    fn counters(&self, host: &str) -> InterfaceCounters {
        let names = [self.interface(host)];
        self.inside(host, || interfaces(&names)).expect("read counters").remove(0)
    }

    fn address(&self, host: &str, asked: &Asked) -> IpAddr {
        let port = &self.lab.plan().host(host).expect("a host").ports[0];
        if asked.version == 4 { port.address.into() } else { lab::twin(port.address).into() }
    }
}

fn receiver_spec(asked: &Asked, local: IpAddr, peer: IpAddr) -> End<Traffic> {
    let flow = Traffic { cpu: asked.cpus.1, ..traffic(asked) };
    End {
        local,
        remote: SocketAddr::new(peer, 0),
        opening: crate::opening::Opening::PLAIN,
        identity: IDENTITY,
        flow,
    }
}

fn sender_spec(asked: &Asked, local: IpAddr, remote: SocketAddr) -> End<Traffic> {
    End {
        local,
        remote,
        opening: crate::opening::Opening::PLAIN,
        identity: IDENTITY,
        flow: traffic(asked),
    }
}

fn traffic(asked: &Asked) -> Traffic {
    let Asked { schedule, spread, .. } = *asked;
    let plain = Datagrams::plain(asked.frames.clone(), schedule, Backend::XdpLive, 32);
    let mut datagrams = Datagrams { receiver: Reception::Xdp, ..plain };
    datagrams.headers.vlan = asked.vlan.map(trial::VlanId::known);
    datagrams.headers.spread.source_ports = spread.source_ports;
    datagrams.headers.spread.destination_ports = spread.destination_ports;
    Traffic {
        sources: spread.sources,
        destinations: spread.destinations,
        cpu: asked.cpus.0,
        relieves_sender: asked.relieves_sender,
        ..Traffic::new(datagrams, 20_000_000)
    }
}

fn run(cable: &Cable, asked: &Asked) -> Ran {
    run_meddled(cable, asked, || {})
}

/// With something done meanwhile that begins as the load does.
fn run_meddled(cable: &Cable, asked: &Asked, meddle: impl FnOnce()) -> Ran {
    let (from, to) = (cable.address("h1", asked), cable.address("h2", asked));
    let reserved = cable.inside("h2", || UdpSocket::bind((to, 0))).expect("reserve a port");
    let port = reserved.local_addr().expect("a port").port();
    let spec = receiver_spec(asked, to, from);
    let (counter, how) = cable.inside("h2", || Counter::bind(&spec, &reserved)).expect("bind");
    let spec = sender_spec(asked, from, SocketAddr::new(to, port));
    let opened = cable.inside("h1", || LiveSender::open(&spec, Way::find(&spec)?));
    let (sender, how_sent) = opened.expect("open");
    eprintln!("{how_sent}; {how}");
    // What taught the addresses is to be counted before, wherever it is taken in.
    thread::sleep(Duration::from_millis(100));
    let (tx, rx) = (cable.counters("h1"), cable.counters("h2"));
    let start = clock::monotonic() + Nanos::from_millis(20);
    let stop = start + asked.load;
    let window = Window { start, stop, closed: stop + Nanos::from_millis(100) };
    // The receiver has to see what the sender's last call sends.
    let (halt, never) = (Halt::new(), Halt::new());
    let (sent, got) = thread::scope(|scope| {
        let received = scope.spawn(|| counter.run(window, &never).expect("receive"));
        let sent = scope.spawn(|| sender.run(window, &halt).expect("send"));
        clock::wait_until(start);
        meddle();
        if let Some(after) = asked.halted_after {
            clock::wait_until(start + after);
            halt.ask();
            let asked_at = clock::monotonic();
            let report = sent.join().expect("sender");
            eprintln!("halted within {}", clock::monotonic().saturating_sub(asked_at));
            return (report, received.join().expect("receiver"));
        }
        (sent.join().expect("sender"), received.join().expect("receiver"))
    });
    thread::sleep(Duration::from_millis(20));
    Ran { sent, got, tx: cable.counters("h1").since(&tx), rx: cable.counters("h2").since(&rx) }
}

fn report(ran: &Ran) {
    let pps = |frames: u64, time: Nanos| frames as f64 / time.as_secs_f64().max(1e-9);
    let (sent, got) = (&ran.sent, &ran.got);
    eprintln!(
        "offered {} sent {} ({:.0} pps) unique {} ({:.0} pps) reordered {} burst {} late {} rejected {:?}",
        sent.offered,
        sent.sent,
        pps(sent.sent, sent.sending),
        got.received.unique,
        pps(got.received.unique, got.receiving),
        got.received.reordered,
        sent.longest_burst,
        sent.late,
        got.rejected,
    );
    for (name, histogram) in [
        ("departures", &sent.departures),
        ("arrivals", &got.arrivals),
        ("delays", got.delays.as_ref().map(|delays| &delays.histogram).expect("one clock")),
    ] {
        let q = |q| histogram.quantile(q);
        eprintln!(
            "  {name}: n {} p0.5 {} p1 {} p50 {} p99 {} p99.5 {} max {}",
            histogram.count(),
            q(0.005),
            q(0.01),
            q(0.5),
            q(0.99),
            q(0.995),
            histogram.max()
        );
    }
    let moved = |c: &InterfaceCounters| {
        c.counters
            .iter()
            .filter(|(_, v)| **v > 0)
            .map(|(k, v)| format!("{k} {v}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    eprintln!("  tx: {}\n  rx: {}", moved(&ran.tx), moved(&ran.rx));
}

/// What holds on a bare cable whatever the machine's mood.
#[track_caller]
fn check_conserved(ran: &Ran) {
    report(ran);
    let (sent, got) = (&ran.sent, &ran.got);
    assert!(sent.sent > 0 && sent.sent <= sent.offered);
    assert_eq!(sent.sent, ran.tx.counters["tx_packets"], "sent is what left");
    assert_eq!(ran.rx.counters["rx_packets"], sent.sent, "a cable loses nothing");
    assert_eq!(got.received.unique, sent.sent, "and every number came");
    assert_eq!(got.received.highest, sent.sent.checked_sub(1), "numbers have no holes");
    assert_eq!(got.received.last_missing, None);
    let counts = got.received;
    assert_eq!(counts.duplicated + counts.reordered + counts.beyond_limit, 0, "{counts:?}");
    assert_eq!(got.rejected.malformed + got.rejected.foreign, 0);
    assert_eq!(got.arrivals.count() + 1, sent.sent);
    assert_eq!(sent.departures.count() + 1, sent.sent);
    assert_eq!(
        got.delays.as_ref().map(|delays| &delays.histogram).expect("one clock").count(),
        sent.sent
    );
}
