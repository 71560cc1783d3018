//! The tcp study on the page: how much payload each way, of how much the link can carry, what was
//! sent again and what held the hosts up; and each case's first valid trial over time. Computes
//! nothing but shares and sums.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use method::TcpSpec;
use page::{
    Answer, Axis, Block, Cell, Figure, Image, Key, Metric, PALETTE, Picture, Plot, Point, Scale,
    Section, Series, Table, Unit, Verdict,
};
use trial::record::{BulkRecord, StreamRecord};
use trial::{Bulk, Flow, FlowKind, Trial, TrialRecord};

use super::stated::line_rate_rule;
use super::subject::Who;
use super::{reading, streams};
use page::words;

/// No more trials than this are shown.
pub(super) const MOST_TRIALS: usize = 12;

/// What tells one case from another.
const CASE: [Key; 7] = [
    Key::Device,
    Key::Variant,
    Key::Path,
    Key::Test,
    Key::Direction,
    Key::Streams,
    Key::CongestionControl,
];

/// Both ways at once, as figures name it.
const BOTH: &str = "bidirectional";

/// Whether a trial is the study's.
pub(super) fn is_own(trial: &Trial) -> bool {
    reading::is_labelled(trial, TcpSpec::LABEL)
}

/// All figures of one case; the first is its goodput.
struct Case<'a>(Vec<&'a Figure>);

impl<'a> Case<'a> {
    fn goodput(&self) -> &'a Figure {
        self.0[0]
    }

    fn get(&self, metric: Metric) -> Option<&'a Figure> {
        self.0.iter().copied().find(|figure| figure.metric == metric)
    }

    fn rtt(&self, quantile: f64) -> Option<&'a Figure> {
        let at = |f: &&Figure| f.metric == Metric::Rtt && f.quantile == Some(quantile);
        self.0.iter().copied().find(at)
    }

    fn cell(&self, metric: Metric) -> Cell {
        self.get(metric).map_or_else(Cell::default, Cell::value)
    }

    fn is_of(&self, key: Key, said: &str) -> bool {
        self.goodput().text(key) == Some(said)
    }

    fn who(&self) -> Who {
        Who::of_figure(self.goodput())
    }

    /// Its share of what the path could carry.
    fn share(&self) -> Option<f64> {
        Some(self.goodput().value? / self.goodput().number(Key::WireLimit)?)
    }

    /// The host that was busiest in these trials, and how busy it was. With both ways at once that
    /// stands with both together.
    fn busiest(&self, all: &[Self]) -> Option<&'a Figure> {
        let alike = |other: &&Self| {
            let test = |case: &Self| case.goodput().text(Key::Test).map(str::to_owned);
            other.who() == self.who() && test(other) == test(self)
        };
        let hosts = all.iter().filter(alike).flat_map(|case| case.0.iter().copied());
        let hosts = hosts.filter(|f| f.metric == Metric::HostBusy);
        hosts.max_by(|a, b| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0)))
    }

    /// `h1 → h2`
    fn way(&self) -> String {
        let hosts = reading::hosts(self.goodput());
        match self.goodput().text(Key::Direction) {
            Some("reverse") => back(&hosts),
            Some("total") => "together".to_owned(),
            _ => hosts,
        }
    }
}

fn back(hosts: &str) -> String {
    hosts.split_once(" → ").map_or_else(String::new, |(from, to)| format!("{to} → {from}"))
}

/// In order of appearance.
fn cases(figures: &[Figure]) -> Vec<Case<'_>> {
    let own = figures.iter().filter(|f| f.is_of("tcp") && !reading::is_of_campaign(f));
    reading::alike(own, &CASE).into_iter().map(Case).collect()
}

/// The section; `None` where the study was not asked for.
pub(super) fn section(
    prefix: &str,
    figures: &[Figure],
    trials: &[(Trial, TrialRecord)],
) -> Option<Section> {
    let cases = cases(figures);
    if cases.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Table(goodput_table(&cases))];
    blocks.push(Block::Folded {
        summary: "What the hosts waited for, and how busy they were".to_owned(),
        table: hosts_table(&cases),
    });
    blocks.extend(over_time(trials));
    let heading = "TCP goodput".to_owned();
    Some(Section { id: format!("{prefix}-tcp"), heading, blocks })
}

