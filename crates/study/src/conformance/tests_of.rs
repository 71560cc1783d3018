//! The clauses of RFC 2544 §26, one or two for each of its tests.
//!
//! Owns what each test has to have done. Lists only tests that the study made; one that it left out
//! is a deviation of a whole suite, said once.

use measure::Nanos;

use super::{Clause, clause, soundness};
use crate::{ForwardingSpec, ForwardingTest};
use page::{Figure, Key, Metric};

pub(super) fn clauses(spec: &ForwardingSpec, figures: &[Figure]) -> Vec<Clause> {
    use ForwardingTest::{BackToBack, Latency, LossCurve, Recovery, Reset, Throughput};
    let mut clauses = Vec::new();
    if spec.wants(Throughput) {
        clauses.push(throughput(figures));
    }
    if spec.wants(Latency) {
        clauses.extend(latency(spec, figures));
    }
    if spec.wants(LossCurve) {
        clauses.push(loss_curve(figures));
    }
    if spec.wants(BackToBack) {
        clauses.extend(back_to_back(spec, figures));
    }
    if spec.wants(Recovery) {
        clauses.extend(recovery(spec, figures));
    }
    if spec.wants(Reset) {
        clauses.push(reset(figures));
    }
    let left: Vec<&str> = ForwardingTest::RFC2544
        .into_iter()
        .filter(|test| !spec.wants(*test))
        .map(ForwardingTest::as_str)
        .collect();
    if !left.is_empty() {
        let asked = "throughput, latency, frame loss rate, back-to-back, recovery and reset";
        clauses.push(clause("RFC 2544 §26", asked, format!("without {}", left.join(", ")), false));
    }
    clauses
}

/// A test's figures of the devices themselves.
fn own(figures: &[Figure], test: ForwardingTest) -> Vec<&Figure> {
    let is = |figure: &Figure, key: Key, value: &str| figure.text(key) == Some(value);
    let of = |f: &&Figure| is(f, Key::Test, test.as_str()) && is(f, Key::Path, "device");
    figures.iter().filter(of).collect()
}

/// The throughputs by RFC 2544's own goal.
pub(super) fn throughputs(figures: &[Figure]) -> Vec<&Figure> {
    let mut found = own(figures, ForwardingTest::Throughput);
    found.retain(|f| f.metric == Metric::Throughput && f.text(Key::Goal) == Some("rfc2544"));
    found
}

fn throughput(figures: &[Figure]) -> Clause {
    let asked = "the highest rate at which a trial loses no frame";
    let found = throughputs(figures);
    let (done, conforms) = soundness(&found);
    let done = if found.is_empty() { "searched for other goals only".to_owned() } else { done };
    clause("RFC 2544 §26.1", asked, done, conforms)
}

fn latency(spec: &ForwardingSpec, figures: &[Figure]) -> [Clause; 2] {
    let (duration, repeats) = (spec.latency_duration, spec.latency_repeats);
    let mut found = own(figures, ForwardingTest::Latency);
    found.retain(|f| f.metric == Metric::OneWayDelay);
    let (values, all) = soundness(&found);
    let done = format!("streams of {duration}, {repeats} repeats; {values}");
    let kept = duration >= Nanos::from_secs(120) && repeats >= 20 && all;
    let asked = "one-way latency at the throughput, in streams of at least 120 s, 20 times";
    let kept = kept && spec.latency_percents.iter().any(|percent| *percent == 100);
    let tags = "at least 500 tagged frames, from 60 s on";
    let done_tags = "every frame is tagged, and counts from the first on".to_owned();
    [clause("RFC 2544 §26.2", asked, done, kept), clause("RFC 8219 §7.2", tags, done_tags, false)]
}

fn loss_curve(figures: &[Figure]) -> Clause {
    let asked = "loads from the media's highest rate down by 10 % or less, to two without loss";
    let found = own(figures, ForwardingTest::LossCurve);
    let link = |f: &Figure| f.text(Key::LoadReference) == Some("link-rate");
    let (values, all) = soundness(&found);
    let from_link = !found.is_empty() && found.iter().all(|f| link(f));
    let reference = if from_link { "from the link's rate" } else { "not from the link's rate" };
    clause("RFC 2544 §26.3", asked, format!("{reference}; {values}"), from_link && all)
}

fn back_to_back(spec: &ForwardingSpec, figures: &[Figure]) -> [Clause; 2] {
    let asked = "the longest burst without loss, of up to 2 s or more, on average of 50 times";
    let (longest, repeats) = (spec.burst_duration, spec.burst_repeats);
    let done = format!("bursts of up to {longest}, {repeats} searches");
    let kept = longest >= Nanos::from_secs(2) && repeats >= 50;
    let mut found = own(figures, ForwardingTest::BackToBack);
    found.retain(|f| f.metric == Metric::BackToBack && f.value.is_some());
    let doubts = [page::Caveat::MediaRateUnknown, page::Caveat::LoadBelowAsked];
    let doubted = |f: &&&Figure| doubts.iter().any(|doubt| f.caveats.contains(doubt));
    let slower = found.iter().filter(doubted).count();
    let gaps = match (found.len(), slower) {
        (0, _) => "no burst was searched".to_owned(),
        (_, 0) => "at the link's rate".to_owned(),
        (all, slower) => format!("{slower} of {all} at the tester's own highest rate"),
    };
    let minimum = "bursts at the media's minimum gap, where the throughput is below its rate";
    [
        clause("RFC 2544 §26.4", asked, done, kept),
        clause("RFC 9004 §6", minimum, gaps, slower == 0 && !found.is_empty()),
    ]
}

fn recovery(spec: &ForwardingSpec, figures: &[Figure]) -> [Clause; 2] {
    let asked = "110 % of the throughput, or the media's rate, for at least 60 s, then 50 %";
    let found = own(figures, ForwardingTest::Recovery);
    let percents = found.iter().filter_map(|f| f.number(Key::OverloadPercent));
    let least = percents.min_by(f64::total_cmp);
    let (values, all) = soundness(&found);
    let overload = match least {
        Some(percent) => format!("{percent:.0} %"),
        None => "no overload".to_owned(),
    };
    let duration = spec.overload_duration;
    let below = found.iter().any(|f| f.caveats.contains(&page::Caveat::LoadBelowAsked));
    let full = duration >= Nanos::from_secs(60) && least.is_some() && !below;
    let done = format!("{overload} for {duration}; {values}");
    let average = format!("the median of {} trials", spec.blocks);
    [
        clause("RFC 2544 §26.5", asked, done, full && all),
        clause("RFC 2544 §26.5", "the average of several trials", average, false),
    ]
}

fn reset(figures: &[Figure]) -> Clause {
    let asked = "power, hardware and software resets, by lost frames or by time stamps";
    let found = own(figures, ForwardingTest::Reset);
    let (values, _) = soundness(&found);
    let done = format!("the one reset that the testbed has a hook for; {values}");
    // Which of the three resets that is, only the testbed's owner knows.
    clause("RFC 6201 §4", asked, done, false)
}
