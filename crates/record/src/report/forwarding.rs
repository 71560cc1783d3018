//! RFC 2544's tests on the page, each in the form that the RFC gives it: throughput by frame size
//! beside the theoretical line, latency, loss, bursts, recovery and reset, and how the load was
//! made.
//!
//! Owns their order. Never computes a figure.

mod bounds;
mod bursts;
mod delay;
mod goal;
pub(super) mod loss;
mod outages;
pub(super) mod pacing;
mod rates;
mod throughput;

use measure::Rate;
use method::study::StudySpec;
use page::{Block, Figure, Section};

use super::reading;
use super::subject::Who;

/// The section; `None` where nothing of the kind was measured: other studies' floods and losses are
/// theirs to show.
pub(super) fn section(
    prefix: &str,
    spec: Option<&StudySpec>,
    link: Option<Rate>,
    figures: &[Figure],
    curves: &loss::Curves,
    pacing: &pacing::Pacing,
) -> Option<Section> {
    let ours = |spec| matches!(spec, &StudySpec::Forwarding(_) | &StudySpec::Latency(_));
    if !spec.is_none_or(ours) {
        return None;
    }
    let parts: [(&str, Vec<Block>); 7] = [
        ("Throughput", throughput::blocks(figures, link)),
        ("Figures that are only bounds", bounds::blocks(figures)),
        ("Latency at the throughput", delay::blocks(figures)),
        ("Frame loss by load", loss::blocks(figures, curves)),
        ("Bursts", bursts::blocks(figures)),
        ("Recovery and reset", outages::blocks(figures)),
        ("How the load was made", pacing::blocks(figures, pacing)),
    ];
    let blocks: Vec<Block> = parts
        .into_iter()
        .filter(|(_, blocks)| !blocks.is_empty())
        .flat_map(|(heading, blocks)| {
            std::iter::once(Block::Subheading(heading.to_owned())).chain(blocks)
        })
        .collect();
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-forwarding"),
        heading: "Forwarding".to_owned(),
        blocks,
    })
}

/// Which way through what: figures that share it belong to one line of a picture.
type Lane = (Who, String);

fn lane(figure: &Figure) -> Lane {
    (Who::of_figure(figure), reading::hosts(figure))
}

/// Names a lane beside the others: its hosts only where they differ.
fn lane_name(lane: &Lane, lanes: &[Lane]) -> String {
    let (who, hosts) = lane;
    if lanes.iter().all(|(_, other)| other == hosts) {
        who.name()
    } else {
        format!("{} {hosts}", who.name())
    }
}
