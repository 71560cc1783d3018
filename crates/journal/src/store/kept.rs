//! Cached figures of finished runs, so that many runs can be viewed without computing each again.
//!
//! Owns their validity: the run is done, has the same trials, and the program computes figures by
//! the same method. They are a copy of what the records give, never a replacement, and can always
//! be computed again. They are not copied from another journal.

use std::sync::Arc;

use page::{Figure, Found};
use rusqlite::{OptionalExtension as _, Row, params};
use study::comparison::{Comparable, Kinds};

use super::{Store, StoreError, busy, is_for_want_of_rights, packed, schema};
use crate::RunSummary;
use trial::RoundTrips;

/// Method by which this program computes figures: `build.rs` derives it from the sources.
pub const METHOD: &str = env!("SWITCHMARK_METHOD");

/// Largest size of cached figures, in octets; larger ones are not cached.
const MOST_OCTETS: usize = 16 << 20;

/// Largest number of lists of kinds in memory: runs of one plan share theirs.
const MOST_KINDS: usize = 16;

/// Octets of the length before what was found.
const LENGTH: usize = 2;

/// Largest size of what was found, in octets with its length; longer ones are not cached.
const MOST_FOUND: usize = 1024;

/// Cached results of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptFigures {
    /// First answer of the run's page; `None` if it has none.
    pub found: Option<Found>,
    /// All figures.
    pub figures: Vec<Figure>,
    /// Figures for comparisons, block by block.
    pub comparable: Comparable,
    /// Round trips, merged.
    pub round_trips: RoundTrips,
}

/// Lists of kinds, packed and decoded, the newest first.
pub(super) type KnownKinds = Vec<(Vec<u8>, Arc<Kinds>)>;

impl Store {
    /// Caches a run's (full id) figures if it is done. Does nothing if the journal cannot be
    /// written, is busy, or the figures are too large: they can be computed again.
    pub fn keep_figures(&self, run: &str, kept: &KeptFigures) -> Result<(), StoreError> {
        let what = || format!("the figures of run {run}");
        let text = |text: String| packed::pack(&text, "", "");
        let found = headed(&self.encode(&what(), &kept.found)?);
        let figures = [found, text(self.encode(&what(), &kept.figures)?)].concat();
        let round_trips = text(self.encode(&what(), &kept.round_trips.labelled_histograms())?);
        let (kinds, numbers) = kept.comparable.to_parts().map_err(|cause| StoreError::Decode {
            what: what(),
            path: self.path.clone(),
            cause,
        })?;
        let kinds = text(kinds);
        let octets = figures.len() + kinds.len() + numbers.len() + round_trips.len();
        if octets > MOST_OCTETS {
            return Ok(());
        }
        let insert = || -> rusqlite::Result<()> {
            // Lost after a power failure, these are computed again: none waits for the disk.
            self.db.pragma_update(None, "synchronous", "NORMAL")?;
            let sql = "INSERT OR REPLACE INTO kept_figures
                           (run, method, figures, kinds, numbers, round_trips)
                       SELECT id, ?2, ?3, ?4, ?5, ?6 FROM run WHERE id = ?1 AND status = 'done'";
            let values = params![run, METHOD, figures, kinds, numbers, round_trips];
            let done = self.db.prepare_cached(sql).and_then(|mut s| s.execute(values)).map(drop);
            self.db.pragma_update(None, "synchronous", "FULL").and(done)
        };
        match insert() {
            Err(cause) if is_for_want_of_rights(&cause) || busy(&cause) => Ok(()),
            done => done.map_err(|e| self.write_error(what(), e)),
        }
    }

