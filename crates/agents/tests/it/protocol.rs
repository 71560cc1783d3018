//! The protocol: what goes in comes out, and bad bytes are errors.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use agents::protocol::{
    self, Answer, Ask, Collected, Complaint, FRAME_LIMIT, FlowReport, FrameError, Hello, HostFacts,
    MachineFacts, Mended, Message, MessageError, OffloadChange, Order, PROTOCOL, ProtocolError,
    Reply, Request, Terms, Work, decode, encode,
};
use dataplane::datagram::Traffic;
use dataplane::echo::Requests;
use dataplane::{Identity, Window};
use measure::reading::{Rejected, Stamp, Stamps};
use measure::sequence::SequenceCounts;
use measure::{ByteCount, FrameMix, FrameRate, FrameSize, Histogram, Nanos};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use trial::Protocol;
use trial::record::{EchoRecord, ExchangeRecord, FlowRecord, ReceiptRecord, Usage};
use trial::topology::AddressBlock;
use trial::{Backend, Datagrams, Echo, Schedule, VlanId};

fn nanos() -> impl Strategy<Value = Nanos> {
    any::<u64>().prop_map(Nanos)
}

fn names() -> impl Strategy<Value = Vec<String>> {
    vec(".{0,12}", 0..4)
}

fn address() -> impl Strategy<Value = IpAddr> {
    any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)))
}

fn identity() -> impl Strategy<Value = Identity> {
    (any::<u32>(), any::<u16>()).prop_map(|(token, flow)| Identity { token, flow })
}

fn frame_size() -> impl Strategy<Value = FrameSize> {
    (64u32..=9018).prop_map(|octets| FrameSize::new(octets).unwrap())
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let rate = || (1f64..1e9).prop_map(FrameRate);
    prop_oneof![
        Just(Schedule::Greedy),
        rate().prop_map(Schedule::Paced),
        any::<u64>().prop_map(Schedule::Burst),
        (rate(), rate(), nanos()).prop_map(|(from, to, after)| Schedule::Falling {
            from,
            to,
            after
        }),
    ]
}

fn requests() -> impl Strategy<Value = Requests> {
    let protocol = prop_oneof![Just(Protocol::Udp), Just(Protocol::Tcp), Just(Protocol::Icmp)];
    let fields = (protocol, frame_size(), schedule(), 0f64..1e9);
    fields.prop_map(|(protocol, frame_size, schedule, least_gap_ns)| Requests {
        asked: Echo { protocol, frame_size, schedule, messages: None },
        least_gap_ns,
    })
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let fields = (address(), any::<u16>(), frame_size(), any::<u64>(), schedule());
    fields.prop_map(|(first, port, frame_size, limit, schedule)| {
        let frames = FrameMix::new(vec![frame_size, FrameSize::MIN]).expect("two sizes");
        let mut asked = Datagrams::plain(frames, schedule, Backend::Auto, u32::from(port));
        asked.headers.vlan = VlanId::new(port).ok();
        asked.conversations = port.is_multiple_of(2);
        Traffic {
            sources: Some(AddressBlock { first, count: port }),
            mac: (port % 7 == 0).then_some(limit),
            cpu: (port % 3 == 0).then_some(limit as usize % 7),
            relieves_sender: port % 5 == 0,
            phase: Nanos(limit),
            receiver_ahead_ns: -i64::from(port),
            ..Traffic::new(asked, limit)
        }
    })
}

fn order() -> impl Strategy<Value = Order> {
    let work = prop_oneof![
        requests().prop_map(Work::Echo),
        traffic().prop_map(Work::Datagrams),
        swapped().prop_map(Work::Exchange),
    ];
    let fields = (address(), address(), any::<u16>(), identity(), work);
    fields.prop_map(|(local, peer, port, identity, flow)| Order {
        local,
        remote: SocketAddr::new(peer, port),
        identity,
        opening: dataplane::opening::Opening::PLAIN,
        flow,
    })
}

