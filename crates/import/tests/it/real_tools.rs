//! The tools themselves, as they are installed here: each measures the loopback for a second, and
//! its output is read without a line left over. Says `skipped:` where a tool is missing. Asserts no
//! figure's size.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use import::{Imported, read};
use page::{Key, Metric};

type Tool = (&'static str, fn());

const TOOLS: [Tool; 8] = [
    ("ping", ping),
    ("iperf3", iperf3),
    ("iperf", iperf2),
    ("irtt", irtt),
    ("flent", flent),
    ("qperf", qperf),
    ("sockperf", sockperf),
    ("fio", fio),
];

/// They wait most of their time, so all run at once.
#[test]
fn each_tool_that_is_installed_is_read() {
    let running = TOOLS.map(|(tool, read)| (tool, std::thread::spawn(read)));
    let failed = running.map(|(tool, test)| test.join().is_err().then_some(tool));
    let failed: Vec<&str> = failed.into_iter().flatten().collect();
    assert!(failed.is_empty(), "{failed:?}: see above");
}

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    if !found {
        eprintln!("skipped: {tool} is not installed");
    }
    found
}

fn serve(tool: &str, args: &[&str]) -> Server {
    let mut command = Command::new(tool);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Server(command.spawn().expect("the tool starts"))
}

/// What a client says of a server that is not up yet, or that still ends the test before.
const NOT_READY: [&str; 2] = ["Connection refused", "server is busy"];

/// Standard output, asked again while the server is not ready.
#[expect(clippy::disallowed_methods, reason = "a wait for another program, not a measurement")]
fn output(tool: &str, args: &[&str]) -> Vec<u8> {
    for _ in 0..100 {
        let ran = Command::new(tool).args(args).output().expect("the tool starts");
        // iperf3 ends well with its own failure in JSON, iperf with one beside it.
        let said = [&ran.stdout[..], &ran.stderr[..]].concat();
        let said = String::from_utf8_lossy(&said);
        let is_ready = !NOT_READY.iter().any(|refusal| said.contains(refusal));
        if ran.status.success() && is_ready && !ran.stdout.is_empty() {
            return ran.stdout;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{tool} {args:?} does not succeed");
}

fn check(tool: &str, octets: &[u8], metrics: &[Metric]) -> Imported {
    let text = String::from_utf8_lossy(octets);
    let read = read(octets).unwrap_or_else(|error| panic!("{tool}: {error}\n{text}"));
    assert_eq!(read.unread, [], "{text}");
    for metric in metrics {
        let found = read.figures.iter().find(|figure| figure.metric == *metric);
        let value = found.and_then(|figure| figure.value);
        assert!(value.is_some_and(|value| value > 0.0), "{tool} {metric:?}: {text}");
    }
    read
}

fn ping() {
    if is_installed("ping") {
        let args = ["-c", "3", "-i", "0.2", "127.0.0.1"];
        let ran = Command::new("ping").args(args).output().expect("ping starts");
        if !ran.status.success() {
            eprintln!("skipped: ping may not be sent here");
            return;
        }
        check("ping", &ran.stdout, &[Metric::Rtt]);
    }
}

fn iperf3() {
    if is_installed("iperf3") {
        let _server = serve("iperf3", &["-s", "-p", "15311"]);
        let client = ["-c", "127.0.0.1", "-p", "15311", "-t", "1"];
        let with = |more: &[&str]| output("iperf3", &[&client[..], more].concat());
        check("iperf3", &with(&["-J"]), &[Metric::Goodput, Metric::CwndMax]);
        check("iperf", &with(&[]), &[Metric::Goodput]);
        let paced = with(&["-J", "-u", "-b", "5M", "-l", "500"]);
        check("iperf3", &paced, &[Metric::Received]);
        let both = check("iperf3", &with(&["-J", "--bidir"]), &[Metric::Goodput]);
        let ways = both.figures.iter().filter(|figure| figure.metric == Metric::Goodput);
        assert_eq!(ways.count(), 2, "{:?}", both.figures);
    }
}

fn iperf2() {
    if is_installed("iperf") {
        let _server = serve("iperf", &["-s", "-p", "15316"]);
        let client = ["-c", "127.0.0.1", "-p", "15316", "-t", "1", "-i", "0.5"];
        check("iperf", &output("iperf", &client), &[Metric::Goodput]);
        let both = [&client[..], &["-P", "2"]].concat();
        check("iperf", &output("iperf", &both), &[Metric::Goodput]);
        let _server = serve("iperf", &["-s", "-u", "-p", "15317"]);
        let paced = ["-c", "127.0.0.1", "-p", "15317", "-t", "1", "-u", "-b", "5M", "-l", "500"];
        check("iperf", &output("iperf", &paced), &[Metric::Received]);
    }
}

fn irtt() {
    if is_installed("irtt") {
        let _server = serve("irtt", &["server", "-b", "127.0.0.1:15318"]);
        let client = ["client", "-i", "10ms", "-d", "1s", "-o", "-", "-Q", "127.0.0.1:15318"];
        check("irtt", &output("irtt", &client), &[Metric::Rtt]);
    }
}

/// flent's own files, of round trips that ping and irtt measure for it. irtt's port can't be
/// chosen.
fn flent() {
    if is_installed("flent") && is_installed("irtt") {
        let _server = serve("irtt", &["server", "-b", "127.0.0.1:2112"]);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("flent");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let named = folder.display().to_string();
        let args = ["ping", "-H", "127.0.0.1", "-l", "1", "-s", "0.1", "-D", named.as_str()];
        output("flent", &args);
        let written = std::fs::read_dir(&folder).expect("the folder").flatten();
        let of_flent = |path: &PathBuf| path.to_string_lossy().ends_with(".flent.gz");
        let data = written.map(|entry| entry.path()).find(of_flent).expect("flent's file");
        let read = check("flent", &std::fs::read(data).expect("readable"), &[Metric::Rtt]);
        let series = read.figures.iter().filter_map(|figure| figure.conditions.get(&Key::Series));
        assert!(series.count() >= 2, "{:?}", read.figures);
        std::fs::remove_dir_all(&folder).expect("flent's files");
    }
}

fn qperf() {
    if is_installed("qperf") {
        let _server = serve("qperf", &["--listen_port", "15312"]);
        let client = ["--listen_port", "15312", "-t", "1", "127.0.0.1", "tcp_lat", "tcp_bw"];
        check("qperf", &output("qperf", &client), &[Metric::Rtt, Metric::Goodput]);
    }
}

fn sockperf() {
    if is_installed("sockperf") {
        let _server = serve("sockperf", &["server", "-i", "127.0.0.1", "-p", "15313"]);
        let client = ["ping-pong", "-i", "127.0.0.1", "-p", "15313", "-t", "1"];
        check("sockperf", &output("sockperf", &client), &[Metric::Rtt]);
    }
}

fn fio() {
    if is_installed("fio") {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio.dat");
        let named = format!("--filename={}", file.display());
        let job = [
            "--name=a",
            &named,
            "--size=1M",
            "--rw=randrw",
            "--bs=4k",
            "--numjobs=2",
            "--runtime=1",
            "--time_based",
            "--group_reporting",
        ];
        let as_json = output("fio", &[&job[..], &["--output-format=json+"]].concat());
        check("fio", &as_json, &[Metric::Iops, Metric::IoLatency]);
        check("fio", &output("fio", &job), &[Metric::Iops, Metric::IoLatency]);
        std::fs::remove_file(&file).expect("fio's file");
    }
}
