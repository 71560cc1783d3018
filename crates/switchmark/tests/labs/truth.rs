//! Held against truths that are not ours: what a capture shows, and what the kernel's token bucket
//! was told and dropped.
//!
//! Needs root, and tcpdump and tshark for the captures.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::harness::{
    self, Guest, Scratch, alone, bulk, conclusion, datagrams, datagrams_of, device_counter, echo,
    full, open, paced, trial, valid_but_for_pacing,
};
use lab::LabDevice;
use measure::{ByteCount, FrameRate, Nanos, Rate};
use page::Condition;
use page::{Figure, Key, Metric};
use study::{Finding as _, StorageSpec};
use trial::{
    Backend, FlowKind, Gate, Pattern, Protocol, Reception, Schedule, ServedMemory, Storage,
};
use trial::{FlowRecord, Outcome, Testbed};

/// One captured packet: arrival in seconds, octets on the link without FCS.
struct Captured {
    at: f64,
    length: u32,
}

/// How a capture gets what the kernel has seen.
#[derive(Clone, Copy)]
enum Gathered {
    /// Once a second, as many frames as come.
    InBatches,
    /// Each at once; of very many it may miss some.
    AtOnce,
}

/// Starts a capture of test traffic that arrives at the second host; returns once it listens.
fn capture(
    testbed: &agents::controller::LiveTestbed,
    file: &Path,
    filter: &str,
    gathered: Gathered,
) -> Guest {
    let file = file.to_str().expect("a plain path");
    let mut args = vec!["-i", "eth1", "-n", "-s", "96", "-B", "65536", "-Q", "in", "-U"];
    if matches!(gathered, Gathered::AtOnce) {
        args.push("--immediate-mode");
    }
    args.extend(["-w", file, filter]);
    let mut guest = Guest::start(testbed, "h2", "tcpdump", &args);
    let stderr = guest.0.stderr.take().expect("piped");
    let mut lines = BufReader::new(stderr).lines();
    let listening = lines.any(|line| line.expect("text").contains("listening on"));
    assert!(listening, "tcpdump said why it does not listen");
    guest
}

/// Ends a capture, when it has seen what the kernel gathered.
fn finish(guest: Guest, gathered: Gathered) {
    std::thread::sleep(Duration::from_millis(match gathered {
        Gathered::InBatches => 1200,
        Gathered::AtOnce => 200,
    }));
    guest.interrupt();
}

fn read(file: &Path) -> Vec<Captured> {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(file)
        .args(["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len"])
        .output()
        .expect("tshark starts");
    let text = String::from_utf8(output.stdout).expect("tshark prints text");
    let packet = |line: &str| {
        let (at, length) = line.split_once('\t').expect("two fields");
        Captured { at: at.parse().expect("seconds"), length: length.parse().expect("octets") }
    };
    text.lines().map(packet).collect()
}

/// Counted by a socket: a program in the driver would take the frames before a capture sees them.
fn seen(mut kind: FlowKind) -> FlowKind {
    if let FlowKind::Datagrams(datagrams) = &mut kind {
        datagrams.receiver = Reception::Udp;
    }
    kind
}

