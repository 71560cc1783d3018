//! However an agent or a controller ends: its processes are gone within three seconds, and every
//! setting is as it was found, at the latest after the next agent's start.
//!
//! Needs root. Only processes that a test started itself are ended, by their id.
//! `SWITCHMARK_TESTS=full` has 500 endings.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use agents::controller::LiveTestbed;
use agents::protocol::{
    self, Answer, Ask, Hello, Mended, Message, OffloadChange, Reply, Request, Setting, Terms,
};

use crate::harness::spaces::Spaces;
use crate::harness::watcher::Watcher;
use crate::harness::{Scratch, alone, full, json, open, switchmark};
use lab::LabDevice;
use measure::Nanos;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use trial::topology::AddressBlock;

/// An address of the testbed's own.
const OWN: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 99, 9));
/// Within which whatever ends is gone.
const GONE: Duration = Duration::from_secs(3);

/// An agent in a lab's host that is told that the host stays, with its pipes.
struct Agent {
    child: Child,
    id: u64,
}

impl Agent {
    /// What became of what another had left.
    fn start(testbed: &LiveTestbed) -> (Self, Mended) {
        let mut command = Command::new(switchmark());
        command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = testbed.lab().expect("a lab").spawn("h1", &mut command).expect("an agent");
        Self::greeted(child)
    }

    /// The same on the machine itself.
    fn outside() -> (Self, Mended) {
        let mut command = Command::new(switchmark());
        command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::greeted(command.spawn().expect("an agent"))
    }

    fn greeted(child: Child) -> (Self, Mended) {
        let mut this = Self { child, id: 0 };
        this.say(&Message::Hello(Hello::ours()));
        this.hear();
        let terms = Terms {
            addresses: [IpAddr::V4(Ipv4Addr::LOCALHOST), OWN]
                .map(|first| AddressBlock { first, count: 1 })
                .to_vec(),
            interfaces: vec!["eth1".into()],
            longest: Nanos::from_secs(10),
            own: BTreeMap::new(),
            servers: Vec::new(),
            rate: None,
            lasting: true,
        };
        match this.ask(Ask::Terms { terms }) {
            Ok(Answer::Agreed { mended }) => (this, mended),
            other => panic!("{other:?}"),
        }
    }

    /// One that turned the port's offloads off and gave it an address.
    fn changed(testbed: &LiveTestbed) -> Self {
        let (mut this, _) = Self::start(testbed);
        let ask = Ask::Offloads { interfaces: vec!["eth1".into()], change: OffloadChange::Off };
        this.ask(ask).expect("turned off");
        let (interface, prefix, present) = ("eth1".to_owned(), 24, true);
        let address = Setting::Address { interface, address: OWN, prefix, present };
        this.ask(Ask::Change { settings: vec![address] }).expect("set");
        this
    }

    fn say(&mut self, message: &Message) {
        protocol::write(self.child.stdin.as_mut().expect("piped"), message).expect("it listens");
    }

    fn hear(&mut self) -> Message {
        let stdout = self.child.stdout.as_mut().expect("piped");
        protocol::read(stdout).expect("protocol").expect("an answer")
    }

    fn ask(&mut self, ask: Ask) -> Result<Answer, String> {
        self.id += 1;
        self.say(&Message::Request(Request { id: self.id, ask }));
        match self.hear() {
            Message::Reply(Reply { answer, .. }) => answer.map_err(|complaint| complaint.words),
            other => panic!("{other:?}"),
        }
    }

    fn signal(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), signal);
    }

    /// Half a frame, so that it waits for the rest.
    fn half_a_frame(&mut self) {
        let _ = self.child.stdin.as_mut().expect("piped").write_all(&[0, 0, 0, 9, b'{']);
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ways in which an agent's life ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    EndOfStdin,
    Silence,
    Term,
    Hangup,
    Killed,
    /// It is asked for something whose answer nobody takes.
    NobodyHearsTheAnswer,
    /// Every pipe at once, in the middle of a frame.
    AllPipes,
    /// It cannot even say why.
    TermWithoutStderr,
    /// Its port goes away with all pipes.
    PortVanishes,
}

