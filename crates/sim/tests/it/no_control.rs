//! Testbeds without a direct cable, over every study: who has no control blames nobody.
//!
//! Draws devices that lose, throttle, pause and block. Owns the list of what has a control of its
//! own: the same trial without the deed, or books that place each lost frame. Seeds are printed.

use std::fmt::Write as _;

use page::{Figure, Key, Metric, Unit, Verdict};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use sim::{Cabling, HostModel, VirtualTestbed};
use study::{StudySpec, TcpSpec};

use crate::aa;
use crate::trials::profile;

/// Of four ports of 100 Mbit/s, each with some of what limits devices.
fn device(seed: u64) -> String {
    let mut chance = Pcg64::seed_from_u64(seed);
    let kilobytes = [16, 64, 256, 1024][chance.random_range(0..4)];
    let mut text = format!(
        "name = \"limited\"\nports = 4\nrate = \"100Mbit\"\n\
         buffer = {{ per_port = \"{kilobytes}KiB\" }}\n"
    );
    if chance.random() {
        let _ = writeln!(text, "pps_limit = {}", chance.random_range(5_000..30_000));
        text.push_str("pps_queue = 512\n");
    }
    if chance.random() {
        let uplink = chance.random_range(60..150);
        let group = |ports: &str| format!("{{ ports = \"{ports}\", uplink = \"{uplink}Mbit\" }}");
        let _ = writeln!(text, "groups = [{}, {}]", group("1-2"), group("3-4"));
    }
    for (share, line) in [(0.3, "loss = 0.01\n"), (0.3, "pause = true\n")] {
        if chance.random::<f64>() < share {
            text.push_str(line);
        }
    }
    text
}

/// What is held against a trial without the deed, or without the load, of its own.
fn has_own_control(figure: &Figure) -> bool {
    let metrics = [Metric::AddressCapacity, Metric::AddressLearningRate];
    let tests = ["congestion", "head-of-line", "microburst"];
    metrics.contains(&figure.metric) || tests.contains(&figure.text(Key::Test).unwrap_or_default())
}

/// The device's own counters, and the hosts', place every frame that was lost.
fn is_accounted(figure: &Figure) -> bool {
    let lost = figure.number(Key::FramesLost);
    lost.is_some() && lost == figure.number(Key::FramesLostInDevice)
}

#[test]
fn nobody_is_blamed_without_a_control() {
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|level| level == "full");
    let tcp = TcpSpec { blocks: study::Blocks::known(6), ..TcpSpec::quick() };
    let studies = aa::studies().into_iter().chain([StudySpec::Tcp(tcp)]);
    let studies: Vec<StudySpec> = studies.collect();
    let mut wrong = Vec::new();
    for seed in 0..if full { 20 } else { 3 } {
        let text = device(seed);
        for study in &studies {
            let hosts = HostModel::ideal(4);
            let mut bed = VirtualTestbed::new("sim:alone", profile(&text), hosts, seed)
                .with_cabling(Cabling::Device);
            let figures = study
                .run(&mut bed, seed)
                .unwrap_or_else(|error| panic!("{}, seed {seed}: {error}", study.name()));
            for figure in figures.iter().filter(|figure| !has_own_control(figure)) {
                let blamed = figure.verdict == Verdict::DeviceLimited && !is_accounted(figure);
                // TCP that is stable needs nobody beside it.
                let stable = figure.metric == Metric::Stable && figure.value == Some(1.0);
                let answered = figure.unit == Unit::Flag && figure.value.is_some() && !stable;
                if blamed || answered {
                    wrong.push(format!("{}, seed {seed}: {figure:?}", study.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them: {wrong:#?}", wrong.len());
}
