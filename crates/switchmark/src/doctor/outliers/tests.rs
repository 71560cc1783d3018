//! Racks of equal hosts, and what one altered fact, a tie or varying rates make of them.

use std::collections::BTreeSet;

use agents::protocol::{Examination, Link, PortExamination};
use measure::Rate;
use netlink::Nic;
use proptest::prelude::*;
use trial::topology::{CableEnd, HostPort, PortRef};

use super::{ComparedPort, Difference, Fact, Property, compare, sentences, table};
use crate::doctor::paths::BestRates;
use crate::doctor::{Checked, readiness_page};

/// Facts of a healthy port.
fn usual() -> Vec<Fact> {
    vec![
        Fact::SpeedMbits(10_000),
        Fact::FullDuplex(true),
        Fact::Mtu(9000),
        Fact::Driver("ixgbe".to_owned()),
        Fact::Firmware("0x800003df".to_owned()),
        Fact::Offloads(features(&["rx-gro", "tx-tcp-segmentation"])),
        Fact::SendsBitsPerS(9_400_000_000),
        Fact::ReceivesBitsPerS(9_400_000_000),
    ]
}

/// Another value of each of them.
fn altered() -> Vec<Fact> {
    vec![
        Fact::SpeedMbits(1_000),
        Fact::FullDuplex(false),
        Fact::Mtu(1500),
        Fact::Driver("igb".to_owned()),
        Fact::Firmware("0x800003e0".to_owned()),
        Fact::Offloads(features(&["tx-tcp-segmentation"])),
        Fact::SendsBitsPerS(8_900_000_000),
        Fact::ReceivesBitsPerS(7_000_000_000),
    ]
}

