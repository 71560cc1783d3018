//! A ring all-reduce: ours beside Open MPI's, in one lab, interleaved.
//!
//! Owns how the peer is built, started in the hosts and read. Both send the same blocks in the same
//! order over TCP with the same congestion control, and add nothing up (`ring.c`). Never compares
//! different statistics: each is the slowest rank's mean.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use agents::controller::{LiveTestbed, Stop};
use lab::{BridgesSpec, LabDevice, LabSpec};
use measure::{ByteCount, Nanos, Rate};
use switchmark::config::resolved::{Source, Testbed as Resolved};
use trial::collective::Schedule;
use trial::record::{FlowRecord, Outcome};
use trial::topology::Host;
use trial::{BY_LOSS, Collective, Gate, Testbed};

use super::{ROUNDS, median, ratios};
use crate::collectives::flows_among;
use crate::harness::{Guest, Scratch, alone, switchmark, trial_of};

const SECONDS: u64 = 5;

/// Rate of the ports that are limited, and of uplinks.
const PORT: Rate = Rate(100_000_000);

/// Most times that the peer is started for one figure.
const STARTS: usize = 3;

/// Open MPI in the hosts of a lab: the program, and what starts its daemons there.
struct Peer {
    program: PathBuf,
    starter: PathBuf,
}

