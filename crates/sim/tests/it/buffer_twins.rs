//! Twins: a random device's data sheet becomes a profile, and the same studies find the same of it.
//!
//! Owns the bar: throughput, p50 and p99 of the round trip, and where loss begins, within 5 %.

use std::fmt::Write as _;

use page::Figure;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use study::xray::{self, Bed, DataSheet};
use trial::Testbed as _;

use crate::trials::{profile, testbed};

const BAR: f64 = 0.05;
/// Bits a second.
const GROUPS_UP_TO: u64 = 1_000_000_000;

fn random(seed: u64) -> String {
    let mut random = Pcg64::seed_from_u64(seed);
    let rate = [1, 10, 25, 100][random.random_range(0..4)];
    let size = (65_536.0 * 16.0_f64.powf(random.random::<f64>())) as u64;
    let buffer = if random.random_bool(0.5) {
        let alpha = 0.25 * 32.0_f64.powf(random.random::<f64>());
        format!("total = \"{size}B\", alpha = {alpha}")
    } else {
        format!("per_port = \"{size}B\"")
    };
    let cell = [1, 64, 128, 208, 256][random.random_range(0..5)];
    let mode = ["store-and-forward", "cut-through"][random.random_range(0..2)];
    let latency = random.random_range(300..20_000);
    let entries = random.random_range(64..2_048);
    let mut text = format!(
        "name = \"random{seed}\"\nports = 8\nrate = \"{rate}Gbit\"\n\
         buffer = {{ {buffer}, cell = {cell} }}\n\
         forwarding = {{ mode = \"{mode}\", latency = \"{latency}ns\" }}\n\
         mac_table = {{ entries = {entries} }}\n"
    );
    if rate == 1 && random.random_bool(0.5) {
        let uplink = random.random_range(1_500..3_000);
        let _ = writeln!(
            text,
            "groups = [{{ ports = \"1-4\", uplink = \"{uplink}Mbit\" }}, \
             {{ ports = \"5-8\", uplink = \"{uplink}Mbit\" }}]"
        );
    }
    // A software device: it runs out of packets before the line does at small frames, or at all.
    if random.random_bool(0.3) {
        let line = f64::from(rate) * 1e9 / 8.0;
        let large = line / 1538.0;
        let limit = if random.random_bool(0.5) {
            random.random_range(0.3..0.9) * large
        } else {
            random.random_range(2.2..6.0) * large
        };
        let queue = random.random_range(64..512);
        let _ = writeln!(text, "pps_limit = {}\npps_queue = {queue}", limit.max(30_000.0) as u64);
    }
    text
}

fn figures(text: &str, seed: u64) -> (Vec<Figure>, trial::Topology) {
    let sheet = profile(text);
    let link = sheet.rate;
    let mut place = testbed(sheet);
    let topology = place.topology().clone();
    let hosts = topology.hosts.len();
    // Floods that tell groups cost as many frames as a port's rate.
    let hosts = if link.0 > GROUPS_UP_TO { hosts.min(3) } else { hosts };
    let bed = Bed { simulated: true, link: Some(link), hosts, switch: true, deeds: true };
    let studies = xray::studies(bed);
    let of = |study: &study::StudySpec, place: &mut sim::VirtualTestbed| {
        study.run(place, seed).unwrap_or_else(|error| panic!("{}: {error}", study.name()))
    };
    (studies.iter().flat_map(|study| of(study, &mut place)).collect(), topology)
}

#[test]
fn a_twin_does_what_its_device_does() {
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|level| level == "full");
    let devices = if full { 40 } else { 3 };
    let mut worst: Vec<(f64, String)> = Vec::new();
    for seed in 1..=devices {
        let truth = random(seed);
        let (found, topology) = figures(&truth, seed);
        let sheet = DataSheet::from_figures(&found, &topology).expect("a rate is known");
        let written = sheet.to_toml();
        let (twin, place) = figures(&written, seed);
        let mut differences = xray::compare(&found, &topology, &twin);
        let again = DataSheet::from_figures(&twin, &place).expect("a rate is known");
        differences.extend(xray::compare_sheets(&sheet, &again));
        differences.retain(|difference| difference.told);
        assert!(differences.len() >= 8, "seed {seed}: {differences:?}");
        for difference in differences {
            let off = difference.off().abs();
            let told = format!(
                "seed {seed}: {}: {:.0} and {:.0}\n{truth}\n{written}",
                difference.what, difference.device, difference.twin
            );
            worst.push((off, told));
        }
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (off, told) in worst.iter().take(3) {
        println!("{:.2} % off: {told}", off * 100.0);
    }
    println!("{devices} twins, {} quantities", worst.len());
    let (off, told) = &worst[0];
    assert!(*off <= BAR, "{off}: {told}");
}

#[test]
fn a_twin_has_each_ports_own_rate() {
    let mixed = "name = \"mixed\"\nports = 4\nrate = \"10Gbit\"\n\
                 buffer = { per_port = \"1MiB\" }\n\
                 cables = [{ ports = \"4\", rate = \"1Gbit\" }]\n";
    let of = |text: &str| {
        DataSheet::from_figures(&[], testbed(profile(text)).topology()).expect("a rate is known")
    };
    let sheet = of(mixed);
    let off = |twin: &DataSheet| {
        let differences = xray::compare_sheets(&sheet, twin);
        assert_eq!(differences.len(), 4, "{differences:?}");
        differences.iter().map(|one| one.off().abs()).fold(0.0, f64::max)
    };
    let written = sheet.to_toml();
    assert!(off(&of(&written)) <= 0.0, "{written}");
    let alike = DataSheet { other_rates: Vec::new(), ..sheet.clone() };
    assert!(off(&alike) > BAR);
}
