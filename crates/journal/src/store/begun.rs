//! Deeds that a run began at a device and that have a way back, until they are undone.
//!
//! Owns that list alone. Never undoes anything: whoever goes on with the run does.

use rusqlite::{Row, params};
use trial::topology::Device;
use trial::{Deed, Topology, Trial};

use super::{Store, StoreError, schema};

/// A deed that was begun, and perhaps not undone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BegunDeed {
    /// The device's name.
    pub device: String,
    /// The deed's.
    pub deed: String,
}

impl BegunDeed {
    /// What a trial is going to do that outlives the process: not in a lab, nor in a model.
    pub(crate) fn of_trial(trial: &Trial, topology: &Topology) -> Vec<Self> {
        let Some(subject) = &trial.subject else { return Vec::new() };
        let device = topology.devices.iter().find(|device| device.name == subject.device);
        let Some(device) = device.filter(|_| !topology.is_lab() && !topology.is_simulated()) else {
            return Vec::new();
        };
        let undoable = |device: &Device, name: &str| {
            device.deeds.iter().any(|known| known.name == name && known.undo)
        };
        let mut begun: Vec<Self> = Vec::new();
        for event in &trial.events {
            if let Deed::Do { name } = &event.deed
                && undoable(device, name)
                && begun.iter().all(|known| known.deed != *name)
            {
                begun.push(Self { device: device.name.clone(), deed: name.clone() });
            }
        }
        begun
    }
}

impl Store {
    /// Notes that a run (full id) is about to do this: from here on it may be done.
    pub(crate) fn note_begun(&self, run: &str, begun: &BegunDeed) -> Result<(), StoreError> {
        let sql = "INSERT OR IGNORE INTO begun_deed (run, device, deed) VALUES (?1, ?2, ?3)";
        let noted = self.db.execute(sql, params![run, begun.device, begun.deed]);
        noted.map(drop).map_err(|e| self.write_error(said(run, begun), e))
    }

    /// Notes that it is undone.
    pub fn note_undone(&self, run: &str, begun: &BegunDeed) -> Result<(), StoreError> {
        let sql = "DELETE FROM begun_deed WHERE run = ?1 AND device = ?2 AND deed = ?3";
        let noted = self.db.execute(sql, params![run, begun.device, begun.deed]);
        noted.map(drop).map_err(|e| self.write_error(said(run, begun), e))
    }

    /// What runs (full ids) began and is not known to be undone; nothing in a journal of a version
    /// without such a list.
    pub fn all_begun_deeds(&self) -> Result<Vec<(String, BegunDeed)>, StoreError> {
        if self.version()? < schema::WITH_BEGUN_DEEDS {
            return Ok(Vec::new());
        }
        let sql = "SELECT run, device, deed FROM begun_deed ORDER BY rowid";
        let fetch = || -> rusqlite::Result<Vec<(String, BegunDeed)>> {
            let row =
                |r: &Row<'_>| Ok((r.get(0)?, BegunDeed { device: r.get(1)?, deed: r.get(2)? }));
            self.db.prepare(sql)?.query_map([], row)?.collect()
        };
        fetch().map_err(|e| self.read_error("the deeds that runs began".into(), e))
    }

    /// What a run (full id) began and is not known to be undone, the last one first.
    pub fn begun_deeds(&self, run: &str) -> Result<Vec<BegunDeed>, StoreError> {
        let sql = "SELECT device, deed FROM begun_deed WHERE run = ?1 ORDER BY rowid DESC";
        let row = |r: &Row<'_>| Ok(BegunDeed { device: r.get(0)?, deed: r.get(1)? });
        self.gather(&|| format!("the deeds of run {run}"), (sql, [run]), row)
    }
}

fn said(run: &str, begun: &BegunDeed) -> String {
    format!("deed {} of device {} in run {run}", begun.deed, begun.device)
}
