//! Ports that are slow with every partner, and how: by their link's speed, rate, delay, damaged
//! frames, or late messages.
//!
//! Owns the rules. From outside a slow host, NIC, cable or switch port look the same, so that the
//! verdict is undetermined and nothing of it is the device's sharing. Names nobody if half of the
//! ports are slow: then two halves differ and neither is the odd one.

use measure::Rate;
use measure::blocks::{BlockEstimate, paired_ratio};
use measure::quantile::median;
use page::{Condition, Figure, Key, Metric, Unit};
use trial::PortRef;

use super::super::control::Control;
use super::super::probe::Probed;
use super::super::quiet::Quiet;
use super::super::scene::{FEWEST_PORTS, Scene};
use super::Measured;
use super::lossy::{Lateness, damaged_share};
use super::own::{Of, OwnRates};
use crate::Row;
use crate::rows::CONFIDENCE;

/// A port that gets less than the others, whichever its partner.
#[derive(Debug)]
pub(in super::super) struct SlowPort {
    pub(in super::super) port: PortRef,
    /// Number of partners that it had.
    pub(in super::super) partners: usize,
    /// Number of ports that it is compared with.
    pub(in super::super) others: usize,
    /// Signs of slowness, the strongest first; never empty.
    pub(in super::super) signs: Vec<Sign>,
    /// Port whose cable may be exchanged with its own to tell what is slow.
    pub(in super::super) exchange: Option<PortRef>,
}

/// One way in which a port is slow.
#[derive(Debug)]
pub(in super::super) struct Sign {
    pub(in super::super) how: How,
    pub(in super::super) value: Figure,
}

/// Ways of being slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum How {
    /// Its link has a lower speed than the others'.
    Link {
        /// Speed of its link.
        own: Rate,
        /// Median speed of the others.
        others: Rate,
    },
    /// Its exchanges have a lower rate; in which direction is unknown.
    Exchanges,
    /// What it sends has a lower rate.
    Sends,
    /// What it receives has a lower rate.
    Receives,
    /// Its messages take longer, whatever their size.
    Delay,
    /// Frames that it sends are damaged.
    SendsDamaged,
    /// Frames that it receives are damaged.
    ReceivesDamaged,
    /// Frames that it sends are lost.
    SendsLost,
    /// Frames that are sent to it are lost.
    ReceivesLost,
    /// Some of its messages take much longer than the rest.
    Late,
}

impl How {
    /// Code word of the row's statistic.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Link { .. } => "link",
            Self::Exchanges => "exchanges",
            Self::Sends | Self::SendsDamaged | Self::SendsLost => "sends",
            Self::Receives | Self::ReceivesDamaged | Self::ReceivesLost => "receives",
            Self::Delay | Self::Late => "messages",
        }
    }

    const fn metric(self) -> (Metric, Unit) {
        match self {
            Self::Link { .. } | Self::Exchanges | Self::Sends | Self::Receives => {
                (Metric::PortShare, Unit::Ratio)
            }
            Self::Delay => (Metric::PortDelay, Unit::Nanoseconds),
            Self::SendsDamaged | Self::ReceivesDamaged => (Metric::PortDamaged, Unit::Ratio),
            Self::SendsLost | Self::ReceivesLost => (Metric::PortLoss, Unit::Ratio),
            Self::Late => (Metric::PortLate, Unit::Ratio),
        }
    }
}

/// Finds the slow ports of a scene.
pub(super) fn slow_ports(measured: Measured<'_>, at: usize, own: &OwnRates) -> Vec<SlowPort> {
    let scene = &measured.scenes[at];
    let compared = own.compared(&scene.ports);
    if compared.len() < FEWEST_PORTS {
        return Vec::new();
    }
    let lateness = Lateness::new(measured, at);
    let control = measured.controls.get(&at);
    let others = compared.len() - 1;
    let quiet = measured.quiets.get(&at);
    let judge = Judge { measured, scene, own, lateness: &lateness, quiet, control, others };
    let probed = measured.probes.get(&at);
    let mut slow: Vec<SlowPort> =
        compared.iter().filter_map(|port| judge.slow_port(port, probed)).collect();
    // Ports that are fast alone share what is slow, and are none of the half.
    slow.retain(|one| !judge.is_freed(one));
    if slow.len() * 2 >= compared.len() {
        return Vec::new();
    }
    // With slow partners only, a port's best round is theirs. Of two such partners the probes tell
    // which is slow.
    let all: Vec<PortRef> = slow
        .iter()
        .map(|one| one.port.clone())
        .filter(|port| !judge.is_level(port, probed))
        .collect();
    slow.retain(|one| {
        let good = own.partners_of(&one.port).filter(|partner| !all.contains(partner));
        good.count() > 1
    });
    let named: Vec<PortRef> = slow.iter().map(|one| one.port.clone()).collect();
    for one in &mut slow {
        let good = compared.iter().filter(|port| !named.contains(*port));
        one.exchange = good.min_by_key(|port| distance(scene, port, &one.port)).copied().cloned();
        if let Some(other) = &one.exchange {
            for sign in &mut one.signs {
                sign.value.set(Key::ExchangeWith, Condition::Text(other.to_string()));
            }
        }
    }
    slow
}