/// What a capture is told to look for, and a flow in frames of so many octets.
type Kind = (&'static str, fn(u32) -> FlowKind);

const SIZES: [u32; 5] = [64, 82, 512, 1518, 9018];

/// One capture a kind of flow, of one trial a size: what it holds are runs of frames of these
/// sizes, in this order, and no other frame.
#[test]
fn a_capture_shows_the_sizes_asked_for() {
    let Some(_alone) = alone("a_capture_shows_the_sizes_asked_for", &["tcpdump", "tshark"]) else {
        return;
    };
    let scratch = Scratch::new("sizes");
    let mut testbed = open(&LabDevice::Bridge, None);
    let pair = testbed.topology().measured_pairs().remove(0);
    let kinds: [Kind; 5] = [
        ("udp", |octets| seen(datagrams(octets, paced(2000.0), Backend::Udp))),
        ("udp", |octets| seen(datagrams(octets, paced(2000.0), Backend::Packet))),
        ("udp", |octets| echo(Protocol::Udp, octets)),
        ("icmp", |octets| echo(Protocol::Icmp, octets)),
        // Handshake and bare acknowledgements are smaller; PSH marks the probes.
        ("tcp[tcpflags] & tcp-push != 0", |octets| echo(Protocol::Tcp, octets)),
    ];
    for (filter, kind) in kinds {
        let what = format!("{:?}", kind(SIZES[0]));
        let is_tcp = filter.starts_with("tcp");
        let file = scratch.path("sizes.pcap");
        let guest = capture(&testbed, &file, filter, Gathered::AtOnce);
        let mut asked = Vec::new();
        for octets in SIZES {
            let load = Nanos::from_millis(100);
            let record = testbed.run(&trial(&pair, kind(octets), load, Gate::Strict));
            let record = record.expect("runs");
            valid_but_for_pacing(&record);
            asked.push(match &record.flows[0] {
                // TCP's headers with the time-stamp option need more than 64 octets.
                FlowRecord::Echo(echo) => echo.frame_size.octets(),
                _ => octets,
            });
            let as_asked = asked.last() == Some(&octets);
            assert!(as_asked || (is_tcp && octets < 82), "{what}: {asked:?}");
        }
        finish(guest, Gathered::AtOnce);
        let lengths: Vec<u32> = read(&file).iter().map(|p| p.length + 4).collect();
        let mut runs: Vec<(u32, usize)> = Vec::new();
        for length in lengths {
            match runs.last_mut() {
                Some((of, count)) if *of == length => *count += 1,
                _ => runs.push((length, 1)),
            }
        }
        // The hello of each TCP flow is the one probe-bearing segment of another size.
        if is_tcp {
            let all = runs.len();
            runs.retain(|(_, count)| *count > 1);
            assert!(all - runs.len() <= SIZES.len(), "{what}: frames of other sizes than asked");
        }
        assert!(runs.iter().all(|(_, count)| *count > 50), "{what}: so few packets: {runs:?}");
        let mut seen: Vec<u32> = runs.iter().map(|(length, _)| *length).collect();
        seen.dedup();
        asked.dedup();
        assert_eq!(seen, asked, "{what}: frames of another size");
    }
}

#[test]
fn a_capture_shows_the_mean_rate_asked_for() {
    let Some(_alone) = alone("a_capture_shows_the_mean_rate_asked_for", &["tcpdump", "tshark"])
    else {
        return;
    };
    let scratch = Scratch::new("pacing");
    let mut testbed = open(&LabDevice::Bridge, None);
    let pair = testbed.topology().measured_pairs().remove(0);
    // Each backend, and both rates.
    let quick = [(Backend::Udp, vec![100_000.0]), (Backend::Packet, vec![10_000.0])];
    let all = [Backend::Udp, Backend::Packet].map(|of| (of, vec![10_000.0, 50_000.0, 100_000.0]));
    for (backend, rates) in if full() { all } else { quick } {
        for rate in rates {
            let file = scratch.path("pacing.pcap");
            let guest = capture(&testbed, &file, "udp", Gathered::InBatches);
            let kind = seen(datagrams(64, paced(rate), backend));
            let record = testbed.run(&trial(&pair, kind, Nanos::from_secs(1), Gate::Strict));
            finish(guest, Gathered::InBatches);
            let record = record.expect("runs");
            let flow = datagrams_of(&record);
            let packets: Vec<Captured> =
                read(&file).into_iter().filter(|p| p.length == 60).collect();
            // Learning frames come before the load, and are few.
            let sent = flow.sent as usize;
            let load = &packets[packets.len() - sent.min(packets.len())..];
            let (first, last) = (&load[0], &load[load.len() - 1]);
            let seen = (load.len() - 1) as f64 / (last.at - first.at);
            println!(
                "{backend:?} {rate} frames/s asked, {seen:.1} captured ({} frames)",
                load.len()
            );
            let told = flow.sending_rate().0;
            assert!((seen / told - 1.0).abs() < 0.01, "{backend:?}: told {told}, captured {seen}");
            // Where the load was not as asked, the trial has to say so itself.
            if valid_but_for_pacing(&record) {
                let off = (seen / rate - 1.0).abs();
                assert!(off < 0.01, "{backend:?}: asked {rate}, captured {seen}");
            } else {
                assert!(!full(), "a machine that should be idle");
            }
        }
    }
}

#[test]
fn loss_equals_the_token_buckets_own_drops() {
    let Some(_alone) = alone("loss_equals_the_token_buckets_own_drops", &[]) else { return };
    // Where a frame takes the port less than some tens of microseconds, arming the bucket's timer
    // costs a virtual machine so much that the sender, on the same processor, hardly outruns the
    // bucket: on a slow day it does not at all, and there is no loss to compare.
    let (slow, middle, fast) = (Rate(5_000_000), Rate(20_000_000), Rate(100_000_000));
    for (rate, sizes) in [(slow, vec![64]), (middle, vec![512, 1518]), (fast, vec![1518, 9018])] {
        let mut testbed = open(&LabDevice::Bridge, Some(rate));
        let pair = testbed.topology().measured_pairs().remove(0);
        for octets in sizes {
            let kind = datagrams(octets, Schedule::Greedy, Backend::Auto);
            let asked = trial(&pair, kind, Nanos::from_millis(500), Gate::Flood);
            let record = testbed.run(&asked).expect("runs");
            let flow = datagrams_of(&record);
            let lost = flow.received.lost(flow.sent);
            let dropped = device_counter(&record, "qdisc_drops");
            println!("{rate} {octets}: sent {} lost {lost}, tbf dropped {dropped}", flow.sent);
            assert_eq!(flow.sent, flow.received.unique + lost, "{octets}");
            assert!(lost > 0, "a flood is over the limit: {octets}");
            assert_eq!(lost, dropped + flow.socket_drops, "{octets}: frame for frame");
        }
    }
}

/// The throughput of a bridge whose port is a token bucket of 100 Mbit/s, as the program prints it.
fn throughput(octets: u64, seed: u64) -> serde_json::Value {
    let scratch = Scratch::new("known-rate");
    let (size, seed) = (octets.to_string(), seed.to_string());
    let time = if full() { "1s" } else { "300ms" };
    let output = Command::new(harness::switchmark())
        .args(["forwarding", "--testbed", "lab:bridge,rate=100Mbit", "--search", "rfc2544"])
        .args(["--size", &size, "-t", time, "--seed", &seed, "--json", "--quiet", "--store"])
        .arg(scratch.path("journal.db"))
        .output()
        .expect("switchmark starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let mut document = harness::json(&output);
    let figures = document["figures"].as_array_mut().expect("figures");
    let wanted = |f: &serde_json::Value| {
        f["metric"] == "throughput" && f["unit"] == "frames/s" && f["where"]["path"] == "device"
    };
    let at = figures.iter().position(wanted).expect("a throughput");
    figures.swap_remove(at)
}

/// The same through the program, as its user runs it. On a machine that others keep busy it may
/// answer that it cannot tell, and in the full profile is asked again; it may never answer wrong.
/// Frames of 1518 octets are `rfc2544`'s but for the full profile.
#[test]
fn forwarding_finds_the_rate_of_a_token_bucket() {
    let Some(_alone) = alone("forwarding_finds_the_rate_of_a_token_bucket", &[]) else { return };
    for octets in [Some(512u64), full().then_some(1518)].into_iter().flatten() {
        let truth = 100e6 / 8.0 / (octets - 4) as f64;
        let times = if full() { 3 } else { 1 };
        let mut answers = (7..7 + times).map(|seed| {
            let figure = throughput(octets, seed);
            let found = conclusion(&figure, truth, 0.01);
            println!("{octets}: truth {truth:.1}, found {found:?} frames/s: {figure}");
            found
        });
        let found = answers.any(|found| found.is_some());
        assert!(found || !full(), "{octets}: no answer on a machine that should be idle");
        if !found {
            eprintln!(
                "skipped: {octets} octets, because the machine was too busy (asked {times} times)"
            );
        }
    }
}

#[test]
fn greedy_floods_add_up() {
    let Some(_alone) = alone("greedy_floods_add_up", &[]) else { return };
    for device in [LabDevice::Cable, LabDevice::Bridge, LabDevice::Router, LabDevice::Routers] {
        let mut testbed = open(&device, None);
        let pair = testbed.topology().measured_pairs().remove(0);
        for backend in [Backend::Udp, Backend::Packet] {
            let kind = datagrams(64, Schedule::Greedy, backend);
            let asked = trial(&pair, kind, Nanos::from_millis(300), Gate::Flood);
            let record = testbed.run(&asked).expect("runs");
            assert_eq!(record.outcome, Outcome::Valid, "{device:?} {backend:?}");
            let flow = datagrams_of(&record);
            let lost = flow.received.lost(flow.sent);
            let explained = trial::books::balance(&asked, &record);
            println!("{device:?} {backend:?}: sent {} lost {lost} {explained:?}", flow.sent);
            assert!(flow.offered >= flow.sent);
            assert_eq!(flow.sent, flow.received.unique + lost);
        }
    }
}

#[test]
fn bulk_does_not_exceed_the_token_bucket() {
    let Some(_alone) = alone("bulk_does_not_exceed_the_token_bucket", &[]) else { return };
    let rate = Rate(100_000_000);
    let mut testbed = open(&LabDevice::Bridge, Some(rate));
    let pair = testbed.topology().measured_pairs().remove(0);
    let record =
        testbed.run(&trial(&pair, bulk(2), Nanos::from_secs(2), Gate::Flood)).expect("runs");
    let [FlowRecord::Bulk(flow)] = record.flows.as_slice() else { panic!("{record:#?}") };
    let goodput = FrameRate(flow.received.0 as f64 * 8.0 / flow.elapsed.as_secs_f64()).0;
    println!("goodput {goodput:.0} bit/s of {rate}");
    assert!(goodput < rate.bits_per_second() * 1.01, "{goodput}");
    assert!(goodput > rate.bits_per_second() * 0.5, "{goodput}");
}

fn storage_job(delay: Nanos) -> Storage {
    Storage {
        ioengine: "nbd".into(),
        filename: String::new(),
        pattern: Pattern::Random,
        rwmixread: trial::ReadPercent::known(50),
        bs: ByteCount(4096),
        numjobs: trial::Jobs::known(2),
        iodepth: trial::QueueDepth::known(1),
        replicas: Vec::new(),
        options: BTreeMap::new(),
        server: Some(ServedMemory { size: ByteCount(16 << 20), read: delay, write: delay }),
        disk: None,
        allow_destroy: false,
    }
}

/// fio's own counts beside nbdkit's, which nobody of ours wrote: every operation is in both, and
/// none was faster than the disk.
#[test]
fn fio_and_nbdkit_tell_the_same() {
    let test = "a storage in a lab";
    let Some(_alone) = alone(test, &["fio", "nbdkit"]) else { return };
    let mut testbed = open(&LabDevice::Bridge, None);
    let pair = testbed.topology().measured_pairs().remove(0);
    let delay = Nanos::from_millis(1);
    let kind = FlowKind::Storage(storage_job(delay));
    let mut asked = trial(&pair, kind, Nanos::from_secs(1), Gate::Uneven);
    asked.phases.residual = Nanos::from_millis(1500);
    let record = testbed.run(&asked).expect("the testbed lives");
    let [FlowRecord::Storage(seen)] = record.flows.as_slice() else {
        panic!("not one storage flow: {record:#?}")
    };
    let served = seen.server.served.expect("nbdkit tells what it served");
    eprintln!("fio {} reads {} writes, nbdkit {served:?}", seen.reads.count, seen.writes.count);
    assert_eq!((seen.reads.count, seen.writes.count), (served.reads, served.writes));
    for of in [&seen.reads, &seen.writes] {
        assert!(of.mean_latency().expect("operations") >= delay.0 as f64);
        assert_eq!(of.octets.0, of.count * 4096);
        assert_eq!(of.latency.count(), of.count, "the bins are all there");
        // fio's bins are 0.8 % wide.
        let off = of.latency.mean() / of.mean_latency().expect("operations") - 1.0;
        assert!(off.abs() < 0.01, "the bins' mean is off by {off}");
    }
    assert!(seen.fio.as_ref().is_some_and(|text| text.contains("fio version")));
}

/// What would be written over, is missing or cannot be looked into is refused before anything is
/// sent.
#[test]
fn a_storage_that_is_somebodys_is_left_alone() {
    let test = "a storage that exists";
    let Some(_alone) = alone(test, &["fio"]) else { return };
    let mut testbed = open(&LabDevice::Cable, None);
    let pair = testbed.topology().measured_pairs().remove(0);
    let scratch = Scratch::new("storage");
    let path = scratch.path("precious");
    std::fs::write(&path, vec![7; 1 << 20]).expect("a file");
    let job = |filename: &Path, allow_destroy| {
        FlowKind::Storage(Storage {
            ioengine: "psync".into(),
            filename: filename.display().to_string(),
            options: BTreeMap::from([("size".to_owned(), "1m".to_owned())]),
            server: None,
            allow_destroy,
            ..storage_job(Nanos::ZERO)
        })
    };
    let mut run = |filename: &Path, allowed| {
        let kind = job(filename, allowed);
        testbed.run(&trial(&pair, kind, Nanos::from_millis(300), Gate::Uneven))
    };
    let refused = run(&path, false).expect_err("it is not empty").to_string();
    let told = format!("{refused} ");
    assert!(std::fs::read(&path).expect("still there").iter().all(|octet| *octet == 7), "{told}");
    let missing = scratch.path("no/such/folder");
    assert!(run(&missing, true).is_err(), "a path that does not exist is no storage");
    // A file that is laid out for a job is its agent's, and goes with it.
    let made = scratch.path("made");
    let record = run(&made, false).expect("the testbed lives");
    assert!(matches!(record.outcome, Outcome::Valid), "{:?}", record.outcome);
    let again = run(&made, false).expect("it is the agent's own");
    assert!(matches!(again.outcome, Outcome::Valid), "{:?}", again.outcome);
    drop(testbed);
    assert!(!made.exists(), "what was laid out is gone");
    assert!(path.exists());
}

/// Cable for bridge for router, before a disk of 1 ms and one of 10 ms: what the round trips
/// predict is what fio sees. `switchmark storage --testbed lab:bridge --ramdisk 1ms --blocks 10`
/// prints the same.
#[test]
fn predicted_and_observed_agree_before_a_disk_of_1_ms() {
    predicted_and_observed_agree(Nanos::from_millis(1));
}

#[test]
fn predicted_and_observed_agree_before_a_disk_of_10_ms() {
    predicted_and_observed_agree(Nanos::from_millis(10));
}

fn predicted_and_observed_agree(delay: Nanos) {
    let test = "predicted against observed";
    if !full() {
        eprintln!("skipped: two labs of two minutes each; set SWITCHMARK_TESTS=full");
        return;
    }
    let Some(_alone) = alone(test, &["fio", "nbdkit"]) else { return };
    let said = |figure: &Figure, name: Key| match figure.conditions.get(&name) {
        Some(Condition::Text(text)) => text.clone(),
        _ => String::new(),
    };
    for device in [LabDevice::Bridge, LabDevice::Router] {
        let mut testbed = open(&device, None);
        let spec = StorageSpec {
            blocks: study::Blocks::known(10),
            ..StorageSpec::quick(storage_job(delay))
        };
        let figures = spec.run(&mut testbed, 7).expect("the testbed lives").rows();
        let of = |estimate: &str| {
            figures.iter().find(|f| {
                f.metric == Metric::IoLatencyAdded
                    && said(f, Key::Estimate) == estimate
                    && said(f, Key::Operation) == "all"
            })
        };
        let row = |figure: Option<&Figure>| {
            figure.and_then(|f| Some((f.low?, f.value?, f.high?))).expect("an interval")
        };
        let observed = row(of(""));
        let predicted = row(of("predicted"));
        let rest = row(of("observed-less-predicted"));
        eprintln!(
            "{} {delay}: predicted {predicted:?} observed {observed:?} rest {rest:?}",
            device.as_str()
        );
        assert!(rest.0 <= 0.0 && rest.2 >= 0.0, "the rest's interval holds zero: {rest:?}");
    }
}
