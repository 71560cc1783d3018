//! What floods and exchanges say of one device together: a short uplink and a device that blocks
//! nobody exclude each other.
//!
//! Owns the one place where the two answers meet. Never makes either surer than the other's
//! evidence allows.

use super::super::infer::Finding;
use super::{Nonblocking, PortGroups};
use page::{Caveat, Figure, Key, Verdict};

/// A pair that gets less than `margin` below what it gets alone is blocked.
pub(super) fn reconcile(groups: &mut PortGroups, answer: &mut Nonblocking, margin: f64) {
    if let Some(share) = held_up(groups).filter(|share| *share < 1.0 - margin) {
        block(answer, share, groups.value.verdict);
        return;
    }
    match answer.value.value {
        // An uplink is short, whether or not the arrangements that were tried fill it.
        Some(1.0) if groups.value.verdict == Verdict::DeviceLimited => {
            answer.value.value = None;
            doubt(&mut answer.value);
        }
        // Pairs are held up, so that the device was driven: that no uplink showed says nothing.
        Some(0.0) if groups.value.verdict == Verdict::TesterLimited => {
            if let Finding::Clean { groups, excess } = &mut groups.found.finding {
                groups.clear();
                *excess = f64::INFINITY;
            }
            let value = &mut groups.value;
            value.caveats.retain(|caveat| *caveat != Caveat::DeviceNotDriven);
            for promise in [Key::ExcessSeen, Key::ChanceSeen, Key::GroupsUnhindered] {
                value.conditions.remove(&promise);
            }
            doubt(value);
        }
        _ => {}
    }
}

/// Share of its rate that a port keeps in the flood that held ports up most, where groups of ports
/// with short uplinks were told for sure.
fn held_up(groups: &PortGroups) -> Option<f64> {
    let Finding::Blocking { share, .. } = groups.found.finding else { return None };
    let value = &groups.value;
    let is_told = value.value.is_some() && value.verdict == Verdict::DeviceLimited;
    (is_told && !value.caveats.contains(&Caveat::NotResolved)).then_some(share)
}

/// Ports that are held up between their groups are blocked, whether or not an arrangement that was
/// tried, or the messages of an exchange, show it.
fn block(answer: &mut Nonblocking, share: f64, verdict: Verdict) {
    answer.flooded = Some(share);
    let value = &mut answer.value;
    value.value = Some(0.0);
    value.verdict = verdict;
    value.set(Key::WorstShare, share);
    value.caveats.retain(|caveat| *caveat != Caveat::NotResolved);
}

fn doubt(figure: &mut Figure) {
    figure.verdict = Verdict::Undetermined;
    figure.caveats.extend([Caveat::NotResolved, Caveat::Contradicted]);
    figure.caveats.sort();
    figure.caveats.dedup();
}
