//! Rows of a query, read one by one, with a bound on what a reader holds at once.
//!
//! Owns those bounds: whatever a journal holds, and however often its pages are linked, a reader's
//! memory is bounded by the file's own size. Never knows what a row means.

use rusqlite::types::ValueRef;
use rusqlite::{Params, Row};

use super::{Store, StoreError};

/// Octets that a reader may hold from any journal; the size of the file is added.
const HELD: usize = 64 << 20;
/// Largest ratio of unpacked to packed size of a trial; honest ones reach 21.
const UNPACKED: usize = 40;

/// Octets that a reader holds, and their limit.
#[derive(Debug)]
pub(super) struct Held {
    octets: usize,
    most: usize,
}

impl Held {
    /// Creates the bound for texts that lie unpacked in the file.
    pub(super) fn texts(file: u64) -> Self {
        Self { octets: 0, most: HELD.saturating_add(usize::try_from(file).unwrap_or(usize::MAX)) }
    }

    /// Creates the bound for trials, packed or not.
    pub(super) const fn trials() -> Self {
        Self { octets: 0, most: HELD }
    }

    /// Adds octets, of which `stored` lie in the file; false beyond the limit.
    pub(super) const fn add(&mut self, octets: usize, stored: usize) -> bool {
        self.octets = self.octets.saturating_add(octets);
        self.most = self.most.saturating_add(stored.saturating_mul(UNPACKED));
        self.octets <= self.most
    }
}

impl Store {
    /// Collects every row of a query.
    pub(super) fn gather<T>(
        &self,
        what: &dyn Fn() -> String,
        sql: &str,
        values: impl Params,
        mut from: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut held = Held::texts(self.db.octets());
        let mut all = Vec::new();
        self.each_row(what, sql, values, |row| {
            let octets = octets(row).map_err(|e| self.read_error(what(), e))?;
            if !held.add(octets + size_of::<T>(), 0) {
                return Err(self.too_large(what(), &held));
            }
            all.push(from(row).map_err(|e| self.read_error(what(), e))?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Passes every row of a query to `hear`. Its time is not counted as the query's.
    pub(super) fn each_row(
        &self,
        what: &dyn Fn() -> String,
        sql: &str,
        values: impl Params,
        mut hear: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let unread = |e| self.read_error(what(), e);
        let mut select = self.db.prepare_cached(sql).map_err(unread)?;
        let mut rows = select.query(values).map_err(unread)?;
        while let Some(row) = rows.next().map_err(unread)? {
            hear(row)?;
            self.db.renew();
        }
        Ok(())
    }

    pub(super) fn too_large(&self, what: String, held: &Held) -> StoreError {
        StoreError::TooLarge { what, path: self.path.clone(), most: held.most >> 20 }
    }
}

/// Octets of a row's texts and blobs.
pub(super) fn octets(row: &Row<'_>) -> rusqlite::Result<usize> {
    let columns = row.as_ref().column_count();
    (0..columns).try_fold(0, |sum, at| {
        Ok(sum
            + match row.get_ref(at)? {
                ValueRef::Text(octets) | ValueRef::Blob(octets) => octets.len(),
                ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 0,
            })
    })
}
