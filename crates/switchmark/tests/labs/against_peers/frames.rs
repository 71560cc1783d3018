//! Frames a second over a cable: ours by every backend beside iperf3, trafgen and sockperf.
//!
//! Owns how each peer floods and how its received frames are counted. What counts is what arrived:
//! iperf3's receiver tells its own count, the others' is read from the kernel's interface counter.

use agents::controller::LiveTestbed;
use lab::LabDevice;
use measure::Nanos;
use trial::Testbed;
use trial::{Backend, Gate, Schedule};

use super::{ROUNDS, median, ratios};
use crate::harness::{Guest, Scratch, alone, datagrams, datagrams_of, open, trial};

/// Frames a second that arrived of a flood.
type Flood = fn(&mut LiveTestbed, &Scratch) -> f64;

/// One second of load.
const SECONDS: u64 = 1;

/// iperf3's own receiver: all packets less the lost ones.
fn iperf3(testbed: &mut LiveTestbed, _: &Scratch) -> f64 {
    let server = Guest::start(testbed, "h2", "iperf3", &["-s", "-1", "-B", "198.18.0.2"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let args = ["-c", "198.18.0.2", "-u", "-l", "18", "-b", "0", "-t", "1", "--json"];
    let text = Guest::run(testbed, "h1", "iperf3", &args);
    drop(server);
    let json: serde_json::Value = serde_json::from_str(&text).expect("iperf3 prints json");
    let sum = &json["end"]["sum_received"];
    let sum = if sum["packets"].is_null() { &json["end"]["sum"] } else { sum };
    let (packets, lost) = (sum["packets"].as_f64(), sum["lost_packets"].as_f64());
    let seconds = sum["seconds"].as_f64().filter(|seconds| *seconds > 0.0);
    match (packets, lost, seconds) {
        (Some(packets), Some(lost), Some(seconds)) => (packets - lost) / seconds,
        _ => panic!("iperf3 printed: {text}"),
    }
}

/// A ring of frames that differ in nothing, to an address that nobody has: none is answered.
fn trafgen(testbed: &mut LiveTestbed, scratch: &Scratch) -> f64 {
    let frame = "{ eth(da=02:53:4d:01:00:02, sa=02:53:4d:01:00:01), \
                 ipv4(sa=198.18.0.1, da=198.18.0.9, ttl=64), udp(sp=9, dp=9), fill(0x00, 18) }";
    let file = scratch.path("frame.cfg");
    std::fs::write(&file, frame).expect("a scratch file");
    let before = arrived(testbed);
    // It sends from a child of its own that a signal does not reach: so many frames and no more.
    let file = file.to_string_lossy().into_owned();
    let args = ["--dev", "eth1", "--conf", &file, "--cpus", "1", "--num", "2000000"];
    let mut sender = Guest::start(testbed, "h1", "trafgen", &args);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let (begun, from) = (std::time::Instant::now(), arrived(testbed));
    assert!(from > before, "trafgen sends nothing");
    std::thread::sleep(std::time::Duration::from_secs(SECONDS));
    let rate = (arrived(testbed) - from) as f64 / begun.elapsed().as_secs_f64();
    sender.0.wait().expect("it ends");
    rate
}

fn sockperf(testbed: &mut LiveTestbed, _: &Scratch) -> f64 {
    let server =
        Guest::start(testbed, "h2", "sockperf", &["sr", "-i", "198.18.0.2", "-p", "11111"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let args = ["tp", "-i", "198.18.0.2", "-p", "11111", "-t", "1", "-m", "18"];
    let before = arrived(testbed);
    let text = Guest::run(testbed, "h1", "sockperf", &args);
    let came = arrived(testbed) - before;
    let line = text.lines().find(|l| l.contains("messages sent in")).unwrap_or_default();
    let seconds = line.split_whitespace().rev().nth(1).and_then(|word| word.parse::<f64>().ok());
    let rate = came as f64 / seconds.unwrap_or_else(|| panic!("sockperf printed: {text}"));
    drop(server);
    rate
}

/// What the kernel counts as received at `h2/eth1` so far.
fn arrived(testbed: &LiveTestbed) -> u64 {
    let text = Guest::run(testbed, "h2", "cat", &["/proc/net/dev"]);
    let line = text.lines().find(|l| l.trim_start().starts_with("eth1:")).expect("eth1 is there");
    let packets = line.split_once(':').and_then(|(_, rest)| rest.split_whitespace().nth(1));
    packets.and_then(|n| n.parse().ok()).expect("a count")
}

/// Distinct sequence numbers that arrived, by the time of sending; every frame is accounted for.
fn ours(testbed: &mut LiveTestbed, backend: Backend) -> f64 {
    let pair = testbed.topology().measured_pairs().remove(0);
    let kind = datagrams(64, Schedule::Greedy, backend);
    let asked = trial(&pair, kind, Nanos::from_secs(SECONDS), Gate::Flood);
    let record = testbed.run(&asked).expect("runs");
    assert!(record.outcome.is_valid(), "{:?}", record.outcome);
    let flow = datagrams_of(&record);
    let counter = |place: &str, name: &str| {
        let port = record.ports.iter().find(|p| p.place == place).expect("its port");
        port.counters.get(name).copied().unwrap_or(0)
    };
    let lost = flow.received.lost(flow.sent);
    assert_eq!(flow.sent, flow.received.unique + lost, "sent = received + lost");
    let (tx, dropped) = (counter("h1/eth1", "tx_packets"), counter("h1/eth1", "tx_dropped"));
    assert!(tx + dropped >= flow.sent, "{backend:?}: sent {}, kernel {tx} + {dropped}", flow.sent);
    assert!(lost <= dropped, "{backend:?}: lost {lost}, and the kernel dropped {dropped}");
    assert!(flow.received.unique <= counter("h2/eth1", "rx_packets"), "and received it");
    flow.receiving_rate().0
}

#[test]
#[ignore = "a benchmark: cargo xtask bench"]
fn frames() {
    let Some(_alone) = alone("frames", &["iperf3", "trafgen", "sockperf"]) else { return };
    let scratch = Scratch::new("frames");
    let mut testbed = open(&LabDevice::Cable, None);
    let backends =
        [Backend::XdpLive, Backend::AfXdp, Backend::Packet, Backend::Udp, Backend::UdpGso];
    let peers: [(&str, Flood); 3] = [
        ("iperf3 -u -l18 -b0", iperf3),
        ("trafgen, one thread", trafgen),
        ("sockperf tp -m 18", sockperf),
    ];
    let mut theirs = vec![Vec::new(); peers.len()];
    let mut own = vec![Vec::new(); backends.len()];
    for _ in 0..ROUNDS {
        for (peer, rates) in peers.iter().zip(&mut theirs) {
            rates.push((peer.1)(&mut testbed, &scratch));
        }
        for (backend, rates) in backends.iter().zip(&mut own) {
            rates.push(ours(&mut testbed, *backend));
        }
    }
    println!("64-octet frames received over lab:cable, k/s, median of {ROUNDS} interleaved rounds");
    println!("{:<22} {:>8}  ours / theirs by backend", "", "received");
    let mut table = Vec::new();
    for (backend, rates) in backends.iter().zip(&own) {
        println!("{:<22} {:>8.0}", backend.as_str(), median(&mut rates.clone()) / 1e3);
    }
    for ((name, _), theirs) in peers.iter().zip(&theirs) {
        let row: Vec<f64> = own.iter().map(|own| median(&mut ratios(own, theirs))).collect();
        let cells: Vec<String> = backends
            .iter()
            .zip(&row)
            .map(|(backend, ratio)| format!("{} {ratio:.2}", backend.as_str()))
            .collect();
        println!("{name:<22} {:>8.0}  {}", median(&mut theirs.clone()) / 1e3, cells.join("  "));
        table.push(row);
    }
    // The bars that this project set itself; the socket backends beside the peers of their kind.
    assert!(table[0][0] >= 8.0, "xdp-live at least 8 x iperf3: {:.2}", table[0][0]);
    assert!(table[0][1] >= 4.0, "af-xdp at least 4 x iperf3: {:.2}", table[0][1]);
    assert!(table[1][2] >= 1.0, "packet not below trafgen: {:.2}", table[1][2]);
    assert!(table[2][3] >= 1.0, "udp not below sockperf: {:.2}", table[2][3]);
}
