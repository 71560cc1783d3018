//! Reversible deeds that a run began at a device, until they are undone.
//!
//! Owns that list alone. Never undoes anything: whoever continues the run does.

use rusqlite::{Row, params};
use trial::topology::Device;
use trial::{Deed, Topology, Trial};

use super::{Store, StoreError, schema};

/// Deed that was begun, and may not have been undone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BegunDeed {
    /// Name of the device.
    pub device: String,
    /// Name of the deed.
    pub deed: String,
}

impl BegunDeed {
    /// Deeds of a trial that outlive the process: none in a lab or a simulation.
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
    /// Notes that a run (full id) is about to perform a deed: from here on it may be done.
    pub(crate) fn note_begun(&self, run: &str, begun: &BegunDeed) -> Result<(), StoreError> {
        let sql = "INSERT OR IGNORE INTO begun_deed (run, device, deed) VALUES (?1, ?2, ?3)";
        let noted = self.db.execute(sql, params![run, begun.device, begun.deed]);
        noted.map(drop).map_err(|e| self.write_error(describe_deed(run, begun), e))
    }

    /// Notes that a deed is undone.
    pub fn note_undone(&self, run: &str, begun: &BegunDeed) -> Result<(), StoreError> {
        let sql = "DELETE FROM begun_deed WHERE run = ?1 AND device = ?2 AND deed = ?3";
        let noted = self.db.execute(sql, params![run, begun.device, begun.deed]);
        noted.map(drop).map_err(|e| self.write_error(describe_deed(run, begun), e))
    }

    /// Deeds that runs (full ids) began and that are not known to be undone. Empty for a journal of
    /// a version without this list.
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

    /// Deeds that a run (full id) began and that are not known to be undone, the last one first.
    pub fn begun_deeds(&self, run: &str) -> Result<Vec<BegunDeed>, StoreError> {
        let sql = "SELECT device, deed FROM begun_deed WHERE run = ?1 ORDER BY rowid DESC";
        let row = |r: &Row<'_>| Ok(BegunDeed { device: r.get(0)?, deed: r.get(1)? });
        self.gather(&|| format!("the deeds of run {run}"), sql, [run], row)
    }
}

fn describe_deed(run: &str, begun: &BegunDeed) -> String {
    format!("deed {} of device {} in run {run}", begun.deed, begun.device)
}
