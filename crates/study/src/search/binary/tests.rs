//! Binary search against devices and testers that can be told in a line: what it finds, and that it
//! ends. Never against a testbed.

use proptest::prelude::*;

use super::*;
use crate::search::GoalName;

const MAX: FrameRate = FrameRate(1_000_000.0);
const RANGE: LoadRange = LoadRange { min: FrameRate(2.0), max: MAX };

fn goal(width: f64) -> Goal {
    Goal {
        width,
        tester_width: width,
        initial_duration: Nanos::from_millis(100),
        final_duration: Nanos::from_secs(1),
        duration_sum: Nanos::from_secs(1),
        ..Goal::rfc2544()
    }
}

/// Runs a search against `answer` and returns its result.
fn run(goal: Goal, mut answer: impl FnMut(Attempt) -> Seen) -> GoalResult {
    let range = RANGE;
    let mut search = BinarySearch::new(goal, range);
    for _ in 0..1_000 {
        match search.next() {
            Step::Done(results) => return results[0].clone(),
            Step::Try(attempt) => {
                assert!((range.min.0..=range.max.0).contains(&attempt.rate.0), "{attempt:?}");
                search.learn(answer(attempt));
            }
        }
    }
    panic!("no end in sight: {search:?}");
}

fn counted(attempt: Attempt, lossy: bool) -> Seen {
    let sent = (attempt.rate.0 * attempt.duration.as_secs_f64()) as u64;
    Seen::Counted { offered: attempt.rate, sent, lost: u64::from(lossy) }
}

#[test]
fn finds_a_capacity_within_its_precision() {
    for capacity in [1_500.0, 10_000.0, 333_333.0, 999_000.0] {
        let result = run(goal(0.005), |a| counted(a, a.rate.0 > capacity));
        let found = result.relevant_lower.expect("something passes").0;
        let failed = result.relevant_upper.expect("something fails");
        assert!(found <= capacity && capacity <= failed.rate.0, "{capacity}: {result:?}");
        assert!((failed.rate.0 - found) / failed.rate.0 <= 0.005, "{capacity}: {result:?}");
        assert_eq!(failed.by, FailedBy::Loss);
    }
}

#[test]
fn a_device_that_never_fails_is_found_in_two_trials() {
    let result = run(goal(0.005), |a| counted(a, false));
    let expected = GoalResult {
        goal: GoalName::Rfc2544,
        relevant_lower: Some(MAX),
        relevant_upper: None,
        conditional_throughput: Some(MAX),
        trials: 2,
        traffic_time: Nanos::from_millis(1_100),
        irregular: true,
    };
    assert_eq!(result, expected);
}

#[test]
fn a_dead_device_ends_at_the_floor() {
    let result = run(goal(0.005), |a| counted(a, true));
    assert_eq!(result.relevant_lower, None);
    assert!(result.relevant_upper.expect("all fail").rate.0 <= 2.0);
}

#[test]
fn a_buffer_that_flatters_short_trials_is_seen_through() {
    let capacity = 400_000.0;
    let buffer = 8_000.0;
    let result = run(goal(0.005), |a| {
        let excess = (a.rate.0 - capacity) * a.duration.as_secs_f64();
        counted(a, excess > buffer)
    });
    let found = result.relevant_lower.expect("something passes").0;
    let flattered = capacity + buffer; // what one second hides; a tenth would hide ten times that
    assert!(found <= flattered && found > flattered * 0.99, "{result:?}");
}

#[test]
fn what_the_tester_cannot_do_is_never_a_loss() {
    let result = run(goal(0.01), |a| {
        if a.rate.0 > 700_000.0 { Seen::BeyondTester { lossless: None } } else { counted(a, false) }
    });
    assert_eq!(result.relevant_upper.expect("it cannot reach the ceiling").by, FailedBy::Tester);
}

#[test]
fn a_loss_far_above_what_the_tester_can_do_closes_no_bracket() {
    // Seen at the highest load, and not far above: but between the two nothing could be tried.
    let result = run(goal(0.005), |a| match a.rate.0 {
        rate if rate > 990_000.0 => counted(a, true),
        rate if rate > 960_000.0 => Seen::BeyondTester { lossless: None },
        _ => counted(a, false),
    });
    let (found, failed) = (result.relevant_lower.expect("found"), result.relevant_upper);
    assert!(found.0 > 950_000.0 && failed.is_some_and(|failed| failed.by == FailedBy::Loss));
    assert!(result.irregular, "{result:?}");
}

#[test]
fn one_disturbance_moves_nothing_for_good() {
    // At each trial in turn the tester falls short, by a little or by far, losing nothing or
    // losing some of it.
    let capacity = 400_000.0;
    let shares = [None, Some(0.999), Some(0.9), Some(0.3)];
    let each = |at| shares.map(|share| [0.005, 0.05].map(|width| (at, share, width)));
    for (at, share, tester_width) in (0..14).flat_map(each).flatten() {
        let mut trial = 0;
        let result = run(Goal { tester_width, ..goal(0.005) }, |a| {
            trial += 1;
            if trial == at + 1 {
                let came = share.map(|share| FrameRate(a.rate.0 * share));
                let lossless = came.filter(|rate| rate.0 <= capacity);
                return Seen::BeyondTester { lossless };
            }
            counted(a, a.rate.0 > capacity)
        });
        let found = result.relevant_lower.expect("something passes").0;
        assert!(found <= capacity && found > capacity * 0.985, "at {at} by {share:?}: {result:?}");
    }
}

