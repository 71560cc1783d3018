//! One trial as this host sees it: sides opened, run on threads of their own, reported.
//!
//! Owns the data ports (they close with it), the shared halt, and the counters around the load.
//! Never runs longer than [`LONGEST_TRIAL`], and never makes up an address: a side that would talk
//! to anybody is refused.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::thread::{self, JoinHandle};

use dataplane::counters::{self, CountersError, HostSnapshot, InterfaceCounters, ProcessTree};
use dataplane::{FlowError, Halt, Window, bulk, clock, datagram, echo, exchange, iperf3};
use measure::Nanos;

use super::cancel::Cancel;
use super::storage;
use trial::Protocol;
use trial::record::{FlowRecord, Usage};

use crate::failed::Failed;
use crate::protocol::{Collected, FlowReport, Order, SideReport, Work, in_words};

/// Nothing sends longer than this, whatever a controller says.
pub const LONGEST_TRIAL: Nanos = Nanos::from_secs(6 * 3600);

/// A trial's part on this host.
pub struct Trial {
    halt: Halt,
    interfaces: Vec<String>,
    sides: Vec<Side>,
    running: Option<Running>,
}

/// What runs once it was started.
struct Running {
    window: Window,
    before: Before,
    threads: Vec<RunningSide>,
    usage: JoinHandle<Result<Usage, CountersError>>,
}

/// A side at work.
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

/// What a side's thread hands back.
struct Done {
    ready: Nanos,
    report: Result<SideReport, String>,
}

impl Trial {
    /// Nothing opened yet. `halt` ends it from outside.
    pub fn new(halt: Halt, interfaces: Vec<String>) -> Self {
        Self { halt, interfaces, sides: Vec::new(), running: None }
    }

    /// Opens data ports; their numbers in the order of `orders`.
    pub fn receive(&mut self, orders: &[Order]) -> Result<Vec<u16>, Failed> {
        let mut ports = Vec::with_capacity(orders.len());
        for order in orders {
            let (side, port) = Side::receive(order)?;
            self.sides.push(side);
            ports.push(port);
        }
        Ok(ports)
    }

    /// Opens the sending sides; each learns its path.
    pub fn send(&mut self, orders: &[Order], reins: &Cancel) -> Result<(), Failed> {
        for order in orders {
            self.sides.push(Side::send(order, reins, &self.halt)?);
        }
        Ok(())
    }

