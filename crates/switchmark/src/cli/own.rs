//! Runs that may be continued: those that this user began on this machine, from files that nobody
//! else can have written.
//!
//! Owns that answer, for whoever would execute something on a journal's word: `--resume`, `serve`
//! with `--allow-run`, whoever undoes what a run did. Never looks at what a run measured.

use std::path::Path;

use journal::RunSummary;
use journal::store::MERGED;
use study::run::RunStatus;

use super::lone;
use crate::config::ConfigError;
use crate::ownership::{self, NotOwn};

/// Refuses a run that was taken from another journal, begun on another machine, or whose journal
/// or folder others could have written.
pub fn may_go_on(run: &RunSummary, journal: &Path, folder: &Path) -> Result<(), ConfigError> {
    if let Some(why) = foreign(run) {
        let message = format!("go on with run {}: {why}", run.id);
        let hint = "begin a new run here; `report` and `compare` show what there is of it";
        return Err(ConfigError::bare(message, hint));
    }
    let not_own =
        |why: NotOwn| ConfigError::bare(format!("go on with run {}: {why}", run.id), why.hint());
    ownership::check(journal).map_err(not_own)?;
    if folder == Path::new("") { Ok(()) } else { ownership::check(folder).map_err(not_own) }
}

/// Reason why a run is not this machine's; `None` if it is.
pub fn foreign(run: &RunSummary) -> Option<&'static str> {
    match run.holder.as_deref() {
        Some(MERGED) => Some("it was merged from another journal"),
        Some(holder) if lone::was_here(holder) => None,
        Some(_) => Some("it was begun on another machine, or by an older version"),
        None => Some("its journal does not say where it was begun"),
    }
}

/// Marks a run as dead if it is under way and its process is gone.
pub fn tell_dead(run: &mut RunSummary) {
    if run.status == RunStatus::Running && run.holder.as_deref().is_some_and(lone::is_gone) {
        run.status = RunStatus::Died;
    }
}

#[cfg(test)]
mod tests {
    use study::run::RunStatus;

    use super::*;

    #[test]
    fn only_a_run_of_this_machine_goes_on() {
        let mut run = RunSummary {
            id: "r1".to_owned(),
            created_unix_ns: 0,
            verb: "run".to_owned(),
            testbed: "lab:bridge".to_owned(),
            status: RunStatus::Interrupted,
            trials: 0,
            invalid: 0,
            failed: 0,
            holder: Some(lone::process()),
            found: None,
            label: None,
            note: None,
        };
        let journal = Path::new("/");
        assert!(may_go_on(&run, journal, Path::new("")).is_ok());
        let older = "host 3b6f 1 4711 12";
        for holder in [None, Some(MERGED), Some(older), Some(""), Some("a b c d e f")] {
            run.holder = holder.map(str::to_owned);
            assert!(may_go_on(&run, journal, Path::new("")).is_err(), "{holder:?}");
        }
    }
}
