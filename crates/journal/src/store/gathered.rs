//! Rows of a query, read one by one, within what a reader may hold of them at once.
//!
//! Owns those bounds: whatever a journal holds, and however often its pages are linked, a reader's
//! memory is bounded by the file's own size. Never knows what a row means.

use rusqlite::types::ValueRef;
use rusqlite::{Params, Row};

use super::{Store, StoreError};

/// Octets that a reader may hold of any journal; of a larger one as many more as its file has.
const HELD: usize = 64 << 20;
/// A packed trial may be so many times larger when it is unpacked; honest ones are up to 21 times.
const UNPACKED: usize = 40;

/// How much a reader holds, and how much it may.
#[derive(Debug)]
pub(super) struct Held {
    octets: usize,
    most: usize,
}

impl Held {
    /// Of texts that lie in the file as they are.
    pub(super) fn texts(file: u64) -> Self {
        Self { octets: 0, most: HELD.saturating_add(usize::try_from(file).unwrap_or(usize::MAX)) }
    }

    /// Of trials, packed or not.
    pub(super) const fn trials() -> Self {
        Self { octets: 0, most: HELD }
    }

    /// So many octets more, of which so many lie in the file.
    pub(super) const fn add(&mut self, octets: usize, stored: usize) -> bool {
        self.octets = self.octets.saturating_add(octets);
        self.most = self.most.saturating_add(stored.saturating_mul(UNPACKED));
        self.octets <= self.most
    }
}

impl Store {
    /// Every row of a query.
    pub(super) fn gather<T>(
        &self,
        what: &dyn Fn() -> String,
        (sql, values): (&str, impl Params),
        mut from: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut held = Held::texts(self.db.octets());
        let mut all = Vec::new();
        self.each_row(what, (sql, values), |row| {
            let octets = octets(row).map_err(|e| self.read_error(what(), e))?;
            if !held.add(octets + size_of::<T>(), 0) {
                return Err(self.too_large(what(), &held));
            }
            all.push(from(row).map_err(|e| self.read_error(what(), e))?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Hands over every row of a query. What is done with one is not counted as the query's time.
    pub(super) fn each_row(
        &self,
        what: &dyn Fn() -> String,
        (sql, values): (&str, impl Params),
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
