//! The cards of a page's first screen: each question with its answers, or each answer with a card
//! of its own where questions are few.
//!
//! Owns how many answers are seen at once. Never writes a number.

use page::{Answer, Reply, Verdict};

use super::{class, join_ids};

/// One question of the first screen: its answers, those behind the first few folded.
pub(super) struct CardView {
    pub(super) question: String,
    pub(super) first: Vec<AnswerView>,
    pub(super) rest: Vec<AnswerView>,
}

/// Maximum answers shown at once for a question that shares the page with others.
const MOST_SEEN: usize = 4;
/// Maximum cards shown at once for a question whose answers each have one.
const MOST_CARDS: usize = 6;
/// With fewer questions than this, each answer has a card.
const FEW_QUESTIONS: usize = 3;

/// One answer of a card.
pub(super) struct AnswerView {
    pub(super) case: String,
    /// The headline's number without its unit.
    pub(super) value: String,
    pub(super) unit: String,
    pub(super) interval: String,
    /// Exact confidence, for a pointer.
    pub(super) confidence: String,
    pub(super) text: String,
    /// The answer in a word, and the class of its tone.
    pub(super) reply: Option<Chip>,
    /// Verdict on what limits the figure, neither good nor bad.
    pub(super) verdict: Option<Chip>,
    /// The rows whose values it states.
    pub(super) rows: String,
}

/// A word and the class that sets it.
pub(super) struct Chip {
    pub(super) word: String,
    pub(super) class: &'static str,
}

/// A card for each question; where there are few questions, for each answer.
pub(super) fn cards(answers: &[Answer]) -> Vec<CardView> {
    let groups = Answer::by_question(answers);
    let singly = groups.len() < FEW_QUESTIONS;
    let most = if singly { 1 } else { MOST_SEEN };
    let mut cards = Vec::new();
    for (question, group) in groups {
        let card = |some: &[&Answer]| CardView {
            question: question.to_owned(),
            first: some.iter().map(|one| answer(one)).collect(),
            rest: Vec::new(),
        };
        let (seen, rest) = group.split_at(group.len().min(if singly { MOST_CARDS } else { most }));
        cards.extend(seen.chunks(most).map(card));
        if let Some(last) = cards.last_mut() {
            last.rest.extend(rest.iter().map(|one| answer(one)));
        }
    }
    cards
}

fn answer(answer: &Answer) -> AnswerView {
    let reply = |reply: Reply| Chip { word: reply.word().to_owned(), class: class(reply.into()) };
    let verdict = |of: Verdict| Chip { word: of.to_phrase(), class: class(of.into()) };
    let headline = answer.headline.clone().unwrap_or_default();
    // Of several quantities each keeps its unit.
    let (value, unit) = match headline.value.split('\u{a0}').collect::<Vec<_>>()[..] {
        [value, unit] => (value, unit),
        _ => (&*headline.value, ""),
    };
    AnswerView {
        case: answer.case.clone(),
        // A sign stays on its number's line.
        value: ["≥", "≤", "<"].iter().fold(value.to_owned(), |value, sign| {
            value.replace(&format!("{sign} "), &format!("{sign}\u{a0}"))
        }),
        unit: unit.to_owned(),
        interval: headline.interval.clone(),
        confidence: headline.confidence.clone(),
        reply: answer.reply.map(reply),
        verdict: answer.verdict.map(verdict),
        rows: join_ids(&answer.rows),
        // Keeps the percent sign on its number's line.
        text: answer.text.replace(" %", "\u{a0}%"),
    }
}