/// `both: h1 → h2`, and its streams.
fn which(case: &Case<'_>) -> Cell {
    let both = if case.is_of(Key::Test, BOTH) { "both: " } else { "" };
    Cell::text(format!("{both}{}", case.way())).with_note(tcp(case.goodput()))
}

fn goodput_table(cases: &[Case<'_>]) -> Table {
    let row = |case: &Case<'_>| {
        let limit = case.goodput().number(Key::WireLimit).map(rate);
        let share = case.share().map_or(Cell::Missing, |share| {
            Cell::number(percent(share)).with_note(limit.unwrap_or_default())
        });
        vec![
            which(case),
            Cell::text(case.who().name()),
            Cell::value(case.goodput()),
            share,
            case.cell(Metric::Retransmits),
            case.cell(Metric::RetransmitsPerGigabyte),
            case.rtt(0.5).map_or_else(Cell::default, Cell::value),
            case.rtt(0.0).map_or_else(Cell::default, Cell::value),
            Cell::samples(&[case.goodput()]),
            Cell::limit_of(case.goodput(), &case.0),
        ]
    };
    let head = [
        "TCP",
        "device",
        "goodput",
        "of link",
        "retransmits",
        "per GB",
        "RTT",
        "smallest",
        "n",
        "limited by",
    ];
    let note = "Of link: the share of what the link carries as TCP payload in full segments, \
                one way and without anything else. RTT: the smoothed round trip of the connections \
                under this load, and the smallest that they saw.";
    Table::new("TCP payload at the receiver", head)
        .sparing(&["n", "per GB", "smallest"])
        .with_note(note)
        .with_rows(cases.iter().map(row))
}

/// What the hosts themselves did.
fn hosts_table(cases: &[Case<'_>]) -> Table {
    let row = |case: &Case<'_>| {
        let busiest = case.busiest(cases).map_or_else(Cell::default, |figure| {
            Cell::value(figure).with_note(reading::text(figure, Key::Of).unwrap_or_default())
        });
        let limit = case.goodput().text(Key::HostLimit).unwrap_or_default();
        vec![
            which(case),
            Cell::text(case.who().name()),
            case.cell(Metric::CwndMax),
            case.cell(Metric::ReceiveWindowLimited),
            case.cell(Metric::SendBufferLimited),
            busiest,
            Cell::text(limit),
        ]
    };
    let head = ["TCP", "device", "cwnd", "window", "buffer", "processors", "the hosts' limit"];
    let note = "Window and buffer: the share of the time in which the sender waited for the \
                receiver's window, and for its own socket buffer. Processors: the busiest host's, \
                all of them together.";
    Table::new("What held the hosts up", head)
        .sparing(&["buffer", "cwnd"])
        .with_note(note)
        .with_rows(cases.iter().filter(|case| case.get(Metric::CwndMax).is_some()).map(row))
}

/// `2 streams of cubic`
fn tcp(figure: &Figure) -> String {
    let streams = match figure.integer(Key::Streams) {
        Some(1) | None => "1 stream".to_owned(),
        Some(more) => format!("{more} streams"),
    };
    format!("{streams} of {}", reading::text(figure, Key::CongestionControl).unwrap_or_default())
}

/// Two decimals: line rate is told from nearly that by the second.
fn percent(share: f64) -> String {
    format!("{}\u{a0}%", words::trimmed(share * 100.0, 2))
}

/// With a digit more than values have, for what follows from arithmetic alone: `941.5 Mbit/s`.
fn rate(bits: f64) -> String {
    let (divisor, unit, decimals) = match bits {
        bits if bits >= 1e9 => (1e9, "Gbit/s", 3),
        bits if bits >= 1e6 => (1e6, "Mbit/s", 1),
        _ => return words::bit_rate(bits),
    };
    format!("{}\u{a0}{unit}", words::trimmed(bits / divisor, decimals))
}

