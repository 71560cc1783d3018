//! What a page of a run under way is told, of trials that are made up.

use measure::reading::Stamp;
use measure::{FrameMix, FrameRate, FrameSize};
use trial::record::{DatagramsRecord, Defect, EchoRecord};
use trial::topology::{Pair, PortRef};
use trial::{Backend, Datagrams, Gate, Outcome};

use super::*;

fn pair() -> Pair {
    let port = |host: &str| PortRef { host: host.to_owned(), port: "eth1".to_owned() };
    Pair { from: port("h1"), to: port("h2") }
}

fn tracker(trials: u64) -> Tracker {
    Tracker {
        expected: Estimate { trials, ..Estimate::NONE },
        lines: VecDeque::new(),
        starts: VecDeque::new(),
        brackets: BTreeMap::new(),
        warnings: BTreeMap::new(),
        ports: ports::Ports::new(),
        watch: None,
    }
}

fn paced(rate: f64, lost: u64, at: u64) -> (Trial, TrialRecord) {
    let frames = FrameMix::from(FrameSize::new(64).expect("a size"));
    let kind = FlowKind::Datagrams(Datagrams::plain(
        frames,
        Schedule::Paced(FrameRate(rate)),
        Backend::Auto,
        0,
    ));
    let flow = Flow::measured(&pair(), kind.clone());
    let load = Nanos::from_secs(1);
    let trial = Trial::quick(format!("throughput 64 {rate:.0}/s"), vec![flow], load, Gate::Flood);
    let mut record = TrialRecord::failed(at, String::new());
    record.outcome = Outcome::Valid;
    let mut seen = FlowRecord::nothing(&kind).expect("frames");
    if let FlowRecord::Datagrams(DatagramsRecord { sent, received, .. }) = &mut seen {
        *sent = 1000;
        received.unique = 1000 - lost;
    }
    record.flows.push(seen);
    (trial, record)
}

#[test]
fn a_bracket_closes_from_both_sides() {
    let mut tracker = tracker(8);
    let second = 1_000_000_000;
    for (at, (rate, lost)) in
        [(1000.0, 10), (500.0, 0), (750.0, 1), (600.0, 0)].into_iter().enumerate()
    {
        let (trial, record) = paced(rate, lost, at as u64 * second);
        tracker.take(at as u64, &trial, &record);
    }
    let progress = tracker.progress("running", false, 4, 0);
    let [bracket] = &progress.brackets[..] else { panic!("{progress:?}") };
    assert_eq!((bracket.without_loss, bracket.with_loss), (Some(600.0), Some(750.0)));
    assert_eq!(bracket.text, "no loss at 600 frames/s, loss at 750 frames/s");
    assert_eq!(bracket.of, "throughput, 64 octets, h1/eth1 to h2/eth1, device");
    assert_eq!(progress.left, "4 trials, about 4 s at the pace of the last ones");
    assert_eq!(progress.trials[0].result, "lost 10 of 1,000 frames, 1.00 %");
}

#[test]
fn what_the_gates_found_is_counted_and_does_not_count() {
    let mut tracker = tracker(2);
    for at in 0..3 {
        let (trial, mut record) = paced(1000.0, 0, at);
        let reasons = vec![Defect::Late { flow: 1, late: at, lost: 1 }];
        record.outcome = Outcome::Invalid { reasons };
        tracker.take(at, &trial, &record);
    }
    let progress = tracker.progress("running", false, 3, 3);
    assert!(progress.brackets.is_empty(), "no figure comes from a trial that is not valid");
    let [warning] = &progress.warnings[..] else { panic!("{progress:?}") };
    assert_eq!((warning.trials, warning.reason.as_str()), (3, "flow 1: 2 sent late, 1 lost"));
    assert!(progress.left.starts_with("more trials than"), "{}", progress.left);
}

#[test]
fn a_trial_tried_again_stands_once_and_a_long_run_is_bounded() {
    let mut tracker = tracker(1000);
    let (trial, record) = paced(10.0, 0, 1);
    tracker.take(0, &trial, &TrialRecord::failed(0, "gone".to_owned()));
    tracker.take(0, &trial, &record);
    tracker.take(0, &trial, &record);
    assert_eq!(tracker.lines.len(), 1);
    for at in 1..400 {
        let (trial, record) = paced(10.0 + at as f64, 0, at);
        tracker.take(at, &trial, &record);
    }
    let progress = tracker.progress("running", false, 400, 0);
    assert_eq!((progress.trials.len(), progress.brackets.len()), (MOST_SHOWN, 1));
    assert_eq!((tracker.newest(), progress.trials[0].ordinal), (Some(399), 200));
}

