//! Hosts on the far side of a real sshd: two named namespaces with throw-away keys, reached from a
//! third.
//!
//! Needs root, iproute2 and Debian's openssh-server. No address outside the namespaces made here,
//! no file of the user's: ssh is told a configuration of its own by a program of that name on the
//! path.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::spaces::{Spaces, agents, cable, call, ip, processes, space};
use crate::harness::{self, Scratch, alone, conclusion, find, switchmark, told_a_round_trip};
use journal::Store;
use lab::Namespace;
use measure::Nanos;
use netlink::Netlink;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use trial::record::{Clocks, FlowRecord};
use trial::{Outcome, Trial, TrialRecord};

const HOSTS: [&str; 2] = ["h1", "h2"];
pub const FOUR: [&str; 4] = ["h1", "h2", "h3", "h4"];

/// Of a host, on its cable to the console: its own with 1, the console's with 254.
fn managed(host: &str, last: u8) -> String {
    format!("198.18.4{}.{last}", &host[1..])
}

/// A console and hosts: each host has a cable to the console. Two have one to each other; four have
/// one each to a switch.
pub struct Rack {
    scratch: Scratch,
    /// Removed after its servers have ended.
    _spaces: Spaces,
    hosts: &'static [&'static str],
    servers: Vec<Child>,
    /// A host whose clock is ahead of the others' by [`AHEAD_S`].
    skewed: Option<&'static str>,
}

const AHEAD_S: &str = "1000";

/// A switch's port passes so much, by the kernel's token bucket.
const PORT_RATE: &str = "20mbit";
/// As a lab's bucket of that rate has it: a millisecond's octets.
const BURST: &str = "2500";

impl Rack {
    fn new(name: &str) -> Self {
        Self::of(name, &HOSTS, None)
    }

