//! A watch on real frames: what a cable that grows longer brings to light, and to whom; a watch
//! that is killed.
//!
//! Owns the truths: the emulated device is this test's own, and nobody tells the watch when it
//! changes. Needs root, or user namespaces.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use agents::controller::Ports;
use device::Profile;
use lab::{EmulatedSpec, Equipment, Lab, LabDevice, LabSpec};
use measure::Nanos;
use netlink::Netlink;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::harness::{Scratch, alone, full, json, switchmark, wait_for};
use crate::program::get;
use crate::program::prometheus::{self, Prometheus};

const PROFILE: &str = "name = \"free\"\nports = 2\nrate = \"10Gbit\"\n\
    buffer = { total = \"4MiB\", alpha = 8.0 }\nforwarding = { mode = \"store-and-forward\" }\n";

/// Two hosts at an emulated device, and their direct cable, reached as other people's hosts are.
struct Bench {
    lab: Lab,
    folder: PathBuf,
    sleepers: Vec<Child>,
}

impl Bench {
    fn emulated(scratch: &Scratch) -> Self {
        let none = |name: &str| Err(format!("no file {name}"));
        let profile = Profile::parse(PROFILE, &none).expect("a profile");
        Self::new(scratch, LabDevice::Emulated(EmulatedSpec::new(profile)))
    }

    fn new(scratch: &Scratch, device: LabDevice) -> Self {
        let spec = LabSpec::new(device);
        let equipment = Equipment { switchboard: Some(Arc::new(Ports)), ..Equipment::default() };
        let lab = Lab::build_with(&spec, equipment).expect("the lab comes up");
        let mut text = "[[device]]\nname = \"sw1\"\nkind = \"switch\"\n".to_owned();
        let mut sleepers = Vec::new();
        for (number, host) in (1..).zip(&lab.plan().hosts) {
            let mut sleep = Command::new("sleep");
            sleep.arg("3600").stdin(Stdio::null()).stdout(Stdio::null());
            let sleeper = lab.spawn(&host.name, &mut sleep).expect("it sleeps");
            let (name, pid, other) = (&host.name, sleeper.id(), 3 - number);
            let _ = write!(text, "[[host]]\nname = \"{name}\"\nreach = \"pid:{pid}\"\n");
            for port in &host.ports {
                let cable = match port.name.as_str() {
                    "direct" => format!("h{other}/direct"),
                    _ => format!("sw1/{number}"),
                };
                let (port, address, prefix) = (&port.name, port.address, port.prefix);
                let _ = write!(
                    text,
                    "[[host.port]]\nname = \"{port}\"\naddress = \"{address}/{prefix}\"\n\
                     cable = \"{cable}\"\nrate = \"10Gbit\"\n"
                );
            }
            sleepers.push(sleeper);
        }
        let folder = scratch.folder().to_owned();
        std::fs::write(folder.join("bed.toml"), text).expect("a testbed file");
        Self { lab, folder, sleepers }
    }

    /// A watch that uses whatever there is, and shows itself.
    fn watch(&self, args: &[&str]) -> Watching {
        self.watch_by(switchmark(), args)
    }

    fn watch_by(&self, program: &Path, args: &[&str]) -> Watching {
        let child = Command::new(program)
            .args(["watch", "bed.toml", "--journal", "j.db", "--link-share", "100", "-t", "100ms"])
            .args(["--cpu-share", "10000", "--no-goodput", "--seed", "7"])
            // Hosts and device share this machine: no more than leaves it time to rest.
            .args(["--frame-rate", "500", "--rtt-rate", "100", "--serve=127.0.0.1:0"])
            .args(args)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("switchmark starts");
        Watching::new(child, &self.folder)
    }

    /// The device's port to the second host goes down, or up again.
    fn set_second_port(&self, up: bool) {
        let device = &self.lab.plan().devices[0];
        let set = |kernel: &mut Netlink| {
            let index = kernel.link(&device.ports[1].interface)?.index;
            if up { kernel.set_up(index) } else { kernel.set_down(index) }
        };
        self.lab.netlink(&device.name, set).expect("the kernel does it");
    }

