//! SIGINT within every stage of every verb: the process is gone within three seconds, whatever it
//! waits for (devices, hooks, hosts, pipes, locks, other programs, its own arithmetic), and nothing
//! of it stays but a way back that was under way.
//!
//! Needs root and iproute2. Ends only processes that the test started itself, and those that these
//! started, by their id. `SWITCHMARK_TESTS=full` has 500 moments drawn at random.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use async_snmp::pdu::StandardPduType;
use async_snmp::{DecodeConfig, Oid, Pdu, PduBody, Value, VarBind, message::CommunityMessage};
use bytes::Bytes;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use crate::books::{UNNAMED, Wires};
use crate::harness::{Scratch, alone, full, switchmark, wait_for};

/// Within which whatever is interrupted is gone.
const GONE: Duration = Duration::from_secs(3);
/// A row of the slow device comes this long after its question: within a time-out of 2 s.
const ROW: Duration = Duration::from_millis(1900);

/// A verb, and what it is doing when the signal comes.
struct Stage {
    name: &'static str,
    args: Vec<String>,
    /// Tells that it does that; without it the moment is drawn from as long as this, in ms.
    reached: Option<fn(&World) -> bool>,
    latest_ms: u64,
}

/// What the verbs work on.
struct World {
    scratch: Scratch,
    device: SlowDevice,
    /// A port that takes connections and never answers.
    mute: TcpListener,
    _locked: rusqlite::Connection,
    // Before the folder that its daemons write to.
    _wires: Wires,
}

/// An SNMP agent that answers every question with one row more, in time and without end.
struct SlowDevice {
    port: u16,
    asked: Arc<AtomicUsize>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SlowDevice {
    fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let port = socket.local_addr().expect("an address").port();
        socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a socket that waits");
        let (asked, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, end) = (Arc::clone(&asked), Arc::clone(&ended));
        let thread = thread::spawn(move || {
            let mut buffer = [0; 2048];
            while !end.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                count.fetch_add(1, Ordering::Relaxed);
                let Some(octets) = next_row(&buffer[..length]) else { continue };
                let socket = socket.try_clone().expect("the same socket");
                thread::spawn(move || {
                    thread::sleep(ROW);
                    let _ = socket.send_to(&octets, from);
                });
            }
        });
        Self { port, asked, ended, thread: Some(thread) }
    }
}

impl Drop for SlowDevice {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The successor of the first object that is asked for.
fn next_row(question: &[u8]) -> Option<Vec<u8>> {
    let question = Bytes::copy_from_slice(question);
    let message = CommunityMessage::decode(question, DecodeConfig::STRICT).ok()?;
    let (id, _, bindings) = message.value.into_pdu()?.into_raw_parts();
    let asked = bindings.first()?.oid.arcs().to_vec();
    let mut arcs = asked.clone();
    match arcs.last_mut() {
        Some(last) if asked.len() > 11 => *last += 1,
        _ => arcs.push(1),
    }
    let row = VarBind::new(Oid::from_slice(&arcs), Value::OctetString(Bytes::from_static(b"x")));
    let body =
        PduBody::Standard { pdu_type: StandardPduType::Response, error_status: 0, error_index: 0 };
    let unit = Pdu::from_raw_parts(id, body, vec![row]);
    let answer = CommunityMessage::v2c(Bytes::from_static(b"sesame"), unit);
    Some(answer.and_then(|message| message.encode()).ok()?.to_vec())
}

/// A command that hangs, told from every other by how long it sleeps; and a way back that does.
fn hangs() -> String {
    format!("sleep 41{}", std::process::id())
}

fn way_back() -> String {
    format!("sleep 42{}", std::process::id())
}

/// Processes with this command line.
fn processes(line: &str) -> Vec<i32> {
    let wanted = line.replace(' ', "\0") + "\0";
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes())
    })
    .collect()
}

fn is_hanging(_: &World) -> bool {
    !processes(&hangs()).is_empty()
}

fn is_on_the_way_back(_: &World) -> bool {
    !processes(&way_back()).is_empty()
}

fn is_asked(world: &World) -> bool {
    world.device.asked.load(Ordering::Relaxed) > 0
}

