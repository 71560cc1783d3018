//! Models run in real time with the kernel's own frames: reachability, rates, lateness, drops of a
//! full buffer, and clean-up.
//!
//! Needs root or a user namespace and says so otherwise. Times are asserted from below only: the
//! machine may be busy, but no frame is earlier than its model says.

use std::error::Error as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use dataplane::{clock, switchboard};
use device::{Cause as Drop, Profile};
use lab::{
    Cause, EmulatedSpec, EmulatorReading, Equipment, FramePort, Lab, LabDevice, LabSpec, PortDeed,
    SpecError, Switchboard,
};
use measure::{Nanos, Rate};

use crate::ends::{echo, local, machine, promised_pairs, socket};

/// The ports as switchmark passes them to a lab.
#[derive(Debug)]
struct Ports;

#[derive(Debug)]
struct Port(switchboard::Port);

impl Switchboard for Ports {
    fn open(
        &self,
        interface: &str,
        largest: usize,
        ports: usize,
    ) -> Result<Box<dyn FramePort>, Cause> {
        Ok(Box::new(Port(switchboard::Port::open(interface, largest, (16 << 20) / ports)?)))
    }

    fn now(&self) -> Nanos {
        clock::monotonic()
    }
}

impl FramePort for Port {
    fn receive(&mut self, most: usize, take: &mut dyn FnMut(&[u8], Nanos)) -> usize {
        self.0.receive(most, &mut |frame| take(frame.octets, frame.at))
    }

    fn send(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) -> io::Result<usize> {
        self.0.send(frames)
    }