const WAYS: [Way; 9] = [
    Way::EndOfStdin,
    Way::Silence,
    Way::Term,
    Way::Hangup,
    Way::Killed,
    Way::NobodyHearsTheAnswer,
    Way::AllPipes,
    Way::TermWithoutStderr,
    Way::PortVanishes,
];

fn end(way: Way, agent: &mut Agent) {
    match way {
        Way::EndOfStdin => drop(agent.child.stdin.take()),
        // The last beat was the last request.
        Way::Silence => {}
        Way::Term => agent.signal(Signal::SIGTERM),
        Way::Hangup => agent.signal(Signal::SIGHUP),
        Way::Killed => agent.signal(Signal::SIGKILL),
        Way::NobodyHearsTheAnswer => {
            drop(agent.child.stdout.take());
            agent.say(&Message::Request(Request { id: 99, ask: Ask::Clock }));
        }
        Way::AllPipes | Way::PortVanishes => {
            agent.half_a_frame();
            drop(agent.child.stdin.take());
            drop(agent.child.stdout.take());
            drop(agent.child.stderr.take());
        }
        Way::TermWithoutStderr => {
            drop(agent.child.stderr.take());
            agent.signal(Signal::SIGTERM);
        }
    }
}

fn gone_in_time(child: &mut Child) -> Option<Duration> {
    let began = Instant::now();
    while began.elapsed() < GONE {
        if child.try_wait().expect("it can be asked").is_some() {
            return Some(began.elapsed());
        }
        thread::sleep(Duration::from_millis(5));
    }
    None
}

/// What an agent changed, as the next one says that it put it right.
const CHANGED: [&str; 2] = ["offloads of eth1", "eth1 without 198.18.99.9"];

/// A port's features and addresses.
fn as_it_is(lab: &lab::Lab) -> (BTreeMap<String, bool>, Vec<String>) {
    let look = |kernel: &mut netlink::Netlink| {
        let own = nix::ifaddrs::getifaddrs().into_iter().flatten();
        let own = own.filter(|one| one.interface_name == "eth1");
        let addresses = own.filter_map(|one| one.address).map(|address| address.to_string());
        Ok((kernel.features("eth1")?, addresses.collect()))
    };
    lab.netlink("h1", look).expect("features")
}

#[test]
fn whatever_ends_an_agent_it_goes_and_the_host_is_as_it_was_found() {
    let Some(_alone) = alone("whatever ends an agent", &[]) else { return };
    let (seed, endings) = (20_261_123, if full() { 500 } else { 2 * WAYS.len() });
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut table: BTreeMap<Way, (u32, u32)> = BTreeMap::new();
    let mut testbed = open(&LabDevice::Cable, None);
    let features = |testbed: &LiveTestbed| as_it_is(testbed.lab().expect("a lab"));
    let found = features(&testbed);
    for number in 0..endings {
        let way = WAYS[number % WAYS.len()];
        let mut agent = Agent::changed(&testbed);
        assert_ne!(features(&testbed), found, "off");
        thread::sleep(Duration::from_millis(rng.random_range(0..50)));
        if way == Way::PortVanishes {
            // With the lab whose agents hold it: a new one for the rest.
            drop(testbed);
            end(way, &mut agent);
            assert!(gone_in_time(&mut agent.child).is_some(), "{way:?}, ending {number}");
            testbed = open(&LabDevice::Cable, None);
            table.entry(way).or_default().0 += 1;
            continue;
        }
        end(way, &mut agent);
        let gone = gone_in_time(&mut agent.child);
        assert!(gone.is_some(), "{way:?} is not the end of it, ending {number}");
        let counted = table.entry(way).or_default();
        counted.0 += 1;
        if features(&testbed) != found {
            counted.1 += 1;
            assert_eq!(way, Way::Killed, "only what is killed leaves something");
            let (_next, mended) = Agent::start(&testbed);
            assert_eq!(mended.restored, CHANGED, "{way:?}");
        }
        assert_eq!(features(&testbed), found, "{way:?}, ending {number}");
    }
    for (way, (ended, mended)) in &table {
        println!("{way:?}: {ended} ended within 3 s, {mended} put right by the next agent");
    }
    assert_eq!(notes_of_mine(), 0, "no note is left");
}