/// One for each way alone, and one for both ways at once.
pub(super) fn answers(figures: &[Figure]) -> Vec<Answer> {
    let cases = cases(figures);
    let own: Vec<&Case<'_>> = cases.iter().filter(|case| !case.goodput().is_bypass()).collect();
    let several = own.iter().map(|case| case.who()).collect::<BTreeSet<Who>>().len() > 1;
    let one = |case: &&Case<'_>| {
        let who = several.then(|| format!(" through {}", case.who().in_words()));
        let through = who.unwrap_or_default();
        let text = if !case.is_of(Key::Test, BOTH) {
            one_way(case, &cases, &through)
        } else if case.is_of(Key::Direction, "total") {
            both_ways(case, &cases, &through)
        } else {
            return None;
        };
        let known = case.goodput().value.is_some();
        let verdict = if known { case.goodput().verdict } else { Verdict::Undetermined };
        let full = match verdict {
            Verdict::LinkLimited => Some(true),
            Verdict::DeviceLimited => Some(false),
            Verdict::TesterLimited | Verdict::Undetermined => None,
        };
        let both = case.is_of(Key::Test, BOTH);
        // Both ways at once the acknowledgements take their share, so that less is no answer.
        let told = Answer::new(text).limited_by(verdict);
        if full.is_none() && both {
            return Some(told.asked("Both ways?"));
        }
        let of = if both { " of what acknowledgements of the other way leave" } else { "" };
        let rule = case.share().map(|_| format!(" {}", line_rate_rule(full, of)));
        let text = told.text.clone() + &rule.unwrap_or_default();
        Some(Answer { text, ..told }.to("Line rate by TCP?", full.into()))
    };
    own.iter().filter_map(one).collect()
}

fn one_way(case: &Case<'_>, all: &[Case<'_>], through: &str) -> String {
    let way = format!("{}{through}", case.way());
    let goodput = case.goodput();
    if goodput.value.is_none() {
        return format!("No figure for TCP payload {way}: no trial was valid.");
    }
    let mut text = format!("{way}: {} of TCP payload", words::with_interval(goodput));
    text.push_str(&of_ceiling(case, " as TCP payload"));
    let cable = all.iter().find(|other| {
        other.goodput().is_bypass() && other.way() == case.way() && !other.is_of(Key::Test, BOTH)
    });
    if let Some(value) = cable.and_then(|cable| cable.goodput().value) {
        let _ = write!(text, "; {} over the direct cable", words::bit_rate(value));
    }
    text.push('.');
    text.push_str(&retransmits(case));
    if let (Some(rtt), Some(min)) = (value(case.rtt(0.5)), value(case.rtt(0.0))) {
        let (rtt, min) = (words::time(rtt), words::time(min));
        let _ = write!(text, " RTT {rtt} under this load, {min} at its smallest.");
    }
    text.push_str(&host_limit(case, all));
    text
}

fn both_ways(case: &Case<'_>, all: &[Case<'_>], through: &str) -> String {
    let goodput = case.goodput();
    let hosts = reading::hosts(goodput).replace(" → ", " ↔ ");
    if goodput.value.is_none() {
        return format!("No figure for TCP payload {hosts}{through}: no trial was valid.");
    }
    let parts = all.iter().filter(|other| {
        other.is_of(Key::Test, BOTH)
            && other.who() == case.who()
            && !other.is_of(Key::Direction, "total")
    });
    let part = |part: &Case<'_>| {
        Some(format!("{} {}", words::bit_rate(part.goodput().value?), part.way()))
    };
    let parts: Vec<String> = parts.filter_map(part).collect();
    format!(
        "{hosts}{through}, both ways at once: {} of TCP payload in all ({}){}.{}{}",
        words::with_interval(goodput),
        parts.join(", "),
        of_ceiling(case, " both ways"),
        retransmits(case),
        host_limit(case, all)
    )
}