    fn overflow(&mut self) -> u64 {
        self.0.refused()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn calm(&self) {
        self.0.calm();
    }
}

fn profile(text: &str) -> Profile {
    let none = |name: &str| Err(format!("no file {name}"));
    Profile::parse(text, &none).unwrap_or_else(|e| panic!("{e}: {}", e.hint))
}

/// 100 Mbit/s with 64 KiB for each port.
const SWITCH: &str = "name = \"small\"\nports = 4\nrate = \"100Mbit\"\n\
                      buffer = { per_port = \"64KiB\" }\n";

fn spec_of(text: &str) -> LabSpec {
    LabSpec::new(LabDevice::Emulated(EmulatedSpec::new(profile(text))))
}

fn build(spec: &LabSpec) -> Lab {
    let equipment = Equipment { switchboard: Some(Arc::new(Ports)), ..Equipment::default() };
    Lab::build_with(spec, equipment).unwrap()
}

fn read(lab: &Lab, device: &str) -> EmulatorReading {
    lab.emulation(device).expect("a model").read().unwrap()
}

#[test]
fn hosts_reach_each_other_through_a_switch_and_a_router() {
    let Some(_machine) = machine() else { return };
    let router = format!("{SWITCH}forwarding = {{ kind = \"router\" }}\n");
    for (text, hosts) in [(SWITCH, 4), (&router, 3)] {
        let lab = build(&LabSpec { hosts, ..spec_of(text) });
        for pair in promised_pairs(&lab) {
            for payload in [18, 8972] {
                // An IPv6 header is 20 octets longer, and leaves that much less.
                let room = if pair.asking.1.is_ipv6() { 20 } else { 0 };
                echo(&lab, &pair, if payload == 18 { payload } else { payload - room });
            }
        }
        let told = read(&lab, "small");
        assert_eq!(told.overflow(), 0);
        assert!(told.edges.iter().all(|edge| edge.model.entered > 0), "{told:?}");
        assert_eq!(told.lateness.count(), told.delivered());
    }
}

#[test]
fn what_can_not_be_is_refused() {
    let hosts = LabSpec { hosts: 5, ..spec_of(SWITCH) };
    let rate = LabSpec { rate: Some(Rate(1_000_000_000)), ..spec_of(SWITCH) };
    let refused = |spec: &LabSpec| -> SpecError {
        let error = spec.plan().expect_err("it cannot be");
        error.source().and_then(|cause| cause.downcast_ref()).cloned().expect("its spec")
    };
    assert!(matches!(refused(&hosts), SpecError::ProfilePorts { hosts: 5, ports: 4, .. }));
    assert_eq!(refused(&rate), SpecError::ProfileRate);
    let Some(_machine) = machine() else { return };
    let unequipped = Lab::build(&spec_of(SWITCH)).unwrap_err();
    assert!(unequipped.to_string().contains("no switchboard"), "{unequipped:?}");
}

#[test]
fn a_round_trip_takes_at_least_what_the_model_says() {
    let Some(_machine) = machine() else { return };
    let far = format!("{SWITCH}link_delay = \"5ms\"\n");
    let lab = build(&spec_of(&far));
    let pair = promised_pairs(&lab).remove(0);
    // The first frame is flooded.
    echo(&lab, &pair, 18);
    read(&lab, "small");
    let asking = socket(&lab, &pair.asking.0, pair.asking.1);
    let answering = socket(&lab, &pair.answering.0, pair.answering.1);
    let (to, mut buffer) = (local(&answering), [0; 64]);
    let mut times = Vec::new();
    for _ in 0..50 {
        let begun = Instant::now();
        asking.send_to(&[7; 18], to).unwrap();
        let (_, from) = answering.recv_from(&mut buffer).unwrap();
        answering.send_to(&[7; 18], from).unwrap();
        asking.recv_from(&mut buffer).unwrap();
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    // Two cables each way, and 72 octets with the preamble at 100 Mbit/s twice each way.
    let least = Duration::from_nanos(20_000_000 + 4 * 5_760);
    let told = read(&lab, "small").lateness;
    eprintln!(
        "least {:?}, median {:?} for {least:?}; frames late by {} in the median, {} at the 99th",
        times[0],
        times[25],
        told.quantile(0.5),
        told.quantile(0.99)
    );
    assert!(times[0] >= least, "{:?}", times[0]);
}

/// Sends UDP datagrams of 1000 octets as fast as the socket accepts them, for that long. Returns
/// the number sent, the number received, and the time over which they arrived.
fn flood(lab: &Lab, from: &[&str], to: &str, lasting: Duration) -> (u64, u64, Duration) {
    let receiver = socket(lab, to, address(lab, to));
    receiver.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let _ = nix::sys::socket::setsockopt(
        &receiver,
        nix::sys::socket::sockopt::RcvBufForce,
        &(32 << 20),
    );
    let destination = local(&receiver);
    let senders: Vec<UdpSocket> =
        from.iter().map(|host| socket(lab, host, address(lab, host))).collect();
    thread::scope(|scope| {
        let counting = scope.spawn(|| {
            let mut buffer = [0; 2048];
            let (mut came, mut first, mut last) = (0, None, Instant::now());
            while receiver.recv(&mut buffer).is_ok() {
                came += 1;
                last = Instant::now();
                first.get_or_insert(last);
            }
            (came, first.map_or(Duration::ZERO, |first| last - first))
        });
        let begun = Instant::now();
        let sending: Vec<_> = senders
            .iter()
            .map(|sender| {
                scope.spawn(move || {
                    let mut sent = 0_u64;
                    while begun.elapsed() < lasting {
                        sent += u64::from(sender.send_to(&[7; 1000], destination).is_ok());
                    }
                    sent
                })
            })
            .collect();
        let sent = sending.into_iter().map(|sender| sender.join().unwrap()).sum();
        let (came, over) = counting.join().unwrap();
        (sent, came, over)
    })
}

fn address(lab: &Lab, host: &str) -> std::net::IpAddr {
    lab.plan().host(host).unwrap().ports[0].address.into()
}

#[test]
fn a_port_passes_its_rate_and_drops_what_its_buffer_does_not_hold() {
    let Some(_machine) = machine() else { return };
    let lab = build(&LabSpec { hosts: 3, ..spec_of(SWITCH) });
    // So that nothing is flooded.
    for pair in promised_pairs(&lab) {
        echo(&lab, &pair, 18);
    }
    // 1000 octets in 1066 on the wire, at 100 Mbit/s.
    let rate = 100e6 / (8.0 * 1066.0);
    for from in [&["h1"][..], &["h1", "h2"]] {
        let before = read(&lab, "small");
        let (sent, came, over) = flood(&lab, from, "h3", Duration::from_secs(2));
        let told = read(&lab, "small").since(&before);
        let dropped: u64 = told.edges.iter().filter_map(|e| e.dropped.get(&Drop::QueueFull)).sum();
        let overrun: u64 = told.edges.iter().map(|edge| edge.host_overrun).sum();
        let refused: u64 = told.edges.iter().map(|edge| edge.refused).sum();
        let measured = (came - 1) as f64 / over.as_secs_f64();
        eprintln!(
            "{} to one: {sent} sent = {came} came + {dropped} dropped + {overrun} beyond the wire \
             + {refused} refused + {} overflow; {:.4} of the port's rate; late by {} at the 99th",
            from.len(),
            told.overflow(),
            measured / rate,
            told.lateness.quantile(0.99)
        );
        assert_eq!(sent, came + dropped + overrun + refused + told.overflow());
        // A sender that is off its processor sends less; none sends more.
        assert!(measured <= rate * 1.01, "{measured}");
        assert_eq!(dropped > 0, from.len() > 1, "{dropped}");
    }
}

#[test]
fn tcp_goes_through_and_no_faster_than_its_payload_may() {
    let Some(_machine) = machine() else { return };
    for kind in ["switch", "router"] {
        let lab = build(&spec_of(&format!("{SWITCH}forwarding = {{ kind = \"{kind}\" }}\n")));
        let to = address(&lab, "h2");
        let listener = lab.inside("h2", || TcpListener::bind((to, 0))).unwrap().unwrap();
        let end: SocketAddr = listener.local_addr().unwrap();
        let lasting = Duration::from_secs(2);
        let (octets, over) = thread::scope(|scope| {
            let sink = scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let (begun, mut octets) = (Instant::now(), 0_u64);
                let mut buffer = vec![0; 1 << 16];
                loop {
                    match stream.read(&mut buffer).unwrap() {
                        0 => return (octets, begun.elapsed()),
                        read => octets += read as u64,
                    }
                }
            });
            let mut stream = lab.inside("h1", || TcpStream::connect(end)).unwrap().unwrap();
            let begun = Instant::now();
            while begun.elapsed() < lasting {
                stream.write_all(&[7; 1 << 14]).unwrap();
            }
            drop(stream);
            sink.join().unwrap()
        });
        // MTU 9000: 8948 octets with time stamps in 9038 on the wire.
        let ceiling = 100e6 * 8948.0 / 9038.0;
        let goodput = octets as f64 * 8.0 / over.as_secs_f64();
        let told = read(&lab, "small");
        eprintln!("{kind}: {:.3} of {:.1} Mbit/s; {told:?}", goodput / ceiling, ceiling / 1e6);
        assert!(goodput <= ceiling * 1.01, "{goodput}");
        assert!(goodput > ceiling * 0.5, "{goodput}");
    }
}

