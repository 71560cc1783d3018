//! A rate, a bucket and a queue told apart by arithmetic, and limits that other trials contradict.

use measure::{FrameRate, Nanos};

use super::*;
use crate::search::{Failure, GoalName};

/// What a path that forwards `rate`, with a full bucket of tokens and an empty queue, makes of a
/// load.
fn through(path: (f64, f64, f64), offered: f64, seconds: f64) -> Delivery {
    let (rate, bucket, queue) = path;
    let sent = (offered * seconds).round();
    let most = (rate * seconds + bucket + queue).floor();
    let came = sent.min(most);
    let span = seconds.max((came - 1.0 - bucket) / rate);
    let queued = came * (1.0 - seconds / span);
    Delivery {
        offered,
        duration: Nanos::from_secs_f64(seconds),
        sent: sent as u64,
        lost: (sent - came) as u64,
        queued: if queued > 0.005 * sent + offered / 1_000.0 { queued } else { 0.0 },
        came: came - 1.0,
        span,
        out: ((came - 1.0) / span).min(offered),
        held_back: false,
    }
}

fn counted(trials: Vec<Delivery>) -> Deliveries {
    Deliveries { trials, ..Deliveries::default() }
}

fn goal() -> Goal {
    Goal::quick(GoalName::Rfc2544)
}

fn result(lower: Option<f64>, upper: f64) -> GoalResult {
    GoalResult {
        goal: GoalName::Rfc2544,
        relevant_lower: lower.map(FrameRate),
        relevant_upper: Some(Failure { rate: FrameRate(upper), by: FailedBy::Loss }),
        conditional_throughput: lower.map(FrameRate),
        trials: 5,
        traffic_time: Nanos::from_secs(1),
        irregular: false,
    }
}

#[test]
fn a_load_that_only_a_queue_holds_is_not_brought_through() {
    // 1,000/s, and room for 5,000 frames: all of 2,000 frames arrive, in two seconds instead of
    // one.
    let one = through((1_000.0, 0.0, 5_000.0), 2_000.0, 1.0);
    assert_eq!(one.lost, 0);
    let Seen::Counted { lost, .. } = one.search_result() else { panic!("it was valid") };
    assert!((990..=1_010).contains(&lost), "{one:?}");
    assert!(one.only_queued());
    assert!(!through((1_000.0, 0.0, 5_000.0), 999.0, 1.0).only_queued());
}

#[test]
fn two_lengths_tell_the_rate_from_the_bucket() {
    for (rate, bucket, queue) in [(1_000.0, 0.0, 50.0), (1_000.0, 200.0, 50.0), (70.0, 3.0, 0.0)] {
        let path = (rate, bucket, queue);
        let trials = [through(path, 1.5 * rate, 1.0), through(path, 1.5 * rate, 4.0)];
        let told = counted(trials.to_vec()).bucket().expect("two lengths");
        assert!((told.rate / rate - 1.0).abs() < 0.01, "{path:?}: {told:?}");
        assert!((told.frames - bucket).abs() < 2.0, "{path:?}: {told:?}");
    }
    let alike = [through((1_000.0, 200.0, 0.0), 1_500.0, 1.0); 2];
    let alike = counted(alike.to_vec());
    assert!(alike.bucket().is_none());
    let (rate, duration) = alike.another_length().expect("of another length");
    assert_eq!(duration, Nanos::from_secs(4));
    assert!((2_000.0..=2_400.0).contains(&rate), "no more than twice what came out: {rate}");
}

#[test]
fn floods_whose_sender_waits_tell_a_bucket_too() {
    // The path makes the sender wait: it sends what a bucket of 200 and 1,000/s let it.
    let flood =
        |seconds: f64| through((1e9, 0.0, 0.0), 1_000.0 + 200.0 / seconds, seconds).of_held_back();
    let alone = counted(vec![flood(0.3)]);
    assert_eq!(alone.another_flood(), Some(Nanos::from_millis(1_200)));
    assert_eq!(alone.another_length(), None);
    let two = counted(vec![flood(0.3), flood(1.2), through((1e9, 0.0, 0.0), 1_099.0, 2.0)]);
    assert_eq!(two.another_flood(), None);
    let result = GoalResult { relevant_upper: None, ..result(Some(1_099.0), 0.0) };
    let low = two.bracket(&result, &goal()).low.expect("it passed");
    assert!((985.0..=1_001.0).contains(&low), "{low}");
}

#[test]
fn the_bracket_holds_the_rate_behind_a_bucket() {
    // 200 tokens more let 1,099/s pass for 2 s, and 1,101/s fail.
    let path = (1_000.0, 200.0, 0.0);
    let trials =
        [through(path, 2_000.0, 0.3), through(path, 1_099.0, 2.0), through(path, 1_101.0, 2.0)];
    assert_eq!(trials.map(|one| one.lost > 0), [true, false, true]);
    let bracket = counted(trials.to_vec()).bracket(&result(Some(1_099.0), 1_101.0), &goal());
    let (low, high) = (bracket.low.expect("it passed"), bracket.high.expect("it failed"));
    assert!((990.0..=1_000.5).contains(&low) && high >= 1_000.0, "{bracket:?}");
    assert!(bracket.buffered.is_some_and(|frames| (195.0..=205.0).contains(&frames)));
}