fn swapped() -> impl Strategy<Value = trial::Exchange> {
    let carrier = prop_oneof![
        Just(trial::Carrier::Tcp),
        any::<u16>().prop_map(|credits| trial::Carrier::Datagrams { credits }),
    ];
    (any::<u64>(), nanos(), carrier).prop_map(|(size, interval, carrier)| trial::Exchange {
        message: ByteCount(size),
        interval,
        carrier,
        collective: None,
    })
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        Just(Ask::Clock),
        Just(Ask::Collect),
        Just(Ask::Abort),
        Just(Ask::Goodbye),
        names().prop_map(|interfaces| Ask::Facts { interfaces }),
        (address(), any::<u16>(), names(), nanos(), any::<bool>()).prop_map(
            |(first, count, interfaces, longest, limited)| {
                let addresses = vec![AddressBlock { first, count }];
                let rate = limited.then(|| "1Gbit".parse().unwrap());
                let own = BTreeMap::from([(first, interfaces.clone())]);
                let (lasting, servers) = (true, vec![SocketAddr::new(first, count)]);
                Ask::Terms {
                    terms: Terms { addresses, interfaces, own, servers, longest, rate, lasting },
                }
            }
        ),
        names().prop_map(|interfaces| Ask::Offloads { interfaces, change: OffloadChange::Off }),
        (vec(order(), 0..3), names())
            .prop_map(|(receivers, interfaces)| Ask::Prepare { receivers, interfaces }),
        vec(order(), 0..3).prop_map(|senders| Ask::Connect { senders }),
        (nanos(), nanos(), nanos()).prop_map(|(start, stop, closed)| Ask::Start {
            window: Window { start, stop, closed }
        }),
    ]
}

fn histogram() -> impl Strategy<Value = Histogram> {
    vec(1u64..3_600_000_000_000, 0..40).prop_map(|values| {
        let mut histogram = Histogram::new();
        for value in values {
            histogram.record(Nanos(value));
        }
        histogram
    })
}

fn asker_report() -> impl Strategy<Value = FlowRecord> {
    let fields = (frame_size(), any::<u64>(), histogram(), histogram(), 0f64..1e9);
    fields.prop_map(|(frame_size, sent, rtt, ipdv, effective_samples)| {
        FlowRecord::Echo(EchoRecord {
            frame_size,
            sent,
            answers: SequenceCounts { unique: rtt.count(), ..SequenceCounts::default() },
            rtt,
            ipdv_up: ipdv.clone(),
            ipdv_down: ipdv,
            effective_samples,
            stamps: Stamps { sent: Stamp::Intended, received: Stamp::Kernel },
            rejected: Rejected { malformed: sent, foreign: 3 },
            elapsed: Nanos(sent),
            segment: None,
            seen_from: None,
            remapped: 0,
        })
    })
}

fn end_report() -> impl Strategy<Value = FlowRecord> {
    let fields = (any::<u64>(), histogram(), vec(any::<u64>(), 0..4));
    fields.prop_map(|(messages, rounds, intervals)| {
        let receipt = ReceiptRecord {
            messages,
            octets: ByteCount(messages),
            elapsed: Nanos(messages),
            rounds,
            finishes: Histogram::growing(),
            intervals: intervals.into_iter().map(ByteCount).collect(),
            frames: messages / 2,
            lost: 0,
        };
        let sent = ReceiptRecord { lost: messages, ..ReceiptRecord::default() };
        FlowRecord::Exchange(ExchangeRecord { forward: receipt, backward: sent })
    })
}

fn flow_report() -> impl Strategy<Value = FlowReport> {
    let report = prop_oneof![
        asker_report().prop_map(Ok),
        end_report().prop_map(Ok),
        ".{0,40}".prop_map(Err)
    ];
    let fields = (any::<u16>(), any::<bool>(), nanos(), report);
    fields.prop_map(|(flow, begins, ready, report)| FlowReport { flow, begins, ready, report })
}

fn answer() -> impl Strategy<Value = Answer> {
    let facts = (option::of(".{0,12}"), option::of(any::<usize>()));
    let counts = btree_map("[a-z_]{1,8}", any::<u64>(), 0..4);
    prop_oneof![
        Just(Answer::Agreed {
            mended: Mended { restored: vec!["offloads of eth1".into()], left: vec!["eth1".into()] }
        }),
        Just(Answer::Done),
        nanos().prop_map(|monotonic| Answer::Clock { monotonic }),
        vec(any::<u16>(), 0..5).prop_map(|ports| Answer::Prepared { ports }),
        facts.prop_map(|(kernel, cpus)| {
            let machine = MachineFacts { kernel, cpus, ..MachineFacts::default() };
            Answer::Facts(Box::new(HostFacts { machine, ports: BTreeMap::new() }))
        }),
        (vec(flow_report(), 0..3), counts, 0f64..1.0).prop_map(|(reports, counters, busy)| {
            let interfaces = BTreeMap::from([("eth1".to_owned(), counters.clone())]);
            let usage =
                Usage { busy, softirq: busy / 2.0, stolen: 0.0, foreign: busy / 3.0, counters };
            Answer::Collected(Box::new(Collected { reports, interfaces, usage }))
        }),
    ]
}