impl World {
    fn new() -> Self {
        let scratch = Scratch::new("interrupts");
        let wires = Wires::new(&scratch, UNNAMED, false);
        let device = SlowDevice::start();
        let mute = TcpListener::bind("127.0.0.1:0").expect("a port");
        let plain = fs::read_to_string(&wires.file).expect("a testbed file");
        let (hang, back, port) = (hangs(), way_back(), device.port);
        let words = hang.replace(' ', "\", \"");
        let deed = |run: &str, undo: &str, more: &str| {
            format!("[[device.deed]]\nname = \"pull\"\nrun = \"{run}\"\nundo = \"{undo}\"\n{more}")
        };
        let tables = [
            ("plain", String::new()),
            (
                "slow-snmp",
                format!(
                    "[[device.counters]]\nsnmp = \"127.0.0.1:{port}\"\n\
                     credentials = {{ file = \"community\" }}\n"
                ),
            ),
            (
                "hung-account",
                format!(
                    "[[device.counters]]\ncommand = [\"{words}\"]\nport = \"$[*].ifname\"\n\
                     map = {{ rx_packets = \"$[*].n\" }}\ntimeout = \"60s\"\n"
                ),
            ),
            ("hung-deed", deed(&hang, "true", "")),
            ("hung-way-back", deed("true", &back, "")),
            ("hung-ready", deed("true", "true", &format!("ready = {{ command = \"{hang}\" }}\n"))),
            ("hung-variant", format!("[[device.variant]]\nname = \"new\"\napply = \"{hang}\"\n")),
        ];
        for (name, table) in tables {
            let text = plain.replacen("# unnamed\n", &table, 1);
            fs::write(scratch.path(&format!("{name}.toml")), text).expect("writes");
        }
        let far = plain.replace("reach = \"netns:", "reach = \"ssh://");
        fs::write(scratch.path("far.toml"), far).expect("writes");
        fs::write(scratch.path("community"), "sesame\n").expect("writes");
        let bin = scratch.path("bin");
        fs::create_dir(&bin).expect("a folder");
        fs::write(bin.join("ssh"), format!("#!/bin/sh\nexec {hang}\n")).expect("writes");
        fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755)).expect("ours");
        nix::unistd::mkfifo(&scratch.path("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let made = Command::new(switchmark())
            .args(["latency", "--testbed", "sim:trident2", "--protocol", "udp", "--size", "64"])
            .args(["-t", "20ms", "--blocks", "2", "-q", "--json", "--journal"])
            .arg(scratch.path("made.db"))
            .output()
            .expect("it starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::copy(scratch.path("made.db"), scratch.path("locked.db")).expect("a copy");
        let locked = rusqlite::Connection::open(scratch.path("locked.db")).expect("a database");
        locked.execute_batch("BEGIN IMMEDIATE").expect("locked");
        Self { scratch, device, mute, _locked: locked, _wires: wires }
    }

    fn stages(&self) -> Vec<Stage> {
        let webhook = format!("http://{}/", self.mute.local_addr().expect("an address"));
        let mut all = hung_stages();
        all.extend(other_stages(&webhook));
        all
    }

    fn command(&self, stage: &Stage, number: usize) -> Command {
        let journal = format!("{number}.db");
        let space = crate::harness::spaces::space;
        let args = stage.args.iter().map(|word| {
            let word = word.replace("JOURNAL", &journal);
            word.replace(":H1", &format!(":{}", space("h1")))
                .replace(":H2", &format!(":{}", space("h2")))
        });
        // Of a shell's background jobs the signal is ignored, and so by all that they start.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(switchmark());
        command.args(args).current_dir(self.scratch.folder());
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.scratch.path("bin").display()));
        command.env("XDG_STATE_HOME", self.scratch.path("state"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }
}

fn stage(
    name: &'static str,
    line: &str,
    reached: Option<fn(&World) -> bool>,
    latest_ms: u64,
) -> Stage {
    let args = line.split(' ').map(str::to_owned).collect();
    Stage { name, args, reached, latest_ms }
}

const UDP: &str = "--protocol udp --size 64 -t 50ms --blocks 40 --journal JOURNAL --testbed";

/// Those that hang until somebody ends them.
fn hung_stages() -> Vec<Stage> {
    let failover = "failover --deed pull --flows 1 --blocks 1 --before 100ms --away 60s \
                    --after 100ms --testbed";
    let hung: fn(&World) -> bool = is_hanging;
    vec![
        stage(
            "a device that answers a row each 1.9 s",
            &format!("latency {UDP} slow-snmp.toml"),
            Some(is_asked),
            3_000,
        ),
        stage("a device's command", &format!("latency {UDP} hung-account.toml"), Some(hung), 3_000),
        stage(
            "a variant",
            &format!("latency --variant new {UDP} hung-variant.toml"),
            Some(hung),
            3_000,
        ),
        stage(
            "a deed",
            &format!("{failover} hung-deed.toml --journal JOURNAL"),
            Some(hung),
            20_000,
        ),
        stage(
            "a way back",
            &format!("{failover} hung-way-back.toml --journal JOURNAL").replace("60s", "200ms"),
            Some(is_on_the_way_back),
            20_000,
        ),
        stage(
            "a device that is not ready",
            &format!("{failover} hung-ready.toml --journal JOURNAL")
                .replace("60s", "200ms")
                .replace("blocks 1", "blocks 3"),
            Some(hung),
            20_000,
        ),
        stage("ssh to hosts", &format!("latency {UDP} far.toml"), Some(hung), 1_000),
        stage("a journal elsewhere", "report latest --journal ssh://far/x.db", Some(hung), 500),
    ]
}

/// Those that go on by themselves.
fn other_stages(webhook: &str) -> Vec<Stage> {
    let alerted = format!(
        "watch sim:trident2 --for 2000d --journal JOURNAL --webhook {webhook} --report w.html"
    );
    vec![
        stage("hosts", &format!("latency {UDP} plain.toml"), None, 3_000),
        stage("hosts' checks", "doctor --testbed plain.toml", None, 4_000),
        stage("what is put back", "doctor --restore --testbed plain.toml", None, 1_000),
        stage("a look around", "testbed new netns:H1 netns:H2 --patient", None, 4_000),
        stage("a lab", &format!("latency {UDP} lab:bridge"), None, 3_000),
        stage(
            "a lab's flood",
            "forwarding --flood --journal JOURNAL --testbed lab:bridge",
            None,
            3_000,
        ),
        stage("a lab that is held", "lab up lab:bridge+router", None, 1_500),
        stage("the demo", "demo --journal JOURNAL", None, 5_000),
        stage("the generator", "doctor --generator", None, 4_000),
        stage("a watch of a lab", "watch lab:cable --journal JOURNAL", None, 3_000),
        stage("alerts that nobody takes", &alerted, None, 3_000),
        stage("a simulation", "switching --testbed sim:trident2 --journal JOURNAL", None, 3_000),
        stage(
            "a sweep",
            "xray --testbed sim:trident2 --journal JOURNAL --out twin.toml",
            None,
            3_000,
        ),
        stage("a self-test", "prove --only sim --journal JOURNAL", None, 3_000),
        stage("a pipe that says nothing", "import pipe --journal JOURNAL", None, 1_500),
        stage(
            "a journal that is locked",
            "latency --testbed sim:trident2 --journal locked.db",
            None,
            1_500,
        ),
        stage("a page", "serve --journal made.db --listen 127.0.0.1:0", None, 1_500),
        stage("a report", "report latest --journal made.db --out r.html", None, 100),
        stage("a trend", "trend --journal made.db", None, 100),
    ]
}

/// The time until it was gone, else none: then it is killed.
fn interrupted(child: &mut Child) -> Option<Duration> {
    let pid = Pid::from_raw(child.id().cast_signed());
    let began = Instant::now();
    kill(pid, Signal::SIGINT).expect("it is ours, and not reaped");
    while began.elapsed() < GONE {
        if child.try_wait().expect("it can be asked").is_some() {
            return Some(began.elapsed());
        }
        thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// What it says on stderr, taken so that it never waits for that.
fn listen(child: &mut Child) -> JoinHandle<String> {
    let mut stderr = child.stderr.take().expect("piped");
    thread::spawn(move || {
        let mut said = String::new();
        let _ = stderr.read_to_string(&mut said);
        said
    })
}

/// A line of the table: how many, and the longest.
fn note(table: &mut BTreeMap<&'static str, (u32, Duration)>, name: &'static str, took: Duration) {
    let (count, longest) = table.entry(name).or_default();
    *count += 1;
    *longest = took.max(*longest);
}

#[test]
fn whatever_a_verb_waits_for_it_ends_within_three_seconds_of_sigint() {
    let Some(_alone) = alone("SIGINT in every stage", &["ip"]) else { return };
    let world = World::new();
    // The other end of the pipe is there, and silent.
    let pipe = fs::OpenOptions::new().read(true).write(true).open(world.scratch.path("pipe"));
    let _pipe = pipe.expect("a pipe");
    let stages = world.stages();
    let seed = 20_261_126;
    let mut rng = Pcg64::seed_from_u64(seed);
    let endings = if full() { 500 } else { stages.len() };
    let (mut table, mut late) = (BTreeMap::new(), Vec::new());
    for number in 0..endings {
        let stage = &stages[number % stages.len()];
        world.device.asked.store(0, Ordering::Relaxed);
        let mut child = world.command(stage, number).spawn().expect("it starts");
        let said = listen(&mut child);
        let mut over = false;
        match stage.reached.filter(|_| (number / stages.len()).is_multiple_of(2)) {
            Some(reached) => wait_for(stage.name, || {
                over = child.try_wait().expect("it can be asked").is_some();
                over || reached(&world)
            }),
            None => thread::sleep(Duration::from_millis(rng.random_range(0..stage.latest_ms))),
        }
        // One that was reaped has no number any more.
        let took = if over { None } else { interrupted(&mut child) };
        // A way back goes on where the program could not wait for it.
        for pid in processes(&way_back()) {
            assert_eq!(stage.name, "a way back");
            kill(Pid::from_raw(pid), Signal::SIGKILL).expect("this test's");
        }
        let said = said.join().expect("no panic");
        assert!(!over, "{}: it never came to that: {said}", stage.name);
        assert!(!said.contains("panicked"), "{}: {said}", stage.name);
        match took {
            Some(took) => note(&mut table, stage.name, took),
            None => late.push(format!("{}, ending {number}: {said}", stage.name)),
        }
        clear(&world.scratch, number);
        wait_for("commands that hung to be gone", || processes(&hangs()).is_empty());
    }
    for (name, (count, longest)) in &table {
        println!("{name}: {count} ended, the last after {longest:.2?}");
    }
    assert!(late.is_empty(), "seed {seed}: {} of {endings} late: {late:#?}", late.len());
}

fn clear(scratch: &Scratch, number: usize) {
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(scratch.path(&format!("{number}.db{end}")));
    }
    let _ = fs::remove_dir_all(scratch.path("state").join(Path::new("switchmark")));
}
