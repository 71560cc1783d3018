//! What a claim can be about: each metric with its unit, and which part of which study finds it.
//!
//! Owns the one table of that. What no study of a switch or router finds is not in it, nor how many
//! groups of ports there are: those whose ports have no host are not seen.

use page::{Metric, Unit};

use crate::{ForwardingTest, SwitchTest};

/// A metric that a claim can be about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurable {
    /// Which.
    pub metric: Metric,
    /// Of its figures.
    pub unit: Unit,
    /// Whether it is a distribution, of which a claim names a point.
    pub distribution: bool,
    pub(super) part: Part,
}

/// Which part of which study finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Forwarding(ForwardingTest),
    /// Of two ports, or of a pattern of all ports where the condition `test` names one.
    Throughput,
    Switching(SwitchTest),
    Latency,
    /// One output's buffer; all outputs' too.
    Depth,
    /// Every arrangement of pairs.
    Nonblocking,
    /// Floods that tell groups of ports.
    Groups,
    /// Something done to the device while flows run.
    Failover,
}

/// All of them.
pub const MEASURABLE: &[Measurable] = &[
    row(Metric::Throughput, Unit::FramesPerSecond, Part::Throughput),
    row(Metric::Received, Unit::FramesPerSecond, Part::Forwarding(ForwardingTest::Flood)),
    row(Metric::LossRatio, Unit::Ratio, Part::Forwarding(ForwardingTest::LossCurve)),
    row(Metric::BackToBack, Unit::Count, Part::Forwarding(ForwardingTest::BackToBack)),
    row(Metric::RecoveryTime, Unit::Nanoseconds, Part::Forwarding(ForwardingTest::Recovery)),
    row(Metric::ResetTime, Unit::Nanoseconds, Part::Forwarding(ForwardingTest::Reset)),
    row(Metric::Outage, Unit::Nanoseconds, Part::Failover),
    points(Metric::OneWayDelay, Part::Forwarding(ForwardingTest::Latency)),
    points(Metric::Rtt, Part::Latency),
    points(Metric::RttAdded, Part::Latency),
    points(Metric::Pdv, Part::Latency),
    row(Metric::Buffer, Unit::Bytes, Part::Depth),
    row(Metric::BufferShared, Unit::Flag, Part::Depth),
    row(Metric::BufferReserve, Unit::Bytes, Part::Depth),
    row(Metric::Alpha, Unit::Ratio, Part::Depth),
    row(Metric::Cell, Unit::Bytes, Part::Depth),
    row(Metric::Nonblocking, Unit::Flag, Part::Nonblocking),
    row(Metric::UplinkRate, Unit::BitsPerSecond, Part::Groups),
    row(Metric::AddressCapacity, Unit::Count, Part::Switching(SwitchTest::AddressCaching)),
    row(
        Metric::AddressLearningRate,
        Unit::FramesPerSecond,
        Part::Switching(SwitchTest::AddressLearning),
    ),
    row(Metric::HeadOfLineBlocking, Unit::Flag, Part::Switching(SwitchTest::HeadOfLine)),
    row(Metric::Microburst, Unit::Count, Part::Switching(SwitchTest::Microburst)),
];

const fn row(metric: Metric, unit: Unit, part: Part) -> Measurable {
    Measurable { metric, unit, distribution: false, part }
}

const fn points(metric: Metric, part: Part) -> Measurable {
    Measurable { metric, unit: Unit::Nanoseconds, distribution: true, part }
}

/// The row of a metric, where a claim can be about it.
pub fn measurable(metric: Metric) -> Option<&'static Measurable> {
    MEASURABLE.iter().find(|row| row.metric == metric)
}
