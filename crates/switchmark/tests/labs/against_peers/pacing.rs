//! How evenly frames leave when they are paced, by every backend that paces.
//!
//! Stated with the histogram's own quantiles; nothing is claimed beyond what was measured.

use lab::LabDevice;
use measure::Nanos;
use trial::Testbed;
use trial::{Backend, Gate};

use crate::harness::{alone, datagrams, datagrams_of, open, paced, trial};

/// Frames a second.
const RATE: f64 = 100_000.0;

/// A gap may be off by so much.
const TOLERANCE: Nanos = Nanos::from_micros(20);

#[test]
#[ignore = "a benchmark: cargo xtask bench"]
fn pacing() {
    let Some(_alone) = alone("pacing", &[]) else { return };
    let mut testbed = open(&LabDevice::Cable, None);
    let pair = testbed.topology().measured_pairs().remove(0);
    println!("64-octet frames paced at {RATE} a second over lab:cable for 5 s: gaps between");
    println!(
        "{:<10} {:<10} {:>9} {:>9} {:>9} {:>9} {:>12}",
        "backend", "", "p50 µs", "p99 µs", "p99.9 µs", "max µs", "within 20 µs"
    );
    for backend in [Backend::XdpLive, Backend::AfXdp, Backend::Packet, Backend::Udp] {
        let kind = datagrams(64, paced(RATE), backend);
        let asked = trial(&pair, kind, Nanos::from_secs(5), Gate::Strict);
        let record = testbed.run(&asked).expect("runs");
        let flow = datagrams_of(&record);
        let nominal = Nanos((1e9 / RATE) as u64);
        for (name, gaps) in [("departures", &flow.departures), ("arrivals", &flow.arrivals)] {
            let micros = |share: f64| gaps.quantile(share).0 as f64 / 1e3;
            let over = (0..=1000)
                .rev()
                .map(|step| f64::from(step) / 1000.0)
                .find(|share| gaps.quantile(*share) <= nominal + TOLERANCE)
                .unwrap_or(0.0);
            println!(
                "{:<10} {name:<10} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>11.1}%",
                backend.as_str(),
                micros(0.5),
                micros(0.99),
                micros(0.999),
                gaps.max().0 as f64 / 1e3,
                over * 100.0
            );
        }
        println!("  sent {} of {} offered, {} late", flow.sent, flow.offered, flow.late);
    }
}
