//! `--bypass RUN`: a direct cable that was measured at another time than the device.
//!
//! Owns what is refused: a run that was not made over a cable between the same ports, a study that
//! cannot take its bypass from elsewhere, a testbed that has a cable of its own.

use std::path::Path;

use journal::Store;
use study::run::RunMeta;
use study::{Blocks, Bypass, StudySpec};
use trial::Topology;
use trial::topology::AnotherTime;

use super::Failure;
use super::options::Measuring;
use crate::config::ConfigError;
use crate::controller::CableRun;

/// Returns the runs over the direct cable that the flags name, by their full ids; `None` without
/// any.
pub fn from_flags(measuring: &Measuring, store: &Path) -> Result<Option<AnotherTime>, Failure> {
    if measuring.bypass.is_empty() {
        return Ok(None);
    }
    let store = Store::read(store)?;
    let ids = measuring.bypass.iter().map(|asked| Ok(store.load(asked)?.id));
    let ids: Vec<String> = ids.collect::<Result<_, Failure>>()?;
    Ok(Some(AnotherTime { runs: ids }))
}

/// Refuses `--bypass` for a sweep, whose points are testbeds of their own.
pub fn refuse(measuring: &Measuring) -> Result<(), ConfigError> {
    if measuring.bypass.is_empty() {
        return Ok(());
    }
    let hint = "leave --bypass out: a model has direct cables";
    Err(ConfigError::bare("a sweep takes no direct cable of another time", hint))
}

/// Returns the runs over the cable, each of which has to fit.
pub fn runs(
    store: &Store,
    times: &AnotherTime,
    topology: &Topology,
    studies: &[StudySpec],
) -> Result<Vec<CableRun>, Failure> {
    allowed(topology, studies)?;
    let mut runs = Vec::new();
    for id in &times.runs {
        let meta = store.load(id)?;
        fits(&meta, times, topology, studies)?;
        runs.push(CableRun { id: meta.id.clone(), records: store.records(&meta.id)? });
    }
    Ok(runs)
}

fn allowed(topology: &Topology, studies: &[StudySpec]) -> Result<(), ConfigError> {
    let refused =
        |why: String, hint: &str| Err(ConfigError::bare(format!("--bypass: {why}"), hint));
    let pairs = topology.measured_pairs();
    if topology.devices.is_empty() {
        let hint = "name the testbed with the device; this one is the direct cable itself";
        return refused(format!("`{}` has no device", topology.name), hint);
    }
    if pairs.iter().any(|pair| topology.bypass_of(pair).is_some()) {
        let hint = "leave the flag out: the cable beside the device is the better bypass";
        return refused(format!("`{}` has a direct cable already", topology.name), hint);
    }
    match studies.iter().find(|study| study.needs().bypass == Bypass::Beside) {
        Some(study) => refused(
            format!("the study `{}` cannot", study.name()),
            "latency, forwarding and storage take it",
        ),
        None => Ok(()),
    }
}

/// Checks that a run was made over a direct cable between the measured ports, by the same studies.
fn fits(
    meta: &RunMeta,
    times: &AnotherTime,
    topology: &Topology,
    studies: &[StudySpec],
) -> Result<(), ConfigError> {
    let refused = |why: String, hint: &str| {
        Err(ConfigError::bare(format!("--bypass: run {} {why}", meta.id), hint))
    };
    let hint = "make one with the two ports joined: --hosts a:eth1=b:eth1, or a testbed file in which each \
                is the other's cable";
    if !meta.topology.devices.is_empty() {
        return refused("was made through a device, not over a direct cable".to_owned(), hint);
    }
    let cables = meta.topology.measured_pairs();
    for pair in topology.measured_pairs().iter().take(1) {
        if !cables.contains(pair) {
            let (from, to) = (&pair.from, &pair.to);
            let joined: Vec<String> =
                cables.iter().map(|pair| format!("{} and {}", pair.from, pair.to)).collect();
            let why =
                format!("joined {}, and {from} and {to} are measured here", joined.join(", "));
            return refused(
                why,
                "give hosts and ports the same names in both testbeds, in one order",
            );
        }
    }
    for study in studies {
        let blocks = study.clone().varied().blocks().map_or(1, |blocks| blocks.get());
        let needed = blocks.div_ceil(times.rounds());
        let Some(kept) = meta.studies.iter().map(|other| alike(study, other)).max().flatten()
        else {
            let why = format!("did not ask for the same of `{}`", study.name());
            let hint = format!("give both the same options; it was `{}`", meta.command_line);
            return refused(why, &hint);
        };
        if kept < needed {
            let why = format!("has {kept} repetitions, and {needed} are needed");
            return refused(why, "ask for as many repetitions in both, with --blocks");
        }
    }
    Ok(())
}

/// Returns how often a run over a cable repeats this study; `None` if it is another one.
fn alike(study: &StudySpec, other: &StudySpec) -> Option<u32> {
    let once = Blocks::known(1);
    let (mut own, mut other) = (study.clone(), other.clone());
    let kept = other.varied().blocks().map_or(once, |blocks| std::mem::replace(blocks, once));
    if let Some(blocks) = own.varied().blocks() {
        *blocks = once;
    }
    // The cable has no devices to name.
    for study in [&mut own, &mut other] {
        study.varied().set_subject(trial::Subject { device: String::new(), variant: None });
    }
    (own == other).then_some(kept.get())
}
