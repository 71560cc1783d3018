//! Claims of a data sheet, decided: a line for all of them, and a table of claim, measured value
//! and decision, as a page and as text.
//!
//! Never decides: it shows and words what `method::acceptance` decided.

use measure::Nanos;
use method::acceptance::{Acceptance, Decided, Decision, FALSE_FAILS, Keeps, Reading, Why};
use method::prove::{Claim, Says};
use method::verdict::LINE_RATE;
use page::{Answer, Block, Caveat, Cell, Figure, Key, Page, Reply, Section, Style, Table, Verdict};

use super::html::{self, Preface, ReportError};
use super::{ReportInput, page_of, picture};
use crate::text::{Footnotes, Screen, put_table, put_wrapped};
use page::words;

/// As the journal names the runs of claims.
pub const VERB: &str = "accept";

const ANCHOR: &str = "acceptance";

/// One self-contained HTML file: the claims first, then the runs that they were measured by.
/// `generated_unix_ns` is the caller's wall clock.
pub fn render(
    acceptance: &Acceptance,
    device: &str,
    runs: &[ReportInput<'_>],
    generated_unix_ns: u64,
) -> Result<String, ReportError> {
    let lead = runs.first().map(|first| Page {
        id: ANCHOR.to_owned(),
        heading: format!("{device}: does it keep its data sheet?"),
        line: format!("On {}, switchmark {}", first.meta.topology.name, first.meta.version),
        notes: notes(runs),
        answers: answers(acceptance),
        picture: picture::picture(&first.meta.topology),
        sections: vec![section(ANCHOR, acceptance)],
    });
    let pages = runs.iter().enumerate().map(|(at, run)| page_of(at, run)).collect();
    let preface =
        Preface { title: format!("switchmark: {device}, acceptance"), blocks: Vec::new() };
    html::render_all(preface, (lead, pages), generated_unix_ns)
}

/// What is to be known of all runs: that nothing was sent, for instance.
fn notes(runs: &[ReportInput<'_>]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in runs.iter().flat_map(|run| &run.meta.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// The same as text, as wide as the screen.
pub fn text(acceptance: &Acceptance, screen: Screen) -> String {
    let mut out = String::new();
    put_wrapped(&mut out, screen, "", &overall(acceptance));
    out.push('\n');
    put_table(&mut out, screen, &table(acceptance), &mut Footnotes::of(&[]));
    // What passes by a rule of its own says by which.
    let said = |one: &&Decided| one.decision != Decision::Pass || rule(one).is_some();
    for one in acceptance.decided.iter().filter(said) {
        let told = format!("{}: {}", one.claim.text, reason(one));
        put_wrapped(&mut out, screen, &format!("{:<14}", one.decision.as_str()), &told);
    }
    out
}

/// All of them in a sentence.
pub fn overall(acceptance: &Acceptance) -> String {
    let all = acceptance.decided.len();
    let claims = if all == 1 { "1 claim".to_owned() } else { format!("{all} claims") };
    let count = |decision| acceptance.count(decision);
    let (pass, fail) = (count(Decision::Pass), count(Decision::Fail));
    let open = count(Decision::Inconclusive);
    let told = match acceptance.overall() {
        Decision::Pass => format!("Pass: the device keeps all of {claims}."),
        Decision::Fail => format!(
            "Fail: of {claims} {fail} {} broken, {pass} kept, {open} not shown.",
            if fail == 1 { "is" } else { "are" }
        ),
        Decision::Inconclusive => {
            format!("Inconclusive: of {claims} {pass} kept, {open} not shown, none broken.")
        }
    };
    let chance = words::trimmed(FALSE_FAILS * all as f64, 2);
    let most = words::trimmed(FALSE_FAILS * 100.0, 1);
    format!("{told} Of claims that are kept at most {most} % fail by chance: {chance} of {all}.")
}

/// The answer of the first screen: all in a line, then each claim that is not kept.
pub(super) fn answers(acceptance: &Acceptance) -> Vec<Answer> {
    let whole = Answer::new(overall(acceptance));
    let mut all = vec![whole.to("Keeps its data sheet?", reply(acceptance.overall()))];
    let mut ordered: Vec<&Decided> = acceptance.decided.iter().collect();
    ordered.sort_by_key(|one| match one.decision {
        Decision::Fail => 0,
        Decision::Inconclusive => 1,
        Decision::Pass => 2,
    });
    all.extend(ordered.into_iter().map(|one| {
        let told = Answer::new(format!("Measured {}; {}.", measured(one), reason(one)));
        let asked = format!("{}?", words::capital(&one.claim.text));
        let told = told.to(asked, reply(one.decision));
        match &one.measured {
            Some(figure) => told.limited_by(figure.verdict),
            None => told,
        }
    }));
    all
}

/// A decision's word on the first screen and in tables.
const fn reply(decision: Decision) -> Reply {
    match decision {
        Decision::Pass => Reply::Pass,
        Decision::Fail => Reply::Fail,
        Decision::Inconclusive => Reply::Inconclusive,
    }
}

/// The table, and how it is decided.
pub(super) fn section(anchor: &str, acceptance: &Acceptance) -> Section {
    Section {
        id: format!("{anchor}-claims"),
        heading: "Claim by claim".to_owned(),
        blocks: vec![
            Block::Table(table(acceptance)),
            Block::Paragraph(
                "A claim passes only where all that the figure leaves possible keeps it, and fails \
                 only where nothing of it does and the device is the limit; a bound that suffices \
                 passes."
                    .to_owned(),
            ),
        ],
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
                Cell::text(measured(one)).with_style(Style::Long),
                Cell::text(limit),
                Cell::text(one.decision.as_str()).with_style(reply(one.decision).into()),
                Cell::text(reason(one)).with_style(Style::Long),
                Cell::text(one.claim.source.clone().unwrap_or_default()).with_style(Style::Long),
            ]
        }))
}

