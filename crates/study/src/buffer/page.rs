//! The buffer study on the page: the stable cases, the reasons for the others, the buffer bounds
//! from windows, and each case's first valid trial over time.
//!
//! Never computes a value, and never classifies a case.

mod over_time;

use page::{
    Answer, Block, Cell, Figure, Gauge, Listing, MarkKind, Reply, Table, Unit, Verdict, words,
};

use super::StabilityLimits;
use super::cell::Beside;
use super::finding::{BufferCase, BufferFinding};
use super::judgement;
use crate::view::{Finding, StudyPage, Topic};

const LEAD: &str = "TCP alone is the baseline; beside a constant load into the same egress it has \
    to share the link; the same load the other way oversubscribes nothing and is the control. What is \
    lost beside the load and not beside its control was lost in the egress's buffer.";

impl Finding for BufferFinding {
    fn page(&self) -> StudyPage {
        let Some(first) = self.cases.first() else { return StudyPage::default() };
        let mut blocks = vec![
            Block::Paragraph(LEAD.to_owned()),
            Block::Table(stability(self)),
            Block::Table(windows(&self.cases)),
        ];
        blocks.extend(over_time::blocks(&self.firsts.cases(), first.rate));
        let loaded =
            self.cases.iter().filter(|case| matches!(case.cell.beside, Beside::SameWay(_)));
        StudyPage::new("buffer", "Buffer for long paths", blocks)
            .with_answers(Topic::Buffer, loaded.map(answer))
    }
}

fn stability(found: &BufferFinding) -> Table {
    Listing::new("TCP beside a constant load", &found.cases)
        .column("TCP beside", |case| load(case))
        .column("device", |case| case.place.cell())
        .column("stable", |case| {
            let known = case.stable.value.map(|value| words::value(Unit::Flag, value));
            let known = known.unwrap_or_else(|| "not shown".to_owned());
            Cell::text(known).with_note(judgement::join_reasons(&case.reasons))
        })
        .value("goodput", |case| &case.goodput)
        .column("fair share", |case| Cell::number(words::bit_rate(case.fair_share)))
        .value("retransmits/GB", |case| &case.retransmits_per_gigabyte)
        .value("variation", |case| &case.variation)
        .value("ramp-up", |case| &case.ramp_up)
        .samples("readings", |case| case.stability_values().into())
        .limit(|case| case.stability_values().into())
        .table()
        .sparing(&["readings", "ramp-up", "variation"])
        .with_note(stable_in_words(found.limits))
}

fn stable_in_words(limits: StabilityLimits) -> String {
    format!(
        "Stable at the fair share after the ramp-up or not: at most {} retransmits per GB, a \
         coefficient of variation of the goodput, second by second, of at most {}, and at least {} \
         of the fair share.",
        words::trimmed(limits.retransmits_per_gigabyte.get(), 2),
        words::percent(limits.variation.get()),
        words::percent(limits.share.get())
    )
}

fn windows(cases: &[BufferCase]) -> Table {
    let spare =
        ["load lost", "efficiency", "transfer time ratio", "cwnd reductions", "buffer delay"];
    let note = "The buffer is at least the largest window that was held \
                   without loss, less what the path itself holds; and at least what the egress sent \
                   in the time that the longest round trip exceeds the shortest. Buffer delay, \
                   efficiency and transfer time ratio are RFC 6349's.";
    Listing::new("What the windows say of path and buffer", cases)
        .column("TCP beside", |case| load(case))
        .column("device", |case| case.place.cell())
        .value("largest cwnd", |case| &case.cwnd_max)
        .value("cwnd reductions", |case| &case.cwnd_cuts)
        .column("BDP", |case| {
            let rtt = case.rtt.map(|rtt| format!(" × {}", words::time(rtt.0 as f64)));
            let path = words::bit_rate(case.rate) + &rtt.unwrap_or_default();
            Cell::value(&case.bdp).with_note(path)
        })
        .column("buffer", |case| at_least(Some(&case.by_tcp)))
        .column("by delay", |case| at_least(case.by_delay.as_ref()))
        .value("buffer delay", |case| &case.buffer_delay)
        .value("efficiency", |case| &case.efficiency)
        .column("transfer time ratio", |case| {
            let ratio = case.transfer_time_ratio.value;
            Cell::number_or_missing(ratio.map(|ratio| words::trimmed(ratio, 3)))
        })
        .optional("load lost", |case| case.background_loss.as_ref())
        .limit(|case| case.window_values())
        .table()
        .sparing(&spare)
        .page_only(&["limited by"])
        .with_note(note)
}

/// Background load, with TCP's streams beneath.
fn load(case: &BufferCase) -> Cell {
    Cell::text(case.cell.beside.to_words()).with_note(case.cell.tcp())
}

/// Lower bound of the buffer's size.
fn at_least(value: Option<&Figure>) -> Cell {
    let known = value.filter(|figure| figure.value.is_some());
    known.map_or(Cell::Missing, |figure| Cell::value(figure).as_bound())
}

/// Question that a case with a load answers.
const ENOUGH: &str = "Enough buffer?";

fn answer(case: &BufferCase) -> Answer {
    let rtt = case.rtt.map(|rtt| format!(", RTT {}", words::time(rtt.0 as f64)));
    let beside = format!("{} beside {}", case.cell.tcp(), case.cell.beside.to_words());
    let label = beside + &rtt.unwrap_or_default();
    let is_stable = case.stable.value.map(|value| value > 0.5);
    let reasons = judgement::join_reasons(&case.reasons);
    let text = match (case.goodput.value, is_stable) {
        (None, _) => "No trial was valid.".to_owned(),
        (_, Some(true)) => {
            let bdp = case.bdp.value.map(|octets| words::value(Unit::Bytes, octets));
            let bdp = bdp.map(|bdp| format!(" beside a bandwidth-delay product of {bdp}"));
            format!("TCP is stable{}.", bdp.unwrap_or_default())
        }
        (_, Some(false)) => format!("TCP is not stable: {reasons}."),
        (_, None) => format!("Not shown: {reasons}."),
    };
    let verdict = match is_stable {
        Some(_) if case.goodput.value.is_some() => case.stable.verdict,
        _ => Verdict::Undetermined,
    };
    let bdp = (is_stable == Some(true)).then_some(&case.bdp);
    let gauge = Gauge::new("TCP goodput beside the load", case.goodput.unit)
        .with_limit("fair share", Some(case.fair_share))
        .with(MarkKind::Device, case.place.who.name(), &case.goodput);
    Answer::new(text)
        .led_by(&case.goodput)
        .with_gauge(gauge)
        .limited_by(verdict)
        .to(ENOUGH, Reply::from(is_stable.filter(|_| case.goodput.value.is_some())))
        .of_case(label)
        .stating([&case.stable, &case.goodput].into_iter().chain(bdp))
}
