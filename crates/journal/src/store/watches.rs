//! Storage of watches: visits, hours and news, each visit in one transaction.
//!
//! Owns the SQL for them, and what is deleted with age. Never decides what a visit means.

use std::cmp::Reverse;

use measure::Histogram;
use rusqlite::{OptionalExtension as _, Row, params};
use study::watch::{Hour, News, Visit};

use super::trials::Places;
use super::{Store, StoreError, schema};
use study::run::RunMeta;

/// Verb of a watch's run in the journal.
pub const WATCH: &str = "watch";

impl Store {
    /// Newest watch on a testbed of that name.
    pub fn latest_watch(&self, testbed: &str) -> Result<Option<RunMeta>, StoreError> {
        let sql = "SELECT id FROM run WHERE verb = ?1 AND testbed = ?2
                   ORDER BY created_unix_ns DESC, id DESC LIMIT 1";
        let found: Option<String> = self
            .db
            .query_row(sql, [WATCH, testbed], |row| row.get(0))
            .optional()
            .map_err(|e| self.read_error("the list of watches".into(), e))?;
        found.map(|id| self.load(&id)).transpose()
    }

    /// Stores a visit with its round trips and its news, all or nothing.
    pub fn keep_visit(
        &self,
        run: &str,
        visit: &Visit,
        trips: &Histogram,
        news: &[News],
    ) -> Result<(), StoreError> {
        let what = || format!("a visit of watch {run}");
        let text = self.encode(&what(), visit)?;
        let failed = |e| self.write_error(what(), e);
        let tx = self.db.unchecked_transaction().map_err(failed)?;
        let sql = "INSERT INTO watch_visit (run, at_unix_ns, came, visit) VALUES (?1, ?2, ?3, ?4)";
        let came = visit.came.as_str();
        tx.prepare_cached(sql)
            .and_then(|mut s| s.execute(params![run, visit.at_unix_ns as i64, came, text]))
            .map_err(failed)?;
        let mut hour = Hour::around(visit.way, visit.at_unix_ns, Hour::LONG);
        if let Some(known) = self.hour(run, &hour)? {
            hour = known;
        }
        hour.take(visit, trips);
        self.put_hour(run, &hour)?;
        for one in news {
            self.put_news(run, visit.at_unix_ns, one)?;
        }
        tx.commit().map_err(failed)
    }

    /// Stores news without a visit: a gap in the watch.
    pub fn keep_news(&self, run: &str, at_unix_ns: u64, news: &News) -> Result<(), StoreError> {
        self.put_news(run, at_unix_ns, news)
    }

    fn put_news(&self, run: &str, at_unix_ns: u64, news: &News) -> Result<(), StoreError> {
        let what = || format!("news of watch {run}");
        let text = self.encode(&what(), news)?;
        let incident = match news {
            News::Changed(incident) | News::MoreOf(incident) => Some(incident.number),
            News::Out(_) | News::Back(_) | News::Gap(_) => None,
        };
        let put = || -> rusqlite::Result<()> {
            // An incident holds all that is known of it, so its earlier version can be deleted.
            let sql = "DELETE FROM watch_news WHERE run = ?1 AND incident = ?2";
            self.db.prepare_cached(sql)?.execute(params![run, incident])?;
            let sql = "INSERT INTO watch_news (run, at_unix_ns, incident, news)
                       VALUES (?1, ?2, ?3, ?4)";
            let values = params![run, at_unix_ns as i64, incident, text];
            self.db.prepare_cached(sql)?.execute(values).map(drop)
        };
        put().map_err(|e| self.write_error(what(), e))
    }

    fn hour(&self, run: &str, like: &Hour) -> Result<Option<Hour>, StoreError> {
        let what = || format!("an hour of watch {run}");
        let sql = "SELECT hour FROM watch_hour
                   WHERE run = ?1 AND way = ?2 AND seconds = ?3 AND began_unix_s = ?4";
        let key = params![run, like.way as i64, like.seconds as i64, like.began_unix_s as i64];
        let found: Option<String> = self
            .db
            .prepare_cached(sql)
            .and_then(|mut s| s.query_row(key, |row| row.get(0)).optional())
            .map_err(|e| self.read_error(what(), e))?;
        found.map(|text| self.decode(&what(), &text)).transpose()
    }