    fn lengthen(&self, by: Nanos) {
        let device = &self.lab.plan().devices[0].name;
        self.lab.emulation(device).expect("it is emulated").lengthen(by).expect("it answers");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for sleeper in &mut self.sleepers {
            let _ = sleeper.kill();
            let _ = sleeper.wait();
        }
    }
}

/// A watch that is going on; it ends with its test.
struct Watching {
    child: Child,
    folder: PathBuf,
    /// What it said so far; the thread that reads it.
    said: Arc<Mutex<String>>,
    listening: Option<JoinHandle<()>>,
}

impl Watching {
    fn new(mut child: Child, folder: &Path) -> Self {
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let said: Arc<Mutex<String>> = Arc::default();
        let words = Arc::clone(&said);
        let listening = thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = writeln!(words.lock().expect("no panic"), "{line}");
            }
        });
        Self { child, folder: folder.to_owned(), said, listening: Some(listening) }
    }

    /// Where it shows itself.
    fn host(&self) -> String {
        let mut host = None;
        wait_for("an address", || {
            let said = self.said.lock().expect("no panic");
            let address = said.split("http://").nth(1);
            host = address.and_then(|it| it.split('/').next()).map(str::to_owned);
            host.is_some()
        });
        host.expect("an address")
    }

    fn report(&self) -> Option<Value> {
        let output = Command::new(switchmark())
            .args(["report", "latest", "--json", "--quiet", "--journal", "j.db"])
            .current_dir(&self.folder)
            .output()
            .expect("switchmark starts");
        (!output.stdout.is_empty()).then(|| json(&output))
    }

    /// Of the first way, which leads through the device.
    fn visits(&self) -> u64 {
        let visits = |report: Value| report["ways"][0]["visits"].as_u64();
        self.report().and_then(visits).unwrap_or(0)
    }

    fn wait_for_visits(&mut self, number: u64) {
        wait_for("visits", || {
            if let Some(status) = self.child.try_wait().expect("it can be asked") {
                panic!("it ended with {status}: {}", self.said());
            }
            self.visits() >= number
        });
    }

    fn said(&mut self) -> String {
        let _ = self.listening.take().map(JoinHandle::join);
        self.said.lock().expect("no panic").clone()
    }

    fn end(&mut self) -> (Option<i32>, String) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT);
        let said = self.said();
        (self.child.wait().expect("it ends").code(), said)
    }

    /// So many of its agents get that signal.
    fn end_agents(&self, number: usize, by: Signal) {
        let parent = self.child.id().to_string();
        let processes = std::fs::read_dir("/proc").expect("processes").flatten();
        let agents = processes.filter_map(|process| {
            let stat = std::fs::read_to_string(process.path().join("stat")).ok()?;
            // proc(5): `pid (comm) state ppid …`.
            let is_own = stat.rsplit_once(") ")?.1.split(' ').nth(1) == Some(&parent);
            is_own.then(|| process.file_name().to_str()?.parse().ok())?
        });
        let agents: Vec<i32> = agents.take(number).collect();
        assert_eq!(agents.len(), number, "a host each");
        for pid in agents {
            kill(Pid::from_raw(pid), by).expect("sent");
        }
    }

    fn kill(&mut self) {
        self.child.kill().expect("it is there");
        self.child.wait().expect("it ends");
    }
}

/// Where a test breaks off, hosts are put back as well.
impl Drop for Watching {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT);
        let _ = self.child.wait();
    }
}

/// Whoever posts there gets 204; the bodies.
fn webhook() -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/alert", listener.local_addr().expect("an address"));
    let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
    let bodies = Arc::clone(&heard);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
                let lower = line.to_lowercase();
                if let Some(n) = lower.strip_prefix("content-length:") {
                    length = n.trim().parse().unwrap_or(0);
                }
                line.clear();
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let _ = reader.get_mut().write_all(
                b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
            bodies.lock().expect("no panic").extend(serde_json::from_slice::<Value>(&body));
        }
    });
    (url, heard)
}

/// `changed` of the alerts that were heard, but for those that the watch itself lays at the hosts'
/// door: Prometheus and the device's model have their processors too.
fn changes(heard: &[Value]) -> Vec<Value> {
    let is_of_hosts = |alert: &Value| alert["news"]["changed"]["doing"]["whose"] == "hosts";
    let changed = |alert: &&Value| alert["kind"] == "changed" && !is_of_hosts(alert);
    heard.iter().filter(changed).cloned().collect()
}

