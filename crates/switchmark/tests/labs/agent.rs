//! The agent as a process: what it says to a controller, and how it ends.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use agents::protocol::{
    self, Answer, Ask, FRAME_LIMIT, Hello, Mended, Message, Order, PROTOCOL, Reply, Request, Terms,
    Work,
};

use crate::harness::switchmark;
use dataplane::datagram::Traffic;
use dataplane::echo::Requests;
use dataplane::opening::Opening;
use dataplane::{Identity, Window, clock, iperf3};
use measure::{ByteCount, FrameRate, FrameSize, Nanos};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use trial::Protocol;
use trial::record::FlowRecord;
use trial::topology::AddressBlock;
use trial::{Backend, Datagrams, Echo, Schedule};

/// Far longer than anything here takes; an agent that hangs must not hang the test.
const PATIENCE: Duration = Duration::from_secs(20);
const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// An agent and its pipes; killed and reaped with the test.
struct Subject {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    id: u64,
    /// Its end tells the watchdog that the test is over.
    _over: mpsc::Sender<()>,
}

impl Subject {
    fn start() -> Self {
        let mut command = Command::new(switchmark());
        command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the agent starts");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let pid = Pid::from_raw(child.id().cast_signed());
        let (over, watched) = mpsc::channel::<()>();
        thread::spawn(move || {
            if watched.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = kill(pid, Signal::SIGKILL);
            }
        });
        Self { child, stdin, stdout, id: 0, _over: over }
    }

    fn greeted() -> Self {
        let mut this = Self::start();
        this.write(&Message::Hello(Hello::ours()));
        assert_eq!(this.read(), Some(Message::Hello(Hello::ours())));
        this
    }

    fn write(&mut self, message: &Message) {
        protocol::write(self.stdin.as_mut().expect("stdin is open"), message).expect("it listens");
    }

    fn write_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("it listens");
    }

    fn read(&mut self) -> Option<Message> {
        let stdout = self.stdout.as_mut().expect("stdout is open");
        protocol::read(stdout).expect("only protocol on stdout")
    }

    fn ask(&mut self, ask: Ask) -> Result<Answer, String> {
        self.id += 1;
        self.write(&Message::Request(Request { id: self.id, ask }));
        match self.read() {
            Some(Message::Reply(Reply { id, answer })) if id == self.id => {
                answer.map_err(|complaint| complaint.words)
            }
            other => panic!("expected the reply to {}, got {other:?}", self.id),
        }
    }

    /// Waits for the end; status, and what it said on stderr.
    fn end(&mut self) -> (ExitStatus, String) {
        let mut stderr = self.child.stderr.take().expect("stderr is piped");
        let (say, said) = mpsc::channel();
        thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            let _ = say.send(text);
        });
        let text = said.recv_timeout(PATIENCE).expect("the agent ends");
        (self.child.wait().expect("it can be reaped"), text)
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(octets: u32) -> FrameSize {
    FrameSize::new(octets).expect("a frame size")
}

fn end(flow: u16, port: u16, work: Work) -> Order {
    let identity = Identity { token: 7, flow };
    Order {
        local: HOME,
        remote: SocketAddr::new(HOME, port),
        identity,
        opening: Opening::PLAIN,
        flow: work,
    }
}

fn reflector(flow: u16) -> Order {
    asker(flow, 0)
}

fn asker(flow: u16, port: u16) -> Order {
    let (protocol, frame_size) = (Protocol::Udp, size(128));
    let asked = Echo { protocol, frame_size, schedule: Schedule::Greedy, messages: None };
    end(flow, port, Work::Echo(Requests { asked, least_gap_ns: 0.0 }))
}

fn window(load: Nanos) -> Window {
    let start = clock::monotonic() + Nanos::from_millis(200);
    let stop = start + load;
    Window { start, stop, closed: stop + Nanos::from_millis(50) }
}

#[test]
fn the_end_of_stdin_is_the_end() {
    let mut agent = Subject::greeted();
    agent.stdin = None;
    let (status, stderr) = agent.end();
    assert!(status.success(), "{status} {stderr}");
    assert_eq!(agent.read(), None, "nothing but protocol was said");
}

