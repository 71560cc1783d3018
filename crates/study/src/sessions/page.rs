//! The sessions study on a page: new connections a second, connections at once, how those beyond
//! fail, how long idle ones are remembered, and the time of a handshake.
//!
//! Computes only shares.

use std::collections::BTreeSet;

use page::{Answer, Block, Bound, Cell, Figure, Gauge, Listing, MarkKind, Table, Verdict, words};
use trial::Transport;

use super::finding::{Limit, SessionsCase, SessionsFinding};
use crate::view::{Finding, StudyPage, Topic, Who};

impl Finding for SessionsFinding {
    fn page(&self) -> StudyPage {
        let blocks = vec![Block::Table(table(self))];
        StudyPage::new("sessions", title(self), blocks).with_answers(Topic::Sessions, answers(self))
    }
}

const fn title(found: &SessionsFinding) -> &'static str {
    match found.transport {
        Transport::Tcp => "TCP connections",
        Transport::Udp => "UDP flows",
    }
}

fn table(found: &SessionsFinding) -> Table {
    let handshake = match found.transport {
        Transport::Tcp => "Handshake: from the SYN to the socket's readiness, at a low rate.",
        Transport::Udp => "First answer: from a flow's first packet to its answer, at a low rate.",
    };
    let note = format!(
        "New a second: the highest rate at which no connection failed, each opened, asked one \
         message and closed. At once: the most connections that all still answered at the end. \
         Idle for: the longest silence after which the far end's packets were still let in. \
         Interval: what passed, and the least above it that did not. {handshake}"
    );
    Listing::new(title(found), found.cases.iter())
        .column("path", |case| Cell::text(case.place.hosts()))
        .column("device", |case| Cell::text(case.place.who.name()))
        .optional("new a second", |case| Some(&case.rate.as_ref()?.figure))
        .column("beyond it", |case| beyond(found, case.rate.as_ref()))
        .optional("at once", |case| Some(&case.held.as_ref()?.figure))
        .column("beyond them", |case| beyond(found, case.held.as_ref()))
        .optional("idle for", |case| Some(&case.idle.as_ref()?.figure))
        .optional(first_answer(found.transport), |case| case.handshake.as_ref())
        .optional("added", |case| case.added.as_ref())
        .column("limited by", |case| {
            let limits = [&case.rate, &case.held, &case.idle].into_iter().flatten();
            let all: Vec<&Figure> = limits.map(|limit| &limit.figure).collect();
            all.first().map_or(Cell::Blank, |first| Cell::limit_of(first, &all))
        })
        .table()
        .with_note(note)
}

const fn first_answer(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "handshake",
        Transport::Udp => "first answer",
    }
}

fn beyond(found: &SessionsFinding, limit: Option<&Limit>) -> Cell {
    limit.map_or(Cell::Blank, |limit| Cell::text(limit.failures_in_words(found.transport)))
}

fn answers(found: &SessionsFinding) -> Vec<Answer> {
    let own = || found.cases.iter().filter(|case| !case.place.is_cable());
    let questions = Questions::new(found.transport);
    let several = own().map(|case| &case.place.who).collect::<BTreeSet<&Who>>().len() > 1;
    let label = |case: &SessionsCase| {
        if several { case.place.who.name() } else { case.place.hosts() }
    };
    let mut all = Vec::new();
    for case in own() {
        let cable = found.cable_beside(case);
        let rate = case.rate.as_ref().map(|limit| {
            let beside = cable.and_then(|cable| cable.rate.as_ref());
            limit_answer(found.transport, questions.rate, case, limit, beside)
        });
        let held = case.held.as_ref().map(|limit| {
            let beside = cable.and_then(|cable| cable.held.as_ref());
            limit_answer(found.transport, questions.held, case, limit, beside)
        });
        let idle = case.idle.as_ref().map(|limit| {
            let beside = cable.and_then(|cable| cable.idle.as_ref());
            let mut answer = limit_bare(questions.idle, case, limit, beside);
            answer.add(silence(&limit.figure), []);
            answer
        });
        let handshake = handshake_answer(questions, case, cable);
        let limits = idle.into_iter().chain(rate).chain(held).chain(handshake);
        all.extend(limits.map(|answer| answer.of_case(label(case))));
    }
    all
}