/// Its page says that, and its metrics count it.
fn assert_shown(host: &str, text: &str) {
    let (_, list) = get(host, "/");
    let run = list.split("/runs/").nth(1).and_then(|rest| rest.split(['"', '/', '?']).next());
    let (code, page) = get(host, &format!("/runs/{}", run.expect("a run")));
    let (_, what) = text.split_once(": ").expect("of which way");
    let page = page.replace('\u{a0}', " ");
    assert!(code == 200 && page.contains(what), "{what}: {page}");
    let (_, metrics) = get(host, "/metrics");
    let change = metrics.lines().find(|line| {
        let counted = line.starts_with("switchmark_watch_changes_total{");
        counted && line.contains("path=\"device\",quantity=\"rtt-p50\",direction=\"up\"")
    });
    assert!(change.is_some_and(|line| !line.ends_with(" 0")), "{metrics}");
}

/// Prometheus has an alert of it, by the rules that we print.
fn assert_fires(prometheus: &Prometheus) {
    let alert = "ALERTS{alertname=\"SwitchmarkRttChanged\",path=\"device\",alertstate=\"firing\"}";
    wait_for("an alert of Prometheus", || {
        let firing = prometheus.query(alert);
        firing.as_array().is_some_and(|alerts| !alerts.is_empty())
    });
}

#[test]
fn a_cable_that_grows_longer_is_told() {
    let Some(_alone) = alone("a_cable_that_grows_longer_is_told", &["cat"]) else { return };
    if !full() {
        eprintln!("skipped: a hundred visits before and twenty after; set SWITCHMARK_TESTS=full");
        return;
    }
    let scratch = Scratch::new("watch-longer");
    let bench = Bench::emulated(&scratch);
    let (url, heard) = webhook();
    let prometheus = prometheus::is_there("prometheus", "what Prometheus says of it");
    let mut watch = bench.watch(&["--alert", "cat >> alerts; echo >> alerts", "--webhook", &url]);
    let host = watch.host();
    let prometheus = prometheus.then(|| Prometheus::new(&scratch, &host));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let at = 80 + u64::from(now.subsec_nanos()) % 40;
    // However slow the machine: each of these has its own patience.
    (1..=at / 10).for_each(|tens| watch.wait_for_visits(tens * 10));
    watch.wait_for_visits(at);
    assert_eq!(changes(&heard.lock().expect("no panic")), Vec::<Value>::new());
    bench.lengthen(Nanos::from_millis(1));
    let before = watch.visits();
    wait_for("an alert", || !changes(&heard.lock().expect("no panic")).is_empty());
    let after = watch.visits();
    println!("longer after {before} visits, told {} later", after - before);
    assert!(after - before <= 20, "{before} {after}");
    let told = changes(&heard.lock().expect("no panic"));
    let text = told[0]["text"].as_str().expect("words");
    println!("{text}");
    assert!(text.contains("RTT h1/eth1 -> h2/eth1: rose from "), "{text}");
    assert!(text.contains("between h1/eth1 and h2/eth1 alone changed"), "{text}");
    assert_shown(&host, text);
    prometheus.iter().for_each(assert_fires);
    let (code, said) = watch.end();
    assert_eq!(code, Some(4), "{said}");
    let by_command = std::fs::read_to_string(bench.folder.join("alerts")).expect("alerts");
    assert!(by_command.contains(text), "{by_command}");
    let change = &told[0]["news"]["changed"]["members"][0]["change"];
    let (was, is) = (change["before"].as_f64(), change["after"].as_f64());
    let (was, is) = (was.expect("ns"), is.expect("ns"));
    // One way and back: two longer ways.
    assert!((is - was - 2e6).abs() < 0.3e6, "{was} {is}");
}