#[test]
fn nobody_greets_and_it_still_ends_with_stdin() {
    let mut agent = Subject::start();
    agent.stdin = None;
    let (status, _) = agent.end();
    assert!(status.success());
    assert_eq!(agent.read(), None, "it says nothing before it is greeted");
}

#[test]
fn the_end_of_stdin_ends_a_trial_under_way() {
    let mut agent = bound();
    let port = prepare(&mut agent, 1);
    assert_eq!(agent.ask(Ask::Connect { senders: vec![asker(1, port)] }), Ok(Answer::Done));
    let window = window(Nanos::from_secs(3600));
    assert_eq!(agent.ask(Ask::Start { window }), Ok(Answer::Done));
    agent.stdin = None;
    let (status, stderr) = agent.end();
    assert!(status.success(), "{status} {stderr}");
}

/// An agent that may load the loopback, toward itself.
fn bound() -> Subject {
    let mut agent = Subject::greeted();
    assert_eq!(
        agent.ask(Ask::Terms { terms: terms() }),
        Ok(Answer::Agreed { mended: Mended::default() })
    );
    agent
}

fn terms() -> Terms {
    let own = AddressBlock { first: HOME, count: 1 };
    let (interfaces, longest) = (vec!["lo".to_owned()], Nanos::from_secs(2 * 3600));
    Terms {
        addresses: vec![own],
        interfaces,
        own: BTreeMap::new(),
        servers: Vec::new(),
        longest,
        rate: None,
        lasting: false,
    }
}