/// Headings of the answers.
#[derive(Debug, Clone, Copy)]
struct Questions {
    rate: &'static str,
    held: &'static str,
    idle: &'static str,
    handshake: &'static str,
    median: &'static str,
    added: &'static str,
}

impl Questions {
    const fn new(transport: Transport) -> Self {
        match transport {
            Transport::Tcp => Self {
                rate: "New connections",
                held: "Connections at once",
                idle: "Idle connections live",
                handshake: "Handshake",
                median: "Median handshake",
                added: "Added to a handshake",
            },
            Transport::Udp => Self {
                rate: "New UDP flows",
                held: "UDP flows at once",
                idle: "Idle UDP flows live",
                handshake: "First answer",
                median: "Median first answer",
                added: "Added to a first answer",
            },
        }
    }
}

fn limit_answer(
    transport: Transport,
    question: &str,
    case: &SessionsCase,
    limit: &Limit,
    cable: Option<&Limit>,
) -> Answer {
    let figure = &limit.figure;
    let text = match (figure.value, figure.high) {
        (None, _) => "No load passed.".to_owned(),
        (Some(_), None) if limit.filled => {
            "Beyond it some fail also when as many are opened slowly: the number at once is the limit.".to_owned()
        }
        (Some(_), None) => "No load is known to have failed on the path.".to_owned(),
        (Some(_), Some(high)) => {
            let high = words::value(figure.unit, high);
            format!("At {high} and beyond some fail: {}.", limit.failures_in_words(transport))
        }
    };
    let mut answer = limit_bare(question, case, limit, cable);
    answer.add(&text, []);
    answer
}

/// What follows from a longest silence.
const fn silence(figure: &Figure) -> &'static str {
    match (figure.low, figure.high) {
        (None, _) => "No connection was opened.",
        (Some(_), None) => {
            "What the far end sends after such a silence is still let in; longer ones were not tried."
        }
        (Some(_), Some(_)) => {
            "What the far end sends after a longer silence is not let in: keep-alives have to come more often."
        }
    }
}

/// Answer with its figure, picture and verdict.
fn limit_bare(question: &str, case: &SessionsCase, limit: &Limit, cable: Option<&Limit>) -> Answer {
    let figure = &limit.figure;
    let gauge = Gauge::new(question, figure.unit)
        .with_cable(cable.map(|cable| &cable.figure))
        .with(MarkKind::Device, case.place.who.name(), figure);
    let verdict = figure.value.map_or(Verdict::Undetermined, |_| figure.verdict);
    let least = verdict == Verdict::TesterLimited || figure.high.is_none();
    Answer::default()
        .led_by(figure)
        .bounded(least.then_some(Bound::Least))
        .with_gauge(gauge)
        .limited_by(verdict)
        .with_question(question)
}

fn handshake_answer(
    questions: Questions,
    case: &SessionsCase,
    cable: Option<&SessionsCase>,
) -> Option<Answer> {
    let figure = case.handshake.as_ref()?;
    let led = case.added.as_ref().filter(|added| added.value.is_some()).unwrap_or(figure);
    let beside = cable.and_then(|cable| cable.handshake.as_ref());
    let gauge = Gauge::new(questions.median, figure.unit).with_cable(beside).with(
        MarkKind::Device,
        case.place.who.name(),
        figure,
    );
    let verdict = led.value.map_or(Verdict::Undetermined, |_| led.verdict);
    let question = if case.added.is_some() { questions.added } else { questions.handshake };
    let answer = Answer::default().led_by(led).with_gauge(gauge).limited_by(verdict);
    Some(answer.with_question(question))
}