    /// All cached results of a run (full id); `None` without any.
    pub fn kept_figures(&self, run: &str) -> Result<Option<KeptFigures>, StoreError> {
        let columns = "figures, kinds, numbers, round_trips";
        let row =
            |row: &Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, Vec<u8>>(3)?]);
        let Some([figures, kinds, numbers, trips]) = self.kept(run, columns, row)? else {
            return Ok(None);
        };
        let what = format!("the figures of run {run}");
        let (found, figures) = behind_head(&figures).ok_or_else(|| self.damaged(what.clone()))?;
        let figures = self.decode(&what, &self.kept_text(run, figures)?)?;
        let trips = self.decode(&what, &self.kept_text(run, &trips)?)?;
        Ok(Some(KeptFigures {
            found: self.decode(&what, found)?,
            figures,
            comparable: self.comparable(run, &kinds, &numbers)?,
            round_trips: RoundTrips::from_listed(trips),
        }))
    }

    /// Cached values of a run (full id) for comparisons, the smaller part; `None` without any.
    pub fn kept_comparable(&self, run: &str) -> Result<Option<Comparable>, StoreError> {
        let row = |row: &Row<'_>| Ok([row.get(0)?, row.get::<_, Vec<u8>>(1)?]);
        let Some([kinds, numbers]) = self.kept(run, "kinds, numbers", row)? else {
            return Ok(None);
        };
        self.comparable(run, &kinds, &numbers).map(Some)
    }

    /// Sets what was found by a run, if that is cached. Reads the beginning of the figures alone.
    pub fn set_found(&self, run: &mut RunSummary) -> Result<(), StoreError> {
        let columns = format!("substr(figures, 1, {MOST_FOUND})");
        let head = self.kept(&run.id, &columns, |row| row.get::<_, Vec<u8>>(0))?;
        // An unreadable copy is computed again by whoever needs it.
        run.found = head
            .and_then(|head| serde_json::from_str(behind_head(&head)?.0).ok())
            .unwrap_or_default();
        Ok(())
    }

    fn kept<T>(
        &self,
        run: &str,
        columns: &str,
        row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        if self.version()? < schema::WITH_KEPT_FIGURES {
            return Ok(None);
        }
        let sql = format!(
            "SELECT {columns} FROM kept_figures JOIN run ON run.id = kept_figures.run
             WHERE kept_figures.run = ?1 AND method = ?2 AND status = 'done'"
        );
        let fetch = || self.db.prepare_cached(&sql)?.query_row([run, METHOD], row).optional();
        fetch().map_err(|e| self.read_error(format!("the figures of run {run}"), e))
    }

    fn comparable(
        &self,
        run: &str,
        kinds: &[u8],
        numbers: &[u8],
    ) -> Result<Comparable, StoreError> {
        let found = self.kinds.borrow().iter().find(|(own, _)| own == kinds).map(|of| of.1.clone());
        let known = if let Some(known) = found {
            known
        } else {
            let text = self.kept_text(run, kinds)?;
            let read = Arc::new(self.decode(&format!("the figures of run {run}"), &text)?);
            let mut all = self.kinds.borrow_mut();
            all.truncate(MOST_KINDS - 1);
            all.insert(0, (kinds.to_owned(), Arc::clone(&read)));
            read
        };
        let damaged = || self.damaged(format!("the figures of run {run}"));
        Comparable::from_parts(known, numbers).ok_or_else(damaged)
    }

    fn kept_text(&self, run: &str, octets: &[u8]) -> Result<String, StoreError> {
        let damaged = |_| self.damaged(format!("the figures of run {run}"));
        packed::unpack(octets, "").map(|(text, _)| text).map_err(damaged)
    }
}

/// Puts the length before a text that is short enough; otherwise JSON's `null` takes its place.
fn headed(text: &str) -> Vec<u8> {
    let text = if text.len() + LENGTH > MOST_FOUND { "null" } else { text };
    let length = u16::try_from(text.len()).unwrap_or_default();
    [&length.to_le_bytes()[..], text.as_bytes()].concat()
}

