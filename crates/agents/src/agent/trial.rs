//! One trial on this host: flow sides are opened, run on threads of their own, and reported. The
//! sides of a collective's rank share a thread.
//!
//! Owns the data ports (they close with the trial), the shared halt, and the counters around the
//! load. Never runs longer than [`LONGEST_TRIAL`], and never makes up an address: a side without a
//! specific peer is refused.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::thread::{self, JoinHandle};

use dataplane::bulk::{CalledSource, CallingSink, Sink, Source};
use dataplane::counters::{self, CountersError, HostSnapshot, InterfaceCounters, ProcessTree};
use dataplane::datagram::{CalledSender, CallingReceiver, Receiver, Sender};
use dataplane::echo::{EchoClient, EchoServer};
use dataplane::exchange::{
    EndReport, ExchangeInitiator, ExchangeResponder, Member, MemberEnd, PartReport,
};
use dataplane::iperf3::{Iperf3Client, WayRecord};
use dataplane::sessions::{Acceptor, Opener};
use dataplane::{FlowError, Halt, Side, Window, clock};
use measure::Nanos;
use trial::Exchange;
use trial::record::{FlowRecord, Usage};

use super::storage::{Files, Job, StorageClient, StorageServer};
use crate::failed::Failed;
use crate::protocol::{Collected, FlowReport, Order, Work, describe_error};

/// Maximum duration of a trial, whatever a controller requests.
pub const LONGEST_TRIAL: Nanos = Nanos::from_secs(6 * 3600);

/// This host's part of a trial.
pub struct Trial {
    halt: Halt,
    interfaces: Vec<String>,
    sides: Vec<OpenSide>,
    running: Option<Running>,
}

/// State of a started trial.
struct Running {
    window: Window,
    before: Before,
    threads: Vec<RunningSide>,
    usage: JoinHandle<Result<Usage, CountersError>>,
}

/// A running flow side.
struct RunningSide {
    flow: u16,
    begins: bool,
    thread: JoinHandle<Done>,
}

/// Counters before the load.
struct Before {
    host: HostSnapshot,
    interfaces: Vec<InterfaceCounters>,
}

/// Result of a side's thread.
struct Done {
    ready: Nanos,
    reports: Vec<SideReport>,
}

/// Report of one flow's side.
struct SideReport {
    flow: u16,
    begins: bool,
    report: Result<FlowRecord, String>,
}

impl Trial {
    /// Creates a trial without open sides. `halt` ends it from outside.
    pub fn new(halt: Halt, interfaces: Vec<String>) -> Self {
        Self { halt, interfaces, sides: Vec::new(), running: None }
    }

    /// Opens the waiting sides, or those that begin, each of which learns its path. Returns the
    /// numbers of their data ports in the order of `orders`.
    pub fn open(
        &mut self,
        orders: &[Order],
        begins: bool,
        files: &Files,
    ) -> Result<Vec<u16>, Failed> {
        let first = self.sides.len();
        for order in orders {
            self.sides.push(OpenSide::open(order, begins, files, &self.halt)?);
        }
        Ok(self.sides[first..].iter().map(|side| side.port).collect())
    }

    /// True if the flows were started.
    pub const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Reads the counters and starts every side.
    pub fn start(&mut self, window: Window, longest: Nanos) -> Result<(), Failed> {
        check_window(window, longest)?;
        let before = Before {
            host: counters::host().map_err(uncounted)?,
            interfaces: counters::interfaces(&self.interfaces).map_err(uncounted)?,
        };
        let (mut alone, mut ends) = (Vec::new(), Vec::new());
        for OpenSide { flow, begins, name, work, .. } in self.sides.drain(..) {
            match work {
                SideWork::Alone(run) => alone.push((flow, begins, name, run)),
                SideWork::Member(end) => ends.push(*end),
            }
        }
        let members = Member::gather(ends)
            .map_err(|cause| Failed::because("start a collective", cause).unavailable())?;
        let mut threads = Vec::with_capacity(alone.len() + members.len());
        for (flow, begins, name, run) in alone {
            let halt = self.halt.clone();
            let work = move || run_side(flow, begins, run, window, &halt);
            threads.push(RunningSide {
                flow,
                begins,
                thread: spawn(&format!("{name} {flow}"), work)?,
            });
        }
        for member in members {
            let halt = self.halt.clone();
            let (flow, name) = (member.flow(), format!("rank {}", member.rank()));
            let thread = spawn(&name, move || run_member(member, window, &halt))?;
            threads.push(RunningSide { flow, begins: false, thread });
        }
        let halt = self.halt.clone();
        let usage = spawn("usage", move || usage_over(window, &halt))?;
        self.running = Some(Running { window, before, threads, usage });
        Ok(())
    }

