//! The switching study on the page: what each pattern of traffic passes, and the other tests of RFC
//! 2889 and RFC 8239, a row each. Computes nothing.

use method::SwitchTest;
use page::{Answer, Block, Cell, Figure, Key, Metric, Reply, Section, Style, Table, Unit, Verdict};
use trial::Trial;

use super::reading;
use super::stated::{line_rate, stated};
use super::subject::Who;
use page::words;

/// What tells one row of the first table from another.
const CASE: [Key; 5] = [Key::Device, Key::Variant, Key::Test, Key::FrameSize, Key::Ports];

/// Whether a trial of a run that has the study is the study's: a trial does not name its study, but
/// its label begins with its test.
pub(super) fn is_own(trial: &Trial) -> bool {
    let test = trial.label.split(' ').next().unwrap_or_default();
    test == "cables" || test.parse::<SwitchTest>().is_ok()
}

/// The section; `None` where no switch was tested.
pub(super) fn section(prefix: &str, figures: &[Figure]) -> Option<Section> {
    let own: Vec<&Figure> = figures.iter().filter(|f| f.is_of("switching")).collect();
    if own.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Paragraph(LEAD.to_owned())];
    let patterns = patterns(&own);
    if !patterns.is_empty() {
        blocks.push(Block::Table(pattern_table(&patterns)));
    }
    let others: Vec<&Figure> = own.into_iter().filter(|f| !is_of_pattern(f)).collect();
    if !others.is_empty() {
        blocks.push(Block::Table(other_table(&others)));
    }
    let heading = "All ports at work (RFC 2889, RFC 8239)".to_owned();
    Some(Section { id: format!("{prefix}-switching"), heading, blocks })
}

const LEAD: &str = "Rates are of all sending ports together. Throughput is the highest load of which \
    not one frame was lost; the forwarding rate at the maximum offered load (FRMOL) is what came through at \
    the most that the tester could offer, the maximum forwarding rate (MFR) the most that came through at any load. Frames that came to a port they were not for are flooded: \
    they count as lost, never as received.";

/// Whether it is of a test whose throughput is searched for a pattern.
pub fn is_of_pattern(figure: &Figure) -> bool {
    let patterns = ["mesh", "one-to-many", "many-to-one", "half-to-half", "one-way"];
    let unsupported = reading::text(figure, Key::Reason).is_some();
    reading::text(figure, Key::Test).is_some_and(|test| patterns.contains(&test.as_str()))
        && !unsupported
}

/// The figures of each pattern and size, in order of appearance.
fn patterns<'a>(figures: &[&'a Figure]) -> Vec<Vec<&'a Figure>> {
    let key = |f: &Figure| CASE.map(|name| reading::text(f, name));
    let mut rows: Vec<(_, Vec<&Figure>)> = Vec::new();
    for &figure in figures.iter().filter(|f| is_of_pattern(f)) {
        let of = key(figure);
        match rows.iter_mut().find(|(known, _)| *known == of) {
            Some((_, row)) => row.push(figure),
            None => rows.push((of, vec![figure])),
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

fn find<'a>(row: &[&'a Figure], metric: Metric, rate: Option<&str>) -> Option<&'a Figure> {
    let of =
        |f: &&&Figure| f.metric == metric && reading::text(f, Key::RateName).as_deref() == rate;
    row.iter().find(of).copied()
}

fn pattern_table(rows: &[Vec<&Figure>]) -> Table {
    let row = |row: &Vec<&Figure>| {
        let first = row[0];
        let text = |name| reading::text(first, name).unwrap_or_default();
        let cell = |metric, rate| find(row, metric, rate).map_or_else(Cell::default, Cell::value);
        let throughput = find(row, Metric::Throughput, None);
        let of_line = throughput.and_then(|f| f.number(Key::OfLineRate));
        vec![
            Cell::path(text(Key::Test)).with_note(text(Key::Clause)),
            Cell::path(Who::of_figure(first).name())
                .with_note(format!("{} ports", text(Key::Ports))),
            Cell::number(text(Key::FrameSize)),
            cell(Metric::Throughput, None),
            Cell::number_or_missing(
                of_line.map(|share| words::share_of_line(share, method::verdict::LINE_RATE)),
            ),
            cell(Metric::Received, Some("frmol")),
            cell(Metric::LossRatio, Some("frmol")),
            cell(Metric::Received, Some("mfr")),
            cell(Metric::Flooded, None),
            throughput.map_or_else(|| Cell::limit(row), |leading| Cell::limit_of(leading, row)),
        ]
    };
    let head = [
        "test",
        "device",
        "frame",
        "throughput",
        "of line rate",
        "at max load",
        "lost there",
        "max rate",
        "flooded",
        "limited by",
    ];
    Table::new(
        "Throughput and forwarding rates by pattern, frames/s (RFC 2889 §5.1 to §5.4)",
        head,
    )
    .with_note(
        "At max load: the forwarding rate at the maximum offered load (FRMOL). Max rate: the maximum \
         forwarding rate at any load (MFR).",
    )
    .stating(Unit::FramesPerSecond)
    .with_rows(rows.iter().map(row))
}

fn other_table(figures: &[&Figure]) -> Table {
    let row = |figure: &&Figure| {
        let text = |name| reading::text(figure, name).unwrap_or_default();
        vec![
            Cell::text(text(Key::Test)).with_note(text(Key::Clause)),
            Cell::path(Who::of_figure(figure).name()),
            Cell::number(text(Key::FrameSize)),
            Cell::text(wording(figure)).with_style(Style::Long),
            Cell::value(figure),
            Cell::limit(&[*figure]),
        ]
    };
    let head = ["test", "device", "frame", "what", "value", "limited by"];
    Table::new("The other tests of RFC 2889, and those of RFC 8239", head)
        .with_rows(figures.iter().map(row))
}

