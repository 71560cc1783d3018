//! `switchmark xray`: a device's data sheet, as a report and as a profile file: its twin.
//!
//! Owns its flags and the order: measure, write, and, where asked, measure the twin too. What
//! becomes which key is `study`'s.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use agents::controller::Stop;
use journal::Store;
use study::xray::{self, DataSheet};

use super::options::{Data, Measuring};
use super::output::{self, Finished};
use super::run_request::{DATA_SHEET, Request};
use super::session::{self, NewRun, Start};
use super::{Failure, Outcome};
use crate::config::resolved::Testbed;
use crate::config::{ConfigError, bed, testbed};
use crate::files;
use crate::terminal::screen::{is_full, screen};

/// `xray`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// sim:PROFILE.toml, lab:bridge,hosts=4 with options, or a testbed file
    #[arg(long, value_name = "T", required_unless_present = "resume", conflicts_with = "resume")]
    testbed: Option<String>,
    /// File for the profile [default: none, --full prints it]
    #[arg(long, value_name = "PROFILE.toml")]
    out: Option<PathBuf>,
    /// Run the same studies on the twin, in the simulator, and say how far it is off
    #[arg(long, requires = "out")]
    verify: bool,
    #[command(flatten)]
    measuring: Measuring,
}

/// Measures.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let data = &args.measuring.data;
    let (finished, prepared) = session::one(
        &args.measuring,
        |verb| verb == DATA_SHEET,
        || {
            let testbed = args.testbed.as_deref();
            let named = testbed.ok_or_else(|| ConfigError::bare("no testbed", "name one"))?;
            Ok(request(testbed::from_argument("--testbed", named)?))
        },
    )?;
    let outcome = output::show(&finished, data)?;
    let sheet =
        DataSheet::from_figures(&finished.figures, &finished.meta.topology).ok_or_else(|| {
            let hint =
                "state the ports' rates in the testbed file, or see what made the trials invalid";
            ConfigError::bare("write a data sheet: nothing told a rate", hint)
        })?;
    let written = sheet_header(&finished, &sheet.name) + &sheet.to_toml();
    let told = match (is_full(), &args.out) {
        (true, _) => format!("\n{written}"),
        (false, None) => "The profile: --out FILE writes it, --full prints it.\n".to_owned(),
        (false, Some(_)) => String::new(),
    };
    output::print_text(data, &told)?;
    let mut runs = vec![finished];
    let mut near = true;
    if let Some(path) = &args.out {
        files::write(path, written.as_bytes()).map_err(Failure::unusable)?;
        output::print_text(data, &format!("\nprofile: {}\n", path.display()))?;
        if args.verify {
            let found = of_twin(&sheet, path, runs[0].meta.seed, &prepared.stop, data)?;
            let mut differences =
                xray::compare(&runs[0].figures, &runs[0].meta.topology, &found.figures);
            if let Some(twin) = DataSheet::from_figures(&found.figures, &found.meta.topology) {
                differences.extend(xray::compare_sheets(&sheet, &twin));
            }
            near = xray::is_near(&differences);
            output::print_text(data, &render::text(&xray::twin_page(&differences), screen()))?;
            runs.push(found);
        }
    }
    output::write_report(data, &runs, args.measuring.report.as_deref())?;
    if !near {
        let line = "Open: the twin from the data sheet differs from the device, as listed above: \
                    do not simulate the device with this file.";
        return Ok(Outcome::Open(line.to_owned()));
    }
    Ok(outcome)
}

/// Formats the device's own facts, and whether all losses are accounted for, as the sheet's first
/// lines.
fn sheet_header(run: &Finished, device: &str) -> String {
    let mut out = String::new();
    let own = run.meta.facts.get(device);
    // A port's facts begin with its name, and only one of them is the device's own words.
    let of_itself = |name: &str| !name.contains('.') || name.ends_with(".device_port");
    for (name, value) in own.into_iter().flatten().filter(|(name, _)| of_itself(name)) {
        let _ = writeln!(out, "# {name}: {}", value.replace(['\r', '\n'], " "));
    }
    for books in study::run::loss_sentences(&run.trials) {
        let _ = writeln!(out, "# {books}");
    }
    out
}

fn request(testbed: Testbed) -> Request {
    let studies = xray::studies(bed::from_testbed(&testbed));
    Request { verb: DATA_SHEET, testbed, studies, seed: None, claims: Vec::new() }
}

/// Runs the same studies in the simulator, on the file just written, with as many hosts as were
/// measured.
fn of_twin(
    sheet: &DataSheet,
    path: &Path,
    seed: u64,
    stop: &Stop,
    data: &Data,
) -> Result<Finished, Failure> {
    let name = format!("sim:{},hosts={}", path.display(), sheet.ports.max(2));
    let request = request(testbed::from_argument("--out", &name)?);
    session::check(&request)?;
    let store = Store::open(&output::store_path(data)?)?;
    let Request { verb, testbed, studies, .. } = request;
    let start = Start::New(NewRun::new(verb, studies, seed));
    session::carry_out(&store, &testbed, start, stop, data, &|_| ())
}
