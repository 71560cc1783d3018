//! The comparison in one sentence that a buyer understands.
//!
//! Says no more than the rows do. Never mentions whose doing it is: that stands beside it.

use measure::comparison::{Decision, Scale};

use super::Row;
use page::{Condition, Key, LEAST_CONFIDENCE};

pub(super) fn of(subject: &str, reference: &str, rows: &[Row]) -> String {
    let count = rows.len();
    if count == 0 {
        return format!("{subject} and {reference} have no figure in common.");
    }
    let better = rows.iter().filter(|row| row.is_better() == Some(true)).count();
    let worse = rows.iter().filter(|row| row.is_better() == Some(false)).count();
    let equal = rows.iter().filter(|row| row.comparison.decision == Decision::Equivalent).count();
    let unknown = count - better - worse - equal;
    let more = more(rows);
    let beside =
        if unknown > 0 { format!("; {unknown} can't be told{more}") } else { String::new() };
    let all = if count == 1 { "the one figure".to_owned() } else { format!("all {count} figures") };
    let head = match (better, worse, equal) {
        (0, 0, 0) => {
            let first = &rows[0];
            return format!(
                "Whether {subject} and {reference} differ can't be told{more}: {}.",
                clause(first, reference)
            );
        }
        (0, 0, _) if equal == count => {
            return format!("{subject} is as good as {reference}: equivalent in {all}.");
        }
        (0, 0, _) => format!("{subject} is as good as {reference} in {equal} of {count} figures"),
        (_, 0, _) => format!("{subject} is better than {reference} in {better} of {count} figures"),
        (0, _, _) => format!("{subject} is worse than {reference} in {worse} of {count} figures"),
        _ => format!(
            "{subject} is better than {reference} in {better} and worse in {worse} of {count} figures"
        ),
    };
    let largest = rows
        .iter()
        .filter(|row| row.comparison.decision == Decision::Different)
        .max_by(|a, b| distance(a).total_cmp(&distance(b)));
    match largest {
        Some(row) => format!("{head}{beside}; most in {}.", clause(row, reference)),
        None => format!("{head}{beside}."),
    }
}

/// ` (about 4 more repetitions are needed)`: for the figure that needs the fewest.
fn more(rows: &[Row]) -> String {
    let open = rows.iter().filter_map(|row| {
        let have = row.comparison.blocks.0.min(row.comparison.blocks.1);
        row.needed?.checked_sub(have)
    });
    match open.min() {
        None => String::new(),
        Some(1) => " (1 more repetition is needed)".to_owned(),
        Some(more) => format!(" (about {more} more repetitions are needed)"),
    }
}

/// How far from equality, on a scale that suits ratios.
fn distance(row: &Row) -> f64 {
    if row.comparison.scale == Scale::Ratio { row.comparison.value.ln().abs() } else { 0.0 }
}

/// `rtt p50 (udp, 64 octets) is 1.310 times s1's (95.1 % CI 1.290…1.330)`
fn clause(row: &Row, reference: &str) -> String {
    let compared = &row.comparison;
    let interval = compared.interval;
    let (low, high) = (interval.low, interval.high);
    let sure = match interval.confidence {
        sure if sure >= LEAST_CONFIDENCE => {
            format!(" ({:.1} % CI {low:.3}…{high:.3})", sure * 100.0)
        }
        _ if low < high => format!(" (range {low:.3}…{high:.3}, too few blocks for an interval)"),
        _ => " (no interval from so few blocks)".to_owned(),
    };
    match compared.scale {
        Scale::Ratio => {
            format!("{} is {:.3} times {reference}'s{sure}", row.label(), compared.value)
        }
        Scale::Shift => {
            format!("{} differs from {reference}'s by {:.6}{sure}", row.label(), compared.value)
        }
    }
}

impl Row {
    /// What it is about, in a few words: `rtt p50 (udp, 64 octets, idle)`.
    pub fn label(&self) -> String {
        let parts = parts(self, " octets");
        let case =
            if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
        format!("{}{case}", self.metric_label())
    }

    /// `rtt p50`
    pub fn metric_label(&self) -> String {
        let quantile = self.quantile.map_or_else(String::new, |q| format!(" p{}", q * 100.0));
        format!("{}{quantile}", self.metric.as_str())
    }

    /// `udp 64 idle`
    pub fn case_label(&self) -> String {
        parts(self, "").join(" ")
    }
}

fn parts(row: &Row, behind_octets: &str) -> Vec<String> {
    const NAMED: [Key; 11] = [
        Key::Tool,
        Key::Protocol,
        Key::Operation,
        Key::Statistic,
        Key::Test,
        Key::Goal,
        Key::Arrangement,
        Key::Message,
        Key::Nodes,
        Key::Load,
        Key::Scenario,
    ];
    let mut parts: Vec<String> = NAMED
        .iter()
        .filter_map(|name| match row.conditions.get(name)? {
            Condition::Text(text) => Some(text.clone()),
            Condition::Integer(number) => Some(format!("{name} {number}")),
            _ => None,
        })
        .collect();
    if let Some(Condition::Integer(octets)) = row.conditions.get(&Key::FrameSize) {
        parts.insert(parts.len().min(1), format!("{octets}{behind_octets}"));
    }
    let factors = match row.conditions.get(&Key::Factors) {
        Some(Condition::Text(names)) => names.as_str(),
        _ => "",
    };
    for name in
        [Key::Device, Key::Variant].into_iter().chain(factors.split_whitespace().map(Key::named))
    {
        if let Some(Condition::Text(level)) = row.conditions.get(&name) {
            parts.push(level.clone());
        }
    }
    parts
}
