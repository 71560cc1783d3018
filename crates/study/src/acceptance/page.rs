//! Decided claims as a page: one line for all of them, and a table of claim, measured value and
//! decision.
//!
//! Never decides: only presents the decisions.

use measure::Nanos;
use page::{
    Answer, Block, Cell, Figure, Headline, Key, Page, Reply, Section, Style, Table, Verdict, words,
};

use super::{Acceptance, Decided, Decision, FALSE_FAILS, Keeps, Reading, Why};
use crate::prove::{Claim, Says};
use crate::run::{RunMeta, picture};
use crate::verdict::LINE_RATE;

/// Verb of acceptance runs in the journal.
pub const VERB: &str = "accept";

const ANCHOR: &str = "acceptance";

impl Acceptance {
    /// Builds the page of the claims, which precedes those of the runs that measured them.
    pub fn page(&self, device: &str, runs: &[&RunMeta]) -> Page {
        let mut page = Page {
            id: ANCHOR.to_owned(),
            heading: format!("{device}: does it keep its data sheet?"),
            notes: notes(runs),
            answers: self.answers(),
            sections: vec![self.section(ANCHOR)],
            ..Page::default()
        };
        if let Some(first) = runs.first() {
            page.line = format!("On {}, switchmark {}", first.topology.name, first.version);
            page.picture = picture(&first.topology);
        }
        page
    }

    /// Summary of all claims in one sentence.
    pub fn sentence(&self) -> String {
        overall(self)
    }

    /// Counts of claims met and not met: `FAIL: 1 of 4 claims not met, 3 met, 0 undecided.`
    pub fn counts_in_words(&self) -> String {
        let all = self.decided.len();
        let claims = if all == 1 { "1 claim".to_owned() } else { format!("{all} claims") };
        let count = |decision| self.count(decision);
        let (pass, fail) = (count(Decision::Pass), count(Decision::Fail));
        let open = count(Decision::Inconclusive);
        match self.overall() {
            Decision::Pass => format!("PASS: {claims} met."),
            Decision::Fail => {
                format!("FAIL: {fail} of {claims} not met, {pass} met, {open} undecided.")
            }
            Decision::Inconclusive => {
                format!("INCONCLUSIVE: {open} of {claims} undecided, {pass} met, none broken.")
            }
        }
    }

    /// Answers of the first screen: a summary, then each claim, failed ones first.
    pub(crate) fn answers(&self) -> Vec<Answer> {
        let whole = Answer::new(overall(self));
        let mut all = vec![whole.to("Keeps its data sheet?", reply(self.overall()))];
        let mut ordered: Vec<&Decided> = self.decided.iter().collect();
        ordered.sort_by_key(|one| match one.decision {
            Decision::Fail => 0,
            Decision::Inconclusive => 1,
            Decision::Pass => 2,
        });
        all.extend(ordered.into_iter().map(|one| {
            let told = Answer::new(format!("{}.", words::capital(&one.reason())))
                .with_headline(Headline::written(one.measured()));
            let asked = format!("{}?", words::capital(&one.claim.text));
            let told = told.to(asked, reply(one.decision));
            match &one.measured {
                Some(figure) => told.limited_by(figure.verdict),
                None => told,
            }
        }));
        all
    }

    /// Section with the table and the rule of decision.
    pub(crate) fn section(&self, anchor: &str) -> Section {
        let rule = "A claim passes only where all that the figure leaves possible keeps it, and fails only \
                    where nothing of it does and the device is the limit; a bound that suffices passes.";
        Section {
            id: format!("{anchor}-claims"),
            heading: "Claim by claim".to_owned(),
            blocks: vec![Block::Table(table(self)), Block::Paragraph(rule.to_owned())],
        }
    }
}

impl Decided {
    /// Measured value: `5.72 MB (96.9 % CI 5.71…5.73 MB)`, `at least 12.0 MB`, or a dash.
    pub fn measured(&self) -> String {
        let Some(figure) = &self.measured else { return "–".to_owned() };
        let ports = figure.integer(Key::Nodes).or_else(|| figure.integer(Key::Senders));
        let ports = ports.map_or_else(String::new, |ports| format!(", {ports} ports"));
        let senders = figure.integer(Key::SendersAPort);
        let senders = senders.map_or_else(String::new, |count| format!(", {count} senders a port"));
        value(figure) + &ports + &senders
    }

    /// Reason for the decision, the rule applied, and what would decide.
    pub fn reason(&self) -> String {
        let why = why(self);
        rule(self).map_or_else(|| why.clone(), |rule| format!("{why}; {rule}"))
    }
}

