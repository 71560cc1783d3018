//! MLRsearch against devices and testers that can be told in a line: that it finds what is there,
//! whatever the goals, and ends whatever it is told. Never against a testbed, and without chance
//! but proptest's own.

use measure::{FrameRate, Nanos};
use proptest::prelude::*;
use study::search::{
    Attempt, FailedBy, Goal, GoalName, GoalResult, LoadRange, MlrSearch, Search, Seen, Step, begin,
};

const MAX: FrameRate = FrameRate(1_000_000.0);
const RANGE: LoadRange = LoadRange { min: FrameRate(2.0), max: MAX };

/// No search may take more trials, whatever it is told.
const MOST_TRIALS: u32 = 2_000;

fn csit() -> Vec<Goal> {
    vec![Goal::ndr(), Goal::pdr()]
}

/// Runs a search to its end, and watches what it asks for.
fn run(search: &mut dyn Search, answer: impl FnMut(Attempt) -> Seen) -> Vec<GoalResult> {
    let (trials, traffic, results) = watch(search, answer);
    for result in &results {
        assert_eq!((result.trials, result.traffic_time), (trials, traffic));
    }
    results
}

/// The trials and the traffic it took, and its results.
fn watch(
    search: &mut dyn Search,
    mut answer: impl FnMut(Attempt) -> Seen,
) -> (u32, Nanos, Vec<GoalResult>) {
    let range = RANGE;
    let (mut trials, mut traffic) = (0, Nanos::ZERO);
    while let Step::Try(attempt) = search.next() {
        assert!((range.min.0..=range.max.0).contains(&attempt.rate.0), "{attempt:?}");
        assert_eq!(search.next(), Step::Try(attempt), "the same until something is learnt");
        trials += 1;
        traffic += attempt.duration;
        assert!(trials <= MOST_TRIALS, "no end in sight");
        search.learn(answer(attempt));
    }
    let Step::Done(results) = search.next() else { unreachable!("it is done") };
    (trials, traffic, results)
}

fn mlr(goals: &[Goal], answer: impl FnMut(Attempt) -> Seen) -> Vec<GoalResult> {
    run(&mut MlrSearch::new(goals.to_vec(), RANGE), answer)
}

/// A device that forwards so much and loses the rest.
fn forwards(capacity: f64, attempt: Attempt) -> Seen {
    let sent = attempt.rate.0 * attempt.duration.as_secs_f64();
    let lost = sent * (1.0 - capacity / attempt.rate.0).max(0.0);
    Seen::Counted { offered: attempt.rate, sent: sent as u64, lost: lost.ceil() as u64 }
}

fn beyond(lossless: Option<f64>) -> Seen {
    Seen::BeyondTester { lossless: lossless.map(FrameRate) }
}

/// The bounds are the right way round, and as narrow as a regular result promises.
fn check(result: &GoalResult, goal: &Goal) {
    assert_eq!(result.goal, goal.name);
    let (lower, upper) = (result.relevant_lower, result.relevant_upper);
    if let (Some(lower), Some(upper)) = (lower, upper) {
        assert!(lower.0 < upper.rate.0, "{result:?}");
    }
    assert_eq!(lower.is_some(), result.conditional_throughput.is_some(), "{result:?}");
    if result.irregular {
        return;
    }
    let (lower, upper) = (lower.expect("regular"), upper.expect("regular"));
    assert_eq!(upper.by, FailedBy::Loss);
    assert!(upper.rate.0 - lower.0 <= goal.width * upper.rate.0 * (1.0 + 1e-9), "{result:?}");
    let forwarded = result.conditional_throughput.expect("regular").0;
    assert!(forwarded <= lower.0 && forwarded >= lower.0 * (1.0 - goal.loss_ratio) - 1e-6);
}

#[test]
fn the_two_goals_of_csit_take_36_trials() {
    let mut search = begin(&csit(), LoadRange::below(MAX, Nanos::from_secs(1)));
    let (trials, traffic, _) = watch(search.as_mut(), |a| forwards(0.37 * MAX.0, a));
    assert_eq!((trials, traffic), (36, Nanos::from_secs(36)));
}