fn features(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Port `eth1` of host `h1`, `h2`…, with some facts in place of the usual ones.
fn port(number: usize, other: &[Fact]) -> ComparedPort {
    let name = format!("h{number}/eth1").parse().expect("a port");
    let facts = usual().into_iter().chain(other.iter().cloned());
    ComparedPort::new(name, Some("sw1".to_owned()), facts)
}

/// A rack in which these hosts have these other facts.
fn rack(hosts: usize, other: &[(usize, Fact)]) -> Vec<ComparedPort> {
    let of = |number| {
        let own = other.iter().filter(|(host, _)| *host == number);
        port(number, &own.map(|(_, fact)| fact.clone()).collect::<Vec<_>>())
    };
    (1..=hosts).map(of).collect()
}

fn told(ports: &[ComparedPort]) -> Vec<String> {
    sentences(&compare(ports))
}

fn rates(rates: &[u64]) -> Vec<ComparedPort> {
    let of = |(at, rate): (usize, &u64)| port(at + 1, &[Fact::SendsBitsPerS(*rate)]);
    rates.iter().enumerate().map(of).collect()
}

#[test]
fn each_property_is_told_with_the_outliers_name() {
    let expected = [
        "h4/eth1 negotiates 1 Gbit/s, the other 5 have 10 Gbit/s",
        "h4/eth1 negotiates half duplex, the other 5 have full duplex",
        "h4/eth1 has MTU 1500, the other 5 have MTU 9000",
        "h4/eth1 has driver igb, the other 5 have driver ixgbe",
        "h4/eth1 has firmware 0x800003e0, the other 5 have firmware 0x800003df",
        "h4/eth1 has rx-gro off, unlike the other 5",
        "h4/eth1 sends 8.90 Gbit/s, the other 5 send 9.40 Gbit/s",
        "h4/eth1 receives 7.00 Gbit/s, the other 5 receive 9.40 Gbit/s",
    ];
    for (fact, expected) in altered().into_iter().zip(expected) {
        assert_eq!(told(&rack(6, &[(4, fact)])).join("\n").replace('\u{a0}', " "), expected);
    }
}

#[test]
fn several_outliers_share_a_sentence_or_have_their_own() {
    let slow = |host| (host, Fact::SpeedMbits(1000));
    let two = told(&rack(6, &[slow(2), slow(5)]));
    assert_eq!(two, ["h2/eth1, h5/eth1 negotiate 1 Gbit/s, the other 4 have 10 Gbit/s"]);
    let apart = told(&rack(6, &[slow(2), (5, Fact::SpeedMbits(100))]));
    assert_eq!(
        apart,
        [
            "h5/eth1 negotiates 100 Mbit/s, 4 others have 10 Gbit/s",
            "h2/eth1 negotiates 1 Gbit/s, 4 others have 10 Gbit/s",
        ]
    );
}

#[test]
fn a_tie_is_two_groups() {
    let fast = |host| (host, Fact::SpeedMbits(25_000));
    for (hosts, fast, expected) in [
        (4, vec![fast(2), fast(4)], "2 ports negotiate 10 Gbit/s, 2 ports negotiate 25 Gbit/s"),
        (5, vec![fast(2), fast(4)], "3 ports negotiate 10 Gbit/s, 2 ports negotiate 25 Gbit/s"),
    ] {
        let differences = compare(&rack(hosts, &fast));
        assert_eq!(sentences(&differences), [format!("{expected}: 2 groups, no majority")]);
        let rows = table(&differences).expect("a table").rows;
        assert_eq!(rows.len(), 2, "a row for each group: {rows:?}");
    }
}

#[test]
fn ports_of_another_speed_or_device_are_compared_among_themselves() {
    let of_fast = [Fact::SpeedMbits(25_000), Fact::Driver("mlx5_core".to_owned()), Fact::Mtu(1500)];
    let fast = (4..=6).flat_map(|host| of_fast.clone().map(|fact| (host, fact)));
    let differences = compare(&rack(6, &fast.collect::<Vec<_>>()));
    assert!(matches!(&differences[..], [Difference::Split { .. }]), "{differences:?}");
    let mut two_devices = rack(6, &[1, 2, 3].map(|host| (host, Fact::Mtu(1500))));
    for port in &mut two_devices[..3] {
        port.device = Some("sw2".to_owned());
    }
    assert_eq!(compare(&two_devices), []);
}

#[test]
fn two_hosts_are_not_compared_and_an_unknown_fact_is_none() {
    let mut pair = rack(2, &[(1, Fact::Mtu(1500))]);
    assert_eq!(compare(&pair), []);
    // Another port of a host is no third host.
    pair.push(ComparedPort { port: "h1/eth2".parse().expect("a port"), ..pair[1].clone() });
    assert_eq!(compare(&pair), []);
    for property in Property::AT_ONE_SPEED.into_iter().chain([Property::Speed]) {
        let mut ports = rack(5, &[]);
        ports[2].facts.remove(&property);
        assert_eq!(compare(&ports), [], "{property:?}");
    }
}

#[test]
fn rates_within_five_percent_are_equal_and_varying_ones_have_no_reference() {
    const M: u64 = 1_000_000;
    assert_eq!(told(&rates(&[100 * M, 97 * M, 104 * M, 101 * M])), [""; 0]);
    let halves = told(&rates(&[80 * M, 100 * M, 81 * M, 99 * M])).join("\n");
    let expected = "2 ports send 81.0 Mbit/s, 2 ports send 100 Mbit/s: 2 groups, no majority";
    assert_eq!(halves.replace('\u{a0}', " "), expected);
    assert_eq!(told(&rates(&[50 * M, 60 * M, 70 * M, 80 * M, 90 * M])), [""; 0]);
    // A rate above the others' is odd too.
    assert_eq!(told(&rates(&[100 * M, 77 * M, 76 * M, 78 * M])).len(), 1);
}

#[test]
fn sentences_are_few_and_the_table_has_all() {
    let all: Vec<(usize, Fact)> = altered().into_iter().skip(1).map(|fact| (4, fact)).collect();
    let differences = compare(&rack(12, &all));
    assert_eq!(differences.len(), 7);
    let told = sentences(&differences);
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[3].starts_with("4 more differences"), "{told:?}");
    assert_eq!(table(&differences).expect("a table").rows.len(), 7);
    assert_eq!(table(&[]), None);
}

