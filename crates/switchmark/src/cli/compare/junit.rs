//! A comparison in the JUnit format that continuous integration reads: one test case a figure. A
//! worse figure fails; one that can't be told, or put down to the device, is skipped and says why.
//!
//! Never decides; it only writes.

use std::fmt::Write as _;

use measure::comparison::Decision;
use method::comparison::{Compared, Row};
use page::{LEAST_CONFIDENCE, RANGE};
use record::escape;

/// The document.
pub fn of(compared: &Compared) -> String {
    let given = compared.attribution.is_given();
    let failed = compared.rows.iter().filter(|row| given && row.is_better() == Some(false)).count();
    let left_out = compared.rows.iter().filter(|row| skipped(row, compared).is_some()).count();
    let name = format!("{} compared with {}", compared.subject, compared.reference);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" \
         skipped=\"{left_out}\" errors=\"0\">\n",
        escape(&name),
        compared.rows.len(),
    );
    for row in &compared.rows {
        let said = escape(&told(row));
        let _ = writeln!(
            out,
            "  <testcase classname=\"switchmark.compare\" name=\"{}\">",
            escape(&row.label())
        );
        if let Some(why) = skipped(row, compared) {
            let _ = writeln!(out, "    <skipped message=\"{}\"/>", escape(&why));
        } else if row.is_better() == Some(false) {
            let _ = writeln!(out, "    <failure message=\"worse\">{said}</failure>");
        }
        let _ = writeln!(out, "    <system-out>{said}</system-out>\n  </testcase>");
    }
    out + "</testsuite>\n"
}

fn skipped(row: &Row, compared: &Compared) -> Option<String> {
    if !compared.attribution.is_given() {
        return Some(compared.attribution.sentence());
    }
    (row.comparison.decision == Decision::Inconclusive).then(|| "inconclusive".to_owned())
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