fn prepare(agent: &mut Subject, flow: u16) -> u16 {
    let receivers = vec![reflector(flow)];
    match agent.ask(Ask::Prepare { receivers, interfaces: vec!["lo".into()] }) {
        Ok(Answer::Prepared { ports }) => ports[0],
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_protocol_is_refused_and_both_are_named() {
    let mut agent = Subject::start();
    agent.write(&Message::Hello(Hello { protocol: 99, version: "0.0.1".into() }));
    assert_eq!(agent.read(), Some(Message::Hello(Hello::ours())), "so that we can say it too");
    let (status, stderr) = agent.end();
    assert!(!status.success());
    let ours = format!("we speak {PROTOCOL}");
    assert!(stderr.contains(&ours) && stderr.contains("speaks 99"), "{stderr}");
}

#[test]
fn bad_bytes_end_it_with_an_error() {
    let check = |bytes: &[u8], says: &str| {
        let mut agent = Subject::greeted();
        agent.write_bytes(bytes);
        agent.stdin = None;
        let (status, stderr) = agent.end();
        assert!(!status.success(), "{says}: {stderr}");
        assert!(stderr.contains(says), "{says}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    };
    check(b"\0\0\0\x04nope", "read a message of 4 bytes");
    check(b"\0\0\0\x08half", "ends after 4 of 8 bytes");
    check(b"\0\0", "ends after 2 of 4 bytes");
    check(&((FRAME_LIMIT + 1) as u32).to_be_bytes(), "allowed");
    check(&[0xff; 64], "allowed");
}

#[test]
fn a_request_before_the_greeting_is_out_of_turn() {
    let mut agent = Subject::start();
    agent.write(&Message::Request(Request { id: 1, ask: Ask::Clock }));
    let (status, stderr) = agent.end();
    assert!(!status.success());
    assert!(stderr.contains("expected hello"), "{stderr}");
}

#[test]
fn its_clock_runs_and_its_facts_are_the_kernels() {
    let mut agent = Subject::greeted();
    let before = clock::monotonic();
    let Ok(Answer::Clock { monotonic }) = agent.ask(Ask::Clock) else { panic!("a clock") };
    assert!(before <= monotonic && monotonic <= clock::monotonic());
    let asked = Ask::Facts { interfaces: vec!["lo".into(), "no-such-port".into()] };
    let Ok(Answer::Facts(facts)) = agent.ask(asked) else { panic!("facts") };
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(facts.machine.kernel.as_deref(), Some(kernel.trim()));
    assert!(facts.ports.contains_key("lo"));
    assert!(!facts.ports.contains_key("no-such-port"), "absent, not guessed");
}

#[test]
fn a_whole_trial_over_loopback() {
    let mut agent = bound();
    for flow in 1..=2 {
        let port = prepare(&mut agent, flow);
        let senders = vec![asker(flow, port)];
        assert_eq!(agent.ask(Ask::Connect { senders }), Ok(Answer::Done));
        let window = window(Nanos::from_millis(100));
        assert_eq!(agent.ask(Ask::Start { window }), Ok(Answer::Done));
        let collected = match agent.ask(Ask::Collect) {
            Ok(Answer::Collected(collected)) => *collected,
            other => panic!("{other:?}"),
        };
        assert_eq!(collected.reports.len(), 2, "{:?}", collected.reports);
        let mut asked = 0;
        let mut answered = 0;
        for report in collected.reports {
            assert_eq!(report.flow, flow);
            match report.report {
                Ok(FlowRecord::Echo(asker)) if report.begins => asked = asker.answers.unique,
                Ok(FlowRecord::Echo(reflector)) => answered = reflector.answers.unique,
                other => panic!("{other:?}"),
            }
        }
        assert!(asked > 0);
        assert!(answered >= asked, "{answered} answered, {asked} received");
        assert!(collected.interfaces["lo"]["tx_packets"] >= 2 * asked);
    }
    assert_eq!(agent.ask(Ask::Goodbye), Ok(Answer::Done));
    assert!(agent.end().0.success());
}

#[test]
fn an_exchange_over_loopback() {
    for carrier in [trial::Carrier::Tcp, trial::Carrier::Datagrams { credits: 16 }] {
        exchange_over(carrier);
    }
}

fn exchange_over(carrier: trial::Carrier) {
    let mut agent = bound();
    // Loopback's mtu is 65536: one datagram would hold less.
    let interval = Nanos::from_millis(50);
    let message = ByteCount(100_000);
    let exchange = trial::Exchange { message, interval, carrier, collective: None };
    let receivers = vec![end(3, 0, Work::Exchange(exchange.clone()))];
    let Ok(Answer::Prepared { ports }) =
        agent.ask(Ask::Prepare { receivers, interfaces: vec!["lo".into()] })
    else {
        panic!("a port")
    };
    let senders = vec![end(3, ports[0], Work::Exchange(exchange))];
    assert_eq!(agent.ask(Ask::Connect { senders }), Ok(Answer::Done));
    let window = window(Nanos::from_millis(100));
    assert_eq!(agent.ask(Ask::Start { window }), Ok(Answer::Done));
    let Ok(Answer::Collected(collected)) = agent.ask(Ask::Collect) else { panic!("reports") };
    let mut ends = Vec::new();
    for report in collected.reports {
        match report.report {
            Ok(FlowRecord::Exchange(end)) if report.begins => ends.push(end.backward),
            Ok(FlowRecord::Exchange(end)) => ends.push(end.forward),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ends.len(), 2);
    assert!(ends.iter().all(|end| end.messages > 0 && end.octets.0 == 100_000 * end.messages));
    assert!(ends[0].messages.abs_diff(ends[1].messages) <= 1, "{ends:?}");
}

#[test]
fn requests_out_of_order_are_refused_and_nothing_breaks() {
    let mut agent = bound();
    let window = window(Nanos::from_millis(10));
    for ask in [Ask::Collect, Ask::Start { window }, Ask::Connect { senders: Vec::new() }] {
        let refusal = agent.ask(ask).expect_err("nothing was prepared");
        assert!(refusal.contains("no trial was prepared"), "{refusal}");
    }
    prepare(&mut agent, 1);
    let past = Window { start: Nanos(1), stop: Nanos(2), closed: Nanos(3) };
    let refusal = agent.ask(Ask::Start { window: past }).expect_err("in the past");
    assert!(refusal.contains("already"), "{refusal}");
    let now = clock::monotonic();
    let start = now + Nanos::from_secs(10);
    let endless = Window { start, stop: start, closed: start + Nanos::from_secs(1 << 20) };
    let refusal = agent.ask(Ask::Start { window: endless }).expect_err("too long");
    assert!(refusal.contains("longer than"), "{refusal}");
    assert_eq!(agent.ask(Ask::Abort), Ok(Answer::Done));
    assert!(matches!(agent.ask(Ask::Clock), Ok(Answer::Clock { .. })));
}

#[test]
fn nobody_is_answered_from_everywhere() {
    let mut agent = Subject::greeted();
    let mut terms = terms();
    // Not even where somebody wrote it into a testbed.
    let everywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    terms.addresses.push(AddressBlock { first: everywhere, count: 1 });
    terms.interfaces.clear();
    let all = std::fs::read_dir("/sys/class/net").expect("interfaces").flatten();
    terms.interfaces.extend(all.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    assert_eq!(agent.ask(Ask::Terms { terms }), Ok(Answer::Agreed { mended: Mended::default() }));
    let anywhere = Order { local: everywhere, ..end(5, 0, Work::Datagrams(paced())) };
    let asked = Ask::Prepare { receivers: vec![anywhere], interfaces: Vec::new() };
    let refusal = agent.ask(asked).expect_err("0.0.0.0 is everybody");
    assert!(refusal.contains("receiver of flow 5") && refusal.contains("0.0.0.0"), "{refusal}");
}

#[test]
fn an_abort_ends_a_long_trial_and_closes_its_port() {
    let mut agent = bound();
    let port = prepare(&mut agent, 1);
    assert_eq!(agent.ask(Ask::Connect { senders: vec![asker(1, port)] }), Ok(Answer::Done));
    let window = window(Nanos::from_secs(3600));
    assert_eq!(agent.ask(Ask::Start { window }), Ok(Answer::Done));
    // Collect would wait an hour: the abort is noticed behind it.
    agent.write(&Message::Request(Request { id: 100, ask: Ask::Collect }));
    agent.write(&Message::Request(Request { id: 101, ask: Ask::Abort }));
    for expected in [100, 101] {
        match agent.read() {
            Some(Message::Reply(Reply { id, .. })) => assert_eq!(id, expected, "in order"),
            other => panic!("{other:?}"),
        }
    }
    std::net::UdpSocket::bind(SocketAddr::new(HOME, port)).expect("the data port is free again");
}

/// A UDP load of full-size frames.
fn traffic(schedule: Schedule) -> Traffic {
    Traffic::new(Datagrams::plain(size(1518), schedule, Backend::Udp, 1), 100)
}

fn paced() -> Traffic {
    traffic(Schedule::Paced(FrameRate(1000.0)))
}

/// Such a load to `remote`.
fn load(remote: IpAddr, traffic: Traffic) -> Order {
    Order { remote: SocketAddr::new(remote, 9), ..end(1, 9, Work::Datagrams(traffic)) }
}

#[test]
fn without_terms_there_is_no_trial_and_terms_are_said_once() {
    let mut agent = Subject::greeted();
    let asked = Ask::Prepare { receivers: vec![reflector(1)], interfaces: Vec::new() };
    let refusal = agent.ask(asked).expect_err("it was told nothing");
    assert!(refusal.contains("no terms were said"), "{refusal}");
    assert_eq!(
        agent.ask(Ask::Terms { terms: terms() }),
        Ok(Answer::Agreed { mended: Mended::default() })
    );
    let refusal = agent.ask(Ask::Terms { terms: terms() }).expect_err("once");
    assert!(refusal.contains("said once"), "{refusal}");
}

#[test]
fn strangers_and_other_interfaces_are_no_part_of_a_flow() {
    let check = |change: &dyn Fn(&mut Terms), order: Order, says: &str| {
        let mut agent = Subject::greeted();
        let mut terms = terms();
        change(&mut terms);
        assert_eq!(
            agent.ask(Ask::Terms { terms }),
            Ok(Answer::Agreed { mended: Mended::default() })
        );
        let nothing = Ask::Prepare { receivers: Vec::new(), interfaces: Vec::new() };
        assert!(agent.ask(nothing).is_ok());
        let refusal = agent.ask(Ask::Connect { senders: vec![order] }).expect_err(says);
        assert!(refusal.contains(says), "{says}: {refusal}");
    };
    let stranger: IpAddr = "127.0.0.2".parse().expect("an address");
    check(&|_| {}, load(stranger, paced()), "127.0.0.2 is no address of the testbed");
    let other = |terms: &mut Terms| terms.interfaces = vec!["eth1".to_owned()];
    check(&other, asker(1, 9), "leaves by `lo`, which is no test port");
    // 1538 octets on the wire, a thousand times a second, are 12.3 Mbit/s.
    let slow = |terms: &mut Terms| terms.rate = Some("10Mbit".parse().expect("a rate"));
    check(&slow, load(HOME, paced()), "12304000 bit/s of 10");
    let greedy = traffic(Schedule::Greedy);
    check(&slow, load(HOME, greedy), "it names no rate");
    let sources = Some(AddressBlock { first: HOME, count: 2 });
    let spoofed = Traffic { sources, ..paced() };
    check(&|_| {}, load(HOME, spoofed), "127.0.0.1 is no address");
    // Only the server that the testbed names, at its own port.
    let known = SocketAddr::new(HOME, 5201);
    let named = move |terms: &mut Terms| terms.servers = vec![known];
    let test = Work::Iperf3(iperf3::Test { ways: Vec::new() });
    let ask = |port| Order { remote: SocketAddr::new(HOME, port), ..load(HOME, paced()) };
    let other = Order { flow: test.clone(), ..ask(22) };
    check(&named, other, "22 is no iperf3 server of the testbed");
    check(&named, Order { flow: test, ..ask(5201) }, "a test has at least one flow");
}

#[test]
fn no_receiver_answers_a_stranger_and_no_trial_outlasts_its_terms() {
    let mut agent = bound();
    let order = Order { remote: "192.0.2.1:0".parse().expect("an address"), ..reflector(1) };
    let asked = Ask::Prepare { receivers: vec![order], interfaces: Vec::new() };
    let refusal = agent.ask(asked).expect_err("not of the testbed");
    assert!(refusal.contains("192.0.2.1 is no address of the testbed"), "{refusal}");
    let port = prepare(&mut agent, 1);
    assert_eq!(agent.ask(Ask::Connect { senders: vec![asker(1, port)] }), Ok(Answer::Done));
    let window = window(Nanos::from_secs(3 * 3600));
    let refusal = agent.ask(Ask::Start { window }).expect_err("two hours are agreed");
    assert!(refusal.contains("longer than 7200"), "{refusal}");
}

#[test]
fn a_silent_controller_is_a_lost_one_and_a_beat_keeps_the_agent() {
    let mut agent = bound();
    let port = prepare(&mut agent, 1);
    assert_eq!(agent.ask(Ask::Connect { senders: vec![asker(1, port)] }), Ok(Answer::Done));
    let window = window(Nanos::from_secs(3600));
    assert_eq!(agent.ask(Ask::Start { window }), Ok(Answer::Done));
    let (_keep, never) = mpsc::channel::<()>();
    for _ in 0..16 {
        let _ = never.recv_timeout(protocol::BEAT);
        agent.write(&Message::Beat);
    }
    assert!(matches!(agent.ask(Ask::Clock), Ok(Answer::Clock { .. })), "it is told that we live");
    let silent = clock::monotonic();
    let (status, stderr) = agent.end();
    let gone = clock::monotonic().saturating_sub(silent);
    println!("gone {gone} after the last beat");
    assert_eq!(status.code(), Some(i32::from(protocol::LOST_TOUCH)), "{stderr}");
    assert!(stderr.contains("silent"), "{stderr}");
    std::net::UdpSocket::bind(SocketAddr::new(HOME, port)).expect("the data port is free again");
}
