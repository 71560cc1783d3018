//! Same seed, same octets: a record of every kind of flow, by its hash.

mod trials;

use measure::{ByteCount, FrameRate, Nanos};
use method::Testbed as _;
use method::trial::{Bulk, Carrier, Exchange, Flow, FlowKind, Protocol, Schedule};
use sim::{HostModel, VirtualTestbed};

use trials::{datagrams, echo, flow, profile, trial};

const PROFILE: &str = r#"
    name = "chancy"
    ports = 12
    rate = "1Gbit"
    buffer = { per_port = "64KiB" }
    loss = 0.0001
    stalls = { per_second = 20.0, length = "200us" }
"#;

fn flows() -> Vec<Flow> {
    let interval = Nanos::from_millis(50);
    let bulk = |name: &str| {
        FlowKind::Bulk(Bulk { streams: 2, congestion_control: name.to_owned(), interval })
    };
    let exchange =
        |carrier| FlowKind::Exchange(Exchange { message: ByteCount(100_000), carrier, interval });
    let paced = Schedule::Paced(FrameRate(20_000.0));
    vec![
        flow(1, "h1/eth1", "h2/eth1", datagrams(512, paced)),
        flow(2, "h3/eth1", "h2/eth1", bulk("cubic")),
        flow(3, "h4/eth1", "h2/eth1", bulk("htcp")),
        flow(4, "h5/eth1", "h2/eth1", bulk("reno")),
        flow(5, "h6/eth1", "h2/eth1", echo(Protocol::Udp, 64, Schedule::Greedy)),
        flow(6, "h6/eth1", "h2/eth1", echo(Protocol::Tcp, 128, paced)),
        flow(7, "h7/eth1", "h8/eth1", exchange(Carrier::Tcp)),
        flow(8, "h9/eth1", "h10/eth1", exchange(Carrier::Datagrams { credits: 16 })),
        flow(9, "h11/eth1", "h12/eth1", datagrams(64, Schedule::Greedy)),
        flow(10, "h11/direct", "h12/direct", echo(Protocol::Icmp, 64, Schedule::Greedy)),
    ]
}

/// FNV-1a of the record as the journal writes it.
fn hash(seed: u64) -> (u64, String) {
    let profile = profile(PROFILE);
    let hosts = HostModel { turnaround: Nanos::from_micros(3), ..HostModel::ideal(12) };
    let mut testbed = VirtualTestbed::new("sim:chancy", profile, hosts, seed);
    let record = testbed.run(&trial(flows(), Nanos::from_millis(300))).expect("it runs");
    let text = serde_json::to_string(&record).expect("a record can be written");
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash, text)
}

#[test]
fn the_same_seed_gives_the_same_octets_and_another_does_not() {
    let (first, text) = hash(7);
    assert_eq!((first, &text), (hash(7).0, &hash(7).1));
    assert_ne!(first, hash(8).0);
    assert!(text.contains("retransmits"));
}