/// Ports that may be slow: their whole interval is below the others' by half the margin. Probes
/// show the direction, and tell those from the rest that are slow in one of the two only.
pub(in super::super) fn suspects(measured: Measured<'_>, at: usize) -> Vec<PortRef> {
    if !measured.scenes[at].is_asked(measured.ways) {
        return Vec::new();
    }
    let own = OwnRates::new(measured, at);
    let is_suspect = |port: &&PortRef| {
        let pairs = own.beside_others(port, Of::Link);
        let ratio = paired_ratio(&pairs, CONFIDENCE, measured.seed);
        let is_known = own.measured_ports().any(|(known, _)| known == *port);
        is_known && ratio.is_some_and(|ratio| is_below(ratio, measured.spec.margin / 2.0))
    };
    let ports = &measured.scenes[at].ports;
    let suspects: Vec<PortRef> = ports.iter().filter(is_suspect).cloned().collect();
    if suspects.len() * 2 < ports.len() && ports.len() >= FEWEST_PORTS {
        suspects
    } else {
        Vec::new()
    }
}

/// True if a ratio is below one by more than the margin, with its whole interval.
fn is_below(ratio: BlockEstimate, margin: f64) -> bool {
    ratio.interval.confidence >= CONFIDENCE && ratio.interval.high < 1.0 - margin
}

/// True if a ratio is no more than the margin below one, with its whole interval.
pub(super) fn is_level(ratio: BlockEstimate, margin: f64) -> bool {
    ratio.interval.confidence >= CONFIDENCE && ratio.interval.low >= 1.0 - margin
}

/// Distance of two ports in the device's order.
fn distance(scene: &Scene, one: &PortRef, other: &PortRef) -> usize {
    let place = |port| scene.ports.iter().position(|own| own == port).unwrap_or(0);
    place(one).abs_diff(place(other))
}

/// Values of a scene by which its ports are compared.
struct Judge<'a> {
    measured: Measured<'a>,
    scene: &'a Scene,
    own: &'a OwnRates,
    lateness: &'a Lateness,
    quiet: Option<&'a Quiet>,
    control: Option<&'a Control>,
    others: usize,
}

