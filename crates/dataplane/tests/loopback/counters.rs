//! The kernel's counters, read for real: loopback's move with what is sent over it, and a host's
//! shares stay shares. Needs no privilege, and never asserts how busy a machine is, since others
//! use it too.

use std::net::UdpSocket;

use dataplane::counters::{CountersError, host, interfaces};

#[test]
fn loopbacks_counters_move_with_its_packets() {
    let lo = ["lo".to_owned()];
    let read = || interfaces(&lo).expect("read lo").remove(0);
    let before = read();
    assert!(before.running);
    let receiver = UdpSocket::bind("127.0.0.1:0").expect("bind");
    let sender = UdpSocket::bind("127.0.0.1:0").expect("bind");
    let to = receiver.local_addr().expect("address");
    for _ in 0..10 {
        sender.send_to(&[0; 100], to).expect("send");
    }
    let change = read().since(&before);
    assert!(change.running);
    // Other programs may use loopback too.
    assert!(change.counters["tx_packets"] >= 10, "{change:?}");
    assert!(change.counters["rx_bytes"] >= 10 * 128, "{change:?}");
    assert_eq!(change.counters["qdisc_drops"], 0);
    assert!(change.counters.contains_key("carrier_changes"));
}

#[test]
fn interfaces_come_in_the_order_asked_and_unknown_ones_are_named() {
    assert!(interfaces(&[]).expect("nothing asked").is_empty());
    let twice = ["lo".to_owned(), "lo".to_owned()];
    assert_eq!(interfaces(&twice).expect("read lo").len(), 2);
    match interfaces(&["no-such-0".to_owned()]) {
        Err(CountersError::NoInterface { name }) => assert_eq!(name, "no-such-0"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_host_that_works_is_busy_by_a_share() {
    let before = host().expect("read");
    let mut sum = 0_u64;
    for i in 0..20_000_000_u64 {
        sum = std::hint::black_box(sum.wrapping_add(i));
    }
    let change = host().expect("read").since(&before);
    for share in [change.busy, change.softirq, change.stolen] {
        assert!((0.0..=1.0).contains(&share), "{change:?}");
    }
    assert!(change.counters.values().all(|by| *by > 0));
}