fn complaint() -> impl Strategy<Value = Complaint> {
    (".{0,40}", any::<bool>(), any::<bool>())
        .prop_map(|(words, unavailable, unanswered)| Complaint { words, unavailable, unanswered })
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        Just(Message::Beat),
        (any::<u32>(), ".{0,8}")
            .prop_map(|(protocol, version)| Message::Hello(Hello { protocol, version })),
        (any::<u64>(), ask()).prop_map(|(id, ask)| Message::Request(Request { id, ask })),
        (any::<u64>(), prop_oneof![answer().prop_map(Ok), complaint().prop_map(Err)])
            .prop_map(|(id, answer)| Message::Reply(Reply { id, answer })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_encoded_decodes_to_itself(message in message()) {
        let content = encode(&message).unwrap();
        prop_assert_eq!(decode(&content).unwrap(), message);
    }

    #[test]
    fn what_is_written_reads_back_in_order(messages in vec(message(), 0..4)) {
        let mut pipe = Vec::new();
        for message in &messages {
            protocol::write(&mut pipe, message).unwrap();
        }
        let mut from = pipe.as_slice();
        for message in messages {
            prop_assert_eq!(protocol::read(&mut from).unwrap(), Some(message));
        }
        prop_assert!(protocol::read(&mut from).unwrap().is_none());
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
        let _ = protocol::read(&mut bytes.as_slice());
    }

    #[test]
    fn a_message_cut_anywhere_is_an_error(message in message(), cut in any::<prop::sample::Index>()) {
        let mut pipe = Vec::new();
        protocol::write(&mut pipe, &message).unwrap();
        let kept = cut.index(pipe.len());
        let read = protocol::read(&mut &pipe[..kept]);
        if kept == 0 {
            prop_assert!(matches!(read, Ok(None)));
        } else {
            let error = read.expect_err("cut short");
            let truncated = matches!(error, ProtocolError::Frame(FrameError::Truncated { .. }));
            prop_assert!(truncated, "{error:?}");
        }
    }

    /// One changed byte of valid content never causes a panic, whatever the result.
    #[test]
    fn a_damaged_message_does_not_panic(
        message in message(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut content = encode(&message).unwrap();
        let at = at.index(content.len());
        content[at] = byte;
        let _ = decode(&content);
    }
}

#[test]
fn a_claimed_length_takes_no_memory() {
    let over = ((FRAME_LIMIT + 1) as u32).to_be_bytes();
    let error = protocol::read(&mut over.as_slice()).unwrap_err();
    let ProtocolError::Frame(FrameError::Oversized { announced }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(announced, FRAME_LIMIT + 1);

    let allowed = (FRAME_LIMIT as u32).to_be_bytes();
    let error = protocol::read(&mut [allowed.as_slice(), b"{}"].concat().as_slice()).unwrap_err();
    let ProtocolError::Frame(FrameError::Truncated { have, want }) = error else {
        panic!("{error:?}")
    };
    assert_eq!((have, want), (2, FRAME_LIMIT));
}

#[test]
fn another_protocol_is_refused_with_both_numbers() {
    let text = br#"{"hello": {"protocol": 99, "version": "9.9.9", "new_field": [1]}}"#;
    let Message::Hello(theirs) = decode(text).unwrap() else { panic!("a hello") };
    let error = theirs.check().unwrap_err();
    assert!(matches!(error, MessageError::Protocol { ours: PROTOCOL, theirs: 99, .. }));
    let words = error.to_string();
    assert!(words.contains(&format!("speak {PROTOCOL}")) && words.contains("speaks 99"), "{words}");
    assert!(words.contains("9.9.9") && words.contains(env!("CARGO_PKG_VERSION")), "{words}");
    Hello::ours().check().unwrap();
}

#[test]
fn a_deep_nest_is_an_error() {
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    assert!(decode(&deep).is_err());
}
