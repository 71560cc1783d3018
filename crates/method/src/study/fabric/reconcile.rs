//! What floods and exchanges say of one device together: a short uplink and a device that blocks
//! nobody exclude each other.
//!
//! Owns the one place where the two answers meet. Never makes either surer than the other's
//! evidence allows.

use page::{Caveat, Figure, Key, Metric, Verdict};

/// `groups` are the floods' figures, `answer` the exchanges'.
pub(super) fn reconcile(groups: &mut [Figure], answer: &mut Figure) {
    let Some(structure) = groups.iter_mut().find(|figure| figure.metric == Metric::PortGroups)
    else {
        return;
    };
    if let Some(share) = held_up(structure)
        && answer.number(Key::Margin).is_some_and(|margin| share < 1.0 - margin)
    {
        blocks(answer, share, structure.verdict);
        return;
    }
    match answer.value {
        // An uplink is short, whether or not the arrangements that were tried fill it.
        Some(1.0) if structure.verdict == Verdict::DeviceLimited => {
            answer.value = None;
            doubt(answer);
        }
        // Pairs are held up, so that the device was driven: that no uplink showed says nothing.
        Some(0.0) if structure.verdict == Verdict::TesterLimited => {
            structure.caveats.retain(|caveat| *caveat != Caveat::DeviceNotDriven);
            for promise in [Key::ExcessSeen, Key::ChanceSeen, Key::GroupsUnhindered] {
                structure.conditions.remove(&promise);
            }
            doubt(structure);
        }
        _ => {}
    }
}

/// What a port keeps of its rate in the flood that held ports up most, where groups of ports with
/// short uplinks were told for sure.
fn held_up(structure: &Figure) -> Option<f64> {
    let told = structure.value.is_some() && structure.verdict == Verdict::DeviceLimited;
    let sure = told && !structure.caveats.contains(&Caveat::NotResolved);
    structure.number(Key::WorstShare).filter(|_| sure)
}

/// Ports that are held up between their groups are blocked, whether or not an arrangement that was
/// tried, or the messages of an exchange, show it.
fn blocks(answer: &mut Figure, share: f64, verdict: Verdict) {
    answer.value = Some(0.0);
    answer.verdict = verdict;
    answer.set(Key::WorstShare, share);
    answer.caveats.retain(|caveat| *caveat != Caveat::NotResolved);
}

fn doubt(figure: &mut Figure) {
    figure.verdict = Verdict::Undetermined;
    figure.caveats.extend([Caveat::NotResolved, Caveat::Contradicted]);
    figure.caveats.sort();
    figure.caveats.dedup();
}
