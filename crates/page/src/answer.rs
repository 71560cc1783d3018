//! Answers: what a reader asked, and what is to be said to it. Each reply with its word and its
//! tone, in one table.
//!
//! An answer is not a verdict: it may be good or bad, while a verdict says whose limit the figure
//! in it shows, and is neither. Never decides one: studies and comparisons do.

use crate::{Figure, RowId, Verdict};

/// One sentence of the first screen: what was asked, the answer with its figure, and whose limit
/// that figure shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// What was asked, in few words, `non-blocking?`; empty where no reader asks it.
    pub question: String,
    /// The sentence.
    pub text: String,
    /// The answer in a word, where the question has one.
    pub reply: Option<Reply>,
    /// Whose limit the sentence's figure shows, where it states one.
    pub verdict: Option<Verdict>,
    /// The rows whose values it states.
    pub rows: Vec<RowId>,
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

    /// Stating these values.
    #[must_use]
    pub fn stating<'a>(mut self, figures: impl IntoIterator<Item = &'a Figure>) -> Self {
        self.add("", figures);
        self
    }

    /// Adds words, and the values that they state.
    pub fn add<'a>(&mut self, words: &str, figures: impl IntoIterator<Item = &'a Figure>) {
        self.text.push_str(words);
        for id in figures.into_iter().filter_map(Figure::id) {
            if !self.rows.contains(&id) {
                self.rows.push(id);
            }
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
