//! `switchmark xray`: a device's data sheet, as a report and as a profile file: its twin.
//!
//! Owns its flags and the order: measure, write, and, where asked, measure the twin too. What becomes
//! which key is `method`'s.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use lab::{LabDevice, VmRole};
use method::Topology;
use method::study::xray::{self, Bed, DataSheet, Difference};
use method::topology::DeviceKind;
use record::Store;

use super::options::Data;
use super::output::{self, Finished};
use super::session::{self, Request, Start};
use super::{Failure, Outcome, lone};
use crate::config::resolved::{Source, Testbed};
use crate::config::{ConfigError, fit, testbed};
use crate::controller::Stop;
use crate::terminal::numbers;
use crate::terminal::tables::Grid;

/// A twin further off than this is none.
const BAR: f64 = 0.05;

/// `xray`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// sim:PROFILE.toml, lab:bridge,hosts=4 with options, or a testbed file
    #[arg(long, value_name = "T")]
    testbed: String,
    /// Where the profile file goes [default: to the terminal only]
    #[arg(long, value_name = "PROFILE.toml")]
    out: Option<PathBuf>,
    /// Run the same studies on the twin, in the simulator, and say how far it is off
    #[arg(long, requires = "out")]
    verify: bool,
    /// Write an HTML report
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Seed of every random choice [default: drawn, and recorded]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    data: Data,
}

/// Measures.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(path) = &args.report {
        output::check_report(path)?;
    }
    let place = testbed::from_argument("--testbed", &args.testbed)?;
    let seed = args.seed.unwrap_or_else(lone::seed);
    let stop = session::prepare(&[&place])?;
    let store = Store::open(&output::store_path(&args.data)?)?;
    let finished = measure(&store, place, seed, &stop, &args.data)?;
    let outcome = output::show(&finished, &args.data)?;
    let sheet = DataSheet::of(&finished.figures, &finished.meta.topology).ok_or_else(|| {
        let hint =
            "state the ports' rates in the testbed file, or see what made the trials invalid";
        ConfigError::bare("write a data sheet: nothing told a rate", hint)
    })?;
    let written = sheet.to_toml();
    output::say(&args.data, &format!("\n{written}"))?;
    let mut runs = vec![finished];
    let mut near = true;
    if let Some(path) = &args.out {
        std::fs::write(path, &written).map_err(Failure::unusable)?;
        output::say(&args.data, &format!("\nprofile: {}\n", path.display()))?;
        if args.verify {
            let twin = twin(&sheet, path)?;
            let found = measure(&store, twin, seed, &stop, &args.data)?;
            let differences = xray::compare(&runs[0].figures, &found.figures);
            near = differences.iter().all(|one| one.off().abs() <= BAR);
            output::say(&args.data, &side_by_side(&differences))?;
            runs.push(found);
        }
    }
    if let Some(path) = &args.report {
        output::write_report(&runs, path)?;
        output::say(&args.data, &format!("report: {}\n", path.display()))?;
    }
    Ok(if near { outcome } else { Outcome::SomeInvalid })
}

fn measure(
    store: &Store,
    place: Testbed,
    seed: u64,
    stop: &Stop,
    data: &Data,
) -> Result<Finished, Failure> {
    let studies = xray::studies(bed(&place));
    let request = Request { verb: "xray", testbed: place, studies, seed: Some(seed) };
    session::check(&request)?;
    let start = Start::New { verb: request.verb, studies: request.studies, seed };
    session::carry_out(store, &request.testbed, start, stop, data)
}

/// What is known of the testbed before anything is built or sent.
fn bed(place: &Testbed) -> Bed {
    let attached = |topology: Topology| {
        let device = topology.devices.first();
        let switch = device.is_some_and(|device| device.kind == DeviceKind::Switch);
        (topology.ports_of(device.map(|device| device.name.as_str())).len(), switch)
    };
    let (hosts, switch) = match &place.source {
        Source::Virtual(config) => attached(config.topology(&place.name)),
        Source::Hosts(config) => attached(config.topology(&place.name)),
        Source::Lab(lab) => (lab.hosts as usize, lab.devices.first().is_some_and(is_switch)),
    };
    let simulated = matches!(place.source, Source::Virtual(_));
    Bed { simulated, link: fit::link_rate(place), hosts, switch }
}

fn is_switch(device: &LabDevice) -> bool {
    match device {
        LabDevice::Bridge | LabDevice::Bridges(_) => true,
        LabDevice::Vm(machine) => machine.role == VmRole::Bridge,
        LabDevice::Emulated(model) => !model.profile.is_router(),
        LabDevice::Cable | LabDevice::Router | LabDevice::Routers => false,
    }
}

/// The simulator's testbed of the file just written, with as many hosts as were measured.
fn twin(sheet: &DataSheet, path: &Path) -> Result<Testbed, ConfigError> {
    let name = format!("sim:{},hosts={}", path.display(), sheet.ports.max(2));
    testbed::from_argument("--out", &name)
}

fn side_by_side(differences: &[Difference]) -> String {
    let mut grid =
        Grid::new().words("what").words("of").numbers("device").numbers("twin").numbers("off");
    for one in differences {
        let (what, of) = one.what.split_once(", ").unwrap_or((&one.what, ""));
        grid.row(vec![
            what.to_owned(),
            of.to_owned(),
            numbers::value(one.unit, one.device),
            numbers::value(one.unit, one.twin),
            format!("{:+.2} %", one.off() * 100.0),
        ]);
    }
    let mut out = String::new();
    if let Some(table) = grid.render() {
        let _ = writeln!(out, "The twin beside its device\n{table}");
    }
    let worst = differences.iter().map(|one| one.off().abs()).fold(0.0, f64::max);
    let word = if worst <= BAR { "within" } else { "beyond" };
    let _ = writeln!(out, "worst: {:.2} % off, {word} {:.0} %", worst * 100.0, BAR * 100.0);
    out
}
