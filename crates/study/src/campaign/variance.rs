//! Table of the sources of variance, one row for each figure and factor. Never computes them: the
//! shares are figures.

use page::{Cell, Figure, Key, Metric, Table, words};

/// Names the figure behind a control or a share: `rtt p50`.
pub(super) fn source_name(figure: &Figure) -> String {
    let of = figure.condition_text(Key::Of).unwrap_or_default();
    let quantile = figure.number(Key::OfQuantile);
    quantile.map_or_else(|| of.clone(), |q| format!("{of} {}", words::quantile(q)))
}

/// Tables the sources of variance; `None` if there are no shares.
pub fn shares(figures: &[Figure]) -> Option<Table> {
    let row = |figure: &Figure| {
        vec![
            Cell::text(source_name(figure)),
            Cell::text(case(figure)),
            Cell::text(figure.condition_text(Key::Factor).unwrap_or_default()),
            Cell::value(figure),
        ]
    };
    let note = "`repetition` is what one combination differs by when it is measured again, `block` \
                what drifts.";
    Table::new("Where the variance comes from", ["figure", "of", "factor", "share"])
        .with_note(note)
        .with_rows(figures.iter().filter(|figure| figure.metric == Metric::VarianceShare).map(row))
        .unless_empty()
}

/// `udp 64 idle`
pub(super) fn case(figure: &Figure) -> String {
    let words = [
        Key::Protocol,
        Key::FrameSize,
        Key::Test,
        Key::Goal,
        Key::Arrangement,
        Key::Collective,
        Key::Message,
        Key::Statistic,
        Key::Load,
    ];
    let said: Vec<String> = words.iter().filter_map(|name| figure.condition_text(name)).collect();
    said.join(" ")
}