    fn put_hour(&self, run: &str, hour: &Hour) -> Result<(), StoreError> {
        let what = || format!("an hour of watch {run}");
        let text = self.encode(&what(), hour)?;
        let sql = "INSERT OR REPLACE INTO watch_hour (run, way, seconds, began_unix_s, hour)
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let key = (hour.way as i64, hour.seconds as i64, hour.began_unix_s as i64);
        self.db
            .prepare_cached(sql)
            .and_then(|mut s| s.execute(params![run, key.0, key.1, key.2, text]))
            .map(drop)
            .map_err(|e| self.write_error(what(), e))
    }

    /// Passes a watch's (full id) visits since a moment to `hear`, in the order they were made.
    pub fn visits(
        &self,
        run: &str,
        from_unix_ns: u64,
        mut hear: impl FnMut(Visit),
    ) -> Result<(), StoreError> {
        let what = || format!("visits of watch {run}");
        // In the table's own order: SQLite would sort in a file of its own.
        let sql = "SELECT visit, id FROM watch_visit NOT INDEXED
                   WHERE run = ?1 AND at_unix_ns >= ?2 ORDER BY id";
        let mut places = Places::default();
        self.each_row(&what, sql, params![run, from_unix_ns as i64], |row| {
            let unread = |e| self.read_error(what(), e);
            if !places.go_on(row.get(1).map_err(unread)?) {
                return Err(self.damaged(what()));
            }
            let text: String = row.get(0).map_err(unread)?;
            hear(self.decode(&what(), &text)?);
            Ok(())
        })
    }