    pub fn of(name: &str, hosts: &'static [&'static str], skewed: Option<&'static str>) -> Self {
        let switch = if hosts.len() > 2 { &["sw"][..] } else { &[] };
        let spaces = Spaces::new(&[&["console"], switch, hosts].concat());
        let scratch = Scratch::new(name);
        let mut this = Self { scratch, _spaces: spaces, hosts, servers: Vec::new(), skewed };
        for host in hosts {
            let (near, far) = (managed(host, 254) + "/24", managed(host, 1) + "/24");
            cable(("console", &format!("to-{host}"), &near), (host, "mgmt", &far));
        }
        if hosts.len() == 2 {
            cable(("h1", "eth1", "198.18.7.1/24"), ("h2", "eth1", "198.18.7.2/24"));
        } else {
            this.switch();
        }
        for key in ["server", "user"] {
            let file = this.path(key);
            call("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", &file]);
        }
        fs::copy(this.path("user.pub"), this.path("authorized_keys")).expect("copies");
        fs::create_dir_all("/run/sshd").expect("sshd's own place");
        for host in hosts {
            this.serve(host);
        }
        this.client();
        this
    }

    /// A bridge in a namespace of its own, its ports as slow as a lab's of that rate.
    fn switch(&self) {
        let switch = space("sw");
        ip(&["-n", &switch, "link", "add", "br0", "type", "bridge"]);
        ip(&["-n", &switch, "link", "set", "br0", "up"]);
        for (number, host) in (1..).zip(self.hosts) {
            let (port, own) = (format!("p{number}"), space(host));
            let peer = ["type", "veth", "peer", "name", "eth1", "netns", &own];
            ip(&[&["link", "add", &port, "netns", &switch][..], &peer].concat());
            ip(&["-n", &switch, "link", "set", &port, "master", "br0", "up"]);
            let queue = ["root", "tbf", "rate", PORT_RATE, "burst", BURST, "limit", "64kb"];
            call("tc", &[&["-n", &switch, "qdisc", "add", "dev", &port][..], &queue].concat());
            let offloads = ["-K", &port, "gro", "off", "gso", "off", "tso", "off"];
            ip(&[&["netns", "exec", &switch, "ethtool"][..], &offloads].concat());
            let address = format!("198.18.7.{number}/24");
            ip(&["-n", &own, "address", "add", &address, "dev", "eth1"]);
            ip(&["-n", &own, "link", "set", "eth1", "up"]);
        }
    }

    pub const fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    pub fn path(&self, name: &str) -> String {
        self.scratch.path(name).to_str().expect("a plain path").to_owned()
    }

    /// An sshd in the host's namespace, whose sessions keep programs in a place of this test.
    fn serve(&mut self, host: &str) {
        let address = managed(host, 1);
        let config = format!(
            "ListenAddress {address}:2222\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             StrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\n\
             AllowUsers root\nPasswordAuthentication no\n\
             SetEnv XDG_CACHE_HOME={} PATH={}:/usr/sbin:/usr/bin:/sbin:/bin\n",
            self.path("server"),
            self.path("authorized_keys"),
            self.path(&format!("cache-{host}")),
            self.path("far-bin"),
        );
        let file = self.path(&format!("sshd-{host}"));
        fs::write(&file, config).expect("writes");
        let sshd = find("sshd").expect("looked for before");
        let in_time = ["unshare", "--time", "--monotonic", AHEAD_S];
        let server = Command::new(find("ip").expect("looked for before"))
            .args(["netns", "exec", &space(host)])
            .args(if self.skewed == Some(host) { &in_time[..] } else { &[] })
            .arg(sshd)
            .args(["-D", "-e", "-f", &file])
            .stdin(Stdio::null())
            .stderr(fs::File::create(self.path(&format!("log-{host}"))).expect("a file"))
            .spawn();
        self.servers.push(server.expect("sshd starts"));
    }

    /// `ssh` for the console.
    fn client(&self) {
        let key = fs::read_to_string(self.path("server.pub")).expect("a key");
        let key = key.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let known = self.hosts.iter().map(|host| format!("[{}]:2222 {key}\n", managed(host, 1)));
        fs::write(self.path("known_hosts"), known.collect::<String>()).expect("writes");
        let mut config = format!(
            "UserKnownHostsFile {}\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\n\
             IdentityFile {}\nIdentitiesOnly yes\nPort 2222\n",
            self.path("known_hosts"),
            self.path("user"),
        );
        for host in self.hosts {
            let _ = writeln!(config, "Host {host}\n  HostName {}", managed(host, 1));
        }
        fs::write(self.path("config"), config).expect("writes");
        let folder = PathBuf::from(self.path("bin"));
        fs::create_dir(&folder).expect("a folder");
        let ssh = find("ssh").expect("looked for before");
        let script =
            format!("#!/bin/sh\nexec {} -F {} \"$@\"\n", ssh.display(), self.path("config"));
        fs::write(folder.join("ssh"), script).expect("writes");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join("ssh"), mode).expect("may be run");
    }

    /// The testbed's file: both hosts, as root at a name that only the configuration knows.
    fn testbed(&self, second: &str) -> String {
        let host = |name: &str, reach: &str, address: &str, far: &str| {
            format!(
                "[[host]]\nname = \"{name}\"\nreach = \"{reach}\"\n[[host.port]]\nname = \"eth1\"\n\
                 address = \"{address}\"\ncable = \"{far}/eth1\"\n"
            )
        };
        let file = self.path("testbed.toml");
        let hosts = host("h1", "ssh://root@h1", "198.18.7.1/24", "h2")
            + &host("h2", second, "198.18.7.2/24", "h1");
        fs::write(&file, hosts).expect("writes");
        file
    }

    /// `switchmark latency`, run at the console.
    fn latency(&self, testbed: &str) -> Output {
        self.latency_in(testbed, "2").output().expect("switchmark starts")
    }

    fn latency_in(&self, testbed: &str, blocks: &str) -> Command {
        let mut command = self.at_console();
        command
            .args([
                "latency",
                "--protocol",
                "udp",
                "--size",
                "128",
                "-t",
                "0.1",
                "--blocks",
                blocks,
            ])
            .args(["--json", "--quiet", "--testbed", testbed, "--store", &self.path("journal.db")]);
        command
    }

    /// `switchmark` at the console, where `ssh` is this rack's.
    pub fn at_console(&self) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(find("ip").expect("looked for before"));
        command.args(["netns", "exec", &space("console")]).arg(switchmark());
        command.env("PATH", format!("{}:{path}", self.path("bin")));
        command
    }

    /// Carries out a plan of a search and a fabric study at ports of 20 Mbit/s; holds what it found
    /// against that rate, and tells the run's name. On a machine that is busy with others the
    /// search may answer that it cannot tell, and in the long profile is asked again; it may never
    /// answer wrong.
    fn four_hosts_run(&self, plan: &str) -> String {
        // A port passes rate / (8 * (frame size - 4)) frames a second (docs/reference).
        let truth = 20e6 / (8.0 * 508.0);
        let mut run = String::new();
        let asked = if harness::full() { 2 } else { 1 };
        for _ in 0..asked {
            let document = self.run_at_console(plan);
            let figures = document["figures"].as_array().expect("figures");
            let is_it =
                |f: &&serde_json::Value| f["metric"] == "throughput" && f["unit"] == "frames/s";
            let figure = figures.iter().find(is_it).expect("a throughput");
            println!("{plan}: its ports pass {truth:.0}: {figure}");
            document["run"].as_str().expect("a run's name").clone_into(&mut run);
            if conclusion(figure, truth, 0.03).is_some() {
                return run;
            }
        }
        assert!(!harness::full(), "{plan}: no answer on a machine that should be idle");
        eprintln!("skipped: the throughput of {plan}, because the machine was too busy");
        run
    }

    fn run_at_console(&self, plan: &str) -> serde_json::Value {
        let output = self
            .at_console()
            .args(["run", &self.path(plan), "--json", "--quiet", "--store"])
            .arg(self.path("journal.db"))
            .output()
            .expect("switchmark starts");
        harness::json(&output)
    }

    /// The programs that were sent to a host.
    fn sent(&self, host: &str) -> Vec<PathBuf> {
        let folder = self.scratch.path(&format!("cache-{host}")).join("switchmark");
        let found = fs::read_dir(folder).into_iter().flatten();
        found.filter_map(|entry| Some(entry.ok()?.path().join("switchmark"))).collect()
    }
}