#[test]
fn the_doctor_puts_back_what_a_killed_agent_left() {
    let Some(_alone) = alone("the doctor puts back", &[]) else { return };
    let testbed = open(&LabDevice::Cable, None);
    let lab = testbed.lab().expect("a lab");
    let features = || as_it_is(lab);
    let found = features();
    let mut agent = Agent::changed(&testbed);
    end(Way::Killed, &mut agent);
    assert!(gone_in_time(&mut agent.child).is_some());
    assert_ne!(features(), found, "nobody put it back");
    let restore = || {
        let mut command = Command::new(switchmark());
        command.args(["doctor", "--restore", "--json", "-q"]).stdout(Stdio::piped());
        let child = lab.spawn("h1", &mut command).expect("it starts");
        let output = child.wait_with_output().expect("it ends");
        let told = json(&output);
        told["restored"]["this host"].clone()
    };
    assert_eq!(restore(), serde_json::json!(CHANGED));
    assert_eq!(features(), found);
    assert_eq!(restore(), serde_json::json!([]), "once");
}

/// An agent is killed, and before the next one comes the user sets what it had set to another
/// value, and makes a link of the name of one that it had made.
#[test]
fn what_a_user_changed_after_a_killed_agent_stays() {
    let Some(_alone) = alone("what a user changed stays", &[]) else { return };
    let testbed = open(&LabDevice::Cable, None);
    let lab = testbed.lab().expect("a lab");
    let mtu_of = |name: &str| {
        let name = name.to_owned();
        lab.netlink("h1", move |kernel| Ok(kernel.link(&name)?.mtu)).expect("a link")
    };
    let set_mtu = |name: &str, mtu| {
        let name = name.to_owned();
        let set = move |kernel: &mut netlink::Netlink| {
            let index = kernel.link(&name)?.index;
            kernel.set_mtu(index, mtu)
        };
        lab.netlink("h1", set).expect("set");
    };
    let found = mtu_of("eth1");
    for (users, stays) in [(None, found), (Some(1300), 1300), (Some(found), found)] {
        let (mut agent, _) = Agent::start(&testbed);
        let set = Setting::Mtu { interface: "eth1".into(), mtu: 1400 };
        assert_eq!(agent.ask(Ask::Change { settings: vec![set] }), Ok(Answer::Done));
        let ports = BTreeMap::from([("eth1".to_owned(), 1000)]);
        let delay = Nanos::from_millis(1);
        // A kernel without netem adds none.
        let through = match agent.ask(Ask::Delay { ports, delay }) {
            Ok(Answer::Delayed { through }) => Some(through["eth1"].clone()),
            _ => None,
        };
        end(Way::Killed, &mut agent);
        assert!(gone_in_time(&mut agent.child).is_some());
        if let Some(mtu) = users {
            set_mtu("eth1", mtu);
        }
        if let (Some(1300), Some(name)) = (users, through.clone()) {
            let another = move |kernel: &mut netlink::Netlink| {
                let index = kernel.link(&name)?.index;
                kernel.remove_link(index)?;
                kernel.create_ifb(&name, [2, 0, 0, 0, 0, 1])
            };
            lab.netlink("h1", another).expect("the user's");
        }
        let (_next, mended) = Agent::start(&testbed);
        assert_eq!(mtu_of("eth1"), stays, "{mended:?}");
        let is_told = |what: &str| mended.left.iter().any(|told| told.contains(what));
        assert_eq!(is_told("mtu 1300"), users == Some(1300), "{mended:?}");
        if let Some(name) = through {
            let is_there = lab.netlink("h1", {
                let name = name.clone();
                move |kernel| Ok(kernel.link(&name).is_ok())
            });
            let is_users = users == Some(1300);
            assert_eq!(is_there.expect("links"), is_users, "{mended:?}");
            assert_eq!(is_told(&name), is_users, "{mended:?}");
            if is_users {
                let remove = move |kernel: &mut netlink::Netlink| {
                    let index = kernel.link(&name)?.index;
                    kernel.remove_link(index)
                };
                lab.netlink("h1", remove).expect("removed");
                set_mtu("eth1", found);
            }
        }
    }
    assert_eq!(notes_of_mine(), 0, "no note is left");
}