    /// Reads a watch's (full id) visits from a row on, with their rows, in the order they were
    /// made; at most the newest `most`.
    pub fn newest_visits(
        &self,
        run: &str,
        from: u64,
        most: u64,
    ) -> Result<Vec<(u64, Visit)>, StoreError> {
        let what = || format!("visits of watch {run}");
        let sql = "SELECT id, visit FROM watch_visit WHERE run = ?1 AND id >= ?2
                   ORDER BY id DESC LIMIT ?3";
        let values = params![run, from as i64, most as i64];
        let rows: Vec<(i64, String)> =
            self.gather(&what, sql, values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let one = |(at, text): &(i64, String)| Ok((*at as u64, self.decode(&what(), text)?));
        rows.iter().rev().map(one).collect()
    }

    /// Hours of a watch (full id), by path and time; days, made of old hours, come first.
    pub fn hours(&self, run: &str) -> Result<Vec<Hour>, StoreError> {
        let mut hours: Vec<Hour> =
            self.texts(run, "hours", "SELECT hour FROM watch_hour WHERE run = ?1")?;
        hours.sort_by_key(|hour| (hour.way, Reverse(hour.seconds), hour.began_unix_s));
        Ok(hours)
    }

    /// Newest news of a watch (full id), at most `most`, in order of time.
    pub fn news(&self, run: &str, most: u32) -> Result<Vec<News>, StoreError> {
        let sql =
            format!("SELECT news FROM watch_news WHERE run = ?1 ORDER BY id DESC LIMIT {most}");
        let mut news = self.texts(run, "news", &sql)?;
        news.reverse();
        Ok(news)
    }

    fn texts<T: serde::de::DeserializeOwned>(
        &self,
        run: &str,
        of: &str,
        sql: &str,
    ) -> Result<Vec<T>, StoreError> {
        let what = || format!("{of} of watch {run}");
        let texts: Vec<String> = self.gather(&what, sql, [run], |row| row.get(0))?;
        texts.iter().map(|text| self.decode(&what(), text)).collect()
    }

    /// Number of a run's (full id) visits: answered or unanswered, invalid by the tester's fault,
    /// and failed.
    pub(super) fn visits_kept(&self, run: &str) -> Result<[u64; 3], StoreError> {
        if self.version()? < schema::WITH_WATCHES {
            return Ok([0; 3]);
        }
        let sql = "SELECT coalesce(sum(came IN ('valid', 'nothing')), 0),
                          coalesce(sum(came = 'invalid'), 0), coalesce(sum(came = 'failed'), 0)
                   FROM watch_visit WHERE run = ?1";
        let row = |row: &Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?]);
        let counted = self.db.prepare_cached(sql).and_then(|mut s| s.query_row([run], row));
        let counted: [i64; 3] =
            counted.map_err(|e| self.read_error(format!("visits of run {run}"), e))?;
        Ok(counted.map(|count| count as u64))
    }

    /// Deletes a watch's (full id) visits before one moment, and merges its hours before another
    /// into days.
    pub fn thin(
        &self,
        run: &str,
        visits_before_unix_ns: u64,
        hours_before_unix_s: u64,
    ) -> Result<(), StoreError> {
        let what = || format!("what is past of watch {run}");
        let failed = |e| self.write_error(what(), e);
        let tx = self.db.unchecked_transaction().map_err(failed)?;
        let sql = "DELETE FROM watch_visit WHERE run = ?1 AND at_unix_ns < ?2";
        tx.execute(sql, params![run, visits_before_unix_ns as i64]).map_err(failed)?;
        let sql = "SELECT hour FROM watch_hour WHERE run = ?1 AND seconds = ?2
                   AND began_unix_s + ?2 <= ?3 ORDER BY way, began_unix_s";
        let before = (hours_before_unix_s - hours_before_unix_s % Hour::DAY) as i64;
        let values = params![run, Hour::LONG as i64, before];
        let past: Vec<String> = self.gather(&what, sql, values, |row| row.get(0))?;
        for text in past {
            let hour: Hour = self.decode(&what(), &text)?;
            let mut day = Hour::around(hour.way, hour.began_unix_s * 1_000_000_000, Hour::DAY);
            if let Some(known) = self.hour(run, &day)? {
                day = known;
            }
            day.merge(&hour);
            self.put_hour(run, &day)?;
        }
        let sql =
            "DELETE FROM watch_hour WHERE run = ?1 AND seconds = ?2 AND began_unix_s + ?2 <= ?3";
        tx.execute(sql, params![run, Hour::LONG as i64, before]).map_err(failed)?;
        tx.commit().map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use measure::Nanos;
    use study::watch::{Came, Cause, Counted, Gap, RoundTrips, What};

    use super::*;
    use crate::store::tests::run_meta;

    const DAY_NS: u64 = 86_400_000_000_000;

    fn visit(at_unix_ns: u64) -> (Visit, Histogram) {
        let counted = Some(Counted { sent: 100, lost: 1, reordered: 0 });
        let visit = Visit {
            way: 1,
            round: 3,
            what: What::Frames,
            at_unix_ns,
            came: Came::Valid,
            rtt: Some(RoundTrips { p50_ns: 5e4, p99_ns: 6e4, n: 10 }),
            there: counted,
            back: counted,
            goodput: None,
        };
        let mut trips = Histogram::growing();
        trips.record_many(Nanos::from_micros(50), 10);
        (visit, trips)
    }

    #[test]
    fn what_is_kept_comes_back_and_is_thinned() {
        let store = Store::open(Path::new(":memory:")).expect("a store");
        let meta = run_meta();
        store.create_run(&meta).expect("a run");
        let run = &meta.id;
        let gap = News::Gap(Gap {
            cause: Cause::Suspended,
            from_unix_ns: 1,
            to_unix_ns: 2,
            detail: None,
        });
        for hour in 0..72_u64 {
            let (visit, trips) = visit(hour * 3600 * 1_000_000_000 + 7);
            store.keep_visit(run, &visit, &trips, std::slice::from_ref(&gap)).expect("kept");
        }
        store.keep_news(run, 5, &gap).expect("kept");
        let count = || {
            let mut visits = Vec::new();
            store.visits(run, 0, |visit| visits.push(visit)).expect("visits");
            visits.len()
        };
        assert_eq!(count(), 72);
        assert_eq!(store.news(run, 1000).expect("news").len(), 73);
        assert_eq!(store.news(run, 2).expect("news"), [gap.clone(), gap]);
        let total = |hours: &[Hour]| {
            let sums = hours.iter().map(|hour| (hour.valid, hour.rtt.count(), hour.there.lost));
            sums.fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2))
        };
        let hours = store.hours(run).expect("hours");
        assert_eq!((hours.len(), total(&hours)), (72, (72, 720, 72)));
        // Half of the second day: whole days alone become days.
        store.thin(run, DAY_NS, 86_400 + 43_200).expect("thinned");
        let hours = store.hours(run).expect("hours");
        assert_eq!((hours.len(), total(&hours)), (49, (72, 720, 72)));
        assert_eq!((hours[0].seconds, hours[0].valid), (Hour::DAY, 24));
        assert_eq!(count(), 48);
        store.thin(run, DAY_NS, 2 * 86_400).expect("thinned");
        assert_eq!(store.hours(run).expect("hours").len(), 26);
    }
}
