//! Answers to the reader's questions, and the replies in one word. Each reply with its word and its
//! tone, in one table.
//!
//! An answer is not a verdict: it may be good or bad, while a verdict says what limited the figure.
//! Never decides an answer: studies and comparisons do.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Figure, Quantity, RowId, Unit, Verdict, words};

/// Answer to one question of the first screen: the reply or number, what limited it, and one
/// sentence of explanation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Short question, `Non-blocking?`; may be empty. Answers to the same question are shown
    /// together.
    pub question: String,
    /// Case of the question, `UDP, 64 octets, idle`; empty if there is only one.
    pub case: String,
    /// Number that people compare.
    pub headline: Option<Headline>,
    /// Value through the device beside that over the direct cable.
    pub gauge: Option<Gauge>,
    /// Explanation in one sentence.
    pub text: String,
    /// Answer in one word; `None` if the question has none.
    pub reply: Option<Reply>,
    /// Limit of the figure; `None` if there is none to state.
    pub verdict: Option<Verdict>,
    /// Rows whose values the answer states.
    pub rows: Vec<RowId>,
}

/// Number shown on its own, with its unit, and its interval at the same precision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headline {
    /// Value: `+7.16 µs`, `≥ 623,050 frames/s`.
    pub value: String,
    /// Interval: `[7.15, 7.16]`; may be empty.
    pub interval: String,
    /// Kind of the interval: `93.8 % CI`; empty if unknown.
    pub confidence: String,
}

/// Bound of the true value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The true value is at least this much.
    Least,
    /// The true value is at most this much.
    Most,
}

/// Values on one axis: the device's beside the direct cable's, or beside a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Gauge {
    /// Quantity: `Median RTT`. Gauges of one quantity share an axis.
    pub axis: String,
    /// Base unit of all marks.
    pub unit: Unit,
    /// Marks, at most one of each kind.
    pub marks: Vec<Mark>,
}

/// One value of a gauge.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Kind of the mark.
    pub kind: MarkKind,
    /// Name of the device, cable or limit: `x450a-48t`.
    pub name: String,
    /// Value, or its known bound.
    pub value: f64,
    /// Ends of the interval.
    pub interval: Option<[f64; 2]>,
    /// Row of the value.
    pub row: Option<RowId>,
}

/// Kind of a gauge's mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// Direct cable.
    Cable,
    /// Theoretical maximum: line rate, a fair share.
    Limit,
    /// Device under test.
    Device,
}

impl Headline {
    /// Creates a headline from a figure's value or known bound; `None` if it has neither.
    pub fn from_figure(figure: &Figure) -> Option<Self> {
        let write = |value| words::value(figure.unit, value);
        let value = match (figure.value, figure.low, figure.high) {
            (Some(value), ..) => write(value),
            (None, Some(low), _) => format!("≥ {}", write(low)),
            (None, None, Some(high)) => format!("< {}", write(high)),
            (None, None, None) => return None,
        };
        let quantity = Quantity::from_figure(figure);
        let interval = figure.value.and_then(|_| words::brackets(&quantity)).unwrap_or_default();
        Some(Self { value, interval, confidence: words::ends(&quantity.ends) })
    }

    /// Creates a headline from a formatted value.
    pub fn written(value: impl Into<String>) -> Self {
        Self { value: value.into(), ..Self::default() }
    }

    /// Marks the value as a bound, if there is one.
    #[must_use]
    pub fn bounded(mut self, bound: Option<Bound>) -> Self {
        let sign = match bound {
            Some(Bound::Least) => "≥ ",
            Some(Bound::Most) => "≤ ",
            None => return self,
        };
        if self.value.starts_with(|first: char| first.is_ascii_digit()) {
            self.value.insert_str(0, sign);
        }
        self
    }

    /// Adds the sign of a difference.
    #[must_use]
    pub fn signed(mut self) -> Self {
        if self.value.starts_with(|first: char| first.is_ascii_digit()) {
            self.value.insert(0, '+');
        }
        self
    }
}

impl Gauge {
    /// Creates a gauge of a quantity, without marks.
    pub fn new(axis: impl Into<String>, unit: Unit) -> Self {
        Self { axis: axis.into(), unit, marks: Vec::new() }
    }

    /// Adds a figure's value as a mark, if it has one.
    #[must_use]
    pub fn with(mut self, kind: MarkKind, name: impl Into<String>, figure: &Figure) -> Self {
        if let Some(value) = figure.value.or(figure.low) {
            let interval = figure.low.zip(figure.high).map(|(low, high)| [low, high]);
            let row = figure.id();
            self.marks.push(Mark { kind, name: name.into(), value, interval, row });
        }
        self
    }

