//! Answers: what a reader asked, and what is to be said to it. Each reply with its word and its
//! tone, in one table.
//!
//! An answer is not a verdict: it may be good or bad, while a verdict says whose limit the figure
//! in it shows, and is neither. Never decides one: studies and comparisons do.

use crate::{Figure, Quantity, RowId, Unit, Verdict, words};

/// One question of the first screen: the answer or the number that people take away, who limits
/// it, and one sentence of why.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The question in few words, `Non-blocking?`; empty where there is none. Answers to the same
    /// question stand together.
    pub question: String,
    /// The case among those of its question, `UDP, 64 octets, idle`; empty where there is one.
    pub case: String,
    /// The number that people compare.
    pub headline: Option<Headline>,
    /// The device's value beside the direct cable's.
    pub gauge: Option<Gauge>,
    /// The sentence.
    pub text: String,
    /// The answer in a word, where the question has one.
    pub reply: Option<Reply>,
    /// The limit that the figure shows, where it shows one.
    pub verdict: Option<Verdict>,
    /// The rows whose values it states.
    pub rows: Vec<RowId>,
}

/// A number that stands alone, with its unit, and its interval at the same precision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headline {
    /// `+7.16 µs`, `≥ 623,050 frames/s`
    pub value: String,
    /// `[7.15, 7.16]`; empty where there is none.
    pub interval: String,
    /// `93.8 % CI`: what the interval is; empty where nothing says.
    pub confidence: String,
}

/// A value that bounds the true one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The true value is at least that.
    Least,
    /// The true value is at most that.
    Most,
}

/// Values on one axis: the device's beside the direct cable's, or beside a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Gauge {
    /// The quantity: `Median RTT`. Gauges of one quantity share an axis.
    pub axis: String,
    /// Base unit of all marks.
    pub unit: Unit,
    /// At most one of each kind.
    pub marks: Vec<Mark>,
}

/// One value of a gauge.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The kind of its place.
    pub kind: MarkKind,
    /// The name of its place: `x450a-48t`.
    pub name: String,
    /// The value, or the bound that is known.
    pub value: f64,
    /// The interval's ends.
    pub interval: Option<[f64; 2]>,
    /// The row that it is.
    pub row: Option<RowId>,
}

/// Kind of a gauge's mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// The direct cable.
    Cable,
    /// Most that could be reached: line rate, a fair share.
    Limit,
    /// The device under test.
    Device,
}

impl Headline {
    /// A figure's value, or the bound that is known of it; none of a figure without either.
    pub fn of(figure: &Figure) -> Option<Self> {
        let write = |value| words::value(figure.unit, value);
        let value = match (figure.value, figure.low, figure.high) {
            (Some(value), ..) => write(value),
            (None, Some(low), _) => format!("≥ {}", write(low)),
            (None, None, Some(high)) => format!("< {}", write(high)),
            (None, None, None) => return None,
        };
        let quantity = Quantity::of(figure);
        let interval = figure.value.and_then(|_| words::brackets(&quantity)).unwrap_or_default();
        Some(Self { value, interval, confidence: words::ends(&quantity.ends) })
    }

    /// A value that is written already.
    pub fn written(value: impl Into<String>) -> Self {
        Self { value: value.into(), ..Self::default() }
    }

    /// Marks the value as a bound, where it is one.
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

    /// With the sign of a difference.
    #[must_use]
    pub fn signed(mut self) -> Self {
        if self.value.starts_with(|first: char| first.is_ascii_digit()) {
            self.value.insert(0, '+');
        }
        self
    }
}

impl Gauge {
    /// A gauge of a quantity, without a mark.
    pub fn new(axis: impl Into<String>, unit: Unit) -> Self {
        Self { axis: axis.into(), unit, marks: Vec::new() }
    }

    /// With a figure's value as a mark, where it has one.
    #[must_use]
    pub fn with(mut self, kind: MarkKind, name: impl Into<String>, figure: &Figure) -> Self {
        if let Some(value) = figure.value.or(figure.low) {
            let interval = figure.low.zip(figure.high).map(|(low, high)| [low, high]);
            let row = figure.id();
            self.marks.push(Mark { kind, name: name.into(), value, interval, row });
        }
        self
    }

    /// With the direct cable's value, where one was measured.
    #[must_use]
    pub fn with_cable(self, figure: Option<&Figure>) -> Self {
        match figure {
            Some(figure) => self.with(MarkKind::Cable, "direct cable", figure),
            None => self,
        }
    }

    /// With a limit that is no figure, where it is known.
    #[must_use]
    pub fn with_limit(mut self, name: impl Into<String>, value: Option<f64>) -> Self {
        let mark = |value| Mark {
            kind: MarkKind::Limit,
            name: name.into(),
            value,
            interval: None,
            row: None,
        };
        self.marks.extend(value.map(mark));
        self
    }
}

