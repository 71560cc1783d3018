//! The tcp study on a testbed whose trials are scripted: which trials it asks for, in which order,
//! and what it makes of records that lack a part, as those of a far end without an agent do.

use measure::{ByteCount, Nanos, Rate};
use page::{Caveat, Figure, Key, Metric};
use scripted::{Scripted, judged};
use study::{Between, Finding as _, SpecProblem, StudySpec, TcpSpec};
use trial::record::{BulkRecord, FarEndRecord, FlowRecord, StreamRecord};
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort};
use trial::{Offloads, Topology, Trial};

/// Two hosts at a switch, at a gigabit where `known`.
fn topology(known: bool) -> Topology {
    let host = |number: usize| Host {
        name: format!("h{number}"),
        reach: "local".to_owned(),
        ports: vec![HostPort {
            rate: known.then_some(Rate(1_000_000_000)),
            ..HostPort::plain(
                "eth1",
                format!("198.18.0.{number}").parse().expect("an address"),
                CableEnd::device("sw", number.to_string()),
            )
        }],
    };
    let device = Device::plain("sw", DeviceKind::Switch);
    let hosts = vec![host(1), host(2)];
    Topology::new("scripted", hosts, vec![device])
}

/// What a far end without an agent leaves: a sum over all of the load, and no reading of a socket.
fn sum_only(trial: &Trial) -> FlowRecord {
    let octets = ByteCount(100_000_000 * trial.phases.load.0 / 1_000_000_000);
    FlowRecord::Bulk(BulkRecord {
        congestion_control: String::new(),
        segment: None,
        received: octets,
        elapsed: trial.phases.load,
        streams: vec![StreamRecord { points: Vec::new(), received: Vec::new() }],
        far_end: Some(FarEndRecord {
            streams: vec![octets],
            elapsed: trial.phases.load,
            retransmits: Some(7),
        }),
    })
}

fn run(spec: &TcpSpec, topology: Topology) -> (Vec<Figure>, Vec<Trial>) {
    let mut bed = Scripted::new(topology, |_: usize, trial: &Trial| {
        Ok(judged(trial, trial.flows.iter().map(|_| sum_only(trial)).collect()))
    });
    let figures = spec.run(&mut bed, 3).expect("every trial runs").rows();
    (figures, bed.asked)
}

#[test]
fn a_far_end_that_tells_its_sum_alone_has_a_goodput() {
    for known in [true, false] {
        let (figures, _) =
            run(&TcpSpec { blocks: study::Blocks::known(6), ..TcpSpec::quick() }, topology(known));
        let of = |metric| figures.iter().filter(move |f| f.metric == metric);
        for figure in of(Metric::Goodput) {
            let ways = if figure.text(Key::Direction) == Some("total") { 2.0 } else { 1.0 };
            assert_eq!(figure.value, Some(ways * 8e8), "{figure:#?}");
            // A segment's size is not known, and so no share of the link either.
            assert_eq!(figure.number(Key::WireLimit), None);
            assert_eq!(figure.caveats.contains(&Caveat::LinkRateUnknown), !known);
        }
        assert_eq!(of(Metric::Goodput).count(), 5);
        assert!(of(Metric::Retransmits).all(|f| f.value.is_some_and(|again| again >= 7.0)));
        assert_eq!(of(Metric::Rtt).count() + of(Metric::ReceiveWindowLimited).count(), 0);
    }
}

#[test]
fn every_direction_comes_once_a_block_in_an_order_of_the_seeds() {
    let (_, asked) =
        run(&TcpSpec { blocks: study::Blocks::known(4), ..TcpSpec::quick() }, topology(true));
    let mut orders = Vec::new();
    for block in 0..4 {
        let trials: Vec<&Trial> = asked.iter().filter(|trial| trial.block == block).collect();
        let ways = |trial: &&Trial| {
            trial.flows.iter().map(|flow| flow.from.host.clone()).collect::<Vec<_>>().join("+")
        };
        let order: Vec<String> = trials.iter().map(ways).collect();
        let mut sorted = order.clone();
        sorted.sort();
        assert_eq!(sorted, ["h1", "h1+h2", "h2"], "block {block}");
        orders.push(order);
        for trial in trials {
            assert_eq!(trial.phases.load, Nanos::from_secs(4), "warm-up and what counts");
            assert_eq!(trial.offloads, Offloads::AsFound);
        }
    }
    orders.dedup();
    assert!(orders.len() > 1, "{orders:?}");
}

#[test]
fn what_can_not_be_measured_is_told_before_a_trial() {
    let check = |spec: TcpSpec| StudySpec::Tcp(spec).check(&topology(true));
    let port = |text: &str| Some(text.parse().expect("a port's name"));
    assert_eq!(
        check(TcpSpec { between: Between::one_pair(port("h2/eth1"), None), ..TcpSpec::quick() }),
        Ok(())
    );
    let problem = |spec| check(spec).expect_err("it cannot be");
    let nothing = TcpSpec { directions: Vec::new(), ..TcpSpec::quick() };
    assert!(matches!(problem(nothing), SpecProblem::Nothing { .. }));
    let unknown = TcpSpec { between: Between::one_pair(None, port("h3/eth1")), ..TcpSpec::quick() };
    assert!(matches!(problem(unknown), SpecProblem::NoPort { .. }));
    let between = Between::one_pair(port("h1/eth1"), port("h1/eth1"));
    let itself = TcpSpec { between, ..TcpSpec::quick() };
    assert!(matches!(problem(itself), SpecProblem::OneHost { .. }));
}
