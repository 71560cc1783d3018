//! The emulated device: a model of a switch or router, run in real time with real frames.
//!
//! Owns the thread that carries frames between the ports of a device's namespace and the model, and
//! its readings: frame counts, and the lateness of frames. The thread lives as long as the value
//! and touches only the ports that it was given. Never decides where a frame goes: `device` does.
//! Never decides whether a trial is valid.

mod displacement;
mod driver;
mod frames;
mod header;
mod host_queue;
mod reading;

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use device::{Edge, PortAddress};
use measure::Nanos;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::equipment::{Cause, FramePort, Switchboard};
use crate::error::LabError;
use crate::spec::EmulatedSpec;
use crate::unpoisoned::unpoisoned;
use driver::Driver;
pub use host_queue::HOST_QUEUE_FRAMES;
pub use reading::{EdgeReading, EmulatorReading, LATE};

/// A device's spec, with the addresses of its hosts.
pub(crate) struct Model<'a> {
    pub(crate) spec: &'a EmulatedSpec,
    /// Addresses of a router's ports, one for each edge; empty for a switch.
    pub(crate) addresses: Vec<PortAddress>,
}

/// Time-out for an answer of the thread. It takes microseconds, or as long as the thread is off its
/// processor.
const ANSWERING: Duration = Duration::from_secs(5);

/// A running emulated device. Dropping it ends its thread.
#[derive(Debug)]
pub struct Emulation {
    device: String,
    orders: Arc<Orders>,
    bell: UnixStream,
    thread: Option<JoinHandle<()>>,
    processor: Option<usize>,
}

/// Change to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortOrder {
    /// Link up, or down together with the frames on it.
    Link {
        /// True for up.
        up: bool,
    },
    /// Black hole: every frame that leaves by the port is lost, or not any more.
    Blackhole {
        /// True if frames are lost.
        on: bool,
    },
}

/// Requests to the thread and its answers.
#[derive(Debug, Default)]
struct Orders {
    /// True if anything below was requested since the thread last looked.
    any: AtomicBool,
    asked: Mutex<Asked>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct Asked {
    end: bool,
    reset: bool,
    longer: Option<Nanos>,
    /// Changes to ports; an entry stays here until it is done.
    ports: Vec<(Edge, PortOrder)>,
    read: bool,
    reading: Option<EmulatorReading>,
}

impl Emulation {
    /// Starts a model; the ports are in the order of its edges. The model gets a processor of its
    /// own if this process may use more than one.
    pub(crate) fn start(
        device: &str,
        model: &Model<'_>,
        ports: Vec<Box<dyn FramePort>>,
        board: Arc<dyn Switchboard>,
        others: &[usize],
    ) -> Result<Self, LabError> {
        let failed = |cause: io::Error| Self::broken(device, cause.into());
        let (bell, heard) = UnixStream::pair().map_err(failed)?;
        heard.set_nonblocking(true).map_err(failed)?;
        let orders = Arc::new(Orders::default());
        let processor = processor_beside(others);
        let driver = Driver::new(model, ports, board, Arc::clone(&orders), heard);
        let thread = thread::Builder::new()
            .name("switchmark-emulated".to_owned())
            .spawn(move || driver.run(processor))
            .map_err(failed)?;
        let (device, thread) = (device.to_owned(), Some(thread));
        Ok(Self { device, orders, bell, thread, processor })
    }

    /// Processor that it keeps busy while frames pass; `None` if the process has only one.
    pub const fn processor(&self) -> Option<usize> {
        self.processor
    }

    /// Reads the counts since the start, and the lateness of frames since the last reading.
    pub fn read(&self) -> Result<EmulatorReading, LabError> {
        self.ask(|asked| {
            asked.read = true;
            asked.reading = None;
        })?;
        let asked = unpoisoned(&self.orders.asked);
        let waited = self
            .orders
            .answered
            .wait_timeout_while(asked, ANSWERING, |asked| asked.reading.is_none());
        let (mut asked, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        asked.reading.take().ok_or_else(|| self.silent())
    }

    /// Clears the learned state and drops all frames inside.
    pub(crate) fn reset(&self) -> Result<(), LabError> {
        self.ask(|asked| asked.reset = true)
    }

    /// Changes a port, and returns when that is done.
    pub(crate) fn change_port(&self, edge: Edge, order: PortOrder) -> Result<(), LabError> {
        self.ask(|asked| asked.ports.push((edge, order)))?;
        let asked = unpoisoned(&self.orders.asked);
        let waited = self
            .orders
            .answered
            .wait_timeout_while(asked, ANSWERING, |asked| !asked.ports.is_empty());
        let (asked, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        if asked.ports.is_empty() { Ok(()) } else { Err(self.silent()) }
    }

    /// Delays every frame from now on by this much more than the profile does, as if all cables had
    /// been replaced by longer ones during traffic.
    pub fn lengthen(&self, by: Nanos) -> Result<(), LabError> {
        self.ask(|asked| asked.longer = Some(by))
    }

    fn ask(&self, what: impl FnOnce(&mut Asked)) -> Result<(), LabError> {
        if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            return Err(self.silent());
        }
        what(&mut unpoisoned(&self.orders.asked));
        self.orders.any.store(true, Ordering::Release);
        // If it is full of earlier signals, the thread wakes up as well.
        let _ = (&self.bell).write(&[1]);
        Ok(())
    }

    fn silent(&self) -> LabError {
        let cause = io::Error::other("its thread has ended or does not answer");
        Self::broken(&self.device, cause.into())
    }

    /// Builds the error for a device that cannot be started or does not answer.
    pub(crate) fn broken(device: &str, cause: Cause) -> LabError {
        LabError::because(format!("turn emulated device {device}"), cause)
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        let _ = self.ask(|asked| asked.end = true);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported as it happened.
            let _ = thread.join();
        }
    }
}

/// Returns the last processor that no other emulated device has; flows use the first ones.
fn processor_beside(others: &[usize]) -> Option<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let mine: Vec<usize> =
        (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect();
    let (_, candidates) = mine.split_first().filter(|(_, rest)| !rest.is_empty())?;
    candidates.iter().rfind(|cpu| !others.contains(cpu)).or(candidates.last()).copied()
}