/// `5.72 MB (96.9 % CI 5.71…5.73 MB)`, `at least 12.0 MB`, or a dash.
pub fn measured(one: &Decided) -> String {
    let Some(figure) = &one.measured else { return "–".to_owned() };
    let ports = figure.integer(Key::Nodes).or_else(|| figure.integer(Key::Senders));
    let ports = ports.map_or_else(String::new, |ports| format!(", {ports} ports"));
    let senders = figure.integer(Key::SendersAPort);
    let senders = senders.map_or_else(String::new, |count| format!(", {count} senders a port"));
    value(figure) + &ports + &senders
}

/// Its value with the interval, or with the word of a bound.
fn value(figure: &Figure) -> String {
    let of = |value| words::value(figure.unit, value);
    match (bound(figure), figure.value, figure.low, figure.high) {
        (Some("at most"), value, _, high) => match high.or(value) {
            Some(high) => format!("at most {}", of(high)),
            None => "–".to_owned(),
        },
        (Some(word), value, low, _) => match value.or(low) {
            Some(value) => format!("{word} {}", of(value)),
            None => "–".to_owned(),
        },
        (None, ..) => words::with_interval(figure),
    }
}

/// The word of a value that is known on one side only.
fn bound(figure: &Figure) -> Option<&str> {
    match Claim::of(figure).says {
        Says::AtLeast(_) if figure.verdict == Verdict::LinkLimited => Some("line rate,"),
        Says::AtLeast(_) => Some("at least"),
        Says::AtMost(_) => Some("at most"),
        _ => None,
    }
}

/// Why a claim was decided so, by which rule, and what would tell.
pub fn reason(one: &Decided) -> String {
    let why = why(one);
    rule(one).map_or_else(|| why.clone(), |rule| format!("{why}; {rule}"))
}

/// What is allowed beside the claimed value, and how a value is counted that can be counted in two
/// ways.
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
        Why::Kept => "all that is possible keeps it".to_owned(),
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
        Why::Doubted(caveat) => format!("in doubt ({}): {}", caveat.as_str(), first(caveat)),
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
            "the ports that have hosts can't offer so much together; connect more of them".to_owned()
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

/// A caveat's first sentence, without its full stop.
fn first(caveat: Caveat) -> &'static str {
    let text = caveat.text();
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}
