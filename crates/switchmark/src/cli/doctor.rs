//! `switchmark doctor`: what this host can be trusted with.
//!
//! Owns its flags, and which checks there are: the hosts of a testbed, the generator, and emulated
//! devices. Never measures by itself: every figure comes out of trials on a testbed like any other.

mod emulator;
mod generator;
mod line_rates;
mod paths;
mod readiness;

use std::collections::BTreeMap;
use std::time::Duration;

use measure::Nanos;
use trial::Testbed as _;
use trial::topology::PortRef;

pub use self::emulator::{Effort, Kept, Limits};
pub use self::generator::{Calibration, Highest, Paced, Unavailable};
pub use self::line_rates::{Cable, LineRates, Most, Place};
pub use self::readiness::{Finding, Spoils, State};
use super::left_deeds::{self, Restored};
use super::{Failure, Outcome, lone, options, privilege};
use crate::agent;
use crate::config::testbed;
use crate::controller::{LiveTestbed, Stop};
use crate::protocol::{Mended, Setting};
use crate::speak;
use crate::terminal;

/// How often it is looked whether the user wants an end.
const KEEPING: Duration = Duration::from_millis(100);
/// Of a link without a cable.
const NO_MAC: &str = "00:00:00:00:00:00";
/// For so long the doctor sees what else runs on the hosts.
const WATCHED: Nanos = Nanos::from_millis(800);

/// `doctor`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How fast each backend sends here and how evenly, and at which link speeds that is line rate
    #[arg(long)]
    generator: bool,
    /// With --generator: print one row of a Markdown table of machines, and nothing else
    #[arg(long, requires = "generator", conflicts_with = "json")]
    markdown: bool,
    /// How many frames an emulated device carries here, what it adds to a round trip, how late it
    /// is
    #[arg(long, conflicts_with_all = ["generator", "testbed"])]
    emulator: bool,
    /// Change what is doubtful or bad and can be put back, and keep it so until Ctrl-C
    #[arg(long, conflicts_with_all = ["generator", "emulator"])]
    fix: bool,
    /// Put right what a killed agent left changed, on this host or on a testbed's, undo what a
    /// killed run did to devices, and check nothing
    #[arg(long, conflicts_with_all = ["generator", "emulator", "fix"])]
    restore: bool,
    /// Whose hosts are checked: a lab's name or a testbed file; for the generator, its direct cable
    /// [default: lab:cable; for --restore, this host]
    #[arg(long, value_name = "T")]
    testbed: Option<String>,
    /// Length of each trial, in seconds or with a unit
    #[arg(short = 't', long, value_name = "S", default_value = "300ms", value_parser = options::duration)]
    time: Nanos,
    /// Print one JSON object on stdout, everything else on stderr
    #[arg(long)]
    json: bool,
    /// No progress; with --json, nothing on stderr but errors
    #[arg(long, short)]
    quiet: bool,
}

/// Checks.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if args.emulator {
        let place = Limits::place();
        let stop = privilege::prepare(&[&place])?;
        let limits = Limits::measure(&place, stop, Effort::whole(args.time, args.quiet))?;
        return told(args, &terminal::emulator::render(&limits), &limits.to_json());
    }
    if args.restore && args.testbed.is_none() {
        privilege::prepare(&[])?;
        let devices = left_deeds::restore(None);
        let here = BTreeMap::from([("this host".to_owned(), agent::mend())]);
        return restored(args, here, &agent::left(), devices);
    }
    let named = args.testbed.as_deref().unwrap_or("lab:cable");
    let place = testbed::from_argument("--testbed", named)?;
    let stop = privilege::prepare(&[&place])?;
    if args.restore {
        // Before anything is looked at: a host may be reached over the link that is down.
        let devices = left_deeds::restore(Some(&place));
        let live = LiveTestbed::open(&place, stop).map_err(Failure::unusable)?;
        return restored(args, live.mended().clone(), &[], devices);
    }
    left_deeds::warn_of_all();
    let mut live = LiveTestbed::open(&place, stop.clone()).map_err(Failure::unusable)?;
    if !args.generator {
        return ready(args, &mut live, &stop);
    }
    let calibration = Calibration::measure(&mut live, args.time, args.quiet)?;
    let sender = calibration.from.split('/').next().unwrap_or_default();
    let line_rates = Place::of(live.topology(), live.facts().hosts.get(sender));
    let line_rates = LineRates::of(&calibration, line_rates);
    // The lab goes before anything else can fail.
    drop(live);
    if args.markdown {
        speak::print(&terminal::generator::markdown(&line_rates))?;
        return Ok(Outcome::Done);
    }
    let mut object = calibration.to_json();
    object["line_rates"] = line_rates.to_json();
    told(args, &terminal::generator::render(&calibration, &line_rates), &object)
}