    /// Reads the counters again when the window closes, waits for every side, and reports.
    pub fn collect(mut self) -> Result<Collected, Failed> {
        let Some(running) = self.running.take() else {
            return Err(Failed::new("collect: no trial was started"));
        };
        // At this time on every host: frames that cross a port later do not count. Sides that
        // finish early wait too, because frames of the trial may still cross their ports.
        clock::rest_until(running.window.closed, || self.halt.is_requested());
        let host = counters::host().map_err(uncounted)?.since(&running.before.host);
        let interfaces = counters::interfaces(&self.interfaces).map_err(uncounted)?;
        let mut reports = Vec::with_capacity(running.threads.len());
        for RunningSide { flow, begins, thread } in running.threads {
            let Done { ready, reports: of_thread } = thread.join().unwrap_or_else(|panic| {
                let report = Err(format!("the flow's thread panicked: {}", panic_text(&*panic)));
                let ready = running.window.start;
                Done { ready, reports: vec![SideReport { flow, begins, report }] }
            });
            reports.extend(of_thread.into_iter().map(|side| {
                let SideReport { flow, begins, report } = side;
                FlowReport { flow, begins, ready, report }
            }));
        }
        let usage =
            running.usage.join().unwrap_or_else(|_| Ok(Usage::default())).map_err(uncounted)?;
        Ok(Collected {
            reports,
            interfaces: changes(&interfaces, &running.before.interfaces),
            usage: Usage { counters: host.counters, ..usage },
        })
    }
}

impl Drop for Trial {
    /// Ends the running sides and waits for them, so that no data port outlives the trial.
    fn drop(&mut self) {
        let Some(running) = self.running.take() else { return };
        self.halt.ask();
        for side in running.threads {
            let _ = side.thread.join();
        }
        let _ = running.usage.join();
    }
}

fn check_window(window: Window, longest: Nanos) -> Result<(), Failed> {
    let now = clock::monotonic();
    let Window { start, stop, closed } = window;
    if start < now {
        return Err(Failed::new(format!("start at {start}: the clock reads {now} already")));
    }
    let run = format!("run from {start} to {closed}");
    if !(start <= stop && stop <= closed) {
        let words = format!("{run}: a window starts, stops and closes in this order");
        return Err(Failed::new(words));
    }
    if closed.saturating_sub(now) > longest {
        let words = format!("{run}: no trial here may take longer than {longest}");
        return Err(Failed::new(words).unavailable());
    }
    Ok(())
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Failed> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(Failed::to(format!("start thread `{name}`")))
}

fn run_side(flow: u16, begins: bool, run: Run, window: Window, halt: &Halt) -> Done {
    let ready = clock::monotonic();
    let reports = match run(window, halt) {
        Ok(parts) => {
            let put = |(flow, record)| SideReport { flow, begins, report: Ok(record) };
            parts.into_iter().map(put).collect()
        }
        Err(fault) => vec![SideReport { flow, begins, report: Err(broken(&fault, halt)) }],
    };
    Done { ready, reports }
}

