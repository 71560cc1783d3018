//! Reading figures by their conditions: which protocol, which size, which path, in words. What is a
//! number or a name alone, a figure reads itself.

use page::{Condition, Figure, Metric};

/// A condition as text; `None` where the figure has none of that name.
pub(super) fn text(figure: &Figure, name: &str) -> Option<String> {
    figure.conditions.get(name).map(|c| match c {
        Condition::Text(text) => text.clone(),
        Condition::Integer(n) => n.to_string(),
        Condition::Number(x) => crate::words::trimmed(*x, 6),
        Condition::Flag(yes) => if *yes { "yes" } else { "no" }.to_owned(),
    })
}

/// Whether it is of that test of the forwarding study.
pub(super) fn is_test(figure: &Figure, test: &str) -> bool {
    text(figure, "test").as_deref() == Some(test)
}

/// The load beside it, `idle` where nothing is said.
pub(super) fn load(figure: &Figure) -> String {
    text(figure, "load").unwrap_or_else(|| "idle".to_owned())
}

/// `h1/eth1 → h2/eth1`
pub(super) fn way(figure: &Figure) -> String {
    match (text(figure, "from"), text(figure, "to")) {
        (Some(from), Some(to)) => format!("{from} → {to}"),
        _ => String::new(),
    }
}

/// The hosts alone, which the device path and its bypass share: `h1 → h2`.
pub(super) fn hosts(figure: &Figure) -> String {
    let host =
        |name| text(figure, name).map(|p| p.split('/').next().unwrap_or_default().to_owned());
    match (host("from"), host("to")) {
        (Some(from), Some(to)) => format!("{from} → {to}"),
        _ => String::new(),
    }
}

/// Which of two opposite loads it is about, in words; `None` where there was one.
pub(super) fn direction(figure: &Figure) -> Option<&'static str> {
    match text(figure, "direction")?.as_str() {
        "forward" => Some("there"),
        "reverse" => Some("back"),
        _ => Some("both ways together"),
    }
}

/// Whether it is about all of a load: the only direction, or both together.
pub(super) fn is_whole(figure: &Figure) -> bool {
    text(figure, "direction").is_none_or(|direction| direction == "total")
}

/// Whether another tool measured it.
pub(super) fn is_imported(figure: &Figure) -> bool {
    figure.conditions.contains_key("tool")
}

/// Whether it is a campaign's, which tells its cells apart.
pub(super) fn is_of_campaign(figure: &Figure) -> bool {
    figure.conditions.contains_key(method::study::campaign::CELL)
}

/// Those that studies measured by themselves.
pub(super) fn of_studies(figures: &[Figure]) -> Vec<Figure> {
    let own = |figure: &&Figure| !is_imported(figure) && !is_of_campaign(figure);
    figures.iter().filter(own).cloned().collect()
}

/// All of one metric.
pub(super) fn of(figures: &[Figure], metric: Metric) -> impl Iterator<Item = &Figure> {
    figures.iter().filter(move |f| f.metric == metric)
}