impl Drop for Rack {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// The last run's trials so far.
fn records(rack: &Rack) -> Vec<(Trial, TrialRecord)> {
    let Ok(store) = Store::open(&rack.scratch.path("journal.db")) else { return Vec::new() };
    let Some(run) = store.runs().ok().and_then(|runs| runs.into_iter().next()) else {
        return Vec::new();
    };
    store.records(&run.id).expect("readable records")
}

/// Trials of the run so far, and how many of them failed.
fn recorded(rack: &Rack) -> (usize, usize) {
    let records = records(rack);
    let failed =
        records.iter().filter(|(_, record)| matches!(record.outcome, Outcome::Failed { .. }));
    (records.len(), failed.count())
}

/// A connection that breaks in the middle costs the trial under way, and no more.
fn survives(rack: &Rack, testbed: &str, accident: impl FnOnce()) {
    for left in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        let _ = fs::remove_file(rack.path(left));
    }
    // Long enough that a test that is late itself still comes in the middle.
    let mut run = rack.latency_in(testbed, "20");
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    harness::wait_for("some trials", || {
        assert!(run.try_wait().expect("it can be asked").is_none(), "it ended already");
        recorded(rack).0 >= 3
    });
    accident();
    let output = run.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    let (trials, failed) = recorded(rack);
    assert!(trials >= 6, "all trials: {trials}");
    assert!(failed <= 1, "at most the one under way: {failed}");
}