    /// Whether the flows were let go.
    pub const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Reads the counters and lets every side go.
    pub fn start(&mut self, window: Window, longest: Nanos) -> Result<(), Failed> {
        check_window(window, longest)?;
        let before = Before {
            host: counters::host().map_err(uncounted)?,
            interfaces: counters::interfaces(&self.interfaces).map_err(uncounted)?,
        };
        let mut threads = Vec::with_capacity(self.sides.len());
        for Side { flow, begins, name, run } in self.sides.drain(..) {
            let halt = self.halt.clone();
            let thread = spawn(&format!("{name} {flow}"), move || run_side(run, window, &halt))?;
            threads.push(RunningSide { flow, begins, thread });
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
        // Here and now, on every host: what crosses a port later is nobody's that counts. Sides
        // that are done early wait with it, because frames of the trial may still cross their
        // ports.
        clock::rest_until(running.window.closed, || self.halt.asked());
        let host = counters::host().map_err(uncounted)?.since(&running.before.host);
        let interfaces = counters::interfaces(&self.interfaces).map_err(uncounted)?;
        let reports = running.threads.into_iter().map(|RunningSide { flow, begins, thread }| {
            let done = thread.join().unwrap_or_else(|panic| Done {
                ready: running.window.start,
                report: Err(format!("the flow's thread panicked: {}", panic_text(&*panic))),
            });
            FlowReport { flow, begins, ready: done.ready, report: done.report }
        });
        let reports = reports.collect();
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
    /// Ends what runs and waits for it, so that no data port outlives the trial.
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

fn run_side(run: Run, window: Window, halt: &Halt) -> Done {
    let ready = clock::monotonic();
    let report = run(window, halt).map_err(|fault| {
        // One broken side makes the trial a failure: the others need not go on.
        halt.ask();
        in_words(&fault)
    });
    Done { ready, report }
}

/// How busy the host was from the load's start to its end.
fn usage_over(window: Window, halt: &Halt) -> Result<Usage, CountersError> {
    // Not before: in a lab the other hosts' pollers are threads of this machine, and each host
    // gives its own their threads while it opens its sides.
    let kin = ProcessTree::find();
    clock::rest_until(window.start, || halt.asked());
    let before = counters::host_beside(&kin)?;
    clock::rest_until(window.stop, || halt.asked());
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

type Run = Box<dyn FnOnce(Window, &Halt) -> Result<SideReport, FlowError> + Send>;

/// An opened side of a flow.
struct Side {
    flow: u16,
    begins: bool,
    name: &'static str,
    run: Run,
}

impl Side {
    /// Opens a data port, and tells its number.
    fn receive(order: &Order) -> Result<(Self, u16), Failed> {
        let name = order.flow.receiver();
        check_addresses(name, order)?;
        let (port, run) = open_receiver(order).map_err(|cause| unopened(name, order, cause))?;
        Ok((Self { flow: order.identity.flow, begins: false, name, run }, port))
    }

    /// Opens a sending side and lets it learn its path.
    fn send(order: &Order, cancel: &Cancel, halt: &Halt) -> Result<Self, Failed> {
        let name = order.flow.sender();
        check_addresses(name, order)?;
        let run = open_sender(order, cancel, halt).map_err(|cause| unopened(name, order, cause))?;
        Ok(Self { flow: order.identity.flow, begins: true, name, run })
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

fn open_receiver(order: &Order) -> Result<(u16, Run), FlowError> {
    Ok(match &order.flow {
        Work::Echo(requests) => {
            let side = echo::EchoServer::bind(&order.with(requests.clone()))?;
            (side.port(), Box::new(|w, h| side.run(w, h).map(SideReport::Echo)))
        }
        Work::Datagrams(traffic) => {
            let side = datagram::Receiver::bind(&order.with(traffic.clone()))?;
            (
                side.port(),
                Box::new(|w, h| Ok(SideReport::Half(FlowRecord::Datagrams(side.run(w, h)?)))),
            )
        }
        Work::Bulk(bulk) => {
            let side = bulk::Sink::bind(&order.with(bulk.clone()))?;
            (
                side.port(),
                Box::new(|w, h| Ok(SideReport::Half(FlowRecord::Bulk(side.run(w, h)?.record)))),
            )
        }
        Work::Exchange(exchange) => {
            let side = exchange::ExchangeResponder::bind(&order.with(exchange.clone()))?;
            (side.port(), Box::new(|w, h| side.run(w, h).map(SideReport::Exchange)))
        }
        Work::Storage(job) => {
            let side = storage::StorageServer::open(&order.with(job.clone()))?;
            (side.port(), Box::new(|w, h| side.run(w, h).map(SideReport::Storage)))
        }
        Work::Iperf3(_) => {
            return Err(FlowError::Unsuitable("an agent is no iperf3 server".to_owned()));
        }
    })
}

fn open_sender(order: &Order, cancel: &Cancel, halt: &Halt) -> Result<Run, FlowError> {
    Ok(match &order.flow {
        Work::Echo(requests) => {
            let side = echo::EchoClient::connect(&order.with(requests.clone()))?;
            let part = match requests.asked.protocol {
                Protocol::Icmp => SideReport::Whole,
                Protocol::Udp | Protocol::Tcp => SideReport::Half,
            };
            Box::new(move |w, h| Ok(part(FlowRecord::Echo(side.run(w, h)?))))
        }
        Work::Datagrams(traffic) => {
            let mut side = datagram::Sender::open(&order.with(traffic.clone()))?;
            side.learn()?;
            Box::new(|w, h| Ok(SideReport::Half(FlowRecord::Datagrams(side.run(w, h)?))))
        }
        Work::Bulk(bulk) => {
            let side = bulk::Source::connect(&order.with(bulk.clone()))?;
            Box::new(|w, h| Ok(SideReport::Half(FlowRecord::Bulk(side.run(w, h)?.record))))
        }
        Work::Exchange(exchange) => {
            let side = exchange::ExchangeInitiator::connect(&order.with(exchange.clone()))?;
            Box::new(|w, h| side.run(w, h).map(SideReport::Exchange))
        }
        Work::Storage(job) => {
            let side = storage::Client::prepare(&order.with(job.clone()), cancel, halt)?;
            Box::new(|w, h| Ok(SideReport::Half(FlowRecord::Storage(side.run(w, h)?))))
        }
        Work::Iperf3(test) => {
            let side = iperf3::Iperf3Client::connect(&order.with(test.clone()), halt)?;
            Box::new(|w, h| side.run(w, h).map(SideReport::Iperf3))
        }
    })
}

/// Both ends must be single hosts.
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
