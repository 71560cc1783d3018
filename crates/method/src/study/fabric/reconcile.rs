//! What floods and exchanges say of one device together: a short uplink and a device that blocks
//! nobody exclude each other.
//!
//! Owns the one place where the two answers meet. Never makes either surer than it was.

use crate::verdict::{Evidence, Setting, Standing};
use page::{Caveat, Figure, Key, Metric, Verdict};

/// Whose limit it is, of what has its control in the same study: one pair alone, or traffic that
/// stays inside its group. No direct cable says more.
pub(super) fn judge(evidence: &Evidence<'_>) -> Verdict {
    evidence.verdict(Setting { standing: Standing::Beside, shared_processors: false })
}

/// `groups` are the floods' figures, `answer` the exchanges'.
pub(super) fn reconcile(groups: &mut [Figure], answer: &mut Figure) {
    let Some(structure) = groups.iter_mut().find(|figure| figure.metric == Metric::PortGroups)
    else {
        return;
    };
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

fn doubt(figure: &mut Figure) {
    figure.verdict = Verdict::Undetermined;
    figure.caveats.extend([Caveat::NotResolved, Caveat::Contradicted]);
    figure.caveats.sort();
    figure.caveats.dedup();
}