#[test]
fn a_host_that_drops_is_reached_again() {
    let needed = ["ip", "ssh", "sshd", "ssh-keygen"];
    let Some(_alone) = alone("a_host_that_drops_is_reached_again", &needed) else { return };
    let rack = Rack::new("ssh-drops");
    let testbed = rack.testbed("ssh://root@h2");
    let listener = rack.servers[1].id();
    survives(&rack, &testbed, || {
        let agents = agents("h2");
        for pid in
            processes("h2").into_iter().filter(|pid| *pid != listener && !agents.contains(pid))
        {
            let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
        }
    });
    if !harness::full() {
        return;
    }
    // No word reaches the host any more, and none from it: neither end is told.
    survives(&rack, &testbed, || {
        let before = agents("h2");
        assert_eq!(before.len(), 1);
        ip(&["-n", &space("console"), "link", "set", "to-h2", "down"]);
        harness::wait_for("the agent to go by itself", || agents("h2").is_empty());
        ip(&["-n", &space("console"), "link", "set", "to-h2", "up"]);
    });
}

#[test]
fn two_hosts_by_ssh() {
    let needed = ["ip", "ssh", "sshd", "ssh-keygen"];
    let Some(_alone) = alone("two_hosts_by_ssh", &needed) else { return };
    let rack = Rack::new("ssh");
    let testbed = rack.testbed("ssh://root@h2:2222");
    let mut written = Vec::new();
    for _ in 0..2 {
        let output = rack.latency(&testbed);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{told}");
        told_a_round_trip(&output);
        for host in HOSTS {
            let sent = rack.sent(host);
            let [program] = &sent[..] else { panic!("{host}: {sent:?}") };
            let ours = fs::read(switchmark()).expect("reads");
            assert!(fs::read(program).expect("reads") == ours, "{host} has another program");
            let file = fs::metadata(program).expect("is there");
            assert_eq!(file.permissions().mode() & 0o777, 0o700, "{host}: nobody else's business");
            written.push(file.modified().expect("a time"));
        }
    }
    assert_eq!(written[..2], written[2..], "what is there is not sent again");
    // Each host has its sshd, and soon nothing else.
    let alone = || HOSTS.iter().all(|host| processes(host).len() == 1);
    harness::wait_for("nothing of it to run on a host", alone);
    damage_is_mended_and_refusals_are_told(&rack, &testbed);
}

/// On hosts that have the program: a copy that was cut off, a folder that is another's, a user
/// without a key.
fn damage_is_mended_and_refusals_are_told(rack: &Rack, good: &str) {
    let program = rack.sent("h1").remove(0);
    let mut octets = fs::read(&program).expect("reads");
    octets.truncate(octets.len() / 2);
    fs::write(&program, octets).expect("writes");
    let cache = rack.scratch.path("cache-h1").join("switchmark");
    let older = cache.join("0".repeat(64));
    fs::create_dir(&older).expect("a folder");
    let users = cache.join("mine");
    fs::create_dir(&users).expect("a folder");
    fs::write(users.join("switchmark"), "precious").expect("the user's");
    fs::write(older.join("switchmark"), "an older version").expect("writes");
    let output = rack.latency(good);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let sizes = [fs::metadata(&program), fs::metadata(switchmark())].map(|m| m.expect("is").len());
    assert_eq!(sizes[0], sizes[1], "a copy that was cut off is sent again");
    assert!(!older.exists(), "older versions go, with what they were allowed");
    assert!(users.join("switchmark").exists(), "and nothing else");
    fs::remove_dir_all(&users).expect("removed");

    // Whoever owns the folder could put another program there.
    std::os::unix::fs::chown(&cache, Some(65_534), None).expect("root may");
    let output = rack.latency(good);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("belongs to another user"), "{told}");
    std::os::unix::fs::chown(&cache, Some(0), None).expect("root may");

    // A user without a key would be asked for a password: it is said, and nothing waits.
    let output = rack.latency(&rack.testbed("ssh://nobody@h2"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("ssh://nobody@h2") && told.contains("Permission denied"), "{told}");
    assert!(told.contains("hint: ") && output.stdout.is_empty(), "{told}");
}

