//! What fails alike every time is not tried for ever.

use measure::Nanos;
use scripted::Scripted;
use trial::record::Outcome;
use trial::{Futile, Gate, Testbed as _, TestbedError, Trial, TrialRecord};

/// Asks for these labels of a testbed on which trials fail for these reasons, one after another,
/// or are valid where there is none. How often it was really asked, and how it ended.
fn ask(labels: &[&str], reason: impl Fn(usize) -> Option<String>) -> (usize, Vec<String>) {
    let answer = |number: usize, _: &Trial| {
        let record = TrialRecord::failed(0, reason(number).unwrap_or_default());
        let outcome = if reason(number).is_some() { record.outcome } else { Outcome::Valid };
        Ok(TrialRecord { outcome, ..TrialRecord::failed(0, String::new()) })
    };
    let mut inner = Scripted::new(crate::model::topology(true, false), answer);
    let mut ends = Vec::new();
    {
        let mut futile = Futile::new(&mut inner);
        for label in labels {
            let trial = Trial::quick(*label, Vec::new(), Nanos::from_millis(1), Gate::Strict);
            ends.push(match futile.run(&trial) {
                Ok(record) => match record.outcome {
                    Outcome::Failed { reason } => reason,
                    _ => "ran".to_owned(),
                },
                Err(TestbedError::Futile { trials, reason, .. }) => {
                    format!("over: {trials} {reason}")
                }
                Err(other) => panic!("{other}"),
            });
        }
    }
    (inner.asked.len(), ends)
}

#[test]
fn a_case_that_fails_alike_is_not_tried_a_fourth_time() {
    let labels = ["good", "bad", "bad", "bad", "bad", "good"];
    let fails = |number: usize| (1..=3).contains(&number).then(|| format!("gone {number}"));
    let (asked, ends) = ask(&labels, fails);
    assert_eq!(asked, 5, "{ends:?}");
    assert!(ends[4].starts_with("not run: failed 3 times alike"), "{ends:?}");
    assert_eq!(ends[5], "ran");
}

#[test]
fn a_run_that_only_fails_alike_is_over() {
    let labels = ["a", "b", "c", "d", "e", "f", "g"];
    let (_, ends) = ask(&labels, |number| Some(format!("no such device {number}")));
    assert_eq!(ends[5], "over: 6 no such device 5", "{ends:?}");
    // Different causes may pass, and so may what comes after one good trial.
    let (asked, _) = ask(&labels, |number| Some("x".repeat(number + 1)));
    assert_eq!(asked, 7);
    let (asked, _) = ask(&labels, |number| (number > 0).then(|| "no".to_owned()));
    assert_eq!(asked, 7);
}
