//! What must hold of any octets that an iperf3 server calls its results: they are refused in words
//! of ours or read, and what was read are counts that can be true.

use std::net::{Ipv4Addr, SocketAddr};

use dataplane::iperf3::Results;

/// Panics where the reader breaks its promise on `octets`.
pub fn iperf3_results(octets: &[u8]) {
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, 5201));
    let results = match Results::parse(server, octets) {
        Ok(results) => results,
        Err(fault) => {
            let words = fault.to_string();
            assert!(!words.is_empty() && words.len() < 200 && words.is_ascii(), "{words}");
            return;
        }
    };
    if let Some(name) = results.congestion_control() {
        assert!(name.len() < 16 && name.is_ascii());
    }
    if let Ok((_, counted)) = results.datagrams(server) {
        assert!(counted.errors <= counted.packets, "{counted:?}");
    }
    for streams in [0..1, 0..2, 1..4] {
        for sent in [false, true] {
            let wanted = streams.len();
            let Ok(far) = results.far_end(server, streams.clone(), sent) else { continue };
            assert_eq!(far.streams.len(), wanted);
            assert!(far.elapsed.0 > 0, "{far:?}");
            assert!(far.streams.iter().all(|octets| octets.0 <= 1 << 53), "{far:?}");
            assert!(sent || far.retransmits.is_none(), "{far:?}");
        }
    }
}