    /// Adds the direct cable's value, if it was measured.
    #[must_use]
    pub fn with_cable(self, figure: Option<&Figure>) -> Self {
        match figure {
            Some(figure) => self.with(MarkKind::Cable, "direct cable", figure),
            None => self,
        }
    }

    /// Adds a limit that is not a figure, if it is known.
    #[must_use]
    pub fn with_limit(self, name: impl Into<String>, value: Option<f64>) -> Self {
        self.with_value(MarkKind::Limit, name, value, None)
    }

    /// Adds a value that is not a figure, if it is known, with the ends of its interval.
    #[must_use]
    pub fn with_value(
        mut self,
        kind: MarkKind,
        name: impl Into<String>,
        value: Option<f64>,
        interval: Option<[f64; 2]>,
    ) -> Self {
        let name = name.into();
        self.marks.extend(value.map(|value| Mark { kind, name, value, interval, row: None }));
        self
    }
}

impl Answer {
    /// Creates an answer from a sentence, without question or figure.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Sets the limit of the figure.
    #[must_use]
    pub const fn limited_by(mut self, verdict: Verdict) -> Self {
        self.verdict = Some(verdict);
        self
    }

    /// Sets a figure's value as the headline, and states its row.
    #[must_use]
    pub fn led_by(mut self, figure: &Figure) -> Self {
        self.headline = Headline::from_figure(figure);
        self.stating([figure])
    }

    /// Marks the headline as a bound, if there is one.
    #[must_use]
    pub fn bounded(mut self, bound: Option<Bound>) -> Self {
        self.headline = self.headline.map(|headline| headline.bounded(bound));
        self
    }

    /// Sets the headline.
    #[must_use]
    pub fn with_headline(mut self, headline: impl Into<Option<Headline>>) -> Self {
        self.headline = headline.into();
        self
    }

    /// Sets the gauge, if it has more than one mark.
    #[must_use]
    pub fn with_gauge(mut self, gauge: Gauge) -> Self {
        self.gauge = Some(gauge).filter(|gauge| gauge.marks.len() > 1);
        self
    }

    /// Sets the case, for one of several to its question.
    #[must_use]
    pub fn of_case(mut self, case: impl Into<String>) -> Self {
        self.case = case.into();
        self
    }

    /// Adds the rows of these figures to the stated ones.
    #[must_use]
    pub fn stating<'a>(mut self, figures: impl IntoIterator<Item = &'a Figure>) -> Self {
        self.add("", figures);
        self
    }

    /// Appends words, and the rows that they state.
    pub fn add<'a>(&mut self, words: &str, figures: impl IntoIterator<Item = &'a Figure>) {
        self.text.push_str(words);
        figures.into_iter().filter_map(Figure::id).for_each(|id| self.state(id));
    }

    fn state(&mut self, id: RowId) {
        if !self.rows.contains(&id) {
            self.rows.push(id);
        }
    }

    /// Sets the question and the reply.
    #[must_use]
    pub fn to(mut self, question: impl Into<String>, reply: Reply) -> Self {
        self.question = question.into();
        self.reply = Some(reply);
        self
    }

    /// Sets a question that a figure answers, without a reply.
    #[must_use]
    pub fn with_question(mut self, question: impl Into<String>) -> Self {
        self.question = question.into();
        self
    }

    /// True if the answer has no number: its sentence says all.
    pub const fn is_sentence(&self) -> bool {
        self.headline.is_none()
    }

    /// Groups answers by question, in order of first appearance.
    pub fn by_question(answers: &[Self]) -> Vec<(&str, Vec<&Self>)> {
        let mut groups: Vec<(&str, Vec<&Self>)> = Vec::new();
        for answer in answers {
            let question = answer.question.as_str();
            match groups.iter_mut().find(|(asked, _)| *asked == question && !asked.is_empty()) {
                Some((_, group)) => group.push(answer),
                None => groups.push((question, vec![answer])),
            }
        }
        groups
    }

    /// Shortens the answer to its question with the reply or the number; `None` for a sentence
    /// alone.
    pub fn in_short(&self) -> Option<Found> {
        let said = match (self.reply, &self.headline) {
            (Some(reply), _) => reply.word(),
            (None, Some(headline)) => headline.value.as_str(),
            (None, None) => return None,
        };
        let question = self.question.trim_end_matches('?');
        let question = if self.reply.is_some() { &self.question } else { question };
        let tone = self.reply.map(Reply::tone);
        Some(Found { question: question.to_owned(), said: said.to_owned(), tone })
    }
}