/// Some of 10,000 frames are lost whatever the load: what came of each trial is its own load's.
#[test]
fn trials_that_lose_by_chance_tell_no_bucket() {
    let at = |offered: f64, seconds: f64, lost: u64| {
        let all = through((1e6, 0.0, 0.0), offered, seconds);
        Delivery { lost, came: all.came - lost as f64, ..all }
    };
    let trials =
        vec![at(106.0, 10.0, 1), at(104.0, 60.0, 4), at(102.0, 60.0, 1), at(101.0, 60.0, 1)];
    assert!(counted(trials).bucket().is_none());
}

/// A bucket that lets short trials of any load pass.
#[test]
fn what_passed_only_briefly_is_asked_for_again() {
    let path = (1_000.0, 900.0, 0.0);
    let brief = vec![through(path, 1_400.0, 0.3), through(path, 1_400.0, 2.0)];
    assert_eq!(counted(brief.clone()).passed_briefly(LASTING), Some(1_400.0));
    let lasting = Delivery { duration: LASTING, ..brief[1] };
    assert_eq!(counted([brief.clone(), vec![lasting]].concat()).passed_briefly(LASTING), None);
    let lost = [brief, vec![through(path, 1_400.0, 8.0), through(path, 1_400.0, 16.0)]].concat();
    let told = counted(lost);
    assert_eq!(told.passed_briefly(LASTING), None, "it is driven to its limit");
    let rate = told.rate_of_bucket().expect("a bucket");
    assert!((rate / 1_000.0 - 1.0).abs() < 0.001, "{rate}");
    let result = GoalResult { relevant_upper: None, ..result(Some(1_400.0), 0.0) };
    assert_eq!(
        told.bracket(&result, &goal()).low,
        Some(rate),
        "the short trial says nothing of it"
    );
}

/// A busy tester: no load was counted but those of a flood, and a trial of one second that it fell
/// short in let 28 tokens more pass.
#[test]
fn a_load_that_the_tester_fell_short_of_is_carried_without_the_bucket() {
    let path = (434.0, 28.0, 0.0);
    let mut all = counted(vec![through(path, 2_000.0, 0.3), through(path, 2_000.0, 1.2)]);
    all.push_carried(FrameRate(461.0), Nanos::from_secs(1));
    let upper = Failure { rate: FrameRate(470.0), by: FailedBy::Tester };
    let result = GoalResult { relevant_upper: Some(upper), ..result(Some(461.0), 0.0) };
    let bracket = all.bracket(&result, &goal());
    let (low, surely) = (bracket.low.expect("it passed"), bracket.surely().expect("it passed"));
    assert!((430.0..=435.0).contains(&low) && surely < low, "{bracket:?}");
    // A load that was counted stands for itself.
    all.push(through((1e9, 0.0, 0.0), 461.0, 4.0));
    let low = all.bracket(&result, &goal()).low.expect("it passed");
    assert!((452.0..=461.0).contains(&low), "{low}");
}

#[test]
fn nothing_passed_is_no_value_but_an_upper_end() {
    let bracket = Deliveries::default().bracket(&result(None, 13.0), &goal());
    assert_eq!((bracket.low, bracket.high), (None, Some(13.0)), "no trial, no frame of it");
    assert!(bracket.doubts(&result(None, 13.0)).contains(&Caveat::Irregular));
}

/// A line-rate device that loses frames whatever the load: the search ended where chance had it.
#[test]
fn a_limit_that_other_trials_contradict_is_none() {
    let at = |offered: f64, lost: u64| Delivery {
        lost,
        out: offered * (1.0 - lost as f64 / offered),
        ..through((1e6, 0.0, 0.0), offered, 1.0)
    };
    let trials = vec![at(1e6, 10), at(4e5, 3), at(2e5, 0), at(2.01e5, 1)];
    let bracket = counted(trials).bracket(&result(Some(2e5), 2.01e5), &goal());
    assert_eq!(bracket.loss, Some((1e6, 1e-5)));
    assert!(bracket.doubts(&result(Some(2e5), 2.01e5)).contains(&Caveat::LossNotByLoad));
    // The same with a loss that grows: at 200,000 none of a million, above it one in a thousand.
    let trials = vec![at(1e6, 10_000), at(4e5, 800), at(2.01e5, 201), at(2e5, 0), at(2e5, 0)];
    assert!(poisson_at_most(0, 5.0) - (-5.0_f64).exp() < 1e-12);
    assert!((poisson_at_most(2, 5.0) - 0.124_652).abs() < 1e-6);
    assert!(poisson_at_most(9, 5.0) > 0.999_999, "no fewer than expected");
    assert!(poisson_at_most(20_000, 40_000.0) < 1e-300);
    let bracket = counted(trials).bracket(&result(Some(2e5), 2.01e5), &goal());
    assert_eq!(bracket.loss, None, "the loss grows with the load");
    assert_eq!(bracket.low, Some(2e5), "and the limit stands");
}