/// `, 99.98 % of what the link can carry as TCP payload (941.5 Mbit/s at MTU 1500)`
fn of_ceiling(case: &Case<'_>, what: &str) -> String {
    let goodput = case.goodput();
    let (Some(share), Some(limit)) = (case.share(), goodput.number(Key::WireLimit)) else {
        return String::new();
    };
    let carrier = match goodput.text(Key::CeilingOf) {
        Some("port limit") => "the device's limited ports",
        _ => "the link",
    };
    let mtu = goodput.integer(Key::Mtu).map_or_else(String::new, |mtu| format!(" at MTU {mtu}"));
    format!(", {} of what {carrier} can carry{what} ({}{mtu})", percent(share), rate(limit))
}

fn value(figure: Option<&Figure>) -> Option<f64> {
    figure?.value
}

/// ` 12 retransmits a trial (1.1 per GB).`
fn retransmits(case: &Case<'_>) -> String {
    let count = value(case.get(Metric::Retransmits));
    match (count, value(case.get(Metric::RetransmitsPerGigabyte))) {
        (Some(0.0), _) => " No retransmits.".to_owned(),
        (Some(count), Some(each)) => {
            let (count, each) = (words::trimmed(count, 1), words::trimmed(each, 1));
            format!(" {count} retransmits a trial ({each} per GB).")
        }
        _ => String::new(),
    }
}

fn host_limit(case: &Case<'_>, all: &[Case<'_>]) -> String {
    let share = |metric| {
        value(case.get(metric)).map_or_else(String::new, |share| {
            format!(", for which the sender waited in {} of the time", words::percent(share))
        })
    };
    match case.goodput().text(Key::HostLimit) {
        Some("receive window") => {
            format!(" The limit was the receiver's window{}.", share(Metric::ReceiveWindowLimited))
        }
        Some("send buffer") => {
            format!(" The limit was the sender's own buffer{}.", share(Metric::SendBufferLimited))
        }
        Some(_) => {
            let busy = case.busiest(all).and_then(|f| Some((reading::text(f, Key::Of)?, f.value?)));
            let busy = busy.map_or_else(String::new, |(host, share)| {
                format!(": {host} was {} busy", words::percent(share))
            });
            format!(" The limit were the hosts' processors{busy}.")
        }
        None => String::new(),
    }
}

/// A trial's flow, and what came of it.
type Shown<'a> = (&'a Trial, &'a Flow, &'a Bulk, &'a BulkRecord);

/// What one of a test's trials stands for: the test and the device.
pub(super) fn case(trial: &Trial) -> (String, Who) {
    (test(trial).to_owned(), Who::of_trial(trial))
}

fn test(trial: &Trial) -> &str {
    trial.label.split_once(',').map_or(&trial.label, |(test, _)| test)
}

/// Goodput over time, a picture for each direction with all its ways in it; and each trial second
/// by second. Of the first valid trial of each case.
fn over_time(trials: &[(Trial, TrialRecord)]) -> Vec<Block> {
    let mut shown: Vec<(String, Vec<Shown<'_>>)> = Vec::new();
    for (trial, record) in trials {
        let test = test(trial);
        let flows = trial.flows.iter().zip(&record.flows).filter_map(|(flow, done)| {
            let FlowKind::Bulk(bulk) = &flow.kind else { return None };
            Some((trial, flow, bulk, done.bulk()?))
        });
        match shown.iter_mut().find(|(known, _)| known == test) {
            Some((_, all)) => all.extend(flows),
            None => shown.push((test.to_owned(), flows.collect())),
        }
    }
    if shown.is_empty() {
        return Vec::new();
    }
    let pictures = shown.iter().map(|(_, flows)| picture(&comparable(flows))).collect();
    let mut blocks = vec![Block::Pictures(pictures)];
    for (trial, flow, bulk, done) in shown.iter().flat_map(|(_, flows)| flows) {
        let (way, who) = (way(flow), Who::of_trial(trial).name());
        blocks.push(Block::Folded {
            summary: format!("{}, {way} ({who}), second by second", trial.label),
            table: streams::second_by_second(bulk, done),
        });
    }
    blocks
}

fn way(flow: &Flow) -> String {
    format!("{} → {}", flow.from.host, flow.to.host)
}

/// A cable that is this many times faster leaves nothing to be seen of the device, and is left out.
const TOO_FAST: f64 = 10.0;

/// What can be drawn together.
fn comparable<'a>(flows: &[Shown<'a>]) -> Vec<Shown<'a>> {
    let is_cable = |trial: &Trial| Who::of_trial(trial).is_cable();
    let mean = |done: &BulkRecord| done.received.0 as f64 / done.elapsed.as_secs_f64().max(1e-9);
    let through = flows.iter().filter(|(trial, ..)| !is_cable(trial));
    let fastest = through.map(|(.., done)| mean(done)).fold(0.0, f64::max);
    let fits = |(trial, .., done): &&Shown<'a>| {
        !is_cable(trial) || fastest <= 0.0 || mean(done) <= TOO_FAST * fastest
    };
    flows.iter().filter(fits).copied().collect()
}