#[test]
fn what_a_test_leaves_behind_is_seen() {
    let Some(_alone) = alone("what a test leaves behind", &["ip"]) else { return };
    let before = Watcher::look();
    let spaces = Spaces::new(&["left"]);
    let differences = before.differences_now();
    assert!(differences.iter().any(|d| d.starts_with("new: namespace")), "{differences:?}");
    drop(spaces);
    assert_eq!(before.differences(), Vec::<String>::new());
}

/// What all namespaces of a machine share is changed and put back by one agent, and by the next
/// where that was killed.
#[test]
fn a_setting_of_the_machine_is_one_agents() {
    const PATH: &str = "/proc/sys/net/core/rmem_max";
    let Some(_alone) = alone("a setting of the machine", &[]) else { return };
    let now = || std::fs::read_to_string(PATH).expect("it is there").trim().to_owned();
    let found = now();
    let larger = |by: u64| (found.parse::<u64>().expect("octets") + by).to_string();
    let to = |value: &str| {
        let setting = Setting::File { path: PATH.to_owned(), value: value.to_owned() };
        Ask::Change { settings: vec![setting] }
    };
    let (mut first, _) = Agent::outside();
    let (mut second, _) = Agent::outside();
    assert_eq!(first.ask(to(&larger(4096))), Ok(Answer::Done));
    assert_eq!(second.ask(to(&larger(4096))), Ok(Answer::Done), "it is as wanted");
    let refused = second.ask(to(&larger(8192))).expect_err("it is another's");
    assert!(refused.contains(PATH), "{refused}");
    end(Way::EndOfStdin, &mut second);
    assert!(gone_in_time(&mut second.child).is_some());
    assert_eq!(now(), larger(4096), "it put nothing back that it did not change");
    end(Way::Killed, &mut first);
    assert!(gone_in_time(&mut first.child).is_some());
    assert_eq!(now(), larger(4096), "nobody put it back");
    let testbed = open(&LabDevice::Cable, None);
    let (_inside, mended) = Agent::start(&testbed);
    assert_eq!(mended, Mended::default(), "that namespace cannot write it, and says nothing else");
    let (_outside, mended) = Agent::outside();
    assert_eq!(mended.restored, [format!("{PATH} to {found}")]);
    assert_eq!(now(), found);
}

/// What agents of this user wrote down and nobody undid.
fn notes_of_mine() -> usize {
    let entries = std::fs::read_dir("/run/switchmark").into_iter().flatten().flatten();
    entries.filter(|e| e.metadata().is_ok_and(|of| of.len() > 0)).count()
}

#[test]
fn a_port_is_one_runs_at_a_time() {
    let Some(_alone) = alone("a port is one run's at a time", &[]) else { return };
    let testbed = open(&LabDevice::Cable, None);
    let hold = |holder: &str| Ask::Hold { interfaces: vec!["eth1".into()], holder: holder.into() };
    let (mut first, _) = Agent::start(&testbed);
    assert_eq!(first.ask(hold("run 1 of lab-3")), Ok(Answer::Done));
    let (mut second, _) = Agent::start(&testbed);
    let refused = second.ask(hold("run 2 of lab-4")).expect_err("it is held");
    assert!(refused.contains("held by run 1 of lab-3"), "{refused}");
    drop(first);
    assert_eq!(second.ask(hold("run 2 of lab-4")), Ok(Answer::Done));
}

/// How a controller's life ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Signal(Signal),
    /// After the other end of its stderr went away.
    WithoutStderr(Signal),
    /// After the terminal that it wrote to went away.
    WithoutTerminal(Signal),
    /// Of stdout, where the figures go.
    WithoutStdout(Signal),
}

