//! A measurement, not a test: 64-octet frames a second over a cable by pairs of sender and
//! receiver, beside iperf3, sockperf and trafgen in the same rounds.
//!
//! Ignored unless asked for (`cargo test --release -p dataplane --test labs af_xdp_rates:: --
//! --ignored --nocapture`), and skipped where a peer is not installed. Prints medians and ratios;
//! asserts only that every frame is accounted for. Never touches an interface of the machine.

use std::fmt::Write as _;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::datagram_ends::{End, Flow, lab, run};
use dataplane::clock;
use lab::{Lab, LabDevice, LabSpec};
use measure::Nanos;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use trial::{Backend, Reception};

const ROUNDS: usize = 5;

const PAIRS: [(Backend, Reception); 8] = [
    (Backend::AfXdp, Reception::Xdp),
    (Backend::AfXdp, Reception::AfXdp),
    (Backend::AfXdp, Reception::Packet),
    (Backend::AfXdp, Reception::Udp),
    (Backend::Packet, Reception::Xdp),
    (Backend::Packet, Reception::Packet),
    (Backend::Udp, Reception::Udp),
    (Backend::UdpGso, Reception::Xdp),
];

/// Frames a second that were received.
type Peer = fn(&Lab) -> Option<f64>;

/// A program of another's in a host, ended with this value, by `timeout` and at the latest after 10
/// s.
struct Guest(std::process::Child);

impl Guest {
    fn start(lab: &Lab, host: &str, program: &str, arguments: &[&str]) -> Option<Self> {
        let mut command = Command::new("timeout");
        command.args(["-k1", "10", program]).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        lab.spawn(host, &mut command).ok().map(Self)
    }

    fn output(mut self) -> String {
        let mut text = String::new();
        if let Some(mut output) = self.0.stdout.take() {
            let _ = output.read_to_string(&mut text);
        }
        text
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Passed on to the program and what it started.
        let _ = kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

fn pause() {
    thread::sleep(Duration::from_millis(200));
}

/// Frames a second that arrive at `h2`'s interface, over a second once there is a flood.
fn arriving(lab: &Lab) -> f64 {
    let to = End::of(lab, "h2", false);
    let count = || to.counters().counters["rx_packets"];
    let idle = count();
    // Peers calibrate, resolve and warm up; the warming is a few frames.
    for _ in 0..30 {
        pause();
        if count() > idle + 1_000 {
            break;
        }
    }
    let (begun, before) = (clock::monotonic(), count());
    thread::sleep(Duration::from_secs(1));
    (count() - before) as f64 / clock::monotonic().saturating_sub(begun).as_secs_f64()
}

/// iperf3 counts at its own receiver: all packets less the lost ones.
fn iperf3(lab: &Lab) -> Option<f64> {
    let address = End::of(lab, "h2", false).address.to_string();
    let server = Guest::start(lab, "h2", "iperf3", &["-s", "-1"])?;
    pause();
    let flood = ["-c", &address, "-u", "-l18", "-b0", "-t1", "--json"];
    let told = Guest::start(lab, "h1", "iperf3", &flood)?.output();
    drop(server);
    let (_, sum) = told.rsplit_once("\"sum_received\"")?;
    let field = |name: &str| -> Option<f64> {
        let (_, value) = sum.split_once(&format!("\"{name}\":"))?;
        value.split([',', '\n', '}']).next()?.trim().parse().ok()
    };
    Some((field("packets")? - field("lost_packets")?) / field("seconds")?)
}

fn sockperf(lab: &Lab) -> Option<f64> {
    let address = End::of(lab, "h2", false).address.to_string();
    let _server = Guest::start(lab, "h2", "sockperf", &["sr", "-i", &address, "-p", "11111"])?;
    pause();
    let flood = ["tp", "-i", &address, "-p", "11111", "-t", "4", "-m", "18"];
    let _client = Guest::start(lab, "h1", "sockperf", &flood)?;
    pause();
    Some(arriving(lab))
}

fn trafgen(lab: &Lab) -> Option<f64> {
    let (from, to) = (End::of(lab, "h1", false), End::of(lab, "h2", false));
    let file = std::env::temp_dir().join(format!("switchmark-trafgen-{}", std::process::id()));
    let frame = format!(
        "{{ eth(da=ff:ff:ff:ff:ff:fe), ipv4(sa={}, da={}), udp(sp=9, dp=9), fill(0, 18) }}",
        from.address, to.address
    );
    std::fs::write(&file, frame).expect("write a scratch file");
    let path = file.to_string_lossy();
    let flood = ["--dev", &from.interface, "--conf", &path, "--cpus", "1", "--no-sock-mem"];
    let sender = Guest::start(lab, "h1", "trafgen", &flood);
    pause();
    let rate = sender.as_ref().map(|_| arriving(lab));
    drop(sender);
    let _ = std::fs::remove_file(&file);
    rate
}

/// Waits until no program of another's sends any more.
fn calm(lab: &Lab) {
    let from = End::of(lab, "h1", false);
    let count = || from.counters().counters["tx_packets"];
    let mut before = count();
    loop {
        pause();
        let now = count();
        if now == before {
            return;
        }
        before = now;
    }
}

fn ours(lab: &Lab, (sender, receiver): (Backend, Reception)) -> f64 {
    let flow = Flow { load: Nanos::from_secs(1), ..Flow::of(64, sender, receiver) };
    let ran = run(lab, &flow, |_, _| {});
    assert_eq!(ran.sent.sent, ran.tx.counters["tx_packets"], "{sender:?}: sent is what left");
    assert_eq!(
        ran.got.received.lost(ran.sent.sent),
        ran.got.socket_drops,
        "{sender:?} to {receiver:?}: what is lost was dropped by the receiver"
    );
    ran.got.received.unique as f64 / ran.got.receiving.as_secs_f64()
}

fn median(rates: &[f64]) -> f64 {
    let mut rates = rates.to_vec();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

#[test]
#[ignore = "a measurement"]
fn frames_received_by_pair_and_peer() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    lab.netlink("h1", |kernel| kernel.offloads_off("eth1")).expect("turn offloads off");
    let peers: [(&str, Peer); 3] =
        [("iperf3", iperf3), ("sockperf", sockperf), ("trafgen", trafgen)];
    let mut theirs = vec![Vec::new(); peers.len()];
    let mut own = vec![Vec::new(); PAIRS.len()];
    for _ in 0..ROUNDS {
        for ((name, peer), rates) in peers.iter().zip(&mut theirs) {
            let Some(rate) = peer(&lab) else {
                eprintln!("skipped: {name} does not run here");
                return;
            };
            rates.push(rate);
        }
        calm(&lab);
        for (pair, rates) in PAIRS.iter().zip(&mut own) {
            rates.push(ours(&lab, *pair));
        }
    }
    for ((name, _), theirs) in peers.iter().zip(&theirs) {
        println!("{name}: {:.0} thousand a second", median(theirs) / 1e3);
    }
    for (pair, own) in PAIRS.iter().zip(&own) {
        let mut line = format!("{pair:?}: {:.0} thousand a second", median(own) / 1e3);
        for ((name, _), theirs) in peers.iter().zip(&theirs) {
            let ratios: Vec<f64> = own.iter().zip(theirs).map(|(own, their)| own / their).collect();
            let _ = write!(line, ", {:.2} x {name}", median(&ratios));
        }
        println!("{line}");
    }
}
