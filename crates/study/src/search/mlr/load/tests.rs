//! The classification and the conditional throughput on hand-worked cases: the worked example of
//! RFC 9971, appendix C, in full, and cases at the edges.

use super::*;

const fn target(duration: u64, duration_sum: u64, loss_ratio: f64, exceed_ratio: f64) -> Target {
    Target {
        loss_ratio,
        exceed_ratio,
        duration: Nanos::from_secs(duration),
        duration_sum: Nanos::from_secs(duration_sum),
        width_rungs: 1,
        expansion: 2,
    }
}

/// Appendix C.1: `RFC2544`, `TST009`, `1s final`, `20% exceed`.
const GOALS: [Target; 4] = [
    target(60, 60, 0.0, 0.0),
    target(60, 120, 0.0, 0.5),
    target(1, 120, 0.005, 0.5),
    target(60, 60, 0.005, 0.2),
];

/// So many trials of so many seconds with such a loss ratio, at one million frames a second.
type Trials = (usize, u64, f64);

fn load(trials: &[Trials]) -> Load {
    let offered = FrameRate(1_000_000.0);
    let trials = trials.iter().flat_map(|&(count, seconds, loss_ratio)| {
        let duration = Nanos::from_secs(seconds);
        std::iter::repeat_n(Trial { duration, offered, loss_ratio }, count)
    });
    Load { trials: trials.collect(), refusals: 0 }
}

fn millionths(load: &Load, target: &Target) -> u64 {
    (load.quantile_loss_ratio(target) * 1e6).round() as u64
}

/// Appendix C.2: the trials there are at each of the six points in time.
const POINTS: [&[Trials]; 6] = [
    &[(59, 1, 0.0)],
    &[(59, 1, 0.0), (1, 1, 0.01)],
    &[(59, 1, 0.0), (60, 1, 0.01)],
    &[(60, 1, 0.0), (60, 1, 0.01)],
    &[(60, 1, 0.0), (60, 1, 0.01), (1, 60, 0.001)],
    &[(60, 1, 0.0), (60, 1, 0.01), (1, 60, 0.001), (1, 60, 0.0)],
];

/// One cell of the RFC's table is not what its own formulas give: at points 5 and 6 it has `20%
/// exceed` as a lower bound, with optimistic exceed ratios of 42.857 % and 27.273 %, which are
/// larger than 20 % and so an upper bound by §6.1 and by the code of appendix A. We keep to the
/// code.
#[test]
fn the_rfcs_example_is_classified_as_its_code_does() {
    use Class::{Lower, Undecided, Upper};
    let expected = [
        [Undecided, Undecided, Undecided, Undecided],
        [Upper, Undecided, Undecided, Undecided],
        [Upper, Undecided, Undecided, Upper],
        [Upper, Undecided, Lower, Upper],
        [Upper, Undecided, Lower, Upper],
        [Upper, Lower, Lower, Upper],
    ];
    for (point, (trials, expected)) in POINTS.iter().zip(expected).enumerate() {
        let load = load(trials);
        let classes = GOALS.map(|goal| load.class(&goal));
        assert_eq!(classes, expected, "point {}", point + 1);
    }
}

#[test]
fn the_rfcs_example_adds_up_as_it_does_there() {
    const SECOND: u64 = 1_000_000_000;
    let sums = |point: usize, goal: usize| {
        let sums = load(POINTS[point - 1]).sums(&GOALS[goal - 1]);
        [sums.long_bad, sums.long_good, sums.short_bad, sums.short_good].map(|sum| sum / SECOND)
    };
    assert_eq!(sums(1, 3), [0, 59, 0, 0]);
    assert_eq!(sums(2, 1), [0, 0, 1, 59]);
    assert_eq!(sums(5, 1), [60, 0, 60, 60]);
    assert_eq!(sums(5, 3), [60, 120, 0, 0]);
    assert_eq!(sums(6, 4), [0, 120, 60, 60]);
}

#[test]
fn the_rfcs_example_forwards_as_it_does_there() {
    let load = load(POINTS[5]);
    let lost = |goal: usize| millionths(&load, &GOALS[goal - 1]);
    assert_eq!([2, 3, 4].map(lost), [0, 0, 1_000]);
}

#[test]
fn twenty_one_seconds_are_decided_by_eleven() {
    let csit = target(1, 21, 0.005, 0.5);
    let class = |good: usize, bad: usize| load(&[(good, 1, 0.005), (bad, 1, 0.0051)]).class(&csit);
    assert_eq!(class(10, 10), Class::Undecided);
    assert_eq!(class(11, 10), Class::Lower);
    assert_eq!(class(10, 11), Class::Upper);
    assert_eq!(class(11, 0), Class::Lower);
    assert_eq!(class(0, 10), Class::Undecided);
    // Beyond the duration sum the share of all that there is decides, and half of it is tolerated.
    assert_eq!(class(15, 15), Class::Lower);
    assert_eq!(class(15, 16), Class::Upper);
}

#[test]
fn short_trials_alone_may_fail_a_load_but_never_pass_it() {
    let long = target(60, 60, 0.0, 0.5);
    assert_eq!(load(&[(1_000, 1, 0.0)]).class(&long), Class::Undecided);
    assert_eq!(load(&[(30, 1, 0.1)]).class(&long), Class::Undecided);
    assert_eq!(load(&[(31, 1, 0.1)]).class(&long), Class::Upper);
    assert_eq!(load(&[(31, 1, 0.1), (1, 1, 0.0)]).class(&long), Class::Undecided);
}

#[test]
fn nothing_decides_nothing() {
    for goal in GOALS {
        assert_eq!(Load::default().class(&goal), Class::Undecided);
        assert_eq!(millionths(&Load::default(), &goal), 1_000_000);
    }
}

#[test]
fn missing_time_counts_as_lost() {
    // Half of 120 s is asked for, 59 s are there.
    let goal = target(1, 120, 0.0, 0.5);
    let lost = |seconds| millionths(&load(&[(seconds, 1, 0.0)]), &goal);
    assert_eq!([59, 60].map(lost), [1_000_000, 0]);
}

#[test]
fn thirds_and_tenths_are_decided_in_the_end() {
    // Ratios and durations that no float holds: with nothing missing there is no third answer.
    for exceed_ratio in [0.1, 0.2, 0.3, 1.0 / 3.0, 0.6, 0.7, 0.9] {
        for bad in 0..=13 {
            let mut load = Load::default();
            for at in 0..13 {
                let loss_ratio = if at < bad { 0.1 } else { 0.0 };
                let (duration, offered) = (Nanos(333_333_333), FrameRate(1.0));
                load.trials.push(Trial { duration, offered, loss_ratio });
            }
            let duration_sum = Nanos(13 * 333_333_333);
            let goal = Target {
                duration: Nanos(333_333_333),
                duration_sum,
                ..target(1, 1, 0.0, exceed_ratio)
            };
            assert_ne!(load.class(&goal), Class::Undecided, "{bad} of 13 at {exceed_ratio}");
        }
    }
}

#[test]
fn the_load_that_was_offered_is_told() {
    let mut load = load(&[(1, 59, 0.0), (2, 60, 0.0), (2, 1, 0.1)]);
    for (trial, offered) in load.trials.iter_mut().zip([9.0, 8.0, 7.0, 6.0, 5.0]) {
        trial.offered = FrameRate(offered);
    }
    assert_eq!(load.offered_passing(&GOALS[0]), Some(FrameRate(7.0)));
    assert_eq!(load.offered_failing(&GOALS[0]), Some(FrameRate(5.0)));
    assert_eq!(Load::default().offered_passing(&GOALS[0]), None);
}
