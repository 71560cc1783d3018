//! One port a host beside an added delay that is known exactly, run after run: how often the
//! interval of `rtt_added` holds it, and how often a cable beside itself is called different.
//!
//! Two hosts stand at an emulated line of 1.0 ms, which is their direct cable, and at one of 1.1
//! ms, which is their device: what the emulator itself takes, and what hosts take to wake up, is in
//! both, and 200 µs a round trip are not. A plain cable is measured beside itself. Owns the bars.
//! Needs root, chrt and taskset; only with `SWITCHMARK_TESTS=full`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use agents::controller::Ports;
use device::Profile;
use lab::{EmulatedSpec, Equipment, Lab, LabDevice, LabSpec};
use serde_json::Value;

use super::harness::spaces::call;
use super::harness::{self, Scratch, find, switchmark};

/// Of each row of the table.
const RUNS: usize = 20;
/// How many of them may be wrong.
const WRONG: usize = 1;
/// Added to a round trip.
const ADDED_NS: f64 = 200_000.0;

/// Hosts, what their ports lead to, and what keeps their namespaces.
struct Line {
    _lab: Lab,
    hosts: Vec<Child>,
}

impl Line {
    fn cable() -> Self {
        Self::of(LabDevice::Cable)
    }

    fn emulated(microseconds: u32) -> Self {
        let text = format!(
            "name = \"line\"\nports = 2\nrate = \"10Gbit\"\nbuffer = {{ per_port = \"1MiB\" }}\n\
             forwarding = {{ mode = \"cut-through\", latency = \"{microseconds}us\" }}\n"
        );
        let none = |name: &str| Err(format!("no file {name}"));
        let profile = Profile::parse(&text, &none).expect("a profile");
        Self::of(LabDevice::Emulated(EmulatedSpec::new(profile)))
    }

    fn of(device: LabDevice) -> Self {
        let equipment = Equipment { switchboard: Some(Arc::new(Ports)), ..Equipment::default() };
        let spec = LabSpec { bypass: false, mtu: 1500, ..LabSpec::new(device) };
        let lab = Lab::build_with(&spec, equipment).expect("the lab comes up");
        let sleeper = |host: &str| {
            let mut sleep = Command::new("sleep");
            sleep.arg("3600").stdin(Stdio::null()).stdout(Stdio::null());
            lab.spawn(host, &mut sleep).expect("it sleeps")
        };
        let hosts = ["h1", "h2"].map(sleeper).into();
        Self { _lab: lab, hosts }
    }

    /// A testbed file, in which the hosts are joined directly or lead to a device.
    fn testbed(&self, scratch: &Scratch, name: &str, ends: [&str; 2]) -> PathBuf {
        let mut text = String::new();
        if ends[0].starts_with("sw1") {
            text += "[[device]]\nname = \"sw1\"\nkind = \"switch\"\n";
        }
        for (number, (host, end)) in (1..).zip(self.hosts.iter().zip(ends)) {
            let _ = write!(
                text,
                "[[host]]\nname = \"h{number}\"\nreach = \"pid:{}\"\n[[host.port]]\n\
                 name = \"eth1\"\naddress = \"198.18.0.{number}/24\"\ncable = \"{end}\"\n",
                host.id()
            );
        }
        let path = scratch.path(name);
        std::fs::write(&path, text).expect("a testbed file");
        path
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        for host in &mut self.hosts {
            let _ = host.kill();
            let _ = host.wait();
        }
    }
}

/// The emulators go before this machine's other business, as the hosts do in [`Bed::run`]: what is
/// tested is the interval, and an emulator that is kept from its processor adds another delay than
/// the known one.
fn put_emulators_first() {
    for thread in std::fs::read_dir("/proc/self/task").expect("threads").flatten() {
        let name = std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        if name.starts_with("switchmark-emul") {
            let id = thread.file_name().into_string().expect("a number");
            call("chrt", &["--rr", "--pid", "20", &id]);
        }
    }
}

struct Bed {
    scratch: Scratch,
    /// Joined directly, and through the device.
    line: PathBuf,
    device: PathBuf,
    /// Joined directly, and the same called a device.
    cable: PathBuf,
    alike: PathBuf,
    _lines: [Line; 3],
}

impl Bed {
    fn new() -> Self {
        let scratch = Scratch::new("one-nic-truth");
        let (line, longer, cable) = (Line::emulated(1_000), Line::emulated(1_100), Line::cable());
        put_emulators_first();
        let (joined, through) = (["h2/eth1", "h1/eth1"], ["sw1/1", "sw1/2"]);
        Self {
            line: line.testbed(&scratch, "line.toml", joined),
            device: longer.testbed(&scratch, "device.toml", through),
            cable: cable.testbed(&scratch, "cable.toml", joined),
            alike: cable.testbed(&scratch, "alike.toml", through),
            _lines: [line, longer, cable],
            scratch,
        }
    }

    fn told(&self, words: &[&str], paths: &[&Path]) -> Value {
        let mut command = Command::new("chrt");
        command.args(["--rr", "20", "taskset", "--cpu-list", "0"]).arg(switchmark());
        command.args(words).args(paths).args(["--json", "--quiet", "--journal"]);
        command.arg(self.scratch.path("journal.db"));
        harness::json(&command.output().expect("switchmark starts"))
    }