#[test]
fn json_has_names_and_numbers() {
    let differences = compare(&rack(4, &[(4, Fact::SpeedMbits(1000))]));
    let json = serde_json::to_value(&differences).expect("JSON");
    assert_eq!(
        json,
        serde_json::json!([{
            "kind": "outlier",
            "outlier": { "places": ["h4/eth1"], "found": { "speed_mbits": 1000 } },
            "others": {
                "places": ["h1/eth1", "h2/eth1", "h3/eth1"],
                "found": { "speed_mbits": 10_000 },
            },
        }])
    );
}

#[test]
fn the_doctors_page_has_the_table_and_the_sentence() {
    let differences = compare(&rack(6, &[(4, Fact::SpeedMbits(1000))]));
    let page = readiness_page("rack", &Checked { findings: Vec::new(), differences });
    let text = render::text(&page, render::Screen::PLAIN);
    for words in [
        "h4/eth1 negotiates 1 Gbit/s, the other 5 have 10 Gbit/s",
        "Hosts that differ",
        "10 Gbit/s (5 ports)",
    ] {
        assert!(text.contains(words), "{words} in:\n{text}");
    }
}

#[test]
fn facts_come_from_the_examination_and_the_rates() {
    let port: PortRef = "h1/eth1".parse().expect("a port");
    let cable = CableEnd::device("sw1", "1");
    let written = HostPort::plain("eth1", "198.18.0.1".parse().expect("an address"), cable);
    let known = |link| {
        let examined = PortExamination {
            link,
            nic: Nic { speed_mbits: Some(10_000), full_duplex: Some(true), ..Nic::default() },
            driver: Some("ixgbe".to_owned()),
            offloads: vec!["rx-gro".to_owned()],
            ..PortExamination::default()
        };
        Examination { ports: [("eth1".to_owned(), examined)].into(), ..Examination::default() }
    };
    let rates = BestRates { sends: [(port.clone(), Rate(9))].into(), ..BestRates::default() };
    let read = |link| {
        ComparedPort::from_examination(port.clone(), &written, &known(link), &rates)
            .facts
            .into_values()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        read(Some(Link { up: true, carrier: true, mtu: 1500, ..Link::default() })),
        [
            Fact::SpeedMbits(10_000),
            Fact::FullDuplex(true),
            Fact::Mtu(1500),
            Fact::Driver("ixgbe".to_owned()),
            Fact::Offloads(features(&["rx-gro"])),
            Fact::SendsBitsPerS(9),
        ]
    );
    assert_eq!(read(None), [Fact::SendsBitsPerS(9)], "a port without a link");
}

proptest! {
    #[test]
    fn equal_hosts_have_no_differences(hosts in 0_usize..40) {
        prop_assert_eq!(compare(&rack(hosts, &[])), []);
    }

    #[test]
    fn one_altered_fact_is_named_and_nothing_else(
        hosts in 3_usize..40, which in any::<prop::sample::Index>(), fact in 0_usize..8,
    ) {
        let odd = which.index(hosts) + 1;
        let fact = altered()[fact].clone();
        let differences = compare(&rack(hosts, &[(odd, fact.clone())]));
        let [Difference::Outlier { outlier, others, are_all_others: true }] = &differences[..] else {
            return Err(TestCaseError::fail(format!("{differences:?}")));
        };
        prop_assert_eq!(&outlier.places, &[format!("h{odd}/eth1").parse().expect("a port")]);
        prop_assert_eq!(&outlier.found, &fact);
        prop_assert_eq!(others.places.len(), hosts - 1);
    }

    #[test]
    fn the_order_of_hosts_makes_no_difference(
        (ports, shuffled) in prop::collection::vec((1_usize..13, 0_usize..8), 0..8)
            .prop_map(|odd| {
                let odd = odd.into_iter().map(|(host, fact)| (host, altered()[fact].clone()));
                rack(12, &odd.collect::<Vec<_>>())
            })
            .prop_flat_map(|ports| (Just(ports.clone()), Just(ports).prop_shuffle())),
    ) {
        prop_assert_eq!(compare(&ports), compare(&shuffled));
    }
}
