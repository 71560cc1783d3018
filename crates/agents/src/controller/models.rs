//! Emulated devices of a lab: the ports for their frames, and their counters in a trial's record.
//!
//! Owns the connection of the lab's models to the data plane's ports, and the names of an
//! emulator's own counters. Never decides whether an emulator that fell behind invalidates a trial:
//! `study` does.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use dataplane::{clock, switchboard};
use device::Cause;
use lab::{DevicePlan, EdgeReading, EmulatorReading, FramePort, Lab, LabError, Switchboard};
use measure::Nanos;
use trial::counters::{RX_DROPPED, RX_PACKETS, TX_PACKETS};
use trial::record::{PortCounters, Side};
use trial::validity::{
    EMULATOR_DELIVERED, EMULATOR_DISPLACED, EMULATOR_ENTERED, EMULATOR_LATE, EMULATOR_OVERFLOW,
    EMULATOR_REFUSED,
};

use super::trial_error::TrialError;
use crate::failed::Failed;

/// Octets for all receive rings of a device together.
const RINGS: usize = 64 << 20;

/// The data plane's ports, passed to the lab, which may not depend on them.
#[derive(Debug)]
pub struct Ports;

#[derive(Debug)]
struct Port(switchboard::Port);

impl Switchboard for Ports {
    fn open(
        &self,
        interface: &str,
        largest: usize,
        ports: usize,
    ) -> Result<Box<dyn FramePort>, lab::Cause> {
        let port = switchboard::Port::open(interface, largest, RINGS / ports.max(1))?;
        Ok(Box::new(Port(port)))
    }

    fn now(&self) -> Nanos {
        clock::monotonic()
    }
}

impl FramePort for Port {
    fn receive(&mut self, most: usize, take: &mut dyn FnMut(&[u8], Nanos)) -> usize {
        self.0.receive(most, &mut |frame| take(frame.octets, frame.at))
    }

    fn send(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) -> io::Result<usize> {
        self.0.send(frames)
    }

    fn overflow(&mut self) -> u64 {
        self.0.refused()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn calm(&self) {
        self.0.calm();
    }
}

/// Readings of models at one moment, by device.
pub type ModelSnapshot = BTreeMap<String, EmulatorReading>;

/// Reads the emulated devices among `devices`.
pub fn look(lab: &Lab, devices: &[&DevicePlan]) -> Result<ModelSnapshot, TrialError> {
    let models = devices.iter().filter_map(|device| Some((device, lab.emulation(&device.name)?)));
    let read = models.map(|(device, model)| match model.read() {
        Ok(reading) => Ok((device.name.clone(), reading)),
        Err(cause) => Err(unheard(&device.name, cause)),
    });
    read.collect()
}

fn unheard(device: &str, cause: LabError) -> TrialError {
    Failed::because(format!("read the counters of device `{device}`"), cause).into()
}

/// Adds the models' counts between two readings to the kernel's counters of their ports, and each
/// model's own health.
pub fn add_changes(ports: &mut Vec<PortCounters>, before: &ModelSnapshot, after: &ModelSnapshot) {
    for (device, after) in after {
        let Some(change) = before.get(device).map(|before| after.since(before)) else { continue };
        for (edge, number) in change.edges.iter().zip(1..) {
            let place = format!("{device}/{number}");
            let Some(port) = ports.iter_mut().find(|port| port.place == place) else { continue };
            for (name, by) in counters(edge) {
                *port.counters.entry(name.to_owned()).or_default() += by;
            }
            // The kernel has received frames that a real cable would have lost or damaged.
            if let Some(received) = port.counters.get_mut(RX_PACKETS) {
                *received = received.saturating_sub(edge.model.lost_in());
            }
        }
        ports.push(PortCounters {
            place: format!("{device}/emulator"),
            side: Side::Tester,
            cable: None,
            counters: health(&change),
        });
    }
}

/// Lists the model's counters for the frames of one host, with the reasons of drops.
fn counters(edge: &EdgeReading) -> Vec<(&'static str, u64)> {
    let reasons = [
        ("queue_full", Cause::QueueFull),
        ("uplink_full", Cause::UplinkFull),
        ("packet_rate_exceeded", Cause::Overrun),
        ("policed", Cause::Policed),
        ("random_loss", Cause::Random),
        ("same_port", Cause::SamePort),
        ("no_route", Cause::NoRoute),
        ("too_long", Cause::TooLong),
        ("reset", Cause::Reset),
        ("broken_cable", Cause::Broken),
        ("link_down", Cause::LinkDown),
        ("blackholed", Cause::Blackholed),
    ];
    let count = |cause| edge.dropped.get(&cause).copied().unwrap_or(0);
    let mut counters: Vec<(&str, u64)> = reasons.map(|(name, cause)| (name, count(cause))).to_vec();
    counters.push(("ttl_expired", edge.expired));
    counters.push(("wire_rate_exceeded", edge.host_overrun));
    counters.extend(sim::port_counters(&edge.model));
    // Added to those: frames with an expired TTL or beyond their cable's rate, which the model
    // never saw.
    counters.push((RX_DROPPED, edge.expired + edge.host_overrun));
    // They left by the port, though the kernel never saw them.
    counters.push((TX_PACKETS, edge.model.lost_out()));
    counters
}

fn health(change: &EmulatorReading) -> BTreeMap<String, u64> {
    let lateness = &change.lateness;
    let named = [
        (EMULATOR_DELIVERED, change.delivered()),
        (EMULATOR_LATE, change.late),
        (EMULATOR_OVERFLOW, change.overflow()),
        (EMULATOR_REFUSED, change.refused()),
        (EMULATOR_ENTERED, change.entered()),
        (EMULATOR_DISPLACED, change.displaced),
        ("emulator_displacement_max_ns", change.displacement.0),
        ("emulator_absence_max_ns", change.absence.0),
        ("emulator_lateness_median_ns", lateness.quantile(0.5).0),
        ("emulator_lateness_p99_ns", lateness.quantile(0.99).0),
        ("emulator_lateness_max_ns", lateness.max().0),
    ];
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
