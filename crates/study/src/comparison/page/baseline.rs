//! Answer to "No worse than the baseline?" in a sentence, with the decisive figures.
//!
//! Says no more than the comparison does; never decides.

use page::{Answer, Reply};

use super::sentence::percent;
use crate::comparison::{Baseline, Compared, Row};

impl Compared {
    /// Answer: no worse than the baseline, worse, or undecided.
    pub fn baseline_answer(&self) -> Answer {
        let (question, of) = (format!("No worse than {}?", self.reference), self.rows.len());
        let figures = if of == 1 { "figure" } else { "figures" };
        let by = format!("by more than {}", percent(self.margin));
        let that = |answer| -> Vec<String> { self.judged(answer).map(Row::label).collect() };
        let (subject, reference) = (&self.subject, &self.reference);
        let (reply, said) = match self.against_baseline() {
            Baseline::Kept => {
                let none = format!("none of {of} {figures} is worse {by}");
                (Reply::Pass, format!("{subject} is no worse than {reference}: {none}."))
            }
            Baseline::Worse => {
                let worse = that(Baseline::Worse);
                let (count, names) = (worse.len(), worse.join(", "));
                let told = format!("{count} of {of} {figures}: {names}");
                (Reply::Fail, format!("{subject} is worse than {reference} in {told}."))
            }
            Baseline::Inconclusive => (Reply::Inconclusive, open(self, &that)),
        };
        Answer::new(said).to(question, reply)
    }
}

impl Compared {
    /// Figures of which the comparison with the baseline says this.
    fn judged(&self, answer: Baseline) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.against_baseline(self.margin) == answer)
    }

    /// Counts of figures worse than the baseline's, or not shown to be no worse, and the remedy.
    pub fn baseline_counts(&self) -> String {
        let count = |answer| self.judged(answer).count();
        let all = self.rows.len();
        match (self.against_baseline(), count(Baseline::Worse), count(Baseline::Inconclusive)) {
            (Baseline::Kept, ..) => format!("PASS: none of {all} figures is worse."),
            (Baseline::Worse, worse, _) => format!("FAIL: {worse} of {all} figures are worse."),
            (Baseline::Inconclusive, ..) if self.rows.is_empty() => {
                "INCONCLUSIVE: no figure is common to both: run the same study on both.".to_owned()
            }
            (Baseline::Inconclusive, ..) if !self.attribution.is_given() => {
                format!("INCONCLUSIVE: {}", self.attribution.sentence())
            }
            (Baseline::Inconclusive, _, 0) => format!(
                "INCONCLUSIVE: {} figures of the baseline were not measured again.",
                self.lacking.len()
            ),
            (Baseline::Inconclusive, _, open) => format!(
                "INCONCLUSIVE: {open} of {all} figures are not shown to be no worse. More \
                 repetitions (--blocks) on both sides may decide."
            ),
        }
    }
}

/// Lists what is not shown, and why.
fn open(compared: &Compared, that: &dyn Fn(Baseline) -> Vec<String>) -> String {
    let mut why = Vec::new();
    if !compared.attribution.is_given() {
        why.push(compared.attribution.sentence());
    }
    let unknown = that(Baseline::Inconclusive);
    if !unknown.is_empty() {
        let within = percent(compared.margin);
        why.push(format!(
            "{} not shown to be within {within} or better",
            are(&unknown.join(", "), unknown.len())
        ));
    }
    let lacking = &compared.lacking;
    if !lacking.is_empty() {
        let were = are(&lacking.join(", "), lacking.len());
        why.push(format!("{were} measured of {} alone", compared.reference));
    }
    if why.is_empty() {
        why.push("no figure is common to both".to_owned());
    }
    let (subject, reference) = (&compared.subject, &compared.reference);
    format!("Whether {subject} is no worse than {reference} is not shown: {}.", why.join("; "))
}

fn are(names: &str, count: usize) -> String {
    format!("{names} {}", if count == 1 { "is" } else { "are" })
}
