//! A run's page study by study: each is shown of its own figures and trials, and nothing of one
//! stands for another's.
//!
//! Owns whose part each figure is, and the order of sections. Never words a figure.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use measure::Rate;
use method::study::StudyPage;
use method::{StudySpec, numbered};
use page::{Answer, Figure, Section};
use trial::Topology;

use super::totals::StudyTotals;
use super::{
    ReportInput, answers, buffer, fabric, forwarding, latency, reading, storage, streams,
    switching, tcp,
};

/// One study's part of a run.
struct StudyInput<'a> {
    /// Its place in the plan, from 1.
    number: NonZeroU16,
    /// What was asked; none of figures that no study of the run found.
    spec: Option<&'a StudySpec>,
    topology: &'a Topology,
    figures: Vec<Figure>,
    page: Option<&'a StudyPage>,
    trials: &'a StudyTotals,
}

/// Every study of the run, in the plan's order, with the figures that are its own.
fn of_run<'a>(run: &ReportInput<'a>) -> Vec<StudyInput<'a>> {
    // A campaign's studies are numbered as a plan's.
    let asked = match &run.meta.studies[..] {
        [StudySpec::Campaign(spec)] => &spec.studies,
        plan => plan,
    };
    let planned = numbered(asked).map(|(place, _)| place.number);
    let found = run.figures.iter().map(|figure| figure.case.study);
    let numbers: BTreeSet<NonZeroU16> = planned.chain(found).collect();
    let one = |number| StudyInput {
        number,
        spec: numbered(asked).find(|(own, _)| own.number == number).map(|(_, spec)| spec),
        topology: &run.meta.topology,
        figures: of_number(run.figures, number),
        page: run.pages.iter().find(|(own, _)| *own == number).map(|(_, page)| page),
        trials: run.trials.of_study(number),
    };
    numbers.into_iter().map(one).collect()
}

/// Those of one study.
pub(super) fn of_number(figures: &[Figure], number: NonZeroU16) -> Vec<Figure> {
    figures.iter().filter(|figure| figure.case.study == number).cloned().collect()
}

/// What each study's figures and records show.
pub(super) fn sections(anchor: &str, run: &ReportInput<'_>) -> Vec<Section> {
    let studies = of_run(run);
    let several = repeated(&studies);
    let mut all = Vec::new();
    for study in &studies {
        let is_alone = !several.contains(&study.number);
        let own = if is_alone { anchor.to_owned() } else { format!("{anchor}-{}", study.number) };
        let named = |section: Section| {
            let heading = format!("{}, study {}", section.heading, study.number);
            if is_alone { section } else { Section { heading, ..section } }
        };
        all.extend(of_study(&own, study).into_iter().map(named));
    }
    all
}

/// The answers of each kind of question, in the order in which readers ask, study by study.
pub(super) fn answered(run: &ReportInput<'_>) -> Vec<Answer> {
    let studies = of_run(run);
    let several = repeated(&studies);
    let mut all: Vec<(usize, Answer)> = Vec::new();
    for study in &studies {
        let is_alone = !several.contains(&study.number);
        let named = |(topic, answer): (usize, Answer)| {
            let question = format!("Study {}: {}", study.number, answer.question);
            let question = question.trim_end().to_owned();
            (topic, if is_alone { answer } else { Answer { question, ..answer } })
        };
        all.extend(answers::answers(&study.figures).into_iter().map(named));
        // Of studies that show what they found themselves.
        let told = study.page.into_iter().flat_map(|page| page.answers.iter().cloned());
        all.extend(told.map(|(topic, answer)| named((topic as usize, answer))));
    }
    all.sort_by_key(|(topic, _)| *topic);
    all.into_iter().map(|(_, answer)| answer).collect()
}

/// The studies of which the plan has another of the same kind.
fn repeated(studies: &[StudyInput<'_>]) -> BTreeSet<NonZeroU16> {
    let name = |study: &StudyInput<'_>| study.spec.map(StudySpec::name);
    let twice = |study: &&StudyInput<'_>| {
        study.spec.is_some()
            && studies.iter().filter(|other| name(other) == name(study)).count() > 1
    };
    studies.iter().filter(twice).map(|study| study.number).collect()
}

fn of_study(anchor: &str, study: &StudyInput<'_>) -> Vec<Section> {
    let mut sections = Vec::new();
    let (own, trials) = (&study.figures[..], study.trials);
    let figures = reading::without_own_pages(&reading::of_studies(own));
    sections.extend(latency::section(anchor, &figures, &trials.latency));
    sections.extend(forwarding::section(
        anchor,
        study.spec,
        link_rate(study),
        &figures,
        &trials.loss,
        &trials.pacing,
    ));
    sections.extend(buffer::section(anchor, &figures, trials.buffer.trials()));
    sections.extend(buffer::depth::section(anchor, &figures));
    sections.extend(fabric::section(anchor, &figures));
    sections.extend(tcp::section(anchor, own, trials.tcp.trials()));
    sections.extend(switching::section(anchor, own));
    sections.extend(storage::section(anchor, own));
    sections.extend(streams::section(anchor, &figures, &trials.streams));
    let own = study.page.into_iter().flat_map(|page| page.sections.iter().cloned());
    sections
        .extend(own.map(|section| Section { id: format!("{anchor}-{}", section.id), ..section }));
    sections
}

/// What the links of the ports that took part carry, where it is known.
fn link_rate(study: &StudyInput<'_>) -> Option<Rate> {
    match study.spec? {
        StudySpec::Forwarding(spec) => spec.link(study.topology),
        _ => None,
    }
}