#[test]
fn every_goal_finds_what_the_device_forwards() {
    let strict = GoalName::ALL.map(Goal::strict);
    let quick = GoalName::ALL.map(Goal::quick);
    let sets: [&[Goal]; 6] =
        [&strict, &quick, &csit(), &strict[..1], &[Goal::pdr()], &[Goal::tst009(), Goal::ndr()]];
    for goals in sets {
        for capacity in [1_500.0, 10_000.0, 87_654.0, 333_333.0, 612_345.0, 990_000.0] {
            for (goal, result) in goals.iter().zip(mlr(goals, |a| forwards(capacity, a))) {
                check(&result, goal);
                assert!(!result.irregular, "{capacity} {result:?}");
                let most = capacity / (1.0 - goal.loss_ratio);
                let lower = result.relevant_lower.expect("regular").0;
                let upper = result.relevant_upper.expect("regular").rate.0;
                assert!(lower <= most && most <= upper, "{capacity} {result:?}");
            }
        }
    }
}

#[test]
fn a_wide_goal_beside_a_narrow_one_costs_no_more_than_a_narrow_one() {
    let wide = Goal { width: 0.05, ..Goal::pdr() };
    let results = mlr(&[Goal::ndr(), wide], |a| forwards(300_000.0, a));
    check(&results[0], &Goal::ndr());
    check(&results[1], &wide);
    assert!(results.iter().all(|result| !result.irregular));
    let both_narrow = mlr(&csit(), |a| forwards(300_000.0, a));
    assert!(results[0].trials <= both_narrow[0].trials);
}

#[test]
fn a_device_that_never_fails_has_no_upper_bound() {
    for result in mlr(&csit(), |a| forwards(f64::INFINITY, a)) {
        assert_eq!(result.relevant_lower, Some(MAX));
        assert_eq!(result.relevant_upper, None);
        assert_eq!(result.conditional_throughput, Some(MAX));
        assert!(result.irregular);
    }
}

#[test]
fn a_dead_device_has_no_lower_bound() {
    for result in mlr(&csit(), |a| forwards(0.0, a)) {
        assert_eq!((result.relevant_lower, result.conditional_throughput), (None, None));
        let failed = result.relevant_upper.expect("all fail");
        assert!(failed.by == FailedBy::Loss && failed.rate.0 < 1_000.0, "{result:?}");
        assert!(result.irregular);
    }
}

#[test]
fn the_load_that_was_offered_is_the_bound() {
    // RFC 2544: the throughput is a rate that was offered, not one that was asked for.
    let results = mlr(&csit(), |attempt| {
        let offered = FrameRate(attempt.rate.0 * 0.999);
        forwards(400_000.0, Attempt { rate: offered, ..attempt })
    });
    let lower = results[0].relevant_lower.expect("something passes").0;
    let upper = results[0].relevant_upper.expect("something fails").rate.0;
    assert!(lower <= 400_000.0 && 400_000.0 <= upper, "{results:?}");
}

#[test]
fn the_testers_limit_is_not_the_devices() {
    for lossless in [None, Some(700_000.0)] {
        let results = mlr(&csit(), |a| match a.rate.0 {
            rate if rate > 700_000.0 => beyond(lossless),
            _ => forwards(f64::INFINITY, a),
        });
        for (goal, result) in csit().iter().zip(results) {
            check(&result, goal);
            assert!(result.irregular, "{result:?}");
            assert_eq!(result.relevant_upper.expect("it is bounded").by, FailedBy::Tester);
            let lower = result.relevant_lower.expect("something passes").0;
            assert!((690_000.0..=700_000.0).contains(&lower), "{lossless:?} {result:?}");
        }
    }
}

#[test]
fn a_device_below_the_testers_limit_is_the_limit() {
    let results = mlr(&csit(), |a| match a.rate.0 {
        rate if rate > 700_000.0 => beyond(None),
        _ => forwards(400_000.0, a),
    });
    for (goal, result) in csit().iter().zip(results) {
        check(&result, goal);
        assert!(!result.irregular, "{result:?}");
    }
}

#[test]
fn one_disturbed_trial_moves_nothing() {
    let capacity = 400_000.0;
    let undisturbed = mlr(&csit(), |a| forwards(capacity, a));
    for at in 0..40 {
        for share in [None, Some(0.999), Some(0.9), Some(0.3)] {
            let mut trial = 0;
            let results = mlr(&csit(), |a| {
                trial += 1;
                if trial == at + 1 {
                    let came = share.map(|share| a.rate.0 * share);
                    return beyond(came.filter(|rate| *rate <= capacity));
                }
                forwards(capacity, a)
            });
            for (goal, (result, before)) in csit().iter().zip(results.iter().zip(&undisturbed)) {
                check(result, goal);
                assert!(!result.irregular, "at {at} by {share:?}: {result:?}");
                let (lower, expected) = (result.relevant_lower, before.relevant_lower);
                let off = lower.expect("regular").0 / expected.expect("regular").0 - 1.0;
                assert!(off.abs() <= goal.width + 1e-9, "at {at} by {share:?}: {result:?}");
            }
        }
    }
}

