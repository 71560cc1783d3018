//! One figure among others: the same case over the direct cable, and all frames that occur.

use std::collections::BTreeSet;

use page::{Figure, Key};

use super::frames::Frames;
use super::reading::hosts;
use super::subject::{Who, beside};

/// Conditions that make a case; the others say where or how it was measured.
const CASE: [Key; 15] = [
    Key::Protocol,
    Key::FrameSize,
    Key::Load,
    Key::Schedule,
    Key::Test,
    Key::Goal,
    Key::LoadPercent,
    Key::RateConvention,
    Key::Direction,
    Key::IpVersion,
    Key::Vlan,
    Key::SourcePorts,
    Key::DestinationPorts,
    Key::Addresses,
    Key::ObservationPoint,
];

/// The same case over the direct cable between the same hosts; where a cable was asked for what one
/// subject of several does, that subject's.
pub(super) fn bypass_of<'a>(figure: &Figure, among: &'a [Figure]) -> Option<&'a Figure> {
    let own = Who::of_figure(figure);
    let asked_for = |f: &Figure| beside(f).is_none_or(|other| Who::Named(other) == own);
    among.iter().find(|f| {
        f.is_bypass()
            && f.metric == figure.metric
            && f.unit == figure.unit
            && f.quantile == figure.quantile
            && hosts(f) == hosts(figure)
            && asked_for(f)
            && same_case(f, figure)
    })
}

/// Whether two figures differ in nothing but value, metric, quantile and where they were measured.
pub(super) fn same_case(a: &Figure, b: &Figure) -> bool {
    CASE.iter().all(|key| a.conditions.get(key) == b.conditions.get(key))
}

/// All frames that occur, smallest first.
pub(super) fn all_frames<'a>(figures: impl Iterator<Item = &'a Figure>) -> BTreeSet<Frames> {
    figures.filter_map(Frames::of_figure).collect()
}