/// However a run over ssh ends, at any moment: within 3 s its hosts have neither a process nor a
/// changed setting of it.
#[test]
fn whatever_ends_a_run_its_hosts_are_as_they_were() {
    let name = "whatever_ends_a_run_its_hosts_are_as_they_were";
    let Some(_alone) = alone(name, &["ip", "ssh", "sshd", "ssh-keygen"]) else { return };
    let rack = Rack::new("ssh-endings");
    let file = rack.testbed("ssh://root@h2");
    assert_eq!(rack.latency(&file).status.code(), Some(0), "and the programs are there");
    let features = |host: &&str| {
        let place = Namespace::named(&space(host)).expect("a namespace");
        let features = place.enter_with(|| Netlink::open()?.features("eth1"));
        features.expect("it opens").expect("features")
    };
    let state = || HOSTS.iter().map(features).collect::<Vec<_>>();
    let is_clean = || HOSTS.iter().all(|host| processes(host).len() == 1);
    let found = state();
    let mut chance = Pcg64::seed_from_u64(20_261_123);
    let signals = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL];
    for number in 0..if harness::full() { 120 } else { signals.len() } {
        let signal = signals[number % signals.len()];
        let mut command = rack.latency_in(&file, "100");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = command.spawn().expect("it starts");
        thread::sleep(Duration::from_millis(chance.random_range(100..3_000)));
        kill(Pid::from_raw(run.id().cast_signed()), signal).expect("it is ours");
        let until = Instant::now() + Duration::from_secs(3);
        let mut gone = false;
        while !gone && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
            gone = run.try_wait().expect("it can be asked").is_some() && is_clean();
        }
        let _ = run.kill();
        let _ = run.wait();
        assert!(gone, "{signal}, ending {number}");
        assert_eq!(state(), found, "{signal}, ending {number}");
    }
}

/// Whether this kernel lets a program have a clock of its own.
fn has_time_namespaces() -> bool {
    let tried = Command::new("unshare").args(["--time", "--monotonic", AHEAD_S, "true"]).status();
    tried.is_ok_and(|status| status.success())
}

