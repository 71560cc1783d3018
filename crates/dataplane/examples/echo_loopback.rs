//! Round trips between two threads of this host, to hold beside `ping`, `qperf` and `sockperf`.
//!
//! `echo_loopback CARRIER FRAME_SIZE LOAD_MS [GAP_NS]` prints sent, lost and the quantiles of one
//! flow over 127.0.0.1. Never measures a device.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::thread;

use dataplane::echo::{EchoClient, EchoServer, Requests};
use dataplane::{End, Halt, Identity, Side, Window, clock};
use measure::{FrameRate, FrameSize, Nanos};
use trial::{Echo, Protocol, Schedule};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = || words.next().ok_or("say: CARRIER FRAME_SIZE LOAD_MS [GAP_NS]");
    let protocol = match word()?.as_str() {
        "icmp" => Protocol::Icmp,
        "udp" => Protocol::Udp,
        "tcp" => Protocol::Tcp,
        other => return Err(format!("`{other}` is not icmp, udp or tcp").into()),
    };
    let frame_size = FrameSize::new(word()?.parse()?)?;
    let load = Nanos::from_millis(word()?.parse()?);
    let schedule = match word() {
        Ok(gap_ns) => Schedule::Paced(FrameRate(1e9 / gap_ns.parse::<f64>()?)),
        Err(_) => Schedule::Greedy,
    };
    let identity = Identity { token: std::process::id(), flow: 1 };
    let end = |port, schedule| {
        let asked = Echo { protocol, frame_size, schedule, messages: None };
        let flow = Requests { asked, least_gap_ns: 0.0 };
        End {
            local: HERE,
            remote: SocketAddr::new(HERE, port),
            opening: dataplane::opening::Opening::PLAIN,
            identity,
            flow,
        }
    };
    let reflector = (protocol != Protocol::Icmp)
        .then(|| EchoServer::open(&end(0, Schedule::Greedy), &Halt::new()))
        .transpose()?;
    let port = reflector.as_ref().map_or(0, EchoServer::port);
    let asker = EchoClient::open(&end(port, schedule), &Halt::new())?;
    let start = clock::monotonic() + Nanos::from_millis(20);
    let stop = start + load;
    let window = Window { start, stop, closed: stop + Nanos::from_millis(50) };
    let answering = thread::spawn(move || reflector.map(|r| r.run(window, &Halt::new())));
    let report = asker.run(window, &Halt::new())?;
    if let Some(outcome) = answering.join().map_err(|_| "the reflector panicked")? {
        outcome?;
    }
    println!(
        "{protocol:?} {} octets: sent {} lost {} p50 {} p90 {} p99 {} max {} ({:?})",
        report.frame_size,
        report.sent,
        report.answers.lost(report.sent),
        report.rtt.quantile(0.5),
        report.rtt.quantile(0.9),
        report.rtt.quantile(0.99),
        report.rtt.max(),
        report.stamps,
    );
    Ok(())
}
