//! The list of runs: which of them, which page of those, and as what they are shown.
//!
//! Pure: takes all runs and the query. Never counts a trial.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use journal::{RunStatus, RunSummary};

use crate::parts::{Fields, Malformed};
use crate::source::Listing;

/// Runs on a page.
pub(crate) const ON_A_PAGE: usize = 50;

/// States of runs that a list can be filtered by.
pub(crate) const STATES: [&str; 6] =
    ["running", "died", "done", "no-figures", "interrupted", "failed"];

/// Name of a run's state in the filter.
pub(crate) const fn state(status: &RunStatus) -> &'static str {
    match status {
        RunStatus::NoFigures => "no-figures",
        other => other.as_str(),
    }
}

/// Filter of runs, by the fields of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) verb: String,
    pub(crate) testbed: String,
    pub(crate) state: String,
    pub(crate) since: String,
    pub(crate) until: String,
    /// Nanoseconds since 1970.
    from: Option<i128>,
    below: Option<i128>,
    /// Number of the page, from 1.
    pub(crate) page: usize,
}

impl Filter {
    pub(crate) fn from_fields(fields: &Fields) -> Result<Self, Malformed> {
        let text = |name| fields.get(name).unwrap_or_default().trim().to_owned();
        let date = |name: &str| match fields.get(name) {
            None => Ok(None),
            Some(said) => said.parse::<Date>().map(Some).map_err(|_| Malformed("date")),
        };
        let starts = |date: Date| {
            let moment = date.to_zoned(TimeZone::UTC).map_err(|_| Malformed("date"))?;
            Ok(moment.timestamp().as_nanosecond())
        };
        let until = date("until")?.map(|date| date.tomorrow().map_err(|_| Malformed("date")));
        let page = fields.get("page").map_or(Ok(1), str::parse).map_err(|_| Malformed("page"))?;
        Ok(Self {
            verb: text("study"),
            testbed: text("testbed"),
            state: text("state"),
            since: text("since"),
            until: text("until"),
            from: date("since")?.map(starts).transpose()?,
            below: until.transpose()?.map(starts).transpose()?,
            page: page.max(1),
        })
    }

    fn fits(&self, run: &RunSummary) -> bool {
        let is = |asked: &str, own: &str| asked.is_empty() || asked == own;
        let began = i128::from(run.created_unix_ns);
        is(&self.verb, &run.verb)
            && is(&self.state, state(&run.status))
            && run.testbed.to_lowercase().contains(&self.testbed.to_lowercase())
            && self.from.is_none_or(|from| began >= from)
            && self.below.is_none_or(|below| began < below)
    }

    /// True if it keeps all runs.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self { page: self.page, ..Self::default() }
    }
}

/// A page of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) runs: Vec<RunSummary>,
    /// Number of runs that match, on all pages.
    pub(crate) fitting: usize,
    /// Number of all runs.
    pub(crate) all: usize,
    /// Number of the first run shown among those that match, from 1.
    pub(crate) first: usize,
    /// Number of this page, from 1, and number of pages.
    pub(crate) page: usize,
    pub(crate) pages: usize,
    /// The studies of all runs, each once.
    pub(crate) verbs: Vec<String>,
    /// Their testbeds.
    pub(crate) testbeds: Vec<String>,
    /// Warnings about runs that could not be read.
    pub(crate) warnings: Vec<String>,
}

impl Listed {
    pub(crate) fn from_listing(listing: Listing, filter: &Filter) -> Self {
        let Listing { runs, warnings } = listing;
        let once = |name: fn(&RunSummary) -> &String| {
            let mut all: Vec<String> = runs.iter().map(name).cloned().collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let (verbs, testbeds, all) = (once(|run| &run.verb), once(|run| &run.testbed), runs.len());
        let mut runs: Vec<RunSummary> = runs.into_iter().filter(|run| filter.fits(run)).collect();
        let fitting = runs.len();
        let pages = fitting.div_ceil(ON_A_PAGE).max(1);
        let page = filter.page.min(pages);
        let before = (page - 1) * ON_A_PAGE;
        runs = runs.into_iter().skip(before).take(ON_A_PAGE).collect();
        Self { runs, fitting, all, first: before + 1, page, pages, verbs, testbeds, warnings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u64) -> RunSummary {
        let day = 24 * 3600 * 1_000_000_000;
        RunSummary {
            id: format!("run-{number}"),
            // 2026-11-21, and so many days before.
            created_unix_ns: 1_795_219_200_000_000_000 - number * day,
            verb: if number.is_multiple_of(2) { "latency" } else { "forwarding" }.to_owned(),
            testbed: format!("lab:bridge{}", number % 10),
            status: if number.is_multiple_of(3) { RunStatus::NoFigures } else { RunStatus::Done },
            trials: 0,
            invalid: 0,
            failed: 0,
            holder: None,
            found: None,
            label: None,
            note: None,
        }
    }

    #[test]
    fn a_page_has_those_that_fit() {
        let all: Vec<RunSummary> = (0..120).map(run).collect();
        let listed = |query: &str| {
            let filter = Filter::from_fields(&Fields::parse(query).unwrap()).unwrap();
            Listed::from_listing(all.clone().into(), &filter)
        };
        for (query, fitting, shown, first) in [
            ("", 120, 50, 1),
            ("page=3", 120, 20, 101),
            ("page=99", 120, 20, 101),
            ("study=latency", 60, 50, 1),
            ("study=latency&state=no-figures", 20, 20, 1),
            ("testbed=BRIDGE7", 12, 12, 1),
            ("since=2026-11-20&until=2026-11-20", 1, 1, 1),
            ("since=2026-11-21", 1, 1, 1),
            ("study=buffer", 0, 0, 1),
        ] {
            let page = listed(query);
            assert_eq!(
                (page.fitting, page.runs.len(), page.first),
                (fitting, shown, first),
                "{query}"
            );
        }
        let page = listed("");
        assert_eq!((page.verbs.len(), page.testbeds.len(), page.pages, page.all), (2, 10, 3, 120));
        for query in ["since=yesterday", "page=x", "until=2026-13-01", "page=-1"] {
            assert!(Filter::from_fields(&Fields::parse(query).unwrap()).is_err(), "{query}");
        }
    }
}
