//! Copy of the whole journal at one moment, while others may write to it.
//!
//! Never changes the journal itself.

use std::path::Path;

use super::{Store, StoreError};

impl Store {
    /// Writes a copy to a file that does not exist yet.
    pub fn copy(&self, into: &Path) -> Result<(), StoreError> {
        let what = || format!("a copy of it to {}", into.display());
        let failed = |cause| self.write_error(what(), cause);
        // Only the copy is written; the connection may write nothing else meanwhile.
        let alone = |only: bool| self.db.pragma_update(None, "query_only", only);
        let was: bool =
            self.db.pragma_query_value(None, "query_only", |row| row.get(0)).map_err(failed)?;
        alone(false).map_err(failed)?;
        let name = into.to_string_lossy();
        let done = self.db.execute("VACUUM INTO ?1", [&*name]).map(drop);
        alone(was).and(done).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_a_journal_and_the_original_stays() {
        let folder = std::env::temp_dir().join(format!("switchmark-copied-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let (own, copy) = (folder.join("own.db"), folder.join("copy.db"));
        drop(Store::open(&own).unwrap());
        let before = std::fs::read(&own).unwrap();
        let store = Store::untouched(&own).unwrap();
        store.copy(&copy).unwrap();
        assert!(store.copy(&copy).is_err(), "a file that is there is somebody's");
        drop(store);
        assert_eq!(std::fs::read(&own).unwrap(), before);
        let copied = Store::untouched(&copy).unwrap();
        assert_eq!(copied.version().unwrap(), super::super::schema::VERSION);
        assert!(copied.runs().unwrap().is_empty());
        // Nothing lies beside it that would have to come along.
        assert!(!folder.join("copy.db-wal").exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
