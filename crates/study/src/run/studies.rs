//! Results of a run on its page, study by study.
//!
//! Owns the order of answers and sections, and how studies of one kind are distinguished. Never
//! words a figure, and knows no study.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use crate::{StudyPage, StudySpec, Topic, numbered};
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

/// Answers by kind of question, in the readers' order, study by study.
pub(super) fn answers(run: &ReportInput<'_>) -> Vec<Answer> {
    let several = repeated(&run.meta.studies);
    let named = |number: NonZeroU16, answer: &Answer| {
        let question = format!("Study {number}: {}", answer.question).trim_end().to_owned();
        let question = if several.contains(&number) { question } else { answer.question.clone() };
        Answer { question, ..answer.clone() }
    };
    let of_page = |(number, page): &(NonZeroU16, StudyPage)| -> Vec<(Topic, Answer)> {
        page.answers.iter().map(|(topic, answer)| (*topic, named(*number, answer))).collect()
    };
    let mut all: Vec<(Topic, Answer)> = run.pages.iter().flat_map(of_page).collect();
    all.sort_by_key(|(topic, _)| *topic);
    all.into_iter().map(|(_, answer)| answer).collect()
}