#[test]
fn a_watch_that_is_killed_goes_on() {
    let Some(_alone) = alone("a_watch_that_is_killed_goes_on", &[]) else { return };
    let scratch = Scratch::new("watch-killed");
    let bench = Bench::emulated(&scratch);
    let mut watch = bench.watch(&[]);
    watch.wait_for_visits(3);
    watch.kill();
    let known = watch.report().expect("a watch");
    let (run, before) = (known["run"].clone(), watch.visits());
    let mut watch = bench.watch(&[]);
    watch.wait_for_visits(before + 3);
    let (code, said) = watch.end();
    assert!(said.contains("goes on") && said.contains("the watch did not run"), "{said}");
    assert_eq!(code, Some(0), "{said}");
    let now = watch.report().expect("a watch");
    assert_eq!(now["run"], run);
    let gaps = now["gaps"].as_array().expect("gaps");
    assert_eq!((gaps.len(), &gaps[0]["cause"]), (1, &Value::from("stopped")), "{now}");
    assert_eq!(now["outages"], Value::Array(Vec::new()));
    let rtt = now["ways"][0]["rtt_p50_ns"].as_f64().expect("round trips");
    assert!(rtt > 0.0 && now["ways"][0]["sent"].as_u64() > Some(0), "{now}");
}

#[test]
fn a_host_that_goes_away_is_a_gap_and_no_outage() {
    let Some(_alone) = alone("a_host_that_goes_away_is_a_gap_and_no_outage", &[]) else { return };
    let scratch = Scratch::new("watch-away");
    let mut bench = Bench::new(&scratch, LabDevice::Bridge);
    // A program that is replaced while it runs, as by an upgrade.
    let program = scratch.path("upgraded");
    std::fs::copy(switchmark(), &program).expect("copied");
    let mut watch = bench.watch_by(&program, &[]);
    watch.wait_for_visits(3);
    std::fs::remove_file(&program).expect("removed");
    watch.end_agents(1, Signal::SIGKILL);
    let before = watch.visits();
    watch.wait_for_visits(before + 3);
    let (code, said) = watch.end();
    assert_eq!(code, Some(0), "{said}");
    let gaps = |now: &Value| now["gaps"].as_array().expect("gaps").clone();
    let now = watch.report().expect("a watch");
    let first = gaps(&now);
    assert_eq!((first.len(), &first[0]["cause"]), (1, &Value::from("agents")), "{now}");
    assert!(first[0]["detail"].as_str().is_some_and(|why| why.contains(" ended")), "{now}");
    // One that never comes back is waited for as long as it was asked for, and no longer.
    let mut watch = bench.watch(&["--for", "20s"]);
    watch.wait_for_visits(watch.visits() + 1);
    bench.sleepers.iter_mut().for_each(|sleeper| sleeper.kill().expect("it is there"));
    watch.end_agents(2, Signal::SIGTERM);
    wait_for("its end", || watch.child.try_wait().expect("it can be asked").is_some());
    let said = watch.said();
    let asked = said.matches("asked for again after").count();
    assert!((1..=4).contains(&asked), "{said}");
    let now = watch.report().expect("a watch");
    assert_eq!(gaps(&now).last().expect("gaps")["cause"], "agents", "{now}");
    assert_eq!(now["outages"], Value::Array(Vec::new()));
}

#[test]
fn a_port_that_goes_down_is_an_outage_until_it_is_up() {
    let name = "a_port_that_goes_down_is_an_outage_until_it_is_up";
    let Some(_alone) = alone(name, &[]) else { return };
    let scratch = Scratch::new("watch-outage");
    let bench = Bench::new(&scratch, LabDevice::Bridge);
    let mut watch = bench.watch(&[]);
    watch.wait_for_visits(3);
    bench.set_second_port(false);
    let outages = |watch: &Watching| watch.report().expect("a watch")["outages"].clone();
    wait_for("an outage", || outages(&watch)[0]["way"] == 0);
    bench.set_second_port(true);
    wait_for("its end", || outages(&watch)[0]["to_unix_ns"].is_u64());
    let (code, said) = watch.end();
    assert_eq!(code, Some(4), "{said}");
    let found = outages(&watch);
    assert_eq!(found.as_array().map(Vec::len), Some(1), "the direct cable was not out: {found}");
    assert!(said.contains("h1/eth1 -> h2/eth1 answered nothing from "), "{said}");
}
