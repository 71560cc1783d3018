//! Metrics that a claim can be about, each with its unit and the study that measures it.
//!
//! Owns the one table of them. Metrics that no study of a switch or router finds are not in it.
//! Neither is the number of port groups: groups without hosts are not seen.

use page::{Metric, Unit};

use crate::{ForwardingTest, SwitchTest};

/// Metric that a claim can be about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurable {
    /// The metric.
    pub metric: Metric,
    /// Unit of its figures.
    pub unit: Unit,
    /// True if the metric is a distribution: a claim then names a quantile.
    pub distribution: bool,
    pub(super) part: Part,
}

/// Part of a study that measures a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Forwarding(ForwardingTest),
    /// Throughput between two ports, or in a pattern of all ports if the condition `test` names
    /// one.
    Throughput,
    Switching(SwitchTest),
    Latency,
    /// Buffer of one output or of all outputs.
    Depth,
    /// Every arrangement of pairs.
    Nonblocking,
    /// Floods that reveal port groups.
    Groups,
    /// Action on the device while flows run.
    Failover,
}

/// All metrics that a claim can be about.
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

/// Row of a metric; `None` if no claim can be about it.
pub fn measurable(metric: Metric) -> Option<&'static Measurable> {
    MEASURABLE.iter().find(|row| row.metric == metric)
}
