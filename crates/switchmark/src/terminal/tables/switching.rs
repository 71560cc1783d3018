//! What each pattern of traffic passes, and the other tests of RFC 2889 and RFC 8239. Pure.

use page::{Figure, Metric};
use record::report::{is_of_pattern, switch_wording};

use super::grid::Grid;
use super::{Footnotes, Titled, condition, grouped, labels};
use crate::terminal::numbers;

/// What tells one row of the first table from another.
const CASE: [&str; 4] = [labels::SUBJECT, "test", "frame_size", "ports"];

/// Whether a figure is the switching study's.
pub fn is_own(figure: &Figure) -> bool {
    !condition(figure, "suite").is_empty()
}

/// Throughput and forwarding rates by pattern.
pub fn patterns(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let mut grid = Grid::new()
        .words("test")
        .words(labels::SUBJECT)
        .numbers("size")
        .numbers("ports")
        .numbers("throughput")
        .spare("interval", 2)
        .numbers("of media")
        .numbers("FRMOL")
        .numbers("lost at it")
        .spare("MFR", 1)
        .numbers("flooded")
        .words("limited by");
    let own: Vec<&Figure> = figures.iter().filter(|f| is_own(f) && is_of_pattern(f)).collect();
    for row in grouped(&own, &CASE) {
        let of = |metric, rate: &str| {
            row.iter().copied().find(|f| f.metric == metric && condition(f, "rate") == rate)
        };
        let Some(found) = of(Metric::Throughput, "") else { continue };
        let media: Option<f64> = condition(found, "pattern_frames_per_s").parse().ok();
        let share = found.value.zip(media).map(|(value, media)| value / media);
        grid.row(vec![
            condition(found, "test"),
            condition(found, labels::SUBJECT),
            condition(found, "frame_size"),
            condition(found, "ports"),
            value(Some(found)),
            numbers::interval(found),
            share.map_or_else(|| "–".to_owned(), |s| numbers::value(page::Unit::Ratio, s)),
            value(of(Metric::Received, "frmol")),
            value(of(Metric::LossRatio, "frmol")),
            value(of(Metric::Received, "mfr")),
            value(of(Metric::Flooded, "")),
            notes.limit(found, &row),
        ]);
    }
    Some((
        "All ports at work: what each pattern passes, all senders together".to_owned(),
        grid.render()?,
    ))
}

/// Everything else, a line each.
pub fn others(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let mut out: Vec<[String; 5]> = Vec::new();
    // What was offered, and by whom a frame came late, is for the rows and the report.
    let shown = |f: &&Figure| {
        let each = f.metric == Metric::OneWayDelay
            && f.quantile == Some(0.5)
            && !condition(f, "to").is_empty();
        is_own(f) && !is_of_pattern(f) && f.metric != Metric::Offered && !each
    };
    for figure in figures.iter().filter(shown) {
        let test = condition(figure, "test");
        let subject = condition(figure, labels::SUBJECT);
        out.push([
            if subject.is_empty() { test } else { format!("{test}, {subject}") },
            condition(figure, "frame_size"),
            switch_wording(figure).replace('\u{a0}', " "),
            value(Some(figure)),
            notes.limit(figure, &[figure]),
        ]);
    }
    (!out.is_empty()).then(|| ("The other tests of RFC 2889 and RFC 8239".to_owned(), lines(&out)))
}

/// Words are longer here than a table's cells may be: they are wrapped below their own column.
fn lines(rows: &[[String; 5]]) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for row in rows {
        let [test, size, what, value, limit] = row;
        let lead = format!(
            "{test:<tests$}  {size:>sizes$}  {value:>values$}  {limit:<limits$}  ",
            tests = width(0),
            sizes = width(1),
            values = width(3),
            limits = width(4),
        );
        super::put_wrapped(&mut out, &lead, what);
    }
    out.trim_end().to_owned()
}

/// `–` where there is none.
fn value(figure: Option<&Figure>) -> String {
    let told = figure.and_then(|f| Some(numbers::value(f.unit, f.value?)));
    told.unwrap_or_else(|| "–".to_owned())
}