/// Runs a rank of a collective.
fn run_member(member: Member, window: Window, halt: &Halt) -> Done {
    let ready = clock::monotonic();
    let put = |PartReport { flow, begins, report }| {
        let report = report.map_err(|fault| broken(&fault, halt));
        let record = |end: EndReport| if begins { end.of_caller() } else { end.of_waiter() };
        SideReport { flow, begins, report: report.map(|end| FlowRecord::Exchange(record(end))) }
    };
    Done { ready, reports: member.run(window, halt).into_iter().map(put).collect() }
}

/// Ends the trial's other sides, and describes why this one broke.
fn broken(fault: &FlowError, halt: &Halt) -> String {
    // One broken side makes the trial a failure: the others need not go on.
    halt.ask();
    describe_error(fault)
}

/// Measures how busy the host was from the load's start to its end.
fn usage_over(window: Window, halt: &Halt) -> Result<Usage, CountersError> {
    // Not earlier: in a lab the other hosts' pollers are threads of this machine, and each host
    // creates the threads of its own while it opens its sides.
    let kin = ProcessTree::find();
    clock::rest_until(window.start, || halt.is_requested());
    let before = counters::host_beside(&kin)?;
    clock::rest_until(window.stop, || halt.is_requested());
    Ok(counters::host_beside(&kin)?.since(&before))
}

fn uncounted(cause: CountersError) -> Failed {
    Failed::because("read counters around the load", cause)
}

fn changes(
    after: &[InterfaceCounters],
    before: &[InterfaceCounters],
) -> BTreeMap<String, BTreeMap<String, u64>> {
    after
        .iter()
        .filter_map(|now| {
            let then = before.iter().find(|b| b.name == now.name)?;
            Some((now.name.clone(), now.since(then).counters))
        })
        .collect()
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without words")
}

/// Reports of a side, by flow number: an iperf3 test has two flows.
type Parts = Vec<(u16, FlowRecord)>;
type Run = Box<dyn FnOnce(Window, &Halt) -> Result<Parts, FlowError> + Send>;

/// An open flow side.
struct OpenSide {
    flow: u16,
    begins: bool,
    name: &'static str,
    port: u16,
    work: SideWork,
}

/// Work of an open side.
enum SideWork {
    /// On a thread of its own.
    Alone(Run),
    /// As a connection of a collective's rank.
    Member(Box<MemberEnd>),
}

impl OpenSide {
    fn open(order: &Order, begins: bool, files: &Files, halt: &Halt) -> Result<Self, Failed> {
        let sends = begins != order.opening.by_receiver;
        let (flow, name) = (order.identity.flow, order.flow.side(sends));
        check_addresses(name, order)?;
        let opened = match &order.flow {
            Work::Exchange(exchange) if exchange.collective.is_some() => {
                open_member(order, exchange, begins)
            }
            _ => open(order, begins, files, halt).map(|(port, run)| (port, SideWork::Alone(run))),
        };
        match opened {
            // A report is the sending side's or the receiving side's, whichever called.
            Ok((port, work)) => Ok(Self { flow, begins: sends, name, port, work }),
            Err(cause) => Err(unopened(name, order, cause)),
        }
    }
}

fn unopened(side: &'static str, order: &Order, cause: FlowError) -> Failed {
    let unavailable = matches!(cause, FlowError::Unavailable { .. });
    let unanswered = cause.is_unanswered();
    let failed = Failed::because(format!("open the {side} of flow {}", order.identity.flow), cause);
    match (unavailable, unanswered) {
        (true, _) => failed.unavailable(),
        (_, true) => failed.unanswered(),
        _ => failed,
    }
}