/// Divides octets into the text whose length they begin with, and the rest; `None` if they are
/// damaged.
fn behind_head(octets: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = octets.split_first_chunk::<LENGTH>()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

/// Deletes a run's cached figures after a change of its trials or its status.
pub(super) fn forget(db: &rusqlite::Connection, run: &str) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM kept_figures WHERE run = ?1")?.execute([run]).map(drop)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use measure::{Histogram, Nanos};
    use page::{Key, Metric, Unit, Verdict};
    use trial::{Gate, Trial, TrialRecord};

    use super::super::tests::run_meta;
    use super::*;
    use study::run::RunStatus;

    fn figure(metric: Metric, value: Option<f64>, text: &str) -> Figure {
        let mut figure = Figure {
            quantile: Some(0.5),
            low: value,
            high: value.map(|value| value / 3.0),
            confidence: Some(0.95),
            n: 7,
            blocks: 3,
            verdict: Verdict::DeviceLimited,
            caveats: vec![page::Caveat::FewBlocks],
            ..Figure::new(metric, Unit::Nanoseconds, value)
        };
        figure.set(Key::Device, text);
        figure.set(Key::BypassRepeatability, 0.1 + 0.2);
        figure
    }

    fn figures() -> KeptFigures {
        let figures = vec![
            figure(Metric::Rtt, Some(1.0 / 3.0), "sw1"),
            figure(Metric::Rtt, None, "µ \"2\""),
            figure(Metric::Pdv, Some(f64::MIN_POSITIVE), "sw1"),
        ];
        let block = |value: f64| vec![figure(Metric::Rtt, Some(value), "sw1")];
        let blocks = [block(0.1), Vec::new(), block(0.2 + 0.1)];
        let comparable = Comparable::new(&figures, &blocks);
        let mut trips = Histogram::growing();
        trips.record(Nanos(12_345));
        let listed = vec![("rtt udp".to_owned(), "device".to_owned(), trips)];
        let round_trips = RoundTrips::from_listed(listed);
        let (question, said) = ("Added latency".to_owned(), "+7.16 µs".to_owned());
        let found = Some(Found { question, said, tone: None });
        KeptFigures { found, figures, comparable, round_trips }
    }

    fn done() -> Store {
        let store = Store::open(Path::new(":memory:")).expect("a new store");
        store.create_run(&run_meta()).expect("a new run");
        store.set_status("r1", &RunStatus::Done).expect("it is there");
        store
    }

    #[test]
    fn figures_come_back_to_the_last_bit() {
        let (store, kept) = (done(), figures());
        assert_eq!(store.kept_figures("r1").expect("readable"), None);
        store.keep_figures("r1", &kept).expect("there is room");
        assert_eq!(store.kept_figures("r1").expect("readable").as_ref(), Some(&kept));
        let mut summary = store.summary("r1").expect("it is there");
        store.set_found(&mut summary).expect("readable");
        assert_eq!(summary.found, kept.found);
        let comparable = store.kept_comparable("r1").expect("readable").expect("kept");
        assert_eq!(comparable, kept.comparable);
        // The next run of the kind shares what is alike.
        let again = store.kept_comparable("r1").expect("readable").expect("kept");
        assert!(again.shares_kinds_with(&comparable));
    }

    #[test]
    fn figures_of_another_method_do_not_count() {
        let store = done();
        store.keep_figures("r1", &figures()).expect("there is room");
        store.db.execute("UPDATE kept_figures SET method = 'before'", []).expect("writable");
        assert_eq!(store.kept_figures("r1").expect("readable"), None);
        assert_eq!(store.kept_comparable("r1").expect("readable"), None);
        let mut summary = store.summary("r1").expect("it is there");
        store.set_found(&mut summary).expect("readable");
        assert_eq!(summary.found, None);
    }

    #[test]
    fn what_was_found_is_short_or_left_out() {
        let store = done();
        let found = |said: String| Some(Found { question: String::new(), said, tone: None });
        for (said, is_kept) in [("x".repeat(500), true), ("x".repeat(2000), false)] {
            let kept = KeptFigures { found: found(said.clone()), ..figures() };
            store.keep_figures("r1", &kept).expect("there is room");
            let mut summary = store.summary("r1").expect("it is there");
            store.set_found(&mut summary).expect("readable");
            assert_eq!(summary.found, found(said).filter(|_| is_kept));
            assert_eq!(
                store.kept_figures("r1").expect("readable").expect("kept").figures,
                kept.figures
            );
        }
        store.db.execute("UPDATE kept_figures SET figures = x'ff'", []).expect("writable");
        let mut summary = store.summary("r1").expect("it is there");
        store.set_found(&mut summary).expect("a copy may be damaged");
        assert_eq!(summary.found, None);
        store.kept_figures("r1").expect_err("damaged");
    }

    #[test]
    fn figures_go_with_what_they_are_made_of() {
        let store = done();
        let rows = || -> i64 {
            let sql = "SELECT count(*) FROM kept_figures";
            store.db.query_row(sql, [], |row| row.get(0)).expect("readable")
        };
        let keep = || store.keep_figures("r1", &figures()).expect("there is room");
        keep();
        assert_eq!(rows(), 1);
        let trial = Trial::quick("one", Vec::new(), Nanos::from_millis(1), Gate::Strict);
        let record = TrialRecord::failed(1, "synthetic".to_owned());
        store.keep("r1", 0, &trial, &record).expect("there is room");
        assert_eq!(rows(), 0, "a trial was added");
        keep();
        store.set_status("r1", &RunStatus::Running).expect("it is there");
        assert_eq!(rows(), 0, "it goes on");
        keep();
        assert_eq!(rows(), 0, "a run that is not done has none");
        store.set_status("r1", &RunStatus::Done).expect("it is there");
        keep();
        store.remove(&["r1".to_owned()]).expect("it is there");
        assert_eq!(rows(), 0, "the run is gone");
    }

    #[test]
    fn another_journal_s_figures_are_not_taken() {
        let (own, other) = (Store::open(Path::new(":memory:")).expect("a new store"), done());
        other.keep_figures("r1", &figures()).expect("there is room");
        own.merge(&other).expect("they are alike");
        assert_eq!(own.status("r1").expect("taken"), RunStatus::Done);
        assert_eq!(own.kept_figures("r1").expect("readable"), None);
    }

    #[test]
    fn damaged_figures_are_named() {
        let store = done();
        store.keep_figures("r1", &figures()).expect("there is room");
        for sql in [
            "UPDATE kept_figures SET numbers = substr(numbers, 1, length(numbers) - 1)",
            "UPDATE kept_figures SET numbers = x'ffffffffffffffff'",
            "UPDATE kept_figures SET kinds = x'00'",
        ] {
            store.db.execute(sql, []).expect("writable");
            let error = store.kept_comparable("r1").expect_err("damaged");
            assert!(error.to_string().contains("r1"), "{error}");
        }
    }
}
