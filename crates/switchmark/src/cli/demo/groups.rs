//! The demo's switch that blocks: sixteen modelled ports in three groups behind uplinks that are
//! short.
//!
//! Owns its study, and the groups that were told beside those of its profile. Never builds a lab.

use std::fmt::Write as _;

use measure::Nanos;
use method::{Arrangement, FabricSpec, Nodes, StudySpec};
use page::{Condition, Figure, Key, Metric};
use trial::Carrier;

use crate::cli::Failure;
use crate::config::resolved::Testbed;
use crate::config::{models, testbed};

const BLOCKING: &str = "sim:blocking-16";

/// A simulated switch of sixteen ports that blocks.
pub fn run() -> Result<(Testbed, Vec<StudySpec>), Failure> {
    Ok((testbed::from_argument("--testbed", BLOCKING)?, vec![StudySpec::Fabric(study())]))
}

/// Neighbours and the arrangement that crosses most, and which ports share an uplink.
fn study() -> FabricSpec {
    FabricSpec {
        arrangements: vec![Arrangement::Neighbours, Arrangement::Offset(8)],
        nodes: Nodes::These(vec![2, 16]),
        messages: Vec::new(),
        carrier: Carrier::Datagrams { credits: 64 },
        infer: true,
        duration: Nanos::from_millis(100),
        blocks: 2,
        ..FabricSpec::quick()
    }
}

/// The groups that were found, for the profile to be held beside.
pub fn told(figures: &[Figure]) -> String {
    let groups = figures.iter().find(|figure| figure.metric == Metric::PortGroups);
    let Some(Condition::Groups(groups)) = groups.and_then(|f| f.conditions.get(&Key::Groups))
    else {
        return "The simulated switch's groups were not told.\n".to_owned();
    };
    let mut out = String::from("The simulated switch, and what was told of it:\n");
    let profile = models::named("blocking-16").map_or("", |model| model.text);
    for line in profile.lines().filter(|line| line.contains("uplink =")) {
        let truth = line.split('#').next().unwrap_or_default();
        let _ = writeln!(out, "  truth  {}", truth.trim().trim_end_matches(','));
    }
    let rates = figures.iter().filter(|figure| figure.metric == Metric::UplinkRate);
    for (group, rate) in groups.iter().zip(rates) {
        let group = Condition::Ports(group.clone());
        let bound = if rate.conditions.contains_key(&Key::Bound) { "at least " } else { "" };
        let rate = rate
            .value
            .map_or_else(|| "no rate".to_owned(), |r| format!("{bound}{:.2} Gbit/s", r / 1e9));
        let _ = writeln!(out, "  found  {group}: {rate}");
    }
    out
}
