//! Certificate as a page: results by study and kind of device, each wrong claim with the known
//! value, and the tests that this host cannot make.
//!
//! Never judges: only presents the results.

use measure::Interval;
use page::{
    Answer, Axis, Block, Cell, Image, Page, Picture, Plot, Point, Reply, Scale, Section, Series,
    Table, words,
};

use super::{Certificate, Tally, WrongClaim};

const ANCHOR: &str = "certificate";

impl Certificate {
    /// Builds the page. `seed` is the one that the devices were drawn from.
    pub fn page(&self, seed: u64) -> Page {
        let total = self.total();
        Page {
            id: ANCHOR.to_owned(),
            heading: format!(
                "Self-test: {} results, {} wrong",
                words::count(total.claims()),
                words::count(total.wrong)
            ),
            line: format!(
                "{} devices with known properties, seed {seed}, switchmark {}",
                words::count(total.devices),
                env!("CARGO_PKG_VERSION")
            ),
            answers: answers(&total),
            picture: Some(outcomes(self)),
            sections: vec![by_kind(self)],
            // Plain text prints wrong claims elsewhere: the way to reproduce them must not be cut.
            background: wrong(self).into_iter().chain(skipped(self)).collect(),
            ..Page::default()
        }
    }
}

fn answers(total: &Tally) -> Vec<Answer> {
    let ends = |interval: Option<Interval>| {
        interval.map_or_else(String::new, |interval| {
            let [low, high] = [interval.low, interval.high].map(words::percent);
            format!(" (95 % CI {low} to {high})")
        })
    };
    let count = words::count;
    let reply = if total.wrong == 0 { Reply::Yes } else { Reply::No };
    let of = |hits, all| format!("{} of {}", count(hits), count(all));
    let results = format!(
        "{} results on {} devices are wrong{}. {} figures within the tester's reach were left open \
         or only bounded.",
        of(total.wrong, total.claims()),
        count(total.devices),
        ends(total.wrong_share()),
        of(total.reachable_open, total.reachable),
    );
    let mut all = vec![Answer::new(results).to("No wrong results?", reply)];
    if total.intervals > 0 {
        let text = format!(
            "{} confidence intervals hold the known value{}.",
            of(total.covering, total.intervals),
            ends(total.coverage())
        );
        all.push(Answer::new(text).with_question("Confidence intervals"));
    }
    if total.brackets > 0 {
        let held = of(total.bracketing, total.brackets);
        let text = format!("{held} search brackets hold the known value.");
        all.push(Answer::new(text).with_question("Search brackets"));
    }
    all
}

/// Possible result of figures, with its count.
type Outcome = (&'static str, fn(&Tally) -> u64);

/// Plot of each study's figures by result.
fn outcomes(certificate: &Certificate) -> Picture {
    let rows = certificate.rows();
    let names: Vec<String> = (1..=rows.len()).map(|number| number.to_string()).collect();
    let kinds: [Outcome; 4] = [
        ("right", |tally| tally.right),
        ("bound that holds", |tally| tally.bounds),
        ("wrong", |tally| tally.wrong),
        ("left open", |tally| tally.open),
    ];
    let series = |(colour, (name, of)): (usize, Outcome)| Series {
        name: name.to_owned(),
        colour: Some(colour),
        dashed: false,
        line: Vec::new(),
        points: rows
            .iter()
            .enumerate()
            .map(|(at, row)| {
                let share = of(&row.tally) as f64 / row.tally.asked.max(1) as f64 * 100.0;
                let place = format!("{}, {}", row.place.study, row.place.kind);
                let text = format!("{place}: {share:.0} % {name}");
                Point { x: at as f64, y: share, whisker: None, text, row: None }
            })
            .collect(),
    };
    let plot = Plot {
        title: "How figures came out, by study and kind of device".to_owned(),
        x: Axis::names("study and kind of device, by its number below", &names),
        y: Axis::over("% of the figures", Scale::Linear, [0.0, 100.0].into_iter(), |value| {
            words::trimmed(value, 0)
        }),
        series: kinds.into_iter().enumerate().map(series).collect(),
    };
    let caption = "Every figure whose true value is known.".to_owned();
    Picture { image: Image::Plot(plot), caption }
}

fn by_kind(certificate: &Certificate) -> Section {
    let head = [
        "",
        "world",
        "study",
        "device",
        "devices",
        "claims",
        "right",
        "bounds",
        "wrong",
        "open",
        "open in reach",
        "intervals that cover",
        "brackets that hold",
    ];
    let row = |number_of: Cell, names: [&str; 3], tally: &Tally| {
        let number = |count: u64| Cell::number(words::count(count));
        let of = |hits: u64, all: u64| Cell::number(format!("{hits} of {all}"));
        let [world, study, kind] = names.map(Cell::text);
        vec![
            number_of,
            world,
            study,
            kind,
            number(tally.devices),
            number(tally.claims()),
            number(tally.right),
            number(tally.bounds),
            number(tally.wrong),
            number(tally.open),
            of(tally.reachable_open, tally.reachable),
            of(tally.covering, tally.intervals),
            of(tally.bracketing, tally.brackets),
        ]
    };
    let kinds = certificate.rows().into_iter().enumerate().map(|(at, one)| {
        let names = [one.place.world, one.place.study, one.place.kind];
        row(Cell::number((at + 1).to_string()), names, &one.tally)
    });
    let total = row(Cell::Blank, ["all", "", ""], &certificate.total());
    let table = Table::new("Results by study and kind of device", head)
        .page_only(&["", "intervals that cover", "brackets that hold"])
        .with_rows(kinds.chain([total]));
    section("kinds", "By study and kind of device", Block::Table(table))
}

fn wrong(certificate: &Certificate) -> Option<Section> {
    let row = |wrong: &WrongClaim| {
        vec![
            Cell::text(wrong.claim.figure.metric.as_str()).with_note(wrong.place.study),
            Cell::text(wrong.place.kind).with_note(wrong.place.world),
            Cell::text(&wrong.why),
            Cell::text(&wrong.again),
        ]
    };
    let table = Table::new(
        "Wrong results".to_owned(),
        ["figure", "device", "result and known value", "command that repeats it"],
    )
    .with_rows(certificate.wrong().iter().map(row));
    (!table.rows.is_empty()).then(|| section("wrong", "Wrong results", Block::Table(table)))
}

fn skipped(certificate: &Certificate) -> Option<Section> {
    let terms: Vec<(String, String)> =
        certificate.skipped().into_iter().map(|skipped| (skipped.what, skipped.why)).collect();
    let heading = "What this host cannot test";
    (!terms.is_empty()).then(|| section("skipped", heading, Block::Glossary(terms)))
}

fn section(name: &str, heading: &str, block: Block) -> Section {
    let id = format!("{ANCHOR}-{name}");
    Section { id, heading: heading.to_owned(), blocks: vec![block] }
}