const ENDS: [End; 10] = [
    End::Signal(Signal::SIGINT),
    End::Signal(Signal::SIGTERM),
    End::Signal(Signal::SIGHUP),
    End::Signal(Signal::SIGKILL),
    End::WithoutStderr(Signal::SIGINT),
    End::WithoutStderr(Signal::SIGTERM),
    End::WithoutTerminal(Signal::SIGTERM),
    End::WithoutTerminal(Signal::SIGHUP),
    End::WithoutStdout(Signal::SIGTERM),
    End::WithoutStdout(Signal::SIGKILL),
];

/// Ends a run at a random moment; within 3 s nothing of it is there any more, whatever it was told
/// on, and it goes on.
#[test]
fn whatever_ends_a_run_nothing_of_it_stays_and_it_goes_on() {
    let Some(_alone) = alone("whatever ends a run", &[]) else { return };
    let scratch = Scratch::new("ended-runs");
    let mut rng = Pcg64::seed_from_u64(20_261_123);
    // Fewer trials, and the moments drawn from as long as those take.
    let (endings, blocks, latest) =
        if full() { (250, "12", 2_000) } else { (ENDS.len(), "6", 1_500) };
    let mut resumed = 0;
    for number in 0..endings {
        let end = ENDS[number % ENDS.len()];
        let store = scratch.path(&format!("{number}.db"));
        let before = Watcher::look();
        let mut command = Command::new(switchmark());
        command.args(["latency", "--testbed", "lab:cable", "--protocol", "udp", "--size", "64"]);
        command.args(["-t", "50ms", "--blocks", blocks, "--store"]).arg(&store);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let pty = nix::pty::openpty(None, None).expect("a terminal");
        match end {
            End::WithoutTerminal(_) => command.stderr(pty.slave),
            _ => command.stderr(Stdio::piped()),
        };
        let mut child = command.spawn().expect("it starts");
        // Of the command's own ends none is kept.
        drop(command);
        thread::sleep(Duration::from_millis(rng.random_range(50..latest)));
        let signal = match end {
            End::Signal(signal) => signal,
            End::WithoutStderr(signal) => {
                drop(child.stderr.take());
                signal
            }
            End::WithoutTerminal(signal) => {
                drop(pty.master);
                signal
            }
            End::WithoutStdout(signal) => {
                drop(child.stdout.take());
                signal
            }
        };
        kill(Pid::from_raw(child.id().cast_signed()), signal).expect("it is ours");
        let gone = gone_in_time(&mut child);
        if gone.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        assert!(gone.is_some(), "{end:?}, ending {number}");
        assert_eq!(before.differences(), Vec::<String>::new(), "{end:?}, ending {number}");
        // One that was ended before it began has nothing to go on with.
        let begun = store.exists().then(|| journal::Store::open(&store).expect("it opens"));
        let begun = begun.is_some_and(|store| !store.runs().expect("runs").is_empty());
        if begun {
            let mut again = Command::new(switchmark());
            again.args(["run", "--resume", "latest", "--json", "-q", "--store"]).arg(&store);
            let output = again.output().expect("it starts");
            let told = String::from_utf8_lossy(&output.stderr);
            let done = matches!(output.status.code(), Some(0 | 3)) || told.contains("is complete");
            assert!(done, "{end:?}, ending {number}: {:?} {told}", output.status);
            resumed += 1;
        }
        let _ = std::fs::remove_file(&store);
    }
    println!("{endings} runs ended, {resumed} went on");
}

/// What an agent was told is no command to the terminal that it ends up on.
#[test]
fn words_of_an_agent_are_told_as_text() {
    let Some(_alone) = alone("words of an agent", &[]) else { return };
    let testbed = open(&LabDevice::Cable, None);
    let (mut agent, _) = Agent::start(&testbed);
    let ask =
        Ask::Offloads { interfaces: vec!["\u{1b}]0;x\u{7}".into()], change: OffloadChange::Off };
    let refused = agent.ask(ask).expect_err("there is no such port");
    assert!(refused.len() < 4096, "{refused:?}");
    let mut stderr = agent.child.stderr.take().expect("piped");
    drop(agent.child.stdin.take());
    assert!(gone_in_time(&mut agent.child).is_some());
    let mut said = String::new();
    let _ = stderr.read_to_string(&mut said);
    assert!(!said.contains('\u{1b}'), "{said:?}");
}