/// Opens a side of any kind; returns its data port and its work.
fn open(order: &Order, begins: bool, files: &Files, halt: &Halt) -> Result<(u16, Run), FlowError> {
    use FlowRecord::{Bulk, Datagrams, Echo, Exchange, Sessions, Storage};
    if order.opening.by_receiver {
        return open_called(order, begins, halt);
    }
    match (&order.flow, begins) {
        (Work::Echo(flow), false) => {
            side::<EchoServer>(order, flow, halt, |server| Echo(server.into()))
        }
        (Work::Echo(flow), true) => side::<EchoClient>(order, flow, halt, Echo),
        (Work::Datagrams(flow), false) => side::<Receiver>(order, flow, halt, Datagrams),
        (Work::Datagrams(flow), true) => side::<Sender>(order, flow, halt, Datagrams),
        (Work::Bulk(flow), false) => side::<Sink>(order, flow, halt, |sink| Bulk(sink.record)),
        (Work::Bulk(flow), true) => side::<Source>(order, flow, halt, |source| Bulk(source.record)),
        (Work::Exchange(flow), false) => {
            side::<ExchangeResponder>(order, flow, halt, |end| Exchange(end.of_waiter()))
        }
        (Work::Exchange(flow), true) => {
            side::<ExchangeInitiator>(order, flow, halt, |end| Exchange(end.of_caller()))
        }
        (Work::Storage(flow), false) => side::<StorageServer>(order, flow, halt, Storage),
        (Work::Storage(flow), true) => {
            let job = Job { asked: flow.clone(), files: files.clone() };
            side::<StorageClient>(order, &job, halt, Storage)
        }
        (Work::Sessions(flow), false) => side::<Acceptor>(order, flow, halt, Sessions),
        (Work::Sessions(flow), true) => side::<Opener>(order, flow, halt, Sessions),
        (Work::Iperf3(_), false) => {
            Err(FlowError::Unsuitable("an agent is no iperf3 server".to_owned()))
        }
        (Work::Iperf3(test), true) => {
            let client = Iperf3Client::open(&order.with(test.clone()), halt)?;
            let parts = |way: WayRecord| (way.flow, way.record);
            let run = move |window, halt: &Halt| {
                client.run(window, halt).map(|ways| ways.into_iter().map(parts).collect())
            };
            Ok((0, Box::new(run)))
        }
    }
}

/// Opens one connection of a collective's rank; returns its data port and the end.
fn open_member(
    order: &Order,
    exchange: &Exchange,
    begins: bool,
) -> Result<(u16, SideWork), FlowError> {
    let end = order.with(exchange.clone());
    let opened = if begins { MemberEnd::connect(&end) } else { MemberEnd::listen(&end) }?;
    Ok((opened.port(), SideWork::Member(Box::new(opened))))
}

/// Opens a side of a flow whose receiver begins.
fn open_called(order: &Order, begins: bool, halt: &Halt) -> Result<(u16, Run), FlowError> {
    use FlowRecord::{Bulk, Datagrams};
    match (&order.flow, begins) {
        (Work::Datagrams(flow), false) => side::<CalledSender>(order, flow, halt, Datagrams),
        (Work::Datagrams(flow), true) => side::<CallingReceiver>(order, flow, halt, Datagrams),
        (Work::Bulk(flow), false) => {
            side::<CalledSource>(order, flow, halt, |source| Bulk(source.record))
        }
        (Work::Bulk(flow), true) => {
            side::<CallingSink>(order, flow, halt, |sink| Bulk(sink.record))
        }
        _ => {
            let why = "let the receiver begin: only datagrams and TCP streams can be called for";
            Err(FlowError::Unsuitable(why.to_owned()))
        }
    }
}

fn side<S>(
    order: &Order,
    flow: &S::Flow,
    halt: &Halt,
    part: fn(S::Report) -> FlowRecord,
) -> Result<(u16, Run), FlowError>
where
    S: Side<Flow: Clone> + Send + 'static,
{
    let side = S::open(&order.with(flow.clone()), halt)?;
    let (number, port) = (order.identity.flow, side.port());
    let run = move |window, halt: &Halt| Ok(vec![(number, part(side.run(window, halt)?))]);
    Ok((port, Box::new(run)))
}

/// Checks that both ends are single hosts.
fn check_addresses(side: &'static str, order: &Order) -> Result<(), Failed> {
    for address in [order.local, order.peer()] {
        let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
        if address.is_unspecified() || address.is_multicast() || broadcast {
            let flow = order.identity.flow;
            return Err(Failed::new(format!(
                "open the {side} of flow {flow}: {address} is not one host's address"
            )));
        }
    }
    Ok(())
}
