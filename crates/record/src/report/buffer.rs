//! The buffer study on the page: which cases were stable and why others were not, what their
//! windows say of the buffer, and each case's first valid trial over time. Computes nothing but
//! sums.

pub(super) mod depth;
mod intervals;
pub(super) mod over_time;

use std::fmt::Write as _;

use page::{Answer, Block, Cell, Figure, Key, Metric, Reply, Section, Table, Unit, Verdict};
use trial::{Trial, TrialRecord};

use super::reading;
use super::subject::{self, Who};
use page::words;

/// What tells one case from another.
const CASE: [Key; 8] = [
    Key::Device,
    Key::Variant,
    Key::Path,
    Key::From,
    Key::To,
    Key::Load,
    Key::Streams,
    Key::CongestionControl,
];

/// All figures of one case.
struct Case<'a>(Vec<&'a Figure>);

impl<'a> Case<'a> {
    fn get(&self, metric: Metric) -> Option<&'a Figure> {
        self.0.iter().copied().find(|figure| figure.metric == metric)
    }

    fn value(&self, metric: Metric) -> Option<f64> {
        self.get(metric)?.value
    }

    fn cell(&self, metric: Metric) -> Cell {
        self.get(metric).map_or_else(Cell::default, Cell::value)
    }

    /// A lower bound of the buffer's size.
    fn buffer(&self, estimator: &str) -> Cell {
        let by = |f: &&&Figure| reading::text(f, Key::Estimator).as_deref() == Some(estimator);
        match self.0.iter().find(by) {
            Some(figure) if figure.value.is_some() => Cell::value(figure).as_bound(),
            _ => Cell::Missing,
        }
    }

    fn scenario(&self) -> String {
        reading::text(self.0[0], Key::Scenario).unwrap_or_default()
    }

    /// `2 streams of cubic`
    fn tcp(&self) -> String {
        let text = |key| reading::text(self.0[0], key).unwrap_or_default();
        let streams = match text(Key::Streams).as_str() {
            "1" => "1 stream".to_owned(),
            more => format!("{more} streams"),
        };
        format!("{streams} of {}", text(Key::CongestionControl))
    }

    /// `nothing`, `udp 2Gbit/s`, `udp 20 %, back`
    fn beside(&self) -> String {
        match reading::load(self.0[0]).as_str() {
            "idle" => "nothing".to_owned(),
            load => load.replace(" the other way", ", back").replace(" of the link", ""),
        }
    }
}

/// In order of appearance.
fn cases(figures: &[Figure]) -> Vec<Case<'_>> {
    let own = figures.iter().filter(|f| f.is_of("buffer"));
    reading::alike(own, &CASE).into_iter().map(Case).collect()
}

/// The section; `None` where no buffer was studied.
pub(super) fn section(
    prefix: &str,
    figures: &[Figure],
    trials: &[(Trial, TrialRecord)],
) -> Option<Section> {
    let cases = cases(figures);
    if cases.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Paragraph(LEAD.to_owned())];
    blocks.push(Block::Table(stability(&cases)));
    blocks.push(Block::Table(windows(&cases)));
    let rate = cases.iter().find_map(|case| case.get(Metric::Bdp));
    let rate = rate.and_then(|f| f.number(Key::RateBits));
    blocks.extend(over_time::blocks(trials, rate));
    let heading = "Buffer for long paths".to_owned();
    Some(Section { id: format!("{prefix}-buffer"), heading, blocks })
}

const LEAD: &str = "TCP alone is the baseline; beside a constant load into the same egress it has \
    to share the link; the same load the other way oversubscribes nothing and is the control. What is \
    lost beside the load and not beside its control was lost in the egress's buffer.";

fn stability(cases: &[Case<'_>]) -> Table {
    let row = |case: &Case<'_>| {
        let stable = case.get(Metric::Stable);
        let answer = match stable.and_then(|f| f.value) {
            Some(value) => words::value(Unit::Flag, value),
            None => "not shown".to_owned(),
        };
        let reasons = stable.and_then(|f| reading::text(f, Key::Reasons)).unwrap_or_default();
        let all = case.0.clone();
        vec![
            Cell::text(case.beside()).with_note(case.tcp()),
            subject::cell(all[0]),
            Cell::text(answer).with_note(reasons),
            case.cell(Metric::Goodput),
            Cell::number(fair_share(case).map_or_else(String::new, words::bit_rate)),
            case.cell(Metric::RetransmitsPerGigabyte),
            case.cell(Metric::GoodputVariation),
            case.cell(Metric::RampUpTime),
            Cell::samples(&all),
            Cell::limit(&all),
        ]
    };
    let head = [
        "TCP beside",
        "device",
        "stable",
        "goodput",
        "fair share",
        "retransmits/GB",
        "variation",
        "ramp-up",
        "readings",
        "limited by",
    ];
    Table::new("TCP beside a constant load", head)
        .sparing(&["readings", "ramp-up", "variation"])
        .with_note(limits(cases))
        .with_rows(rows(cases, row))
}