    fn run(&self, testbed: &Path, bypass: &[&str]) -> Value {
        let words = ["latency", "--protocol", "udp", "--size", "64", "-t", "0.05"];
        let mut words = words.to_vec();
        words.extend(["--blocks", "6"]);
        words.extend(bypass.iter().flat_map(|run| ["--bypass", run]));
        words.push("--testbed");
        self.told(&words, &[testbed])
    }
}

impl Bed {
    /// Whether `compare` finds some figure of two runs to differ.
    fn is_different(&self, one: &str, other: &str) -> bool {
        let both = self.told(&["compare", one, other], &[]);
        let rows = both["figures"].as_array().expect("figures");
        let mut changed = rows.iter().filter(|row| row["where"]["decision"] == "different");
        changed.any(|row| {
            println!("  different: p{} {}", row["where"]["of_quantile"], row["value"]);
            true
        })
    }
}

fn id(told: &Value) -> &str {
    told["run"].as_str().expect("an id")
}

fn median(told: &Value, metric: &str) -> Value {
    let rows = told["figures"].as_array().expect("figures");
    let own = |row: &&Value| row["metric"] == metric && row["quantile"] == 0.5;
    rows.iter().find(own).unwrap_or_else(|| panic!("no {metric}: {told:#}")).clone()
}

/// What came of all runs of one kind.
struct Tally {
    name: &'static str,
    truth: f64,
    runs: usize,
    missed: usize,
    as_device: usize,
    undetermined: usize,
    widths: Vec<f64>,
    errors: Vec<f64>,
}

impl Tally {
    const fn new(name: &'static str, truth: f64) -> Self {
        Self {
            name,
            truth,
            runs: 0,
            missed: 0,
            as_device: 0,
            undetermined: 0,
            widths: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn take(&mut self, told: &Value) {
        let row = median(told, "rtt_added");
        let of = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("no {key}: {row:#}"));
        let (low, high) = (of("low"), of("high"));
        self.runs += 1;
        self.missed += usize::from(!(low..=high).contains(&self.truth));
        self.as_device += usize::from(row["verdict"] == "device");
        self.undetermined += usize::from(row["verdict"] == "undetermined");
        self.widths.push(high - low);
        self.errors.push(of("value") - self.truth);
        println!(
            "  {:<28} {:>8.0} [{low:.0}…{high:.0}] {}",
            self.name,
            of("value"),
            row["verdict"]
        );
    }

    fn typical(values: &[f64]) -> f64 {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    fn line(&self) -> String {
        let Self { name, runs, missed, as_device, undetermined, .. } = self;
        format!(
            "{name:<28} {runs:>4} {missed:>7} {as_device:>11} {undetermined:>13} {:>9.0} {:>9.0}",
            Self::typical(&self.errors),
            Self::typical(&self.widths)
        )
    }
}

#[test]
fn a_known_delay_is_found_in_nineteen_of_twenty_runs() {
    let name = "a_known_delay_is_found_in_nineteen_of_twenty_runs";
    let Some(_alone) = harness::alone(name, &["chrt", "taskset"]) else { return };
    if !harness::full() {
        eprintln!("skipped: eighty runs take five minutes; set SWITCHMARK_TESTS=full");
        return;
    }
    if find("chrt").is_none() || std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("skipped: {name} needs a processor for the emulator, and one for the hosts");
        return;
    }
    let bed = Bed::new();
    let mut known = Tally::new("device, cable before", ADDED_NS);
    let mut twice = Tally::new("device, two cables", ADDED_NS);
    let mut same = Tally::new("cable, cable before", 0.0);
    let (mut different, mut compared) = (0, 0);
    let mut before: Option<[String; 2]> = None;
    for _ in 0..RUNS {
        let (line, cable) = (bed.run(&bed.line, &[]), bed.run(&bed.cable, &[]));
        println!("line {} cable {}", median(&line, "rtt")["value"], median(&cable, "rtt")["value"]);
        known.take(&bed.run(&bed.device, &[id(&line)]));
        same.take(&bed.run(&bed.alike, &[id(&cable)]));
        if let Some([line_before, cable_before]) = &before {
            twice.take(&bed.run(&bed.device, &[line_before, id(&line)]));
            different += usize::from(bed.is_different(cable_before, id(&cable)));
            compared += 1;
        }
        before = Some([&line, &cable].map(|told| id(told).to_owned()));
    }
    println!(
        "what is measured             runs  missed  the device  undetermined  error ns  width ns"
    );
    for tally in [&known, &twice, &same] {
        println!("{}", tally.line());
    }
    println!("cables compared              {compared:>4} {different:>7} different");
    for tally in [&known, &twice, &same] {
        assert!(tally.missed <= WRONG, "{}: {} missed", tally.name, tally.missed);
    }
    assert!(same.as_device <= WRONG, "{} cables are called a device", same.as_device);
    assert!(different <= WRONG, "{different} of {compared} cables differ from themselves");
}