/// Notes that apply to all runs, such as: nothing was sent.
fn notes(runs: &[&RunMeta]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in runs.iter().flat_map(|run| &run.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// Summary of all claims in one sentence.
fn overall(acceptance: &Acceptance) -> String {
    let (all, told) = (acceptance.decided.len(), acceptance.counts_in_words());
    let chance = words::trimmed(FALSE_FAILS * all as f64, 2);
    let most = words::trimmed(FALSE_FAILS * 100.0, 1);
    let hold = if all == 1 { "the claim holds" } else { "all claims hold" };
    format!("{told} If {hold}, at most {most} % fail by chance: {chance} of {all}.")
}

/// Reply for a decision on the first screen and in tables.
const fn reply(decision: Decision) -> Reply {
    match decision {
        Decision::Pass => Reply::Pass,
        Decision::Fail => Reply::Fail,
        Decision::Inconclusive => Reply::Inconclusive,
    }
}

fn table(acceptance: &Acceptance) -> Table {
    let columns = ["claim", "measured", "limited by", "decision", "why", "source"];
    Table::new("Claims of the data sheet", columns)
        .page_only(&["why", "source"])
        .sparing(&["limited by"])
        .with_rows(acceptance.decided.iter().map(|one| {
            let limit = one.measured.as_ref().map_or("", |figure| figure.verdict.as_str());
            vec![
                Cell::text(one.claim.text.clone()).with_style(Style::Long),
                Cell::text(one.measured()).with_style(Style::Long),
                Cell::text(limit),
                Cell::text(one.decision.as_str()).with_style(reply(one.decision).into()),
                Cell::text(one.reason()).with_style(Style::Long),
                Cell::text(one.claim.source.clone().unwrap_or_default()).with_style(Style::Long),
            ]
        }))
}

/// Formats a value with its interval, or as a bound.
fn value(figure: &Figure) -> String {
    let bound = |word: &str, value: Option<f64>| match value {
        Some(value) => format!("{word} {}", words::value(figure.unit, value)),
        None => "–".to_owned(),
    };
    let least = figure.value.or(figure.low);
    match Claim::from_figure(figure).says {
        Says::AtLeast(_) if figure.verdict == Verdict::LinkLimited => bound("line rate,", least),
        Says::AtLeast(_) => bound("at least", least),
        Says::AtMost(_) => bound("at most", figure.high.or(figure.value)),
        _ => words::with_interval(figure),
    }
}

/// Rule behind a decision: the allowed margin, and the convention for values that can be counted in
/// two ways.
fn rule(one: &Decided) -> Option<String> {
    let claim = &one.claim;
    let counted = match claim.about.reading {
        Reading::ShareOfLine if claim.keeps.value() >= 1.0 => {
            Some(format!("line rate is {} or more", words::percent(LINE_RATE)))
        }
        Reading::OneWay if one.why != Why::NoConvention => Some(
            "counted from a frame's first bit in; from its last it is a frame's time less"
                .to_owned(),
        ),
        Reading::FromFirstBit => {
            Some("counted from a frame's first bit in (RFC 1242, cut-through)".to_owned())
        }
        Reading::FromLastBit => {
            Some("counted from a frame's last bit in (RFC 1242, store-and-forward)".to_owned())
        }
        Reading::SwitchingCapacity => {
            Some("bits on the wire, in and out, of all ports that have hosts".to_owned())
        }
        _ => None,
    };
    let value = claim.keeps.value();
    let margin = format!("{}\u{a0}%", words::trimmed(claim.margin * 100.0, 2));
    let of = |value| words::value(claim.about.unit(), value);
    let allowed = (claim.margin > 0.0).then(|| match claim.keeps {
        Keeps::AtLeast(_) => {
            let least = of(value * (1.0 - claim.margin));
            format!("{least} is enough: {margin} less than claimed is allowed")
        }
        Keeps::AtMost(_) => {
            let most = of(value * (1.0 + claim.margin));
            format!("{most} is not too much: {margin} more than claimed is allowed")
        }
        Keeps::Is(_) => format!("{margin} more or less than claimed is allowed"),
    });
    let rules: Vec<String> = counted.into_iter().chain(allowed).collect();
    (!rules.is_empty()).then(|| rules.join("; "))
}

fn why(one: &Decided) -> String {
    let more: Option<String> = one.needs.map(|needs: Nanos| page::numbers::span(needs));
    match one.why {
        Why::Kept => "the whole interval meets the claim".to_owned(),
        Why::Broken => "nothing that is possible keeps it".to_owned(),
        Why::Within { times: None } => {
            "too near the claimed value to be told in a reasonable time".to_owned()
        }
        Why::Within { .. } => more.map_or_else(
            || "the interval holds the claimed value".to_owned(),
            |more| format!("the interval holds the claimed value; about {more} more would tell"),
        ),
        Why::Bound => "only a bound is known, and it does not reach the claimed value".to_owned(),
        Why::Undetermined => "nothing says whose limit it is".to_owned(),
        Why::Doubted(caveat) => format!("in doubt ({}): {}", caveat.as_str(), caveat.in_short()),
        Why::FewRepetitions => more.map_or_else(
            || "too few repetitions".to_owned(),
            |more| format!("too few repetitions; about {more} more would tell"),
        ),
        Why::Contradicted => "estimates of it contradict each other".to_owned(),
        Why::NoLineRate => {
            "the rate of the links is not known, or not the same at all ports; state it in the testbed"
                .to_owned()
        }
        Why::NoConvention => {
            "kept if counted from a frame's last bit in, broken if from its first; say which: end the claim \
             with `store-and-forward` or `cut-through`"
                .to_owned()
        }
        Why::FewPorts => {
            "the ports that have hosts cannot offer so much together; connect more of them".to_owned()
        }
        Why::NoValue => "the study ended without a value".to_owned(),
        Why::NotMeasured => "no figure is about it".to_owned(),
        Why::NoDeed => {
            "the testbed knows nothing to do to the device; describe it in a [[device.deed]] table"
                .to_owned()
        }
        Why::NotInterrupted => {
            "no flow was interrupted: what was done may be to a path that none of them took"
                .to_owned()
        }
        Why::FewHosts { needed } => format!("it needs {needed} hosts"),
        Why::NoTime => more.map_or_else(
            || "the budget is too short".to_owned(),
            |more| format!("the budget is too short; about {more} would tell"),
        ),
    }
}