/// All streams of a flow together; a colour for each flow, the direct cable dashed.
fn picture(flows: &[Shown<'_>]) -> Picture {
    let whos: BTreeSet<String> =
        flows.iter().map(|(trial, ..)| Who::of_trial(trial).name()).collect();
    let ways: BTreeSet<String> = flows.iter().map(|(_, flow, ..)| way(flow)).collect();
    let series: Vec<Series> = flows
        .iter()
        .map(|(trial, flow, bulk, done)| {
            let who = Who::of_trial(trial);
            let place = ways.iter().position(|other| *other == way(flow)).unwrap_or(0);
            let colour = whos.iter().position(|other| *other == who.name()).unwrap_or(0);
            let name =
                if ways.len() > 1 { format!("{}, {}", way(flow), who.name()) } else { who.name() };
            let line = goodput(bulk, done);
            Series {
                name,
                colour: Some((colour * ways.len() + place) % PALETTE),
                dashed: who.is_cable(),
                points: points(&line),
                line,
            }
        })
        .collect();
    let all = || series.iter().flat_map(|s| s.line.iter());
    let ends = all().map(|p| p.0).chain(flows.iter().map(|(.., done)| done.elapsed.as_secs_f64()));
    let x = Axis::exact("seconds since the load began", ends, |v| words::trimmed(v, 3));
    let highest = all().map(|p| p.1).chain([0.0]);
    let y = Axis::over("TCP payload, all streams", Scale::Linear, highest, |v| {
        words::tick(Unit::BitsPerSecond, v)
    });
    let said = match ways.len() {
        1 => ways.into_iter().collect(),
        _ => "both ways at once".to_owned(),
    };
    let title = format!("Goodput over time, {said}");
    let caption = format!(
        "{title}: the first valid trial of each path, solid through the device, dashed over the \
         direct cable."
    );
    Picture { image: Image::Plot(Plot { title, x, y, series }), caption }
}

/// At the end of each interval.
fn goodput(bulk: &Bulk, done: &BulkRecord) -> Vec<(f64, f64)> {
    let interval = bulk.interval.as_secs_f64();
    let arrived: Vec<_> = done.streams.iter().map(StreamRecord::arrived).collect();
    let count = arrived.iter().map(|of| of.len()).max().unwrap_or(0);
    let octets =
        |at: usize| -> u64 { arrived.iter().filter_map(|of| of.get(at)).map(|it| it.0).sum() };
    let of = |at: usize| ((at + 1) as f64 * interval, octets(at) as f64 * 8.0 / interval);
    (0..count).map(of).collect()
}

/// What a pointer can find; a long trial's line has none.
fn points(line: &[(f64, f64)]) -> Vec<Point> {
    const MOST: usize = 60;
    let told = |(x, y): &(f64, f64)| Point {
        x: *x,
        y: *y,
        whisker: None,
        row: None,
        text: format!("at {} s: {}", words::trimmed(*x, 3), words::value(Unit::BitsPerSecond, *y)),
    };
    if line.len() > MOST { Vec::new() } else { line.iter().map(told).collect() }
}