impl Peer {
    /// Builds the program, and writes the script that Open MPI calls in place of ssh. None without
    /// MPI's headers.
    fn new(scratch: &Scratch, testbed: &LiveTestbed) -> Option<Self> {
        let (program, starter) = (scratch.path("ring"), scratch.path("in-host"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/labs/against_peers/ring.c");
        let [source, out] = [&source, &program].map(|path| path.to_str().expect("a path"));
        // Open MPI takes the default: two rings differ by a tenth between cubic and BBR.
        let first = BY_LOSS.split(' ').next().expect("a name");
        let control = format!("-DCONTROL=\"{first}\"");
        let args = ["-O2", "-rdynamic", &control, "-o", out, source];
        let built = Command::new("mpicc").args(args).status();
        if !built.expect("looked for before").success() {
            eprintln!("skipped: mpicc does not build (Debian's package is libopenmpi-dev)");
            return None;
        }
        let mut script = "#!/bin/sh\nhost=$1\nshift\ncase $host in\n".to_owned();
        let agents = testbed.agents();
        for host in &testbed.topology().hosts {
            let _ = writeln!(script, "{}) pid={} ;;", host.ports[0].address, agents[&host.name]);
        }
        script += "esac\nexec nsenter -t $pid -n unshare -u sh -c \"hostname h-$host; $*\"\n";
        std::fs::write(&starter, script).expect("the script");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&starter, mode).expect("it can be run");
        Some(Self { program, starter })
    }

    /// Time of a repetition, in nanoseconds.
    fn time(&self, testbed: &LiveTestbed, hosts: &[&Host], octets: u64) -> f64 {
        let addresses: Vec<String> =
            hosts.iter().map(|host| host.ports[0].address.to_string()).collect();
        let network = format!("{}/24", addresses[0]);
        let (octets, seconds) = (octets.to_string(), SECONDS.to_string());
        let [starter, program] =
            [&self.starter, &self.program].map(|it| it.to_str().expect("UTF-8"));
        let mca = [
            ["plm_rsh_agent", starter],
            ["btl", "self,tcp"],
            ["btl_tcp_if_include", &network],
            ["oob_tcp_if_include", &network],
            // As the manual asks where ranks share processors.
            ["mpi_yield_when_idle", "1"],
        ];
        let mut args = vec!["--allow-run-as-root"];
        for [name, value] in mca {
            args.extend(["--mca", name, value]);
        }
        let (places, count) = (addresses.join(","), addresses.len().to_string());
        args.extend(["--host", &places, "-np", &count, program, &octets, &seconds]);
        // Now and then one of its daemons does not reach another, and it ends before it measures.
        let mut printed = String::new();
        for _ in 0..STARTS {
            printed = Guest::run(testbed, &hosts[0].name, "mpirun", &args);
            let mean = printed.split_once("mean ").and_then(|(_, rest)| rest.split_once(" ns"));
            if let Some(mean) = mean.and_then(|(mean, _)| mean.parse().ok()) {
                return mean;
            }
        }
        panic!("it printed: {printed}")
    }
}

/// The slowest rank's mean time of a repetition, in nanoseconds.
fn ours(testbed: &mut LiveTestbed, hosts: &[&Host], octets: u64) -> f64 {
    let ranks = hosts.len() as u32;
    let schedule = Schedule::new(Collective::AllReduceRing, ranks, octets).expect("a schedule");
    let flows = flows_among(hosts, schedule, ranks);
    let trial = trial_of(flows, Nanos::from_secs(SECONDS), Gate::Strict);
    let record = testbed.run(&trial).expect("runs");
    assert_eq!(record.outcome, Outcome::Valid, "{record:#?}");
    let finishes = record.flows.iter().flat_map(|flow| match flow {
        FlowRecord::Exchange(seen) => [&seen.forward.finishes, &seen.backward.finishes],
        other => panic!("{other:?}"),
    });
    // In a ring each rank's last part comes from the one before it: one direction of one flow.
    let means = finishes.filter(|times| !times.is_empty()).map(measure::Histogram::mean);
    means.max_by(f64::total_cmp).expect("a repetition")
}

#[test]
#[ignore = "a benchmark: cargo xtask bench"]
fn collectives() {
    let Some(_alone) = alone("collectives", &["mpirun", "mpicc", "nsenter", "unshare"]) else {
        return;
    };
    println!("ring all-reduce; ms, median of {ROUNDS} interleaved rounds");
    println!("{:<40} {:>9} {:>9} {:>7}", "ranks, ports, size", "Open MPI", "ours", "ratio");
    let bridge = LabDevice::Bridge;
    let halves = || BridgesSpec { groups: 2, uplink: Some(PORT) };
    let (in_order, by_turns) = ([0, 1, 2, 3, 4, 5, 6, 7], [0, 4, 1, 5, 2, 6, 3, 7]);
    for (what, device, rate, order, octets) in [
        ("a bridge", bridge.clone(), Some(PORT), &in_order[..], 4 << 20),
        ("a bridge", bridge.clone(), Some(PORT), &in_order, 64 << 10),
        ("a bridge, no limit", bridge, None, &in_order[..4], 1 << 20),
        ("an uplink, in order", LabDevice::Bridges(halves()), Some(PORT), &in_order, 512 << 10),
        ("an uplink, by turns", LabDevice::Bridges(halves()), Some(PORT), &by_turns, 512 << 10),
    ] {
        let queue = rate.map(|_| ByteCount(512 << 10));
        let hosts = order.len() as u16;
        let spec = LabSpec { hosts, rate, queue, mtu: 1500, ..LabSpec::new(device) };
        let resolved = Resolved::new("lab", Source::Lab(spec));
        let mut testbed =
            LiveTestbed::open_with(&resolved, Stop::new(), switchmark()).expect("a lab");
        let scratch = Scratch::new("collectives");
        let Some(peer) = Peer::new(&scratch, &testbed) else { return };
        let hosts = testbed.topology().hosts.clone();
        let hosts: Vec<&Host> = order.iter().map(|at| &hosts[*at]).collect();
        let (mut theirs, mut own) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            theirs.push(peer.time(&testbed, &hosts, octets) / 1e6);
            own.push(ours(&mut testbed, &hosts, octets) / 1e6);
        }
        let mut ratios = ratios(&own, &theirs);
        let (theirs, own) = (median(&mut theirs), median(&mut own));
        let what = format!("{}, {what}, {}", order.len(), ByteCount(octets));
        println!("{what:<40} {theirs:>9.3} {own:>9.3} {:>7.3}", median(&mut ratios));
    }
}