/// Two hosts whose clocks are a thousand seconds apart, which nobody tells the program: frames take
/// no longer than they do between hosts of one clock, within the error that is stated.
#[test]
fn one_way_delays_between_clocks_that_are_far_apart() {
    let name = "one_way_delays_between_clocks_that_are_far_apart";
    let Some(_alone) = alone(name, &["ip", "ssh", "sshd", "ssh-keygen", "unshare"]) else { return };
    if !has_time_namespaces() {
        eprintln!("skipped: {name} needs time namespaces, which this kernel lacks");
        return;
    }
    let rack = Rack::of("ssh-clocks", &HOSTS, Some("h2"));
    // The file's rate ends the search after a trial or two.
    let file = rack.testbed("ssh://root@h2");
    let text = fs::read_to_string(&file).expect("reads");
    let slow = text.replace("/24\"\n", "/24\"\nrate = \"20Mbit\"\n");
    fs::write(&file, slow).expect("writes");
    let plan = "testbed = \"testbed.toml\"\nseed = 7\n[[study]]\n[study.forwarding]\n\
                tests = [\"throughput\"]\nsizes = [512]\nbackend = \"udp\"\nreceiver = \"packet\"\n\
                duration = \"100ms\"\nfinal_duration = \"300ms\"\n";
    fs::write(rack.path("plan.toml"), plan).expect("writes");
    let output = rack
        .at_console()
        .args(["run", &rack.path("plan.toml"), "--json", "--quiet", "--store"])
        .arg(rack.path("journal.db"))
        .output()
        .expect("switchmark starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    let mut seen = 0;
    for (trial, record) in records(&rack) {
        let [FlowRecord::Datagrams(flow)] = &record.flows[..] else { continue };
        let Some(delays) = &flow.delays else { panic!("{}: no delays", trial.label) };
        let Clocks::Estimated { uncertainty } = delays.clocks else {
            panic!("{:?}", delays.clocks)
        };
        let [least, median, p99] = [
            delays.histogram.min(),
            delays.histogram.quantile(0.5),
            delays.histogram.quantile(0.99),
        ];
        println!(
            "{}: {least} at least, {median} median, {p99} p99, each ± {uncertainty}",
            trial.label
        );
        // A frame takes some microseconds here; a busy processor adds to any, but not to all.
        assert!(least <= uncertainty + Nanos::from_millis(1), "{least}: ± {uncertainty}");
        assert!(uncertainty < Nanos::from_millis(20), "{uncertainty}");
        seen += 1;
    }
    assert!(seen > 0, "{told}");
}

/// One plan file, over four hosts by ssh and over a lab of the same device: what the ports pass is
/// known, and the program's own comparison tells both runs' figures apart or not.
#[test]
fn a_plan_with_four_hosts_gives_the_labs_figures() {
    let needed = ["ip", "tc", "ethtool", "ssh", "sshd", "ssh-keygen"];
    let Some(_alone) = alone("a_plan_with_four_hosts", &needed) else { return };
    let rack = Rack::of("ssh-four", &FOUR, None);
    let hosts = (1..).zip(FOUR).map(|(number, host)| {
        format!(
            "[[host]]\nname = \"{host}\"\nreach = \"ssh://root@{host}\"\n[[host.port]]\nname = \"eth1\"\n\
             address = \"198.18.7.{number}/24\"\ncable = \"bridge/{number}\"\n"
        )
    });
    let hosts = hosts.collect::<String>() + "[[device]]\nname = \"bridge\"\nkind = \"switch\"\n";
    let lab = "[lab]\ndevice = \"bridge\"\nhosts = 4\nrate = \"20Mbit\"\nqueue = \"64KiB\"\n\
               mtu = 1500\nbypass = false\n";
    let (search, duration, blocks) = if harness::full() {
        ("precision = 0.01", "1s", 10)
    } else {
        ("precision = 0.02\nfinal_duration = \"1s\"", "200ms", 2)
    };
    let plan = format!(
        "testbed = \"testbed.toml\"\nseed = 7\n[[study]]\n[study.forwarding]\ntests = [\"throughput\"]\n\
         sizes = [512]\nbackend = \"udp\"\n{search}\n[[study]]\n[study.fabric]\n\
         arrangements = [\"neighbours\"]\nnodes = [4]\nmessage = \"4KiB\"\nmessages = [\"4KiB\"]\nduration = \"{duration}\"\n\
         blocks = {blocks}\n"
    );
    let runs = [("lab", lab), ("rack", &hosts)].map(|(folder, testbed)| {
        fs::create_dir(rack.path(folder)).expect("a folder");
        fs::write(rack.path(&format!("{folder}/testbed.toml")), testbed).expect("writes");
        fs::write(rack.path(&format!("{folder}/plan.toml")), &plan).expect("writes");
        rack.four_hosts_run(&format!("{folder}/plan.toml"))
    });
    let output = rack
        .at_console()
        .args(["compare", &runs[0], &runs[1], "--margin", "3%", "--json", "--store"])
        .arg(rack.path("journal.db"))
        .output()
        .expect("switchmark starts");
    let told = String::from_utf8_lossy(&output.stderr);
    let compared = harness::json(&output);
    println!("{told}");
    let figures = compared["figures"].as_array().expect("figures");
    let decisions = |of: &str| {
        let of = figures.iter().filter(|f| f["where"]["of"] == of);
        of.map(|f| (f["where"]["decision"].as_str(), f["value"].as_f64())).collect::<Vec<_>>()
    };
    assert!(!decisions("pair_goodput").is_empty(), "{compared:#}");
    if !harness::full() {
        // So few short blocks decide nothing on a machine that is busy with others.
        return;
    }
    assert!(figures.iter().all(|f| f["where"]["decision"] != "different"), "{compared:#}");
    let [(_, Some(ratio))] = decisions("throughput")[..] else { panic!("{compared:#}") };
    assert!((ratio - 1.0).abs() < 0.03, "{compared:#}");
    let equivalent = decisions("pair_goodput").iter().any(|(d, _)| *d == Some("equivalent"));
    assert!(equivalent, "{compared:#}");
}

/// The numbers by this name in what was said on pipes: frames of JSON.
fn numbers_said(name: &str, said: &[u8]) -> Vec<u32> {
    let text = String::from_utf8_lossy(said);
    let after = text.split(&format!("\"{name}\":")).skip(1).map(str::to_owned).collect::<Vec<_>>();
    let number = |text: &String| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    after.iter().filter_map(number).collect()
}

/// Round trips and a storage's reads by ssh, with what is said to the agents overheard: neither the
/// journal's files nor the report nor anything printed has a trial's token, a password of the
/// environment or the key.
#[test]
fn no_secret_is_written_down() {
    let needed = ["ip", "ssh", "sshd", "ssh-keygen", "tee", "fio", "nbdkit"];
    let Some(_alone) = alone("no_secret_is_written_down", &needed) else { return };
    let rack = Rack::new("ssh-secrets");
    let script = fs::read_to_string(rack.path("bin/ssh")).expect("reads");
    let said = rack.path("said");
    let overheard = script.replace("exec ", &format!("tee -a {said} | "));
    fs::write(rack.path("bin/ssh"), overheard).expect("writes");
    let password = "correct-horse-battery-staple";
    let config = fs::read_to_string(rack.path("config")).expect("reads");
    fs::write(rack.path("config"), format!("SetEnv SMT_PASSPHRASE={password}\n{config}"))
        .expect("writes");
    let testbed = rack.testbed("ssh://root@h2");

    let mut written = Vec::new();
    let storage =
        ["--ramdisk", "1ms", "--rw", "randread", "--bs", "4k", "--iodepth", "1", "--numjobs", "1"];
    let echo = ["--protocol", "udp", "--size", "128"];
    for (verb, options, store) in
        [("latency", &echo[..], "latency.db"), ("storage", &storage, "journal.db")]
    {
        let output = rack
            .at_console()
            .args([verb, "-t", "0.2", "--blocks", "1", "--json", "--testbed", &testbed])
            .args(options)
            .args(["--store", &rack.path(store)])
            .env("SMT_PASSWORD", password)
            .output()
            .expect("switchmark starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
        written.push((format!("{verb}'s stdout"), output.stdout));
        written.push((format!("{verb}'s stderr"), output.stderr));
        let report = rack.path(&format!("{verb}.html"));
        let rendered = rack
            .at_console()
            .args(["report", "latest", "--out", &report, "--store", &rack.path(store)])
            .output()
            .expect("switchmark starts");
        assert!(matches!(rendered.status.code(), Some(0 | 3)), "{rendered:?}");
        written.push((report.clone(), fs::read(report).expect("reads")));
    }
    let kept = |flow: &FlowRecord| matches!(flow, FlowRecord::Storage(seen) if seen.fio.is_some());
    let fio_was_kept = records(&rack).iter().any(|(_, record)| record.flows.iter().any(kept));
    assert!(fio_was_kept, "what fio printed, in which the token was part of an address");
    for entry in fs::read_dir(rack.scratch.folder()).expect("reads").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.contains(".db") {
            written.push((name, fs::read(entry.path()).expect("reads")));
        }
    }

    let tokens = numbers_said("token", &fs::read(said).expect("what was said"));
    println!("{} tokens in {} texts", tokens.len(), written.len());
    assert!(tokens.len() >= 2, "a token for each trial");
    let key = fs::read_to_string(rack.path("user")).expect("the private key");
    let key =
        key.lines().filter(|line| !line.starts_with("--")).map(|line| line.as_bytes().to_vec());
    // As text only: four octets are found in any few megabytes by chance.
    let spelt = |token: &u32| [token.to_string(), format!("{token:08x}"), format!("{token:08X}")];
    let tokens = tokens.iter().flat_map(spelt).map(String::into_bytes);
    let secrets: Vec<Vec<u8>> = tokens.chain(key).chain([password.as_bytes().to_vec()]).collect();
    for (place, text) in &written {
        let text = text.as_slice();
        let found =
            secrets.iter().find(|secret| text.windows(secret.len()).any(|part| part == *secret));
        assert!(found.is_none(), "{place} has {:?}", found.map(|s| String::from_utf8_lossy(s)));
    }
}
