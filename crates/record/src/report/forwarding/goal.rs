//! What a rate is called: after the goal that its search had, or after the flood. Two goals are two
//! quantities. Never compares them.

use std::collections::BTreeSet;

use page::{Block, Figure, Key, Metric};

use super::super::reading;

/// What a rate is called: the goal of a search, or a flood's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Flood,
    Goal(usize, String),
}

/// In the order in which goals are listed; others follow.
const GOALS: [(&str, &str); 4] = [
    (
        "rfc2544",
        "throughput by RFC 2544 §26.1: the highest rate at which a full-length trial lost not one \
         frame",
    ),
    (
        "tst009",
        "ETSI GS NFV-TST 009 §12.3.3: the same, but a trial that lost frames is made once more and may \
         pass then",
    ),
    ("ndr", "non-drop rate: no frame lost in at least half of many short trials"),
    ("pdr", "partial-drop rate: at most 0.5 % lost in at least half of many short trials"),
];

impl Kind {
    pub(super) fn of(figure: &Figure) -> Self {
        if figure.metric == Metric::Received {
            return Self::Flood;
        }
        let goal = reading::text(figure, Key::Goal).unwrap_or_default();
        let place = GOALS.iter().position(|(name, _)| *name == goal);
        Self::Goal(place.unwrap_or(GOALS.len()), goal)
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Flood => "under flood".to_owned(),
            Self::Goal(_, goal) if goal.is_empty() => "throughput".to_owned(),
            Self::Goal(_, goal) => format!("throughput ({goal})"),
        }
    }
}

/// What each goal that occurs asks for.
pub(super) fn meant(rates: &[&Figure]) -> Option<Block> {
    let named: BTreeSet<String> =
        rates.iter().filter_map(|f| reading::text(f, Key::Goal)).collect();
    let meant = |(name, text): &(&str, &str)| {
        named.contains(*name).then(|| ((*name).to_owned(), format!("{text}.")))
    };
    let terms: Vec<(String, String)> = GOALS.iter().filter_map(meant).collect();
    (!terms.is_empty()).then_some(Block::Glossary(terms))
}