#[test]
fn what_only_the_tester_cannot_do_is_not_looked_for_closely() {
    let unable = |a: Attempt| match a.rate.0 {
        rate if rate > 700_000.0 => Seen::BeyondTester { lossless: Some(FrameRate(640_000.0)) },
        _ => counted(a, false),
    };
    let [close, wide] =
        [0.005, 0.05].map(|tester_width| run(Goal { tester_width, ..goal(0.005) }, unable));
    let [found, at_most] = [&wide, &close].map(|result| result.relevant_lower.expect("found").0);
    assert!(found > 0.93 * at_most && found <= 700_000.0, "{wide:?}");
    assert!(wide.trials <= 6 && close.trials > 8, "{wide:?}, {close:?}");
}

#[test]
fn what_passed_counts_though_less_than_asked() {
    // A tester that never sends quite what is asked still has a lower bound to show.
    let result = run(goal(0.005), |a| Seen::BeyondTester {
        lossless: Some(FrameRate(a.rate.0.min(900_000.0) * 0.99)),
    });
    let found = result.relevant_lower.expect("something passed").0;
    assert!((880_000.0..900_000.0).contains(&found), "{result:?}");
    assert_eq!(result.relevant_upper.expect("asked for more").by, FailedBy::Tester);
}

fn verified(width: f64) -> Goal {
    Goal {
        duration_sum: Nanos::from_secs(2),
        ..Goal { name: GoalName::Tst009, exceed_ratio: 0.5, ..goal(width) }
    }
}

#[test]
fn what_lost_once_is_tried_again_where_the_goal_says_so() {
    let capacity = 400_000.0;
    let found = |goal: Goal, stalled: u32| {
        let mut trial = 0;
        let result = run(goal, |a| {
            trial += 1;
            counted(a, a.rate.0 > capacity || trial == stalled)
        });
        (result.relevant_lower.expect("something passes").0, result.trials)
    };
    let (plain, _) = found(goal(0.005), 0);
    let (undisturbed, trials) = found(verified(0.005), 0);
    assert_eq!(undisturbed.to_bits(), plain.to_bits());
    for stalled in 1..=trials {
        let (lower, _) = found(verified(0.005), stalled);
        assert_eq!(lower.to_bits(), plain.to_bits(), "trial {stalled} lost once");
    }
    // Without verification some single trial that lost moves the answer.
    assert!((1..12).any(|stalled| found(goal(0.005), stalled).0 < 0.99 * plain));
}

#[test]
fn what_always_loses_is_not_verified_for_ever() {
    let result = run(verified(0.005), |a| counted(a, true));
    assert_eq!(result.relevant_lower, None);
    assert_eq!(result.trials, 2 * run(goal(0.005), |a| counted(a, true)).trials);
}

#[test]
fn a_goal_that_allows_loss_finds_more_and_forwards_less_than_it_found() {
    let (capacity, goal) =
        (400_000.0, Goal { name: GoalName::Pdr, loss_ratio: 0.01, ..goal(0.001) });
    let result = run(goal, |a| {
        let sent = (a.rate.0 * a.duration.as_secs_f64()) as u64;
        let lost = (sent as f64 * (1.0 - capacity / a.rate.0)).max(0.0) as u64;
        Seen::Counted { offered: a.rate, sent, lost }
    });
    let found = result.relevant_lower.expect("something passes").0;
    assert!(found <= capacity / 0.989 && found > 0.998 * capacity / 0.99, "{result:?}");
    let forwarded = result.conditional_throughput.expect("something passes").0;
    assert!((forwarded - capacity).abs() < 0.001 * capacity, "{result:?}");
    assert!(!result.irregular && result.goal == GoalName::Pdr, "{result:?}");
}

proptest! {
    /// Any answers at all, in any order: it ends, soon, and its bracket is the right way round.
    #[test]
    fn always_ends(
        answers in proptest::collection::vec(0u8..4, 1..200),
        precision in 0.001f64..0.5,
        verify in any::<bool>(),
    ) {
        let mut at = 0;
        let goal = if verify { verified(precision) } else { goal(precision) };
        let result = run(goal, |a| {
            at += 1;
            match answers[at % answers.len()] {
                0 => counted(a, false),
                1 => counted(a, true),
                2 => Seen::BeyondTester { lossless: None },
                _ => Seen::BeyondTester { lossless: Some(FrameRate(a.rate.0 * 0.9)) },
            }
        });
        let halvings = (1.0 / precision).log2().ceil() as u32;
        prop_assert!(result.trials <= (2 + 2 * u32::from(verify)) * (12 + 2 * halvings), "{result:?}");
        if let (Some(low), Some(failed)) = (result.relevant_lower, result.relevant_upper) {
            prop_assert!(low.0 < failed.rate.0, "{result:?}");
        }
    }
}

/// A tester that stalls at random seldom hides the device's limit.
#[test]
fn stalls_do_not_hide_the_device() {
    let capacity = 400_000.0;
    let mut state = 1_u64;
    let mut chance = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    for (stalls, least) in [(0.3, 0.65), (0.05, 0.97)] {
        let mut found = 0;
        for _ in 0..1_000 {
            let result = run(Goal { tester_width: 0.05, ..goal(0.005) }, |a| {
                if chance() < stalls {
                    let came = a.rate.0 * (1.0 - 0.1 * chance());
                    let lossless = Some(FrameRate(came)).filter(|rate| rate.0 <= capacity);
                    return Seen::BeyondTester { lossless };
                }
                counted(a, a.rate.0 > capacity)
            });
            let low = result.relevant_lower.map_or(0.0, |rate| rate.0);
            let is_lost = result.relevant_upper.is_some_and(|high| high.by == FailedBy::Loss);
            found += u32::from(is_lost && low > 0.985 * capacity);
        }
        assert!(f64::from(found) >= least * 1_000.0, "{stalls}: {found}");
    }
}
