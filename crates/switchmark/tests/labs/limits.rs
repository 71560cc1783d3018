//! What leaves hosts under `[limits] rate`, by their kernels' own counters: never more, whatever
//! the flow.
//!
//! Needs root and iproute2.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::spaces::{Spaces, cable, space};
use crate::harness::{Scratch, alone, switchmark};
use lab::Namespace;
use netlink::Netlink;

/// Of the testbed, in bits a second.
const LIMIT: f64 = 1e6;
/// Of a frame, beyond what the kernel counts: FCS, preamble and gap.
const BEYOND: u64 = 24;
/// Between two looks at the counters.
const LOOK: Duration = Duration::from_millis(50);

fn sent(host: &Namespace) -> u64 {
    let stats = host.enter_with(|| Netlink::open()?.link("eth1").map(|link| link.stats));
    let stats = stats.expect("the namespace opens").expect("its port");
    stats.tx_bytes + BEYOND * stats.tx_packets
}

/// Runs it, and with its output the most octets on the wire that left either host within one
/// second.
fn watched(args: &[&str], file: &Path, scratch: &Scratch, hosts: &[Namespace; 2]) -> (Output, f64) {
    let mut child = Command::new(switchmark())
        .args(args)
        .arg("--testbed")
        .arg(file)
        .arg("--store")
        .arg(scratch.path("journal.db"))
        .args(["--quiet", "--json", "--blocks", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut looks: Vec<(Instant, [u64; 2])> = Vec::new();
    loop {
        looks.push((Instant::now(), [0, 1].map(|host: usize| sent(&hosts[host]))));
        if child.try_wait().expect("it can be asked").is_some() {
            break;
        }
        thread::sleep(LOOK);
    }
    let mut most = 0.0_f64;
    for (end, (at, now)) in looks.iter().enumerate() {
        let second = |(then, _): &&(Instant, _)| at.duration_since(*then) >= Duration::from_secs(1);
        let Some((then, before)) = looks[..end].iter().rev().find(second) else { continue };
        let took = at.duration_since(*then).as_secs_f64();
        for host in [0, 1] {
            most = most.max((now[host] - before[host]) as f64 / took);
        }
    }
    (child.wait_with_output().expect("it ended"), most)
}

/// Seen: closed loops of `latency` sent 500 times the limit from the answering host.
#[test]
fn no_host_sends_more_than_the_limit() {
    let Some(_alone) = alone("no host sends more than the limit", &["ip"]) else { return };
    let scratch = Scratch::new("limits");
    let _spaces = Spaces::new(&["a", "b"]);
    cable(("a", "eth1", "198.18.0.1/24"), ("b", "eth1", "198.18.0.2/24"));
    let file = scratch.path("testbed.toml");
    let host = |name: &str, number: u32, far: &str| {
        let space = space(name);
        format!(
            "[[host]]\nname = \"{name}\"\nreach = \"netns:{space}\"\n[[host.port]]\nname = \"eth1\"\n\
             address = \"198.18.0.{number}/24\"\ncable = \"{far}/eth1\"\n"
        )
    };
    let limits = "[limits]\nrate = \"1Mbit\"\n";
    std::fs::write(&file, host("a", 1, "b") + &host("b", 2, "a") + limits).expect("a file");
    let hosts = ["a", "b"].map(|name| Namespace::named(&space(name)).expect("a namespace"));
    let job = scratch.path("job.fio");
    let text = "[j]\nioengine=nbd\nuri=nbd://198.18.0.2:10809/x\nrw=randread\nbs=4k\nsize=1m\n";
    std::fs::write(&job, text).expect("a file");
    let job = job.to_str().expect("a plain name");
    let open_loop = ["latency", "--protocol", "udp", "--size", "64", "-t", "1300ms", "--open-loop"];
    let loaded = ["latency", "--protocol", "udp", "--size", "64", "-t", "1300ms", "--load"];
    for (args, runs) in [
        // Paced datagrams, and round trips beside them.
        (&[&loaded[..], &["udp:60pps@1518"]].concat()[..], true),
        (&[&open_loop[..], &["1200pps"]].concat()[..], true),
        (&[&open_loop[..], &["5kpps"]].concat()[..], false),
        // What only a peer's answers or a port's rate hold is refused: bulk TCP, exchanges, bursts,
        // storage.
        (&[&loaded[..], &["tcp"]].concat()[..], false),
        (&["fabric", "-t", "1s", "--carrier", "tcp"][..], false),
        (&["fabric", "-t", "1s", "--carrier", "datagrams"][..], false),
        (&["buffer", "-t", "1s"][..], false),
        (&["storage", "--fio", job, "-t", "1s"][..], false),
        (&["latency", "--protocol", "udp", "--size", "64,1518", "-t", "1300ms"][..], true),
        (&["latency", "--protocol", "tcp", "--size", "64,1518", "-t", "1300ms"][..], true),
        (&["latency", "--protocol", "icmp", "--size", "64,1518", "-t", "1300ms"][..], true),
        (&["forwarding", "--flood", "--size", "1518", "-t", "1s"][..], false),
    ] {
        let (output, most) = watched(args, &file, &scratch, &hosts);
        let told = String::from_utf8_lossy(&output.stderr);
        let share = most * 8.0 / LIMIT;
        println!("{args:?}: at most {:.1} % of the limit in any second", share * 100.0);
        assert_eq!(output.status.code() == Some(0), runs, "{args:?}: {told}");
        assert!(share <= 1.05, "{args:?}: {share} of the limit");
        assert!(share >= 0.5 || !runs, "{args:?}: it was paced, not silenced: {share}");
    }
}