impl Judge<'_> {
    fn slow_port(&self, port: &PortRef, probed: Option<&Probed>) -> Option<SlowPort> {
        let mut signs: Vec<Sign> = self.by_link(port).into_iter().collect();
        if let Some(rate) = self.by_rate(port) {
            signs.extend(self.narrowed(port, rate, probed));
        }
        signs.extend(self.by_damage(port));
        if signs.is_empty() {
            signs = self.by_loss(port);
        }
        if signs.is_empty() {
            signs.extend(self.by_lateness(port));
        }
        (!signs.is_empty()).then(|| SlowPort {
            port: port.clone(),
            partners: self.own.partners_of(port).count(),
            others: self.others,
            signs,
            exchange: None,
        })
    }

    /// True if probes with good partners show nothing slow of the port.
    fn is_level(&self, port: &PortRef, probed: Option<&Probed>) -> bool {
        let Some(own) = probed.and_then(|probed| probed.port(port, self.measured.seed)) else {
            return false;
        };
        let is_level = |ratio: Option<BlockEstimate>| {
            ratio.is_some_and(|ratio| is_level(ratio, self.measured.spec.margin))
        };
        let is_late = own.delay.is_none_or(|delay| delay.interval.low > 0.0);
        is_level(own.sends) && is_level(own.receives) && !is_late
    }

    /// True if the port is as fast as others when its pair is alone: then what they share is slow.
    fn is_freed(&self, port: &SlowPort) -> bool {
        let by_rate = |sign: &Sign| {
            matches!(sign.how, How::Exchanges | How::Sends | How::Receives | How::Delay)
        };
        let seed = self.measured.seed;
        let link = self.scene.rate_of(&port.port);
        let alone =
            self.control.and_then(|control| control.alone_beside_others(&port.port, link, seed));
        let is_level = |ratio| is_level(ratio, self.measured.spec.margin);
        port.signs.iter().all(by_rate) && alone.is_some_and(is_level)
    }

    fn sign(&self, port: &PortRef, how: How, estimate: BlockEstimate) -> Sign {
        let (metric, unit) = how.metric();
        let mut row = self.row(port);
        row.set(Key::Statistic, how.as_str());
        row.n = estimate.blocks as u64;
        Sign { how, value: row.of_estimate(metric, unit, Some(estimate)) }
    }

    fn row(&self, port: &PortRef) -> Row {
        let mut row = self.measured.row(self.scene);
        row.conditions.remove(&Key::RateConvention);
        row.set(Key::Message, self.measured.spec.message.0);
        row.set(Key::SlowPort, Condition::Text(port.to_string()));
        row.set(Key::Partners, self.own.partners_of(port).count() as u64);
        row
    }

    /// Compares the link's known speed with the others'.
    fn by_link(&self, port: &PortRef) -> Option<Sign> {
        let rates = || self.scene.ports.iter().zip(&self.scene.rates);
        let (_, own) = rates().find(|(other, _)| *other == port)?;
        let others = rates().filter(|(other, _)| *other != port);
        let known: Vec<f64> = others.filter_map(|(_, rate)| Some((*rate)?.0 as f64)).collect();
        let (own, others) = ((*own)?, Rate(median(&known)? as u64));
        if own.0 as f64 >= others.0 as f64 * (1.0 - self.measured.spec.margin) {
            return None;
        }
        let ratio = self.ratio(&self.own.beside_others(port, Of::Bits))?;
        Some(self.sign(port, How::Link { own, others }, ratio))
    }

    /// Compares the port's best round, as a share of its link, with the others'.
    fn by_rate(&self, port: &PortRef) -> Option<BlockEstimate> {
        self.ratio(&self.own.beside_others(port, Of::Link))
    }

    fn ratio(&self, pairs: &[(f64, f64)]) -> Option<BlockEstimate> {
        paired_ratio(pairs, CONFIDENCE, self.measured.seed)
    }

    fn is_slow(&self, ratio: BlockEstimate) -> bool {
        is_below(ratio, self.measured.spec.margin)
    }

    /// Signs of a slow rate: the directions that probes show to be slow; otherwise the exchanges,
    /// if they are, and by which delay.
    fn narrowed(&self, port: &PortRef, rate: BlockEstimate, probed: Option<&Probed>) -> Vec<Sign> {
        let own = probed.and_then(|probed| probed.port(port, self.measured.seed));
        let ways =
            own.iter().flat_map(|own| [(How::Sends, own.sends), (How::Receives, own.receives)]);
        let slow = ways.filter_map(|(how, ratio)| {
            let ratio = ratio.filter(|ratio| self.is_slow(*ratio))?;
            Some(self.sign(port, how, ratio))
        });
        let mut signs: Vec<Sign> = slow.collect();
        if signs.is_empty() && self.is_slow(rate) {
            let certain = |delay: &BlockEstimate| {
                delay.interval.confidence >= CONFIDENCE && delay.interval.low > 0.0
            };
            signs.push(self.sign(port, How::Exchanges, rate));
            let delay = own.and_then(|own| own.delay).filter(certain);
            signs.extend(delay.map(|delay| self.sign(port, How::Delay, delay)));
        }
        signs
    }

    /// Frames of the port's cable with a wrong FCS, which its two ends count.
    fn by_damage(&self, port: &PortRef) -> Vec<Sign> {
        let own = self.lateness.damage(port);
        let ways = [(How::SendsDamaged, own.sent), (How::ReceivesDamaged, own.received)];
        let damaged = ways.into_iter().filter_map(|(how, counted)| {
            let share = damaged_share(counted)?;
            let mut row = self.row(port);
            row.set(Key::Statistic, how.as_str());
            row.n = counted.all;
            Some(Sign { how, value: row.single(Metric::PortDamaged, Unit::Ratio, Some(share)) })
        });
        damaged.collect()
    }

    /// Paced frames that are lost at the port, whoever its partner is.
    fn by_loss(&self, port: &PortRef) -> Vec<Sign> {
        let Some(quiet) = self.quiet else { return Vec::new() };
        let ways =
            [(How::SendsLost, quiet.sent_by(port)), (How::ReceivesLost, quiet.sent_to(port))];
        let lost = ways.into_iter().filter_map(|(how, loss)| {
            let loss = loss?;
            let mut row = self.row(port);
            row.set(Key::Statistic, how.as_str());
            row.n = loss.frames;
            let mut value = row.single(Metric::PortLoss, Unit::Ratio, Some(loss.share));
            value.set_interval(Some(loss.interval));
            Some(Sign { how, value })
        });
        lost.collect()
    }

    fn by_lateness(&self, port: &PortRef) -> Option<Sign> {
        Some(self.sign(port, How::Late, self.lateness.odd(port)?))
    }
}