impl Answer {
    /// A sentence, to no question yet and of no figure.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Of a figure that shows this limit.
    #[must_use]
    pub const fn limited_by(mut self, verdict: Verdict) -> Self {
        self.verdict = Some(verdict);
        self
    }

    /// Led by a figure's value, and stating it.
    #[must_use]
    pub fn led_by(mut self, figure: &Figure) -> Self {
        self.headline = Headline::of(figure);
        self.stating([figure])
    }

    /// Led by a value that is only a bound, where it is one.
    #[must_use]
    pub fn bounded(mut self, bound: Option<Bound>) -> Self {
        self.headline = self.headline.map(|headline| headline.bounded(bound));
        self
    }

    /// Led by a number.
    #[must_use]
    pub fn with_headline(mut self, headline: impl Into<Option<Headline>>) -> Self {
        self.headline = headline.into();
        self
    }

    /// With the device's value beside the cable's, where there are both.
    #[must_use]
    pub fn with_gauge(mut self, gauge: Gauge) -> Self {
        self.gauge = Some(gauge).filter(|gauge| gauge.marks.len() > 1);
        self
    }

    /// One case of several to its question.
    #[must_use]
    pub fn of_case(mut self, case: impl Into<String>) -> Self {
        self.case = case.into();
        self
    }

    /// Stating these values.
    #[must_use]
    pub fn stating<'a>(mut self, figures: impl IntoIterator<Item = &'a Figure>) -> Self {
        self.add("", figures);
        self
    }

    /// Adds words, and the values that they state.
    pub fn add<'a>(&mut self, words: &str, figures: impl IntoIterator<Item = &'a Figure>) {
        self.text.push_str(words);
        figures.into_iter().filter_map(Figure::id).for_each(|id| self.state(id));
    }

    fn state(&mut self, id: RowId) {
        if !self.rows.contains(&id) {
            self.rows.push(id);
        }
    }

    /// To this question, in this word.
    #[must_use]
    pub fn to(mut self, question: impl Into<String>, reply: Reply) -> Self {
        self.question = question.into();
        self.reply = Some(reply);
        self
    }

    /// To a question that a figure answers, and no word.
    #[must_use]
    pub fn asked(mut self, question: impl Into<String>) -> Self {
        self.question = question.into();
        self
    }

    /// True if it has no number of its own: its sentence says all.
    pub const fn is_sentence(&self) -> bool {
        self.headline.is_none()
    }

    /// Answers by their questions, each question where it is asked first.
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

    /// The answer in few words: `Added latency +7.16 µs`, `Non-blocking? no`; none of a sentence
    /// alone.
    pub fn in_short(&self) -> Option<String> {
        let said = match (self.reply, &self.headline) {
            (Some(reply), _) => reply.word(),
            (None, Some(headline)) => headline.value.as_str(),
            (None, None) => return None,
        };
        let question = self.question.trim_end_matches('?');
        let question = if self.reply.is_some() { &self.question } else { question };
        Some(format!("{question} {said}").trim_start().to_owned())
    }
}

/// How a reply is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    /// What the reader hoped for.
    Good,
    /// What the reader feared.
    Bad,
    /// Neither: it is not known.
    Open,
}

/// One row a reply: its word and its tone.
macro_rules! replies {
    ($($(#[$meta:meta])* $variant:ident $word:literal $tone:ident;)+) => {
        /// An answer in a word. Questions are asked so that *yes* is good.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Reply {
            $($(#[$meta])* $variant,)+
        }

        impl Reply {
            /// All there are.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// As pages, text and rows have it.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// As rows have it: one word.
            pub fn code(self) -> String {
                self.word().replace(' ', "-")
            }

            /// How it is meant.
            pub const fn tone(self) -> Tone {
                match self { $(Self::$variant => Tone::$tone,)+ }
            }
        }
    };
}

replies! {
    /// It is so.
    Yes "yes" Good;
    /// It is not so.
    No "no" Bad;
    /// What was measured does not show it either way.
    NotShown "not shown" Open;
    /// The claim is kept.
    Pass "pass" Good;
    /// The claim is broken.
    Fail "fail" Bad;
    /// The claim may be either.
    Inconclusive "inconclusive" Open;
    /// Better than what it is compared with.
    Better "better" Good;
    /// Worse than that.
    Worse "worse" Bad;
    /// As good as that, within the margin.
    Equivalent "equivalent" Good;
}

impl From<Option<bool>> for Reply {
    /// Yes, no, or not shown.
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
}
