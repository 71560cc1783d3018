//! The programs over virtual cables of our own: frame for frame against the kernel's counters. Needs
//! root, and says so otherwise. Rates are printed and never asserted.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lab::{Lab, LabDevice, LabSpec};
use measure::sequence::SequenceTracker;
use measure::{FrameMix, FrameSize, Nanos};
use wire::{MacAddr, UdpEndpoints, UdpFrame};

use super::counter::Counter;
use super::live::LiveSender;
use crate::counters::{InterfaceCounters, interfaces};
use crate::datagram::{
    AddressRange, Pace, ReceiverBackend, ReceiverReport, ReceiverSpec, SenderBackend, SenderReport,
    SenderSpec, Spread, Way,
};
use crate::unfit::Unfit;
use crate::{Halt, Identity, Window, clock};

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
    pace: Pace,
    load: Nanos,
    cpus: (Option<usize>, Option<usize>),
    halted_after: Option<Nanos>,
    placed: Option<usize>,
}

/// What came of it, with the changes of both interfaces' counters.
struct Ran {
    sent: SenderReport,
    got: ReceiverReport,
    tx: InterfaceCounters,
    rx: InterfaceCounters,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            frames: FrameMix::of(FrameSize::MIN),
            version: 4,
            vlan: None,
            spread: Spread::NONE,
            pace: Pace::Greedy,
            load: Nanos::from_millis(200),
            cpus: (Some(0), Some(1)),
            halted_after: None,
            placed: None,
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

fn receiver_spec(asked: &Asked, local: IpAddr, peer: IpAddr) -> ReceiverSpec {
    ReceiverSpec {
        local,
        peer,
        identity: IDENTITY,
        frames: asked.frames.clone(),
        vlan: asked.vlan,
        spread: asked.spread,
        backend: ReceiverBackend::Xdp,
        same_clock: true,
        limit: 20_000_000,
        cpu: asked.cpus.1,
    }
}

fn sender_spec(asked: &Asked, local: IpAddr, remote: SocketAddr) -> SenderSpec {
    SenderSpec {
        local,
        remote,
        identity: IDENTITY,
        frames: asked.frames.clone(),
        vlan: asked.vlan,
        spread: asked.spread,
        pace: asked.pace,
        backend: SenderBackend::XdpLive,
        burst_limit: 32,
        limit: 20_000_000,
        cpu: asked.cpus.0,
    }
}

fn run(cable: &Cable, asked: &Asked) -> Ran {
    let (from, to) = (cable.address("h1", asked), cable.address("h2", asked));
    let reserved = cable.inside("h2", || UdpSocket::bind((to, 0))).expect("reserve a port");
    let port = reserved.local_addr().expect("a port").port();
    let spec = receiver_spec(asked, to, from);
    let (counter, how) = cable.inside("h2", || Counter::bind(&spec, &reserved)).expect("bind");
    let far = cable.interface("h2");
    let _placing = asked.placed.map(|cpu| {
        cable.inside("h2", || super::take_in_on(&far, cpu)).expect("place the receiver")
    });
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
        ("delays", got.delays.as_ref().expect("one clock")),
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
    assert_eq!(got.delays.as_ref().expect("one clock").count(), sent.sent);
}

#[test]
fn greedy_frames_match_the_kernels_counters() {
    let Some(cable) = cable() else { return };
    for octets in [64, 512, 1518] {
        let frames = FrameMix::of(FrameSize::new(octets).expect("a size"));
        let ran = run(&cable, &Asked { frames, ..Asked::default() });
        check_conserved(&ran);
        assert_eq!(ran.sent.sent * u64::from(octets - 4), ran.tx.counters["tx_bytes"]);
    }
}

#[test]
fn paced_frames_are_exactly_as_many_as_due() {
    let Some(cable) = cable() else { return };
    for pps in [1_000_u64, 100_000, 1_000_000] {
        let pace = Pace::Every(1e9 / pps as f64);
        let ran = run(&cable, &Asked { pace, load: Nanos::from_millis(500), ..Asked::default() });
        check_conserved(&ran);
        assert_eq!(ran.sent.offered, pps / 2);
    }
}

#[test]
fn headers_sizes_and_spreads_of_every_kind_are_counted() {
    let Some(cable) = cable() else { return };
    let mix: FrameMix = "imix".parse().expect("a mix");
    let size = |octets| FrameMix::of(FrameSize::new(octets).expect("a size"));
    let spread = |cable: &Cable, version| {
        let asked = Asked { version, ..Asked::default() };
        let range = |host, count| AddressRange { first: cable.address(host, &asked), count };
        Spread {
            source_ports: 7,
            destination_ports: 3,
            sources: Some(range("h1", 5)),
            destinations: Some(range("h2", 4)),
        }
    };
    let plain = Asked { load: Nanos::from_millis(50), ..Asked::default() };
    let cases = [
        Asked { vlan: Some(5), frames: size(68), ..plain.clone() },
        Asked { version: 6, frames: size(84), ..plain.clone() },
        Asked { version: 6, vlan: Some(4094), frames: size(88), ..plain.clone() },
        Asked { spread: spread(&cable, 4), ..plain.clone() },
        Asked { version: 6, frames: size(128), spread: spread(&cable, 6), ..plain.clone() },
        Asked { frames: mix.clone(), ..plain.clone() },
        Asked { frames: mix, spread: spread(&cable, 4), pace: Pace::Every(1e4), ..plain },
    ];
    for asked in cases {
        eprintln!("ipv{} vlan {:?} {}", asked.version, asked.vlan, asked.frames);
        let ran = run(&cable, &asked);
        check_conserved(&ran);
        let octets =
            |sent: u64| (0..sent).map(|i| u64::from(asked.frames.at(i).octets_without_fcs())).sum();
        let expected: u64 = octets(ran.sent.sent);
        assert_eq!(ran.tx.counters["tx_bytes"], expected);
    }
}

#[test]
fn bursts_and_falling_loads_are_as_long_as_asked() {
    let Some(cable) = cable() else { return };
    let ran = run(&cable, &Asked { pace: Pace::Burst(12_345), ..Asked::default() });
    check_conserved(&ran);
    assert_eq!((ran.sent.offered, ran.sent.sent), (12_345, 12_345));
    let pace = Pace::Falling { from: 2e4, to: 1e5, after: Nanos::from_millis(100) };
    let ran = run(&cable, &Asked { pace, ..Asked::default() });
    check_conserved(&ran);
    assert_eq!(ran.sent.offered, 5_000 + 1_000);
}

#[test]
fn a_halt_ends_a_load_within_milliseconds() {
    let Some(cable) = cable() else { return };
    let ran =
        run(&cable, &Asked { halted_after: Some(Nanos::from_millis(60)), ..Asked::default() });
    check_conserved(&ran);
}

/// What a checksum is over: IP header, and pseudo-header with datagram.
#[test]
fn frames_on_the_wire_are_well_formed() {
    let Some(cable) = cable() else { return };
    let interface = cable.interface("h2");
    let Ok(accepting) = cable.inside("h2", || super::accept_frames(&interface)) else {
        panic!("attach the program that lets frames through")
    };
    for (version, vlan, octets) in [(4, None, 64), (6, None, 84), (4, None, 999), (6, None, 1_401)]
    {
        let asked = Asked { version, vlan, ..Asked::default() };
        let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
        let socket = cable.inside("h2", || UdpSocket::bind((to, 0))).expect("bind");
        socket.set_read_timeout(Some(Duration::from_secs(2))).expect("bound the wait");
        let port = socket.local_addr().expect("a port").port();
        let mut spec = sender_spec(&asked, from, SocketAddr::new(to, port));
        spec.frames = FrameMix::of(FrameSize::new(octets).expect("a size"));
        spec.pace = Pace::Burst(40);
        let opened = cable.inside("h1", || LiveSender::open(&spec, Way::find(&spec)?));
        let (mut sender, _) = opened.expect("open");
        sender.learn().expect("learn");
        let start = clock::monotonic();
        let stop = start + Nanos::from_millis(100);
        let sent = sender.run(Window { start, stop, closed: stop }, &Halt::new()).expect("send");
        assert_eq!(sent.sent, 40);
        // The kernel refuses a wrong checksum, so what the socket gets was right.
        let mut payload = [0; 2_048];
        let mut numbers = Vec::new();
        while numbers.last() != Some(&39) {
            let (length, peer) = socket.recv_from(&mut payload).expect("receive");
            let probe = wire::Probe::parse(&payload[..length]).expect("a probe");
            assert_eq!((peer.ip(), probe.token, probe.flow), (from, IDENTITY.token, IDENTITY.flow));
            if probe.sequence < 1_000 {
                let headers = if version == 4 { 46 } else { 66 };
                assert_eq!(length, octets as usize - headers);
                assert!((start.0..clock::monotonic().0).contains(&probe.time_ns));
                numbers.push(probe.sequence);
            }
        }
        assert_eq!(numbers, (0..40).collect::<Vec<u32>>());
    }
    drop(accepting);
}

#[test]
fn without_a_taker_the_sender_is_not_here() {
    let Some(cable) = cable() else { return };
    let asked = Asked::default();
    let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
    let spec = sender_spec(&asked, from, SocketAddr::new(to, 9));
    let near = cable.interface("h1");
    let takes = || cable.inside("h1", || super::takes_frames(&near)).expect("ask");
    assert!(!takes());
    match cable.inside("h1", || LiveSender::open(&spec, Way::find(&spec)?)) {
        Err(Unfit::NotHere(why)) => assert!(why.contains("takes no redirected frames"), "{why}"),
        other => panic!("{other:?}"),
    }
    let far = cable.interface("h2");
    let accepting = cable.inside("h2", || super::accept_frames(&far)).expect("accept");
    assert!(takes());
    // A counter can't come where a program is, and takes nothing away.
    let reserved = cable.inside("h2", || UdpSocket::bind((to, 0))).expect("reserve");
    match cable.inside("h2", || Counter::bind(&receiver_spec(&asked, to, from), &reserved)) {
        Err(Unfit::NotHere(why)) => assert!(why.contains("someone else"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(takes());
    drop(accepting);
    assert!(!takes(), "the program went with its value");
}

#[test]
fn frames_longer_than_a_page_are_not_here() {
    let Some(cable) = cable() else { return };
    let asked = Asked::default();
    let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
    let mut spec = sender_spec(&asked, from, SocketAddr::new(to, 9));
    spec.frames = FrameMix::of(FrameSize::MAX);
    match cable.inside("h1", || LiveSender::open(&spec, Way::find(&spec)?)) {
        Err(Unfit::NotHere(why)) => assert!(why.contains("page"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
#[expect(unsafe_code, reason = "an identity of one thread alone")]
fn without_privilege_it_is_not_here() {
    let Some(cable) = cable() else { return };
    let asked = Asked::default();
    let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
    let refused = cable.inside("h2", || {
        let reserved = UdpSocket::bind((to, 0)).expect("reserve");
        // SAFETY: integers only; the raw call changes this thread and no other.
        unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
        Counter::bind(&receiver_spec(&asked, to, from), &reserved)
    });
    match refused {
        Err(Unfit::NotHere(why)) => assert!(why.contains("not permitted"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn killing_the_holder_detaches() {
    let Some(cable) = cable() else { return };
    let near = cable.interface("h1");
    let takes = || cable.inside("h1", || super::takes_frames(&near)).expect("ask");
    let mut holder = Command::new(std::env::current_exe().expect("a path"));
    holder.args(["--exact", "xdp::on_a_cable::holds_until_killed", "--ignored", "--nocapture"]);
    holder.env("HELD_INTERFACE", cable.interface("h2")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut holder = cable.lab.spawn("h2", &mut holder).expect("start the holder");
    let until = |wanted: bool| {
        let given_up = clock::monotonic() + Nanos::from_secs(10);
        while takes() != wanted && clock::monotonic() < given_up {
            thread::sleep(Duration::from_millis(10));
        }
        takes()
    };
    let held = until(true);
    holder.kill().expect("kill the holder");
    holder.wait().expect("wait for the holder");
    assert!(held, "the holder held");
    assert!(!until(false), "and the kernel let go");
}

#[test]
#[ignore = "the process that `killing_the_holder_detaches` kills"]
fn holds_until_killed() {
    let Ok(interface) = std::env::var("HELD_INTERFACE") else { return };
    let _accepting = super::accept_frames(&interface).expect("accept");
    thread::sleep(Duration::from_secs(20));
}

#[test]
fn a_routers_driver_forwards_what_its_table_routes() {
    let Some(cable) = lab_of(&LabSpec::new(LabDevice::Router)) else { return };
    let router = cable.lab.plan().devices[0].clone();
    let ports: Vec<String> = router.ports.iter().map(|port| port.interface.clone()).collect();
    let names: Vec<&str> = ports.iter().map(String::as_str).collect();
    let near = cable.interface("h1");
    for version in [4, 6] {
        let _accepting = cable.inside("h1", || super::accept_frames(&near)).expect("accept");
        let forwarding = cable.inside(&router.name, || super::forward(&names)).expect("forward");
        let frames = FrameMix::of(FrameSize::new(128).expect("a size"));
        let pace = Pace::Every(1e5);
        let asked = Asked { version, frames, pace, ..Asked::default() };
        let before = cable.inside(&router.name, forwarded);
        let ran = run(&cable, &asked);
        check_conserved(&ran);
        // The stack forwards nothing then but what taught the addresses.
        let by_stack = cable.inside(&router.name, forwarded) - before;
        assert!(by_stack < 10, "ipv{version}: the stack forwarded {by_stack} of {}", ran.sent.sent);
        drop(forwarding);
    }
}

/// Packets that the stack of the calling thread's namespace has forwarded, of both versions.
fn forwarded() -> u64 {
    let v4 = std::fs::read_to_string("/proc/thread-self/net/snmp").expect("read counters");
    let v4 = v4.lines().nth(1).and_then(|line| line.split(' ').nth(6)?.parse::<u64>().ok());
    let v6 = std::fs::read_to_string("/proc/thread-self/net/snmp6").expect("read counters");
    let v6 = v6
        .lines()
        .find_map(|line| line.strip_prefix("Ip6OutForwDatagrams")?.trim().parse::<u64>().ok());
    v4.expect("a counter") + v6.expect("a counter")
}

/// The same arrivals, told to the program and to the tracker that every other receiver uses.
#[test]
fn the_program_counts_as_the_tracker_does() {
    let Some(cable) = cable() else { return };
    let asked = Asked { frames: "64*2,128".parse().expect("a mix"), ..Asked::default() };
    let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
    let ends = UdpEndpoints {
        source_mac: MacAddr([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddr([2, 0, 0, 0, 0, 2]),
        source: SocketAddr::new(from, 1_000),
        destination: SocketAddr::new(to, 2_000),
    };
    let build = |ends: &UdpEndpoints, flow: u16, octets: usize| {
        UdpFrame::new(ends, None, IDENTITY.token, flow, octets).expect("a frame")
    };
    for seed in 0..20_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let limit = 1 + draw(300);
        let reserved = cable.inside("h2", || UdpSocket::bind((to, 0))).expect("reserve");
        let spec = ReceiverSpec { limit, ..receiver_spec(&asked, to, from) };
        let (counter, _) = cable.inside("h2", || Counter::bind(&spec, &reserved)).expect("bind");
        let mut tracker = SequenceTracker::new(limit);
        let (mut malformed, mut foreign) = (0, 0);
        for _ in 0..draw(500) {
            let number = draw(limit + 3);
            let right = asked.frames.at(number).octets_without_fcs() as usize;
            let (ends, flow, octets, verdict) = match draw(20) {
                0 => (UdpEndpoints { source: ends.destination, ..ends }, IDENTITY.flow, right, 1),
                1 => (ends, IDENTITY.flow, right + 1, 1),
                2 => (ends, IDENTITY.flow + 1, right, 2),
                _ => (ends, IDENTITY.flow, right, 1),
            };
            let mut frame = build(&ends, flow, octets);
            frame.stamp(number as u32, 1);
            assert_eq!(counter.judge(frame.octets()).expect("run the program"), verdict);
            match (verdict, ends.source.ip() == from, octets == right) {
                (2, ..) => {}
                (_, false, _) => foreign += 1,
                (_, _, false) => malformed += 1,
                _ => drop(tracker.arrive(number)),
            }
        }
        let now = clock::monotonic();
        let report = counter.run(Window { start: now, stop: now, closed: now }, &Halt::new());
        let report = report.expect("report");
        assert_eq!(report.received, tracker.counts(), "seed {seed}, limit {limit}");
        assert_eq!((report.rejected.malformed, report.rejected.foreign), (malformed, foreign));
    }
}

/// Packets a second received over one cable: ours with the receiver on either processor, iperf3,
/// trafgen; interleaved, medians. A benchmark: its table is read by people.
#[test]
#[ignore = "a benchmark that needs iperf3 and trafgen, and a quiet machine"]
fn beside_iperf3_and_trafgen() {
    let Some(cable) = cable() else { return };
    let mut rates: [Vec<f64>; 4] = Default::default();
    for _ in 0..5 {
        let load = Nanos::from_secs(1);
        for (place, placed) in [(0, None), (1, Some(1))] {
            let ran = run(&cable, &Asked { load, placed, ..Asked::default() });
            assert_eq!(ran.sent.sent, ran.got.received.unique);
            rates[place].push(ran.got.received.unique as f64 / load.as_secs_f64());
        }
        rates[2].push(by_iperf3(&cable));
        rates[3].push(by_trafgen(&cable));
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let medians = rates.each_mut().map(median);
    for (name, rate) in
        ["live", "live, receiver elsewhere", "iperf3", "trafgen"].iter().zip(medians)
    {
        eprintln!("{name}: {rate:.0} packets/s, {:.1} of iperf3", rate / medians[2]);
    }
}

fn received(cable: &Cable, work: impl FnOnce()) -> f64 {
    let before = cable.counters("h2");
    let begun = clock::monotonic();
    work();
    let took = clock::monotonic().saturating_sub(begun);
    cable.counters("h2").since(&before).counters["rx_packets"] as f64 / took.as_secs_f64()
}

fn by_iperf3(cable: &Cable) -> f64 {
    let to = cable.address("h2", &Asked::default()).to_string();
    let quiet = |args: &[&str]| {
        let mut command = Command::new("iperf3");
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut server = cable.lab.spawn("h2", &mut quiet(&["-s", "-1"])).expect("start iperf3");
    thread::sleep(Duration::from_millis(300));
    let rate = received(cable, || {
        let args = ["-c", &to, "-u", "-l", "18", "-b", "0", "-t", "1"];
        let mut client = cable.lab.spawn("h1", &mut quiet(&args)).expect("start iperf3");
        client.wait().expect("wait for iperf3");
    });
    server.wait().expect("wait for iperf3");
    rate
}

fn by_trafgen(cable: &Cable) -> f64 {
    let interface = cable.interface("h1");
    let mut command = Command::new("trafgen");
    let frame = "{ eth(), ipv4(da=198.18.9.9), udp(dp=9), fill(0, 18) }";
    command.args(["-o", &interface, "-P", "1", "-n", "1000000", "-q", frame]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    received(cable, || {
        let mut sender = cable.lab.spawn("h1", &mut command).expect("start trafgen");
        sender.wait().expect("wait for trafgen");
    })
}