/// What a figure of a single test tells: `lost at the congested port`.
pub fn wording(figure: &Figure) -> String {
    let text = |name| reading::text(figure, name);
    if let Some(reason) = text(Key::Reason) {
        return format!("not tested: {reason}");
    }
    let what = match figure.metric {
        Metric::Throughput => "throughput to every port".to_owned(),
        Metric::Offered => "offered".to_owned(),
        Metric::Received => "received".to_owned(),
        Metric::LossRatio => "lost".to_owned(),
        Metric::Flooded => "flooded".to_owned(),
        Metric::HeadOfLineBlocking => "head-of-line blocking".to_owned(),
        Metric::Backpressure => "back pressure".to_owned(),
        Metric::AddressCapacity => "MAC table entries".to_owned(),
        Metric::AddressLearningRate => "addresses learned".to_owned(),
        Metric::OneWayDelay => {
            let quantile = figure.quantile.map_or_else(String::new, words::quantile);
            format!("delay, {quantile}")
        }
        Metric::Pdv => "delay, max less min".to_owned(),
        Metric::Goodput => "TCP goodput".to_owned(),
        Metric::Retransmits => "TCP retransmits".to_owned(),
        Metric::Microburst => "frames of the longest burst".to_owned(),
        other => other.as_str().to_owned(),
    };
    let details = [
        text(Key::Egress).map(|egress| format!("at the {egress} port")),
        text(Key::WorstFrom).map(|port| format!("worst of all shifts, from {port}")),
        text(Key::Pattern).map(|pattern| format!("in {pattern}")),
        text(Key::Traffic).map(|traffic| format!("with {traffic}")),
        text(Key::To).map(|port| format!("to {port}")),
        match (text(Key::Senders), text(Key::Receivers)) {
            (Some(from), Some(to)) => Some(format!("{from} ports into {to}")),
            _ => None,
        },
        text(Key::HeldOctets).map(|octets| {
            let held = octets.parse().map_or(octets, |octets| words::value(Unit::Bytes, octets));
            format!("{held} held at each egress")
        }),
    ];
    let details: Vec<String> = details.into_iter().flatten().collect();
    if details.is_empty() { what } else { format!("{what} ({})", details.join("; ")) }
}

/// A mesh's answer at the smallest frame, and what the address table and a congested port showed.
pub(super) fn answers(figures: &[Figure]) -> Vec<Answer> {
    let own = || figures.iter().filter(|f| f.is_of("switching"));
    let size = |f: &&Figure| f.number(Key::FrameSize).unwrap_or(0.0) as u64;
    let mesh = own()
        .filter(|f| f.metric == Metric::Throughput && reading::is_test(f, "mesh"))
        .min_by_key(size);
    let flag =
        |metric| own().filter(move |f| f.metric == metric && f.value.is_some()).min_by_key(size);
    let mut all: Vec<Answer> = mesh.and_then(of_mesh).into_iter().collect();
    if let (Some(blocked), Some(back)) =
        (flag(Metric::HeadOfLineBlocking), flag(Metric::Backpressure))
    {
        all.push(of_congestion(blocked, back));
    }
    all.extend(flag(Metric::AddressCapacity).and_then(of_addresses));
    all
}

fn of_mesh(figure: &Figure) -> Option<Answer> {
    let (value, who) = (figure.value?, Who::of_figure(figure).in_words());
    let ports = reading::text(figure, Key::Ports)?;
    let size = reading::text(figure, Key::FrameSize)?;
    let share = figure.number(Key::OfLineRate).map_or_else(String::new, |share| {
        format!(" = {} of line rate", words::share_of_line(share, method::verdict::LINE_RATE))
    });
    let least = if figure.verdict == Verdict::TesterLimited { "at least " } else { "" };
    let text = format!(
        "{who} forwards {least}{} of {size} octets without loss{share}, with {ports} ports sending to each other.",
        words::value(figure.unit, value)
    );
    Some(line_rate(stated(text, figure), figure, "Throughput?"))
}

fn of_congestion(blocked: &Figure, back: &Figure) -> Answer {
    let who = Who::of_figure(blocked).in_words();
    let text = match (blocked.value, back.value) {
        (Some(1.0), _) => format!(
            "{who} has head-of-line blocking: an uncongested port loses frames, or receives fewer, beside a congested one."
        ),
        (_, Some(1.0)) => {
            format!("{who} uses back pressure (PAUSE) at a congested port: no frame is lost.")
        }
        _ => format!(
            "{who} drops what a congested port can't take; an uncongested port beside it loses nothing."
        ),
    };
    let free = blocked.value.map(|blocks| blocks < 0.5);
    stated(text, blocked).to("Free of head-of-line blocking?", Reply::from(free))
}

fn of_addresses(figure: &Figure) -> Option<Answer> {
    let who = Who::of_figure(figure).in_words();
    let value = words::value(Unit::Count, figure.value?);
    let text = match figure.verdict {
        Verdict::DeviceLimited => {
            format!("{who} has a MAC table of {value} entries.")
        }
        _ => format!("{who} has a MAC table of at least {value} entries; no more were tried."),
    };
    Some(stated(text, figure).asked("MAC table?"))
}
