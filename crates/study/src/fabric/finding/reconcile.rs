//! Reconciliation of floods and exchanges of one device: a short uplink contradicts a non-blocking
//! device.
//!
//! Owns the only place where the two answers meet. Never makes either more certain than the other's
//! evidence allows.

use super::super::infer::{Finding, Group, Uplink};
use super::{Nonblocking, PortGroups};
use page::{Caveat, Figure, Key, Verdict};

/// Withdraws a *no* that slow ports explain as well: one port that is slow with every partner
/// lowers the mean over all pairs, and no control tells it from the device's sharing.
pub(super) fn excuse(answer: &mut Nonblocking) {
    if answer.value.value == Some(0.0) {
        answer.value.value = None;
        leave_open(&mut answer.value, &[]);
    }
}

/// Reconciles both answers. A pair that gets less than `margin` below its goodput alone is blocked.
pub(super) fn reconcile(
    groups: &mut PortGroups,
    answer: &mut Nonblocking,
    margin: f64,
    is_slow: &dyn Fn(usize) -> bool,
) {
    if let Some(share) = held_up(groups, is_slow).filter(|share| *share < 1.0 - margin) {
        block(answer, share, groups.value.verdict);
        return;
    }
    match answer.value.value {
        // An uplink is short, whether or not the tested arrangements fill it.
        Some(1.0) if groups.value.verdict == Verdict::DeviceLimited => {
            answer.value.value = None;
            doubt(&mut answer.value);
        }
        // Pairs were limited, so the device was driven: the lack of a visible uplink shows nothing.
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

/// Share of its rate that a port keeps in the worst flood; `None` unless groups with short uplinks
/// are certain, and one of them is more than a slow port by itself.
fn held_up(groups: &PortGroups, is_slow: &dyn Fn(usize) -> bool) -> Option<f64> {
    let Finding::Blocking { share, .. } = groups.found.finding else { return None };
    let is_short = |group: &&Group| matches!(group.uplink, Uplink::Rate(_));
    let mut short = groups.found.groups().iter().filter(is_short).peekable();
    if short.peek().is_some() && short.all(|group| group.ports.iter().all(|port| is_slow(*port))) {
        return None;
    }
    let value = &groups.value;
    let is_told = value.value.is_some() && value.verdict == Verdict::DeviceLimited;
    (is_told && !value.caveats.contains(&Caveat::NotResolved)).then_some(share)
}

/// Marks the device as blocking. Ports limited between their groups are blocked, even if no tested
/// arrangement or message shows it.
fn block(answer: &mut Nonblocking, share: f64, verdict: Verdict) {
    answer.flooded = Some(share);
    let value = &mut answer.value;
    value.value = Some(0.0);
    value.verdict = verdict;
    value.set(Key::WorstShare, share);
    value.caveats.retain(|caveat| *caveat != Caveat::NotResolved);
}

fn doubt(figure: &mut Figure) {
    leave_open(figure, &[Caveat::Contradicted]);
}

fn leave_open(figure: &mut Figure, why: &[Caveat]) {
    figure.verdict = Verdict::Undetermined;
    figure.caveats.push(Caveat::NotResolved);
    figure.caveats.extend(why);
    figure.caveats.sort();
    figure.caveats.dedup();
}
