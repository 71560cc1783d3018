//! One trial as this host sees it: sides opened, run on threads of their own, reported.
//!
//! Owns the data ports (they close with it), the shared halt, and the counters around the load.
//! Never runs longer than [`LONGEST_TRIAL`].

use std::collections::BTreeMap;
use std::thread::{self, JoinHandle};

use dataplane::counters::{self, CountersError, HostSnapshot, InterfaceCounters, ProcessTree};
use dataplane::{Halt, Window, clock};
use measure::Nanos;

use super::cancel::Cancel;
use super::fault::AgentFault;
use super::sides::Side;
use trial::record::Usage;

use crate::protocol::{Collected, FlowReport, ReceiverOrder, SenderOrder, SideReport, in_words};

/// Nothing sends longer than this, whatever a controller says.
pub const LONGEST_TRIAL: Nanos = Nanos::from_secs(6 * 3600);

/// How often a wait looks whether it was asked to end.
const GLANCE: Nanos = Nanos::from_millis(20);

/// A trial's part on this host.
pub struct Trial {
    halt: Halt,
    interfaces: Vec<String>,
    sides: Vec<(u16, Side)>,
    kin: ProcessTree,
    running: Option<Running>,
}

/// What runs once it was started.
struct Running {
    window: Window,
    before: Before,
    threads: Vec<(u16, JoinHandle<Done>)>,
    usage: JoinHandle<Result<Usage, CountersError>>,
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
        Self { halt, interfaces, sides: Vec::new(), kin: ProcessTree::default(), running: None }
    }

    /// Opens data ports; their numbers in the order of `orders`.
    pub fn receive(&mut self, orders: &[ReceiverOrder]) -> Result<Vec<u16>, AgentFault> {
        let mut ports = Vec::with_capacity(orders.len());
        for order in orders {
            let (side, port) = Side::receive(order)?;
            self.sides.push((order.flow(), side));
            ports.push(port);
        }
        // Now, when pollers' threads are there and nobody waits for a moment on the clock.
        self.kin = ProcessTree::find();
        Ok(ports)
    }

    /// Opens the sending sides; each learns its path.
    pub fn send(&mut self, orders: &[SenderOrder], reins: &Cancel) -> Result<(), AgentFault> {
        for order in orders {
            self.sides.push((order.flow(), Side::send(order, reins)?));
        }
        Ok(())
    }

    /// Whether the flows were let go.
    pub const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Reads the counters and lets every side go.
    pub fn start(&mut self, window: Window, longest: Nanos) -> Result<(), AgentFault> {
        check_window(window, longest)?;
        let before =
            Before { host: counters::host()?, interfaces: counters::interfaces(&self.interfaces)? };
        let mut threads = Vec::with_capacity(self.sides.len());
        for (flow, side) in self.sides.drain(..) {
            let halt = self.halt.clone();
            let name = format!("{} {flow}", side.name());
            threads.push((flow, spawn(name, move || run_side(side, window, &halt))?));
        }
        let halt = self.halt.clone();
        let kin = self.kin.clone();
        let usage = spawn("usage".into(), move || usage_over(window, &kin, &halt))?;
        self.running = Some(Running { window, before, threads, usage });
        Ok(())
    }

    /// Reads the counters again when the window closes, waits for every side, and reports.
    pub fn collect(mut self) -> Result<Collected, AgentFault> {
        let Some(running) = self.running.take() else {
            return Err(AgentFault::Order { ask: "collect", reason: "no trial was started" });
        };
        // Here and now, on every host: what crosses a port later is nobody's that counts. Sides
        // that are done early wait with it, because frames of the trial may still cross their
        // ports.
        rest_until(running.window.closed, &self.halt);
        let host = counters::host()?.since(&running.before.host);
        let interfaces = counters::interfaces(&self.interfaces)?;
        let reports = running.threads.into_iter().map(|(flow, thread)| {
            let done = thread.join().unwrap_or_else(|panic| Done {
                ready: running.window.start,
                report: Err(format!("the flow's thread panicked: {}", panic_text(&*panic))),
            });
            FlowReport { flow, ready: done.ready, report: done.report }
        });
        let reports = reports.collect();
        let usage = running.usage.join().unwrap_or_else(|_| Ok(Usage::default()))?;
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
        for (_, thread) in running.threads {
            let _ = thread.join();
        }
        let _ = running.usage.join();
    }
}

fn check_window(window: Window, longest: Nanos) -> Result<(), AgentFault> {
    let now = clock::monotonic();
    let Window { start, stop, closed } = window;
    if start < now {
        return Err(AgentFault::Late { start, now });
    }
    let wrong = |reason| Err(AgentFault::Window { start, closed, reason });
    if !(start <= stop && stop <= closed) {
        return wrong("a window starts, stops and closes in this order");
    }
    if closed.saturating_sub(now) > longest {
        return Err(AgentFault::Long { start, closed, longest });
    }
    Ok(())
}

fn spawn<T: Send + 'static>(
    name: String,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, AgentFault> {
    thread::Builder::new()
        .name(name.clone())
        .spawn(work)
        .map_err(|cause| AgentFault::Thread { name, cause })
}

fn run_side(side: Side, window: Window, halt: &Halt) -> Done {
    let ready = clock::monotonic();
    let report = side.run(window, halt).map_err(|fault| {
        // One broken side makes the trial a failure: the others need not go on.
        halt.ask();
        in_words(&fault)
    });
    Done { ready, report }
}

/// How busy the host was from the load's start to its end.
fn usage_over(window: Window, kin: &ProcessTree, halt: &Halt) -> Result<Usage, CountersError> {
    rest_until(window.start, halt);
    let before = counters::host_beside(kin)?;
    rest_until(window.stop, halt);
    Ok(counters::host_beside(kin)?.since(&before))
}

/// Sleeps until `at`, or until halted.
fn rest_until(at: Nanos, halt: &Halt) {
    while !halt.asked() {
        let left = at.saturating_sub(clock::monotonic());
        if left == Nanos::ZERO {
            return;
        }
        thread::park_timeout(left.min(GLANCE).as_duration());
    }
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
