//! Trials of the sessions study: the searches on the devices' paths, then on the direct cables, and
//! the handshakes of both in blocks.
//!
//! Owns how far a direct cable is searched. Never reads a record.

use std::collections::BTreeMap;

use super::cell::{self, Load, Offer};
use super::finding::SessionsFinding;
use super::search::{self, Filling, Pace, Searched};
use super::{SessionsSpec, SessionsTest};
use crate::Noted;
use crate::session::Session;
use crate::ways::Way;
use measure::Nanos;
use trial::{Result, Testbed, Transport};

/// Factor above a device's value up to which its direct cable is searched: the verdict only asks if
/// the tester is clearly faster without the device.
const HEADROOM: f64 = 2.0;

/// Handshakes a second whose time is measured: far below what a host or a device opens.
const UNHURRIED: f64 = 200.0;

/// Shortest time for which a direct cable's connections are silent.
const SHORTEST_IDLE: Nanos = Nanos::from_secs(2);

/// Time beyond the longest silence of UDP flows after which none is remembered.
const FORGOTTEN: Nanos = Nanos::from_secs(1);

/// Results of the trials on one path.
#[derive(Debug, Clone, Default)]
pub(super) struct Data {
    pub(super) rate: Option<Searched>,
    pub(super) held: Option<Searched>,
    pub(super) idle: Option<Searched>,
    /// Median handshake by block, in nanoseconds.
    pub(super) handshakes: BTreeMap<u32, f64>,
    pub(super) count: u64,
    pub(super) noted: Noted,
}

impl SessionsSpec {
    /// See [`crate::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<SessionsFinding> {
        let ways = |topology: &_| self.ways(topology);
        let mut session = Session::new(testbed, "sessions", ways, seed, self.profile, self.tries)?;
        session.offloads = Self::OFFLOADS;
        let mut data: BTreeMap<Way, Data> = BTreeMap::new();
        let devices = session.ways.subjects();
        let order: Vec<Way> = devices.iter().copied().chain(session.ways.bypasses()).collect();
        for way in order {
            let sharing = session.ways.subjects_sharing(way);
            let beside = |of: fn(&Data) -> Option<&Searched>| {
                let all = sharing.iter().filter_map(|own| data.get(own).and_then(of));
                all.filter_map(|own| own.high.or(own.low)).max_by(f64::total_cmp)
            };
            let most_rate = beside(|own| own.rate.as_ref());
            let most_held = beside(|own| own.held.as_ref());
            let most_idle = beside(|own| own.idle.as_ref());
            let mut own = Data::default();
            if self.wants(SessionsTest::Idle) {
                let longest = most_idle.map_or(self.idle, |idle| {
                    self.idle.min(Nanos((idle * HEADROOM) as u64)).max(SHORTEST_IDLE)
                });
                own.idle = Some(search::idle(self, &mut session, way, longest)?);
            }
            let forgets = own.idle.as_ref().and_then(|idle| Some(Nanos(idle.high? as u64)));
            let rest = forgets.map_or(self.rest, |time| time + FORGOTTEN);
            if self.wants(SessionsTest::Rate) {
                let ceiling = most_rate.map_or(f64::INFINITY, |rate| rate * HEADROOM);
                own.rate = Some(search::rate(self, &mut session, way, Pace { ceiling, rest })?);
            }
            if self.wants(SessionsTest::Concurrent) {
                let most = most_held.map_or(self.most.get(), |held| {
                    ((held * HEADROOM).ceil() as u64).clamp(1, self.most.get())
                });
                let opening = sharing
                    .first()
                    .and_then(|device| data.get(device)?.held.as_ref()?.opening)
                    .unwrap_or_else(|| search::opening(self, own.rate.as_ref()));
                let full = self.transport == Transport::Udp
                    && (own.rate.is_some() || own.idle.is_some())
                    && session.ways.subject(way).is_some();
                let rest = if full { rest } else { Nanos::ZERO };
                let filling = Filling { most, rest, opening };
                own.held = Some(search::concurrent(self, &mut session, way, filling)?);
            }
            data.insert(way, own);
        }
        if self.wants(SessionsTest::Handshake) {
            self.handshakes(&mut session, &mut data)?;
        }
        Ok(SessionsFinding::new(self, &data, &session.ways))
    }

    fn handshakes(&self, session: &mut Session<'_>, data: &mut BTreeMap<Way, Data>) -> Result<()> {
        let slowest = data.values().filter_map(|own| own.rate.as_ref()?.low);
        let rate = slowest.map(|rate| rate / 2.0).fold(UNHURRIED, f64::min).max(1.0);
        let ways = session.ways.all();
        session.in_blocks(self.blocks, 1, &ways, |session, block, (_, way)| {
            let (test, load) = (SessionsTest::Handshake, Load::Rate(rate));
            let rest = Nanos::ZERO;
            let offer = Offer { way, test, load, duration: self.duration, before: block, rest };
            let tried = offer.run(self, session)?;
            let own = data.entry(way).or_default();
            own.noted.observe(&tried);
            if let Some(seen) = cell::valid(&tried).filter(|seen| !seen.handshakes.is_empty()) {
                own.handshakes.insert(block, seen.handshakes.quantile(0.5).0 as f64);
                own.count += seen.handshakes.count();
            }
            Ok(())
        })
    }
}
