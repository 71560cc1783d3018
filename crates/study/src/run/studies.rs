//! Results of a run on its page, study by study.
//!
//! Owns the order of answers and sections, and how studies of one kind are distinguished. Never
//! words a figure, and knows no study.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use crate::{StudySpec, Topic, numbered};
use page::{Answer, Section};

use super::ReportInput;

/// Studies of which the plan has another of the same kind.
fn repeated(studies: &[StudySpec]) -> BTreeSet<NonZeroU16> {
    let twice =
        |study: &StudySpec| studies.iter().filter(|other| other.name() == study.name()).count() > 1;
    let all = numbered(studies).filter(|(_, study)| twice(study));
    all.map(|(place, _)| place.number).collect()
}

/// Sections of all studies.
pub(super) fn sections(anchor: &str, run: &ReportInput<'_>) -> Vec<Section> {
    let several = repeated(&run.meta.studies);
    let named = |number: NonZeroU16, section: &Section| {
        let (id, heading) = (&section.id, &section.heading);
        let (id, heading) = if several.contains(&number) {
            (format!("{anchor}-{number}-{id}"), format!("{heading}, study {number}"))
        } else {
            (format!("{anchor}-{id}"), heading.clone())
        };
        Section { id, heading, blocks: section.blocks.clone() }
    };
    let all = run.pages.iter().flat_map(|(number, page)| {
        page.sections.iter().map(|section| named(*number, section)).collect::<Vec<_>>()
    });
    all.collect()
}

/// Answers by kind of question, in the readers' order, study by study. Those that two studies give
/// to one question in one case bear their study's number.
pub(super) fn answers(run: &ReportInput<'_>) -> Vec<Answer> {
    let mut all: Vec<(Topic, NonZeroU16, &Answer)> = Vec::new();
    for (number, page) in run.pages {
        all.extend(page.answers.iter().map(|(topic, answer)| (*topic, *number, answer)));
    }
    all.sort_by_key(|(topic, ..)| *topic);
    let is_shared = |number: NonZeroU16, answer: &Answer| {
        let same = |other: &Answer| other.question == answer.question && other.case == answer.case;
        all.iter().any(|(_, other, one)| *other != number && same(one))
    };
    let named = |(_, number, answer): &(Topic, NonZeroU16, &Answer)| {
        let question = format!("Study {number}: {}", answer.question).trim_end().to_owned();
        let question = if is_shared(*number, answer) { question } else { answer.question.clone() };
        Answer { question, ..(*answer).clone() }
    };
    all.iter().map(named).collect()
}