/// What counted as stable.
fn limits(cases: &[Case<'_>]) -> String {
    let stable = cases.iter().find_map(|case| case.get(Metric::Stable));
    let number = |key| stable.and_then(|f| f.number(key));
    let mut text = "Stable at the fair share after the ramp-up or not".to_owned();
    if let (Some(again), Some(variation), Some(share)) =
        (number(Key::LimitRetransmits), number(Key::LimitVariation), number(Key::LimitShare))
    {
        let _ = write!(
            text,
            ": at most {} retransmits per GB, a coefficient of variation of the goodput, second by second, \
             of at most {}, and at least {} of the fair share",
            words::trimmed(again, 2),
            words::percent(variation),
            words::percent(share)
        );
    }
    text.push('.');
    text
}

fn windows(cases: &[Case<'_>]) -> Table {
    let row = |case: &Case<'_>| {
        let bdp = case.get(Metric::Bdp);
        let path = bdp.map_or_else(String::new, |f| {
            let rate = f.number(Key::RateBits).map(words::bit_rate);
            let rtt = f.number(Key::Rtt).map(words::time);
            [rate, rtt].into_iter().flatten().collect::<Vec<_>>().join(" × ")
        });
        vec![
            Cell::text(case.beside()).with_note(case.tcp()),
            subject::cell(case.0[0]),
            case.cell(Metric::CwndMax),
            case.cell(Metric::CwndCuts),
            case.cell(Metric::Bdp).with_note(path),
            case.buffer("tcp"),
            case.buffer("delay"),
            case.cell(Metric::BufferDelay),
            case.cell(Metric::Efficiency),
            Cell::number(
                case.value(Metric::TransferTimeRatio)
                    .map_or_else(|| "–".to_owned(), |ratio| words::trimmed(ratio, 3)),
            ),
            case.cell(Metric::LossRatio),
        ]
    };
    let head = [
        "TCP beside",
        "device",
        "largest cwnd",
        "cwnd reductions",
        "BDP",
        "buffer",
        "by delay",
        "buffer delay",
        "efficiency",
        "transfer time ratio",
        "load lost",
    ];
    let note = "The buffer is at least the largest window that was held \
                   without loss, less what the path itself holds; and at least what the egress sent \
                   in the time that the longest round trip exceeds the shortest. Buffer delay, \
                   efficiency and transfer time ratio are RFC 6349's.";
    Table::new("What the windows say of path and buffer", head)
        .sparing(&[
            "load lost",
            "efficiency",
            "transfer time ratio",
            "cwnd reductions",
            "buffer delay",
        ])
        .with_note(note)
        .with_rows(rows(cases, row))
}

fn rows(cases: &[Case<'_>], row: impl Fn(&Case<'_>) -> Vec<Cell>) -> Vec<Vec<Cell>> {
    cases.iter().map(row).collect()
}

fn fair_share(case: &Case<'_>) -> Option<f64> {
    case.get(Metric::Stable)?.number(Key::FairShare)
}

/// One sentence for each case beside a load into the same egress.
pub(super) fn answers(figures: &[Figure]) -> Vec<Answer> {
    let beside = |case: &Case<'_>| case.scenario() == "background";
    cases(figures).iter().filter(|case| beside(case)).filter_map(answer).collect()
}

/// What is asked of a case beside a load.
const ENOUGH: &str = "Enough buffer?";

/// One block has no interval.
fn told(figure: &Figure) -> String {
    match figure.value {
        Some(value) if figure.blocks < 2 => words::value(figure.unit, value),
        _ => words::with_interval(figure),
    }
}

fn answer(case: &Case<'_>) -> Option<Answer> {
    let stable = case.get(Metric::Stable)?;
    let who = Who::of_figure(stable).in_words();
    let bdp = case.get(Metric::Bdp);
    let rtt = bdp.and_then(|f| f.number(Key::Rtt)).map(words::time);
    let path = rtt.map_or_else(String::new, |rtt| format!(" at an RTT of {rtt}"));
    let tcp = format!("{} beside {}{path}", case.tcp(), case.beside());
    let share = match (case.get(Metric::Goodput), fair_share(case)) {
        (Some(goodput), Some(fair)) if goodput.value.is_some() => {
            format!("{} of a fair share of {}", told(goodput), words::bit_rate(fair))
        }
        _ => {
            let text = format!("No figure for {tcp}: no trial was valid.");
            let answer = Answer::new(text).limited_by(Verdict::Undetermined);
            return Some(answer.to(ENOUGH, Reply::NotShown));
        }
    };
    let reasons = reading::text(stable, Key::Reasons).unwrap_or_default();
    let product = bdp.and_then(|f| f.value).map(|octets| words::value(Unit::Bytes, octets));
    let text = match stable.value {
        Some(1.0) => {
            let product = product.map_or_else(String::new, |product| {
                format!(", a bandwidth-delay product of {product}")
            });
            format!("{who} has enough buffer for {tcp}{product}: TCP is stable, {share}.")
        }
        Some(_) => format!(
            "{who} does not have enough buffer for {tcp}: TCP is not stable ({reasons}), {share}."
        ),
        None => {
            format!("Whether {who} has enough buffer for {tcp} is not shown ({reasons}): {share}.")
        }
    };
    let verdict = if stable.value.is_none() { Verdict::Undetermined } else { stable.verdict };
    let answer = Answer::new(words::capitalised(text)).limited_by(verdict);
    Some(answer.to(ENOUGH, Reply::from(stable.value.map(|value| value > 0.5))))
}
