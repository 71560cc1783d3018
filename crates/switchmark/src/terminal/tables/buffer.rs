//! TCP beside a load: stable or not, and what its windows say of the buffer. Pure.
//!
//! One row a case; how each case went over time is for the report.

use page::{Figure, Metric};

use super::grid::Grid;
use super::labels::WAY;
use super::{Footnotes, Titled, condition, grouped, load, test};
use crate::terminal::numbers;

/// What tells one case from another.
const CASE: [&str; 5] = [WAY, "load", "streams", "congestion_control", "scenario"];

/// Whether a figure is the buffer study's.
pub fn is_own(figure: &Figure) -> bool {
    condition(figure, "test") == "esnet"
}

/// Stable at the fair share or not, and why not.
pub fn stability(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let mut grid = Grid::new()
        .words("TCP beside")
        .words("streams")
        .words("path")
        .words("stable")
        .numbers("goodput")
        .spare("interval", 3)
        .numbers("fair share")
        .numbers("again/GB")
        .spare("varies", 1)
        .spare("cuts", 2)
        .words("limited by");
    for case in grouped(&test(figures, "esnet"), &CASE) {
        let Some(stable) = of(&case, Metric::Stable) else { continue };
        let goodput = of(&case, Metric::Goodput);
        let fair: Option<f64> = condition(stable, "fair_share_bits_per_second").parse().ok();
        grid.row(vec![
            beside(stable),
            streams(stable),
            condition(stable, WAY),
            stable.value.map_or("–", |v| if v == 0.0 { "no" } else { "yes" }).to_owned(),
            value(goodput),
            goodput.map(numbers::interval).unwrap_or_default(),
            fair.map_or_else(|| "–".to_owned(), |v| numbers::value(page::Unit::BitsPerSecond, v)),
            of(&case, Metric::RetransmitsPerGigabyte)
                .and_then(|f| f.value)
                .map_or_else(|| "–".to_owned(), numbers::plain),
            value(of(&case, Metric::GoodputVariation)),
            value(of(&case, Metric::CwndCuts)),
            notes.limit(stable, &case),
        ]);
    }
    Some(("TCP beside a constant load".to_owned(), grid.render()?))
}

/// What the windows say of the path and of the buffer.
pub fn windows(figures: &[Figure]) -> Option<Titled> {
    let mut grid = Grid::new()
        .words("TCP beside")
        .words("streams")
        .words("path")
        .numbers("largest window")
        .numbers("BDP")
        .numbers("buffer, at least")
        .numbers("by delay, at least")
        .numbers("ramp-up")
        .spare("buffer delay", 1)
        .spare("efficiency", 3)
        .spare("time ratio", 2)
        .spare("load lost", 4);
    for case in grouped(&test(figures, "esnet"), &CASE) {
        let Some(stable) = of(&case, Metric::Stable) else { continue };
        let ratio = of(&case, Metric::TransferTimeRatio).and_then(|f| f.value);
        grid.row(vec![
            beside(stable),
            streams(stable),
            condition(stable, WAY),
            value(of(&case, Metric::CwndMax)),
            value(of(&case, Metric::Bdp)),
            value(by(&case, "tcp")),
            value(by(&case, "delay")),
            value(of(&case, Metric::RampUpTime)),
            value(of(&case, Metric::BufferDelay)),
            value(of(&case, Metric::Efficiency)),
            ratio.map_or_else(|| "–".to_owned(), numbers::plain),
            of(&case, Metric::LossRatio).map(|f| value(Some(f))).unwrap_or_default(),
        ]);
    }
    Some(("What its windows say of path and buffer".to_owned(), grid.render()?))
}

fn of<'a>(case: &[&'a Figure], metric: Metric) -> Option<&'a Figure> {
    case.iter().copied().find(|figure| figure.metric == metric)
}

fn by<'a>(case: &[&'a Figure], estimator: &str) -> Option<&'a Figure> {
    case.iter().copied().find(|figure| condition(figure, "estimator") == estimator)
}

/// `–` where there is none.
fn value(figure: Option<&Figure>) -> String {
    let told = figure.and_then(|f| Some(numbers::value(f.unit, f.value?)));
    told.unwrap_or_else(|| "–".to_owned())
}

/// `nothing`, `udp 2Gbit/s`, `udp 2Gbit/s, back`
fn beside(figure: &Figure) -> String {
    match load(figure).as_str() {
        "idle" => "nothing".to_owned(),
        text => text.replace(" the other way", ", back").replace(" of the link", ""),
    }
}

/// `2 cubic`
fn streams(figure: &Figure) -> String {
    format!("{} {}", condition(figure, "streams"), condition(figure, "congestion_control"))
}