#[test]
fn a_reset_forgets_and_goes_on() {
    let Some(_machine) = machine() else { return };
    let lab = build(&spec_of(SWITCH));
    let pair = promised_pairs(&lab).remove(0);
    echo(&lab, &pair, 18);
    lab.reset("small", Duration::from_millis(20)).unwrap();
    echo(&lab, &pair, 18);
    let told = read(&lab, "small");
    assert_eq!(told.delivered(), 4, "{told:?}");
}

#[test]
fn an_idle_model_sleeps() {
    let Some(_machine) = machine() else { return };
    let _lab = build(&spec_of(SWITCH));
    thread::sleep(Duration::from_millis(400));
    let before = turns();
    thread::sleep(Duration::from_millis(500));
    assert!(turns() <= before + 2, "it was awake without a frame");
}

/// Processor time of the model's thread, in the clock ticks of /proc: a hundredth of a second.
fn turns() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let mut ticks = 0;
    for task in tasks.flatten() {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if name.starts_with("switchmark-emul") {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap();
            let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
            ticks += fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        }
    }
    ticks
}

#[test]
fn a_models_port_goes_down_or_becomes_a_black_hole_and_comes_back() {
    let Some(_machine) = machine() else { return };
    let lab = build(&spec_of(SWITCH));
    assert_eq!(lab.deeds("small"), PortDeed::ALL);
    let pair = promised_pairs(&lab).remove(0);
    let (asking, answering) = (
        socket(&lab, &pair.asking.0, pair.asking.1),
        socket(&lab, &pair.answering.0, pair.answering.1),
    );
    answering.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let came = || {
        for _ in 0..50 {
            let _ = asking.send_to(&[7; 64], local(&answering));
        }
        (0..50).take_while(|_| answering.recv(&mut [0; 128]).is_ok()).count()
    };
    let running = || lab.netlink("h2", |kernel| kernel.link("eth1")).unwrap().running;
    let dropped = |told: &EmulatorReading, cause| -> u64 {
        told.edges.iter().filter_map(|edge| edge.dropped.get(&cause)).sum()
    };
    echo(&lab, &pair, 18);
    for (deed, cause) in
        [(PortDeed::Blackhole, Drop::Blackholed), (PortDeed::LinkDown, Drop::LinkDown)]
    {
        let before = read(&lab, "small");
        lab.disturb(deed, "h2", "eth1").unwrap();
        assert_eq!((came(), running()), (0, deed == PortDeed::Blackhole), "{deed:?}");
        lab.restore(deed, "h2", "eth1").unwrap();
        assert!(running());
        let told = read(&lab, "small").since(&before);
        assert_eq!((dropped(&told, cause), told.refused()), (50, 0), "{told:?}");
        assert_eq!(came(), 50, "{deed:?}");
        echo(&lab, &pair, 18);
    }
}