#[test]
fn a_tester_that_always_falls_short_is_not_asked_for_ever() {
    let results = mlr(&csit(), |a| beyond(Some(a.rate.0.min(900_000.0) * 0.99)));
    for (goal, result) in csit().iter().zip(results) {
        check(&result, goal);
        assert!(result.irregular);
        assert_eq!(result.relevant_upper.expect("it is bounded").by, FailedBy::Tester);
    }
}

#[test]
fn no_goal_no_trial() {
    assert_eq!(MlrSearch::new(Vec::new(), RANGE).next(), Step::Done(Vec::new()));
}

#[test]
fn one_rate_only_is_a_range_too() {
    let range = LoadRange { min: MAX, max: MAX };
    for capacity in [500_000.0, 2_000_000.0] {
        let mut search = MlrSearch::new(csit(), range);
        while let Step::Try(attempt) = search.next() {
            assert_eq!(attempt.rate, MAX);
            search.learn(forwards(capacity, attempt));
        }
        let Step::Done(results) = search.next() else { unreachable!("it is done") };
        assert!(results.iter().all(|result| result.irregular));
        assert_eq!(results[0].relevant_lower.is_some(), capacity > MAX.0);
    }
}

#[test]
fn goals_of_long_trials_and_of_short_ones_are_searched_for_apart() {
    let [rfc2544, tst009, ndr, pdr] = GoalName::ALL.map(Goal::strict);
    let alone = |goals: &[Goal]| {
        let mut search = begin(goals, RANGE);
        watch(search.as_mut(), |a| forwards(400_000.0, a)).2
    };
    let long = alone(&[rfc2544]);
    let short = alone(&[ndr, pdr]);
    let all = alone(&[ndr, rfc2544, pdr]);
    assert_eq!(all, [short[0].clone(), long[0].clone(), short[1].clone()]);
    // Those of one length share their trials.
    let both = alone(&[rfc2544, tst009]);
    assert_eq!(both[0].trials, both[1].trials);
    assert_eq!(alone(&[]), []);
}

fn goals() -> impl Strategy<Value = Vec<Goal>> {
    let goal = (0usize..4, any::<bool>(), 0.001f64..0.3, 0u32..4, 2u32..5);
    let goal = goal.prop_map(|(name, quick, width, preceding_targets, expansion)| {
        let name = GoalName::ALL[name];
        let named = if quick { Goal::quick(name) } else { Goal::strict(name) };
        Goal { width, preceding_targets, expansion, ..named }
    });
    proptest::collection::vec(goal, 1..5)
}

fn answer(kind: u8, attempt: Attempt) -> Seen {
    let sent = (attempt.rate.0 * attempt.duration.as_secs_f64()) as u64;
    let counted = |lost| Seen::Counted { offered: attempt.rate, sent, lost };
    match kind {
        0 | 1 => counted(0),
        2 => counted(1),
        3 => counted(sent / 150),
        4 => counted(sent),
        5 => beyond(None),
        _ => beyond(Some(attempt.rate.0 * 0.9)),
    }
}

proptest! {
    /// Any answers at all, in any order, to any goals: it ends, its bounds are the right way round,
    /// and the same answers lead to the same result.
    #[test]
    fn always_ends(goals in goals(), answers in proptest::collection::vec(0u8..7, 1..200)) {
        let once = || {
            let mut at = 0;
            mlr(&goals, |attempt| {
                at += 1;
                answer(answers[at % answers.len()], attempt)
            })
        };
        let results = once();
        prop_assert_eq!(results.len(), goals.len());
        for (goal, result) in goals.iter().zip(&results) {
            check(result, goal);
        }
        prop_assert_eq!(once(), results);
    }

    /// Any capacity, any goals, a device that behaves: regular, and right.
    #[test]
    fn finds_any_capacity(goals in goals(), capacity in 2_000.0f64..600_000.0) {
        for (goal, result) in goals.iter().zip(mlr(&goals, |a| forwards(capacity, a))) {
            check(&result, goal);
            prop_assert!(!result.irregular, "{:?}", result);
            let most = capacity / (1.0 - goal.loss_ratio);
            // Frames are whole: one more or less is so large a share of a short trial.
            let slack = 1.0 + 2.0 / (capacity * goal.initial_duration.as_secs_f64());
            prop_assert!(result.relevant_lower.expect("regular").0 <= most * slack);
            prop_assert!(most <= result.relevant_upper.expect("regular").rate.0 * slack);
        }
    }
}
