//! Reading figures by their conditions: which protocol, which size, which path, in words. What is a
//! number or a name alone, a figure reads itself.

use std::borrow::Borrow;

use page::{Condition, Figure, Key, Metric};
use trial::Trial;

/// A condition as text; `None` where the figure has none of that name.
pub(super) fn text(figure: &Figure, key: impl Borrow<Key>) -> Option<String> {
    figure.conditions.get(key.borrow()).map(|c| match c {
        Condition::Number(x) => page::words::trimmed(*x, 6),
        Condition::Flag(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        other => other.to_string(),
    })
}

/// Whether it is of that test of the forwarding study.
pub(super) fn is_test(figure: &Figure, test: &str) -> bool {
    figure.text(Key::Test) == Some(test)
}

/// The load beside it, `idle` where nothing is said.
pub(super) fn load(figure: &Figure) -> String {
    text(figure, Key::Load).unwrap_or_else(|| "idle".to_owned())
}

/// `h1/eth1 → h2/eth1`
pub(super) fn way(figure: &Figure) -> String {
    match (text(figure, Key::From), text(figure, Key::To)) {
        (Some(from), Some(to)) => format!("{from} → {to}"),
        _ => String::new(),
    }
}

/// The hosts alone, which the device path and its bypass share: `h1 → h2`.
pub(super) fn hosts(figure: &Figure) -> String {
    let host =
        |name| text(figure, name).map(|p| p.split('/').next().unwrap_or_default().to_owned());
    match (host(Key::From), host(Key::To)) {
        (Some(from), Some(to)) => format!("{from} → {to}"),
        _ => String::new(),
    }
}

/// Which of two opposite loads it is about, in words; `None` where there was one.
pub(super) fn direction(figure: &Figure) -> Option<&'static str> {
    match text(figure, Key::Direction)?.as_str() {
        "forward" => Some("there"),
        "reverse" => Some("back"),
        _ => Some("both ways together"),
    }
}

/// Whether it is about all of a load: the only direction, or both together.
pub(super) fn is_whole(figure: &Figure) -> bool {
    text(figure, Key::Direction).is_none_or(|direction| direction == "total")
}

/// Whether no host counted what came, but the device what left.
pub(super) fn is_counted_by_device(figure: &Figure) -> bool {
    figure.text(Key::ObservationPoint) == Some(page::DEVICE)
}

/// Whether it is a campaign's, which tells its cells apart.
pub(super) fn is_of_campaign(figure: &Figure) -> bool {
    figure.conditions.contains_key(&Key::Cell)
}

/// Whether it is of the study whose trials' labels begin so: a trial does not name its study.
pub(super) fn is_labelled(trial: &Trial, label: &str) -> bool {
    trial.label.split(' ').next() == Some(label)
}

/// Those that studies measured by themselves.
pub(super) fn of_studies(figures: &[Figure]) -> Vec<Figure> {
    let own = |figure: &&Figure| !figure.is_of("imported") && !is_of_campaign(figure);
    figures.iter().filter(own).cloned().collect()
}

/// Those of studies that share metrics: the switching study's are of many ports at once, the
/// storage study's of a job, the tcp study's round trips are its own connections', the failover
/// study's are of what was done.
pub(super) fn without_own_pages(figures: &[Figure]) -> Vec<Figure> {
    let shares = |f: &Figure| {
        ["switching", "storage", "tcp", "failover"].into_iter().any(|study| f.is_of(study))
    };
    figures.iter().filter(|f| !shares(f)).cloned().collect()
}

/// Those that have these conditions in common, together; in order of appearance.
pub(super) fn alike<'a>(
    figures: impl Iterator<Item = &'a Figure>,
    conditions: &[Key],
) -> Vec<Vec<&'a Figure>> {
    let mut groups: Vec<(Vec<Option<String>>, Vec<&Figure>)> = Vec::new();
    for figure in figures {
        let of: Vec<_> = conditions.iter().map(|name| text(figure, name)).collect();
        match groups.iter_mut().find(|(known, _)| *known == of) {
            Some((_, group)) => group.push(figure),
            None => groups.push((of, vec![figure])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// All of one metric.
pub(super) fn of(figures: &[Figure], metric: Metric) -> impl Iterator<Item = &Figure> {
    figures.iter().filter(move |f| f.metric == metric)
}
