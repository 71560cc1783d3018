//! A comparison as test cases: one a figure. A worse figure fails; one that can't be told, or put
//! down to the device, is skipped and says why.
//!
//! Never decides; it only words.

use measure::comparison::Decision;
use method::comparison::{Compared, Row};
use page::{LEAST_CONFIDENCE, RANGE};

use crate::cli::junit::{self, Case, Ended};

/// The document.
pub fn of(compared: &Compared) -> String {
    let name = format!("{} compared with {}", compared.subject, compared.reference);
    let case = |row: &Row| Case { name: row.label(), said: told(row), ended: ended(row, compared) };
    let cases: Vec<Case> = compared.rows.iter().map(case).collect();
    junit::of(&name, "compare", &cases)
}

fn ended(row: &Row, compared: &Compared) -> Ended {
    if !compared.attribution.is_given() {
        Ended::Skipped(compared.attribution.sentence())
    } else if row.comparison.decision == Decision::Inconclusive {
        Ended::Skipped("inconclusive".to_owned())
    } else if row.is_better() == Some(false) {
        Ended::Failed("worse".to_owned())
    } else {
        Ended::Passed
    }
}

fn told(row: &Row) -> String {
    let own = &row.comparison;
    let interval = match own.interval.confidence {
        sure if sure >= LEAST_CONFIDENCE => format!("{:.1} % CI", sure * 100.0),
        _ => RANGE.to_owned(),
    };
    format!(
        "{}: {:.4}, {interval} {:.4} to {:.4}, margin {:.4}",
        own.decision.as_str(),
        own.value,
        own.interval.low,
        own.interval.high,
        own.margin
    )
}