#[test]
fn a_round_trip_is_told_by_two_quantiles() {
    let (mut trial, mut record) = paced(10.0, 0, 1);
    let mut rtt = Histogram::new();
    rtt.record(Nanos(31_000));
    trial.flows[0].kind = FlowKind::Datagrams(Datagrams::plain(
        FrameMix::from(FrameSize::new(64).expect("a size")),
        Schedule::Greedy,
        Backend::Auto,
        0,
    ));
    record.flows = vec![FlowRecord::Echo(EchoRecord {
        frame_size: FrameSize::new(64).expect("a size"),
        sent: 1,
        answers: measure::sequence::SequenceCounts::default(),
        rtt,
        ipdv_up: Histogram::new(),
        ipdv_down: Histogram::new(),
        effective_samples: 1.0,
        stamps: measure::reading::Stamps { sent: Stamp::User, received: Stamp::User },
        rejected: measure::reading::Rejected::default(),
        elapsed: Nanos::from_secs(1),
        segment: None,
        seen_from: None,
        remapped: 0,
    })];
    // As the histogram's bucket has it.
    assert_eq!(values(&trial, &record), Values { rtt_p50_ns: Some(31_007), ..Values::default() });
    assert_eq!(result(&trial, &record), "RTT p50 31.0 µs, p99 31.0 µs");
    assert_eq!(load(&trial), None, "a flood has no bracket");
}

#[test]
fn a_port_is_as_its_newest_trial_left_it() {
    let mut tracker = tracker(8);
    let known = |tracker: &Tracker| {
        let ports = tracker.progress("running", false, 1, 0).ports;
        ports.into_iter().map(|line| (line.port, line.state, line.said)).collect::<Vec<_>>()
    };
    let (trial, record) = paced(500.0, 3, 1);
    tracker.take(0, &trial, &record);
    let said = "3 of 1,000 frames were lost in trial 1";
    let both =
        ["h1/eth1", "h2/eth1"].map(|port| (port.to_owned(), PortState::Lossy, said.to_owned()));
    assert_eq!(known(&tracker), both);
    let (mut other, record) = paced(500.0, 0, 2);
    other.flows[0].from.host = "h3".to_owned();
    tracker.take(1, &other, &record);
    let states: Vec<_> =
        known(&tracker).into_iter().map(|(port, state, _)| (port, state)).collect();
    let of = |port: &str, state| (port.to_owned(), state);
    let whole = PortState::Whole;
    assert_eq!(
        states,
        [of("h1/eth1", PortState::Lossy), of("h2/eth1", whole), of("h3/eth1", whole)]
    );
    let mut record = record;
    let reasons = vec![Defect::LinkFlap { place: "h2/eth1".to_owned() }];
    record.outcome = Outcome::Invalid { reasons };
    tracker.take(2, &other, &record);
    let (_, state, said) = &known(&tracker)[1];
    assert_eq!(*state, PortState::Spoilt);
    assert!(said.contains("trial 3 does not count: h2/eth1: the link went down or up"), "{said}");
}

#[test]
fn a_watch_has_its_visits_in_the_place_of_trials() {
    use study::watch::{Came, Counted, RoundTrips, WatchedWay, What};
    use trial::Path;

    let mut tracker = tracker(0);
    let Pair { from, to } = pair();
    let way = WatchedWay { from, to, path: Path::Device, device: Some("sw1".to_owned()) };
    tracker.watch = Some(WatchSpec {
        ways: vec![way],
        groups: Vec::new(),
        size: FrameSize::MIN,
        echo: FrameRate(200.0),
        frames: FrameRate(10_000.0),
        load: Nanos::from_secs(1),
        goodput: None,
        link_share: 0.001,
        processor_share: 0.01,
        settings: measure::change::Settings::default(),
    });
    let counted = |lost| Some(Counted { sent: 100, lost, reordered: 0 });
    let visit = |at_unix_ns, came, lost| Visit {
        way: 0,
        round: 0,
        what: What::Frames,
        at_unix_ns,
        came,
        rtt: Some(RoundTrips { p50_ns: 31_000.0, p99_ns: 40_000.0, n: 200 }),
        there: counted(lost),
        back: counted(0),
        goodput: None,
    };
    tracker.visit(7, &visit(1, Came::Valid, 0));
    tracker.visit(8, &visit(2, Came::Nothing, 100));
    tracker.visit(8, &visit(2, Came::Nothing, 100));
    tracker.visit(9, &visit(3, Came::Failed("gone".to_owned()), 0));
    // None of its ways.
    tracker.visit(10, &Visit { way: 1, ..visit(4, Came::Valid, 0) });
    let now = tracker.progress("running", false, 3, 1);
    assert_eq!(now.left, "it goes on until it is told to end");
    let results: Vec<_> = now.trials.iter().map(|line| (line.outcome, &line.result[..])).collect();
    let first =
        "RTT p50 31.0 µs, p99 40.0 µs; lost 0 of 100 frames there; lost 0 of 100 frames back";
    assert_eq!(results, [("valid", first), ("valid", "nothing came"), ("failed", "gone")]);
    let medians: Vec<_> = now.trials.iter().map(|line| line.values.rtt_p50_ns).collect();
    assert_eq!(medians, [Some(31_000), None, None]);
    assert_eq!((now.ports.len(), now.ports[0].state), (2, PortState::Spoilt));
    assert_eq!((now.warnings.len(), &now.warnings[0].reason[..]), (1, "gone"));
}