/// Answer in a few words, for titles and lists: `Added latency +7.16 µs`, `Non-blocking? no`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Question; may be empty.
    pub question: String,
    /// Reply, or the number.
    pub said: String,
    /// Tone of the reply; `None` for a number.
    pub tone: Option<Tone>,
}

impl Found {
    /// Shortens the first answer with a reply or a number, else the first in a few words.
    pub fn from_answers(answers: &[Answer]) -> Option<Self> {
        let has_number = |answer: &&Answer| {
            let digit = |c: char| c.is_ascii_digit();
            answer.reply.is_some()
                || answer.headline.as_ref().is_some_and(|headline| headline.value.contains(digit))
        };
        let mut numbered = answers.iter().filter(has_number);
        numbered.find_map(Answer::in_short).or_else(|| answers.iter().find_map(Answer::in_short))
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { question, said, tone } = self;
        match question.chars().last() {
            None => f.write_str(said),
            // A reply to what is no question.
            Some(last) if tone.is_some() && last != '?' => write!(f, "{question}: {said}"),
            Some(_) => write!(f, "{question} {said}"),
        }
    }
}

/// Tone of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Good for the reader.
    Good,
    /// Bad for the reader.
    Bad,
    /// Neither: the answer is unknown.
    Open,
}

/// Table of replies: one row each, with word and tone.
macro_rules! replies {
    ($($(#[$meta:meta])* $variant:ident $word:literal $tone:ident;)+) => {
        /// Answer in one word. Questions are asked so that *yes* is good.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Reply {
            $($(#[$meta])* $variant,)+
        }

        impl Reply {
            /// All replies.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Word on pages, in text and in rows.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Code in rows: one word.
            pub fn code(self) -> String {
                self.word().replace(' ', "-")
            }

            /// Tone of the reply.
            pub const fn tone(self) -> Tone {
                match self { $(Self::$variant => Tone::$tone,)+ }
            }
        }
    };
}

replies! {
    /// The answer is yes.
    Yes "yes" Good;
    /// The answer is no.
    No "no" Bad;
    /// The measurement shows neither yes nor no.
    NotShown "not shown" Open;
    /// The claim is met.
    Pass "pass" Good;
    /// The claim is not met.
    Fail "fail" Bad;
    /// The claim may or may not be met.
    Inconclusive "inconclusive" Open;
    /// Better than the reference.
    Better "better" Good;
    /// Worse than the reference.
    Worse "worse" Bad;
    /// Equivalent to the reference, within the margin.
    Equivalent "equivalent" Good;
}

impl From<Option<bool>> for Reply {
    /// Returns yes, no, or not shown.
    fn from(known: Option<bool>) -> Self {
        match known {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::NotShown,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_verdict_has_no_tone_and_no_word_of_a_reply() {
        let replies: BTreeSet<_> = Reply::ALL.iter().map(|reply| reply.word()).collect();
        assert_eq!(replies.len(), Reply::ALL.len());
        assert!(Verdict::ALL.iter().all(|verdict| !replies.contains(verdict.as_str())));
        let answer = Answer::new("10G are carried.").limited_by(Verdict::LinkLimited);
        assert_eq!((answer.verdict.map(Verdict::as_str), answer.reply), (Some("link"), None));
        assert_eq!(answer.to("line rate?", Reply::Yes).reply.map(Reply::word), Some("yes"));
    }

    #[test]
    fn an_answer_is_short_where_it_has_a_reply_or_a_number() {
        let headline = Headline::written("+7.16 µs");
        let added = Answer::default().with_question("Added latency").with_headline(headline);
        let short =
            |answer: &Answer| answer.in_short().map(|found| (found.to_string(), found.tone));
        assert_eq!(short(&added), Some(("Added latency +7.16 µs".to_owned(), None)));
        let blocking = Answer::new("Why.").to("Non-blocking?", Reply::No);
        assert_eq!(short(&blocking), Some(("Non-blocking? no".to_owned(), Some(Tone::Bad))));
        assert_eq!(short(&Answer::new("A sentence.")), None);
        let found = blocking.in_short().expect("a reply");
        let text = serde_json::to_string(&found).expect("JSON");
        assert_eq!(text, r#"{"question":"Non-blocking?","said":"no","tone":"bad"}"#);
        assert_eq!(serde_json::from_str::<Found>(&text).expect("read again"), found);
    }
}