/// What was put right on hosts and at devices, what is somebody else's doing since, and what could
/// not be put back here.
fn restored(
    args: &Args,
    mut mended: BTreeMap<String, Mended>,
    left: &[String],
    devices: Restored,
) -> Result<Outcome, Failure> {
    if !devices.undone.is_empty() {
        let of_devices = Mended { restored: devices.undone, left: Vec::new() };
        mended.insert("devices".to_owned(), of_devices);
    }
    let with = |of: fn(&Mended) -> &Vec<String>| -> BTreeMap<&String, &Vec<String>> {
        mended.iter().map(|(host, mended)| (host, of(mended))).collect()
    };
    let all: Vec<&String> = left.iter().chain(&devices.left).collect();
    let object = serde_json::json!({
        "restored": with(|mended| &mended.restored),
        "kept": with(|mended| &mended.left),
        "left": all,
    });
    told(args, &terminal::readiness::restored(&mended, left, &devices.left), &object)?;
    Ok(if all.is_empty() { Outcome::Done } else { Outcome::SomeInvalid })
}

/// The hosts of a testbed: looked at, put right where that is asked for, and looked at again.
fn ready(args: &Args, live: &mut LiveTestbed, stop: &Stop) -> Result<Outcome, Failure> {
    let mut findings = look_hard(live)?;
    if args.fix {
        let mut changes: BTreeMap<String, Vec<Setting>> = BTreeMap::new();
        for finding in findings.iter().filter(|finding| finding.state >= State::Doubtful) {
            let host = finding.place.split('/').next().unwrap_or_default().to_owned();
            changes.entry(host).or_default().extend(finding.settings.clone());
        }
        for (host, settings) in changes {
            live.change(&host, settings).map_err(Failure::unusable)?;
        }
        findings = look_hard(live)?;
    }
    let name = live.topology().name.clone();
    let object = serde_json::json!({ "testbed": name, "fixed": args.fix, "findings": findings });
    told(args, &terminal::readiness::render(&name, &findings), &object)?;
    if args.fix {
        speak::tell("settings are kept until Ctrl-C, and then put back\n");
        while !stop.asked() {
            std::thread::park_timeout(KEEPING);
        }
    }
    let bad = findings.iter().any(|finding| finding.state == State::Bad);
    Ok(if bad { Outcome::SomeInvalid } else { Outcome::Done })
}

/// All that is checked of hosts, and what the ports carry where something passes at all.
fn look_hard(live: &mut LiveTestbed) -> Result<Vec<Finding>, Failure> {
    let mut findings = look(live, WATCHED)?;
    let prevented = |finding: &Finding| matches!(finding.spoils, Spoils::Everything { .. });
    if !findings.iter().any(prevented) {
        let pairs = paths::pairs(live.topology());
        findings.extend(readiness::slow_ports(&paths::carried(live, &pairs)?));
    }
    Ok(findings)
}

/// What is checked of hosts before any cable is plugged; `watched` is for how long it is seen what
/// else runs there.
pub fn look_at_hosts(live: &mut LiveTestbed, watched: Nanos) -> Result<Vec<Finding>, Failure> {
    let facts = live.examine(watched).map_err(Failure::unusable)?;
    Ok(readiness::judge(live.topology(), &facts, &[], &[]))
}

/// Everything that is checked of hosts.
pub fn look(live: &mut LiveTestbed, watched: Nanos) -> Result<Vec<Finding>, Failure> {
    let facts = live.examine(watched).map_err(Failure::unusable)?;
    let topology = live.topology().clone();
    let mtu = |at: &PortRef| {
        let interface = topology.port(at).and_then(|port| port.interfaces.first());
        let link = interface.and_then(|i| facts.get(&at.host)?.ports.get(i)?.link.as_ref());
        link.map_or(1500, |link| link.mtu)
    };
    let mark = lone::seed() as u32;
    // A loopback leads nowhere, and marked frames take packet sockets.
    let is_cabled = |at: &PortRef| {
        if !facts.get(&at.host).is_some_and(readiness::may_probe) {
            return false;
        }
        let interface = topology.port(at).and_then(|port| port.interfaces.first());
        let known = interface.and_then(|name| facts.get(&at.host)?.ports.get(name)?.link.as_ref());
        known.is_some_and(|link| link.mac.as_deref().is_some_and(|mac| mac != NO_MAC))
    };
    let proofs = live.prove_cables(&is_cabled, &mtu, mark).map_err(Failure::unusable)?;
    let mut passages = paths::try_passages(live, &paths::pairs(&topology), &mtu)?;
    for passage in &mut passages {
        // So do pings; without the right to them UDP tells.
        if !facts.get(&passage.from.host).is_some_and(readiness::may_probe) {
            (passage.small, passage.full) = (passage.served, passage.served);
        }
    }
    Ok(readiness::judge(&topology, &facts, &proofs, &passages))
}

fn told(args: &Args, text: &str, object: &serde_json::Value) -> Result<Outcome, Failure> {
    if args.json {
        speak::print_json(object)?;
        if !args.quiet {
            speak::tell(text);
        }
    } else {
        speak::print(text)?;
    }
    Ok(Outcome::Done)
}
