//! The sessions study on a page: new connections a second, connections at once, how those beyond
//! fail, and the time of a handshake.
//!
//! Computes only shares.

use std::collections::BTreeSet;

use page::{Answer, Block, Bound, Cell, Figure, Gauge, Listing, MarkKind, Table, Verdict, words};

use super::finding::{Limit, SessionsCase, SessionsFinding};
use crate::view::{Finding, StudyPage, Topic, Who};

impl Finding for SessionsFinding {
    fn page(&self) -> StudyPage {
        let blocks = vec![Block::Table(table(self))];
        StudyPage::new("sessions", "TCP connections", blocks)
            .with_answers(Topic::Sessions, answers(self))
    }
}

fn table(found: &SessionsFinding) -> Table {
    let note = "New a second: the highest rate at which no connection failed, each opened, asked \
                one message and reset. At once: the most connections that all still answered at \
                the end. Interval: the load that passed, and the one above it that did not. \
                Handshake: from the SYN to the socket's readiness, at a low rate.";
    Listing::new("TCP connections", found.cases.iter())
        .column("path", |case| Cell::text(case.place.hosts()))
        .column("device", |case| Cell::text(case.place.who.name()))
        .optional("new a second", |case| Some(&case.rate.as_ref()?.figure))
        .column("beyond it", |case| beyond(case.rate.as_ref()))
        .optional("at once", |case| Some(&case.held.as_ref()?.figure))
        .column("beyond them", |case| beyond(case.held.as_ref()))
        .optional("handshake", |case| case.handshake.as_ref())
        .optional("added", |case| case.added.as_ref())
        .column("limited by", |case| {
            let limits = [&case.rate, &case.held].into_iter().flatten();
            let all: Vec<&Figure> = limits.map(|limit| &limit.figure).collect();
            all.first().map_or(Cell::Blank, |first| Cell::limit_of(first, &all))
        })
        .table()
        .with_note(note)
}

fn beyond(limit: Option<&Limit>) -> Cell {
    limit.map_or(Cell::Blank, |limit| Cell::text(limit.failures_in_words()))
}

fn answers(found: &SessionsFinding) -> Vec<Answer> {
    let own = || found.cases.iter().filter(|case| !case.place.is_cable());
    let several = own().map(|case| &case.place.who).collect::<BTreeSet<&Who>>().len() > 1;
    let label = |case: &SessionsCase| {
        if several { case.place.who.name() } else { case.place.hosts() }
    };
    let mut all = Vec::new();
    for case in own() {
        let cable = found.cable_beside(case);
        let rate = case.rate.as_ref().map(|limit| {
            let beside = cable.and_then(|cable| cable.rate.as_ref());
            limit_answer("New connections", case, limit, beside)
        });
        let held = case.held.as_ref().map(|limit| {
            let beside = cable.and_then(|cable| cable.held.as_ref());
            limit_answer("Connections at once", case, limit, beside)
        });
        let limits = rate.into_iter().chain(held).chain(handshake_answer(case, cable));
        all.extend(limits.map(|answer| answer.of_case(label(case))));
    }
    all
}

fn limit_answer(
    question: &str,
    case: &SessionsCase,
    limit: &Limit,
    cable: Option<&Limit>,
) -> Answer {
    let figure = &limit.figure;
    let gauge = Gauge::new(question, figure.unit)
        .with_cable(cable.map(|cable| &cable.figure))
        .with(MarkKind::Device, case.place.who.name(), figure);
    let verdict = figure.value.map_or(Verdict::Undetermined, |_| figure.verdict);
    let least = verdict == Verdict::TesterLimited || figure.high.is_none();
    let mut answer = Answer::default()
        .led_by(figure)
        .bounded(least.then_some(Bound::Least))
        .with_gauge(gauge)
        .limited_by(verdict)
        .with_question(question);
    let text = match (figure.value, figure.high) {
        (None, _) => "No load passed.".to_owned(),
        (Some(_), None) => "No load is known to have failed on the path.".to_owned(),
        (Some(_), Some(high)) => {
            let high = words::value(figure.unit, high);
            format!("At {high} and beyond some fail: {}.", limit.failures_in_words())
        }
    };
    answer.add(&text, []);
    answer
}

fn handshake_answer(case: &SessionsCase, cable: Option<&SessionsCase>) -> Option<Answer> {
    let figure = case.handshake.as_ref()?;
    let led = case.added.as_ref().filter(|added| added.value.is_some()).unwrap_or(figure);
    let beside = cable.and_then(|cable| cable.handshake.as_ref());
    let gauge = Gauge::new("Median handshake", figure.unit).with_cable(beside).with(
        MarkKind::Device,
        case.place.who.name(),
        figure,
    );
    let verdict = led.value.map_or(Verdict::Undetermined, |_| led.verdict);
    let question = if case.added.is_some() { "Added to a handshake" } else { "Handshake" };
    let answer = Answer::default().led_by(led).with_gauge(gauge).limited_by(verdict);
    Some(answer.with_question(question))
}
