//! Reading a device after a load, until its counters have reached the hosts' counts.
//!
//! Owns the end of the wait: every port has counted its host's frames, and counters without a
//! host's count have stopped. Never reads while a load runs.

use std::collections::BTreeMap;

use dataplane::clock;
use management::{Account, Changes};
use measure::Nanos;
use trial::counters::{RX_PACKETS, TX_PACKETS};
use trial::record::{PortCounters, ReadingDoubt, ReadingRecord};

use super::watch::{AGAIN, Watch};
use super::{Asked, Cable, Counted, LEAST_PATIENCE};
use crate::controller::Stop;
use crate::controller::trial_error::TrialError;
use crate::protocol::describe_error;

impl Asked {
    /// Reads until the counters have reached the hosts' counts. Gives up after the maximum waiting
    /// time if the counters stand still, or after twice that time if they still move.
    pub(super) fn settled(
        &mut self,
        since: Nanos,
        before: &Account,
        counted: Counted<'_>,
        stop: &Stop,
    ) -> Result<(Changes, ReadingRecord), TrialError> {
        let hosts = counted.ports;
        let (began, patience) = (clock::monotonic(), self.patience());
        let mut watch = Watch::new(self.behind());
        let mut doubts = Vec::new();
        let (mut waited, mut now);
        let mut last;
        loop {
            let read = self.read(stop);
            now = clock::monotonic();
            waited = now.saturating_sub(began);
            match read {
                Ok(account) => {
                    let changes = account.since(before);
                    self.learn_ports(&changes, hosts);
                    if self.caught_up(&changes, hosts) && watch.caught_up(now) {
                        self.seen = (self.seen.0.max(waited), self.seen.1 + 1);
                    }
                    let stands_still = self.stands_still(&mut watch, &changes, counted, now);
                    let over = watch.is_over(now) || self.all_came(&changes, counted);
                    last = Some((account, changes));
                    if (watch.has_caught_up() && over) || (waited >= patience && stands_still) {
                        break;
                    }
                    if waited >= (patience * 2).max(LEAST_PATIENCE) {
                        doubts.push(ReadingDoubt::Moving);
                        break;
                    }
                }
                Err((_, why)) if waited >= patience => {
                    doubts.push(ReadingDoubt::Unread { why: describe_error(&*why) });
                    last = None;
                    break;
                }
                Err(_) => {}
            }
            stop.rest(AGAIN)?;
        }
        let (account, changes) = last.unzip();
        let changes = changes.unwrap_or_default();
        doubts.extend(changes.doubts.iter().filter_map(|doubt| self.doubt(doubt)));
        let used = |cable: &&Cable| hosts.iter().any(|port| port.place == cable.host.to_string());
        let untold = self.untold().filter(used).map(|cable| cable.port.clone());
        doubts.extend(untold.map(|port| ReadingDoubt::Untold { port }));
        let others = self.others(counted, now.saturating_sub(since));
        self.rested_since = account.filter(|_| doubts.is_empty()).map(|account| (now, account));
        Ok((changes, ReadingRecord { device: self.name.clone(), waited, doubts, others }))
    }

    /// Ports that replace a trial's receivers, each with the device's own name and the number of
    /// frames sent there.
    fn receiving<'a>(
        &'a self,
        counted: Counted<'a>,
    ) -> impl Iterator<Item = (&'a Cable, &'a str, u64)> {
        let of = move |cable: &'a Cable| {
            let sent = counted.sent.get(&cable.host).filter(|_| cable.receives)?;
            Some((cable, cable.own.as_deref()?, *sent))
        };
        self.cables.iter().filter_map(of)
    }

    /// Upper bound of other traffic among the frames that left each of these ports.
    fn others(&self, counted: Counted<'_>, within: Nanos) -> BTreeMap<String, u64> {
        let receiving = self.receiving(counted);
        let of = |(cable, own, _): (&Cable, &str, u64)| {
            (format!("{}/{}", self.name, cable.port), self.rest.most(own, within))
        };
        receiving.map(of).collect()
    }

    /// True if as many frames left each of these ports as were sent there: no more can come.
    fn all_came(&self, changes: &Changes, counted: Counted<'_>) -> bool {
        self.receiving(counted).all(|(_, own, sent)| sent_frames(changes, own) >= sent)
    }

    /// True if nothing has changed since the previous reading. For ports that replace receivers:
    /// true if no more frames left them than at rest.
    fn stands_still(
        &self,
        watch: &mut Watch,
        changes: &Changes,
        counted: Counted<'_>,
        now: Nanos,
    ) -> bool {
        let mut receiving = self.receiving(counted).peekable();
        let still = watch.still.as_ref().is_some_and(|(since, then)| {
            if receiving.peek().is_none() {
                return then == changes;
            }
            let within = now.saturating_sub(*since);
            receiving.all(|(_, own, _)| {
                sent_frames(changes, own) <= sent_frames(then, own) + self.rest.most(own, within)
            })
        });
        if !still {
            watch.still = Some((now, changes.clone()));
        }
        still
    }

    /// True if every port has counted as many frames as its host.
    fn caught_up(&self, changes: &Changes, hosts: &[PortCounters]) -> bool {
        let mut crossed = self.cables.iter().filter_map(|cable| {
            let place = cable.host.to_string();
            Some((cable, hosts.iter().find(|port| port.place == place)?))
        });
        crossed.all(|(cable, host)| {
            let counters = cable.own.as_ref().and_then(|own| changes.ports.get(own));
            let counted = |name: &str| counters.and_then(|port| port.get(name));
            let of = |device: &str, own: &str| {
                let host = host.counters.get(own).copied().unwrap_or(0);
                counted(device).is_some_and(|by| *by >= host)
            };
            of(RX_PACKETS, TX_PACKETS) && of(TX_PACKETS, RX_PACKETS)
        })
    }
}

/// Frames that left a port, by the device's own name of it.
fn sent_frames(changes: &Changes, own: &str) -> u64 {
    let port = changes.ports.get(own);
    port.and_then(|counters| counters.get(TX_PACKETS)).copied().unwrap_or(0)
}
