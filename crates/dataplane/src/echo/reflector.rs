//! Reflecting thread: it answers learning frames from the opening of the port on, and receives the
//! window later.
//!
//! Owns the thread and its orders; the carriers interpret packets. Dropping the worker ends its
//! thread within a tick.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};

use super::EchoServerReport;
use super::line::LEARNING;
use crate::{FlowError, Halt, Identity, Window, clock};
use wire::Probe;

/// Window of the reflection; unknown at first.
#[derive(Debug, Default)]
pub(super) struct Orders {
    given: OnceLock<(Window, Halt)>,
    abandoned: AtomicBool,
}

impl Orders {
    /// True if the reflector must end. Checked between an answer and the next request, when it
    /// costs the client nothing.
    pub(super) fn over(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
            || self.given.get().is_some_and(|(window, halt)| {
                halt.is_requested() || clock::monotonic() >= window.closed
            })
    }
}

/// Counts of a reflector, and the flow that it answers.
pub(super) struct Reflection {
    identity: Identity,
    pub report: EchoServerReport,
}

impl Reflection {
    pub(super) fn new(identity: Identity) -> Self {
        Self { identity, report: EchoServerReport::default() }
    }

    /// Counts what may not be answered, and returns what may.
    pub(super) fn admit(&mut self, probe: Option<Probe>) -> Option<Probe> {
        let Some(probe) = probe else {
            self.report.rejected.malformed += 1;
            return None;
        };
        if probe.token != self.identity.token || probe.flow != self.identity.flow {
            self.report.rejected.foreign += 1;
            return None;
        }
        Some(probe)
    }

    /// Counts a packet from elsewhere. One of this flow, once its client is `known`, came by
    /// another mapping of a NAT.
    pub(super) fn turn_away(&mut self, probe: Option<Probe>, known: bool) {
        let Identity { token, flow } = self.identity;
        if known && probe.is_some_and(|probe| (probe.token, probe.flow) == (token, flow)) {
            self.report.remapped += 1;
        }
        self.report.rejected.foreign += 1;
    }

    /// Notes where the flow's requests come from, if not from the peer's own address.
    pub(super) fn heard_from(&mut self, source: IpAddr, peer: IpAddr) {
        if source != peer {
            self.report.seen_from = Some(source);
        }
    }

    /// Counts an answer, unless it was to a learning frame.
    pub(super) fn answered(&mut self, sequence: u32) {
        self.report.answered += u64::from(sequence < LEARNING);
    }
}

type Outcome = Result<EchoServerReport, FlowError>;

/// Running reflector thread.
#[derive(Debug)]
pub(super) struct Worker {
    orders: Arc<Orders>,
    thread: Option<JoinHandle<Outcome>>,
}

impl Worker {
    /// Starts `reflect` on its own thread.
    pub(super) fn start(
        reflect: impl FnOnce(&Orders) -> Outcome + Send + 'static,
    ) -> Result<Self, FlowError> {
        let orders = Arc::new(Orders::default());
        let theirs = Arc::clone(&orders);
        let thread = Builder::new()
            .name("reflector".into())
            .spawn(move || reflect(&theirs))
            .map_err(|e| FlowError::kernel("start thread of", "a reflector", e))?;
        Ok(Self { orders, thread: Some(thread) })
    }

    /// Passes the window to the thread, and waits for its end.
    pub(super) fn finish(mut self, window: Window, halt: &Halt) -> Outcome {
        let told = self.orders.given.set((window, halt.clone()));
        debug_assert!(told.is_ok(), "a reflector is run once");
        let thread = self.thread.take().expect("a thread is joined once");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders.abandoned.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread ends within a tick; its counts are no longer needed.
            let _ = thread.join();
        }
    }
}
