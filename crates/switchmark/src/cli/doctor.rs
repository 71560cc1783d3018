//! `switchmark doctor`: what this host can measure reliably.
//!
//! Owns its flags, in which order things are checked and fixed, and what is printed. Never judges:
//! the checks do.

use std::collections::BTreeMap;
use std::time::Duration;

use agents::agent;
use agents::controller::{LiveTestbed, Stop};
use agents::protocol::{Mended, Setting};
use measure::Nanos;
use page::{Answer, Page};
use serde::Serialize;
use serde_json::{Value, json};
use trial::Testbed as _;

use super::left_deeds::{self, Restored};
use super::output::page_text;
use super::{Failure, Outcome, options, privilege};
use crate::config::testbed;
use crate::doctor::{self, Calibration, Effort, Limits, LineRates, Place, State};
use crate::speak;
use crate::terminal::screen::screen;

/// Interval at which a user's interrupt is checked.
const KEEPING: Duration = Duration::from_millis(100);

/// `doctor`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Measure how fast and how evenly each backend sends here, and at which link speeds that is
    /// line rate
    #[arg(long)]
    generator: bool,
    /// With --generator: print one row of a Markdown table of machines, and nothing else
    #[arg(long, requires = "generator", conflicts_with = "json")]
    markdown: bool,
    /// Measure how many frames an emulated device carries here, what it adds to a round trip, and
    /// how late it is
    #[arg(long, conflicts_with_all = ["generator", "testbed"])]
    emulator: bool,
    /// Fix what is doubtful or bad and can be undone, until Ctrl-C
    #[arg(long, conflicts_with_all = ["generator", "emulator"])]
    fix: bool,
    /// Restore what a killed agent left changed, on this host or on a testbed's, undo what a
    /// killed run did to devices, and check nothing
    #[arg(long, conflicts_with_all = ["generator", "emulator", "fix"])]
    restore: bool,
    /// Testbed whose hosts are checked: a lab's name or a testbed file; for the generator, its
    /// direct cable [default: lab:cable; for --restore, this host]
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
        show(args, &limits.page(), &in_json("emulator", &limits)?)?;
        return Ok(Outcome::Done);
    }
    if args.restore && args.testbed.is_none() {
        privilege::prepare(&[])?;
        let devices = left_deeds::restore(None);
        let here = BTreeMap::from([("this host".to_owned(), agent::mend())]);
        return restored(args, here, &agent::unrestored_changes(), devices);
    }
    let named = args.testbed.as_deref().unwrap_or("lab:cable");
    let place = testbed::from_argument("--testbed", named)?;
    let stop = privilege::prepare(&[&place])?;
    if args.restore {
        // Done before any check: a host may be reached over the link that is down.
        let devices = left_deeds::restore(Some(&place));
        let live = LiveTestbed::open(&place, stop).map_err(Failure::unusable)?;
        return restored(args, live.mended().clone(), &[], devices);
    }
    left_deeds::warn_of_all();
    let mut live = LiveTestbed::open(&place, stop.clone()).map_err(Failure::unusable)?;
    if args.generator { generator(args, live) } else { ready(args, &mut live, &stop) }
}

/// The rates of a host's generator.
fn generator(args: &Args, mut live: LiveTestbed) -> Result<Outcome, Failure> {
    let calibration = Calibration::measure(&mut live, args.time, args.quiet)?;
    let sender = live.facts().hosts.get(&calibration.from.host);
    let line_rates = LineRates::from_calibration(&calibration, Place::new(live.topology(), sender));
    // The lab is removed before anything else can fail.
    drop(live);
    if args.markdown {
        speak::print(&render::markdown_row(&line_rates.machine_row()))?;
        return Ok(Outcome::Done);
    }
    let mut object = in_json("generator", &calibration)?;
    object["line_rates"] = line_rates.to_json();
    show(args, &calibration.page(&line_rates), &object)?;
    Ok(Outcome::Done)
}

/// Reports what was restored on hosts and at devices, what somebody else changed since, and what
/// could not be restored here.
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
    let object = json!({
        "restored": with(|mended| &mended.restored),
        "kept": with(|mended| &mended.left),
        "left": all,
    });
    let mut lines = Vec::new();
    for (host, Mended { restored, left }) in &mended {
        lines.extend(restored.iter().map(|what| format!("{host}: put back {what}")));
        lines.extend(left.iter().map(|what| format!("{host}: left as it is: {what}")));
    }
    if lines.is_empty() {
        lines.push("nothing to put back".to_owned());
    }
    lines.extend(all.iter().map(|what| format!("not put back: {what}")));
    if !left.is_empty() {
        let hint = "hint: it belongs to another network namespace: name its testbed with --testbed";
        lines.push(hint.to_owned());
    }
    let answers = lines.into_iter().map(Answer::new).collect();
    show(args, &Page { answers, ..Page::default() }, &object)?;
    Ok(match all.len() {
        0 => Outcome::Done,
        count => {
            Outcome::Open(format!("Open: {count} settings were not put back, as listed above."))
        }
    })
}

/// Checks the hosts of a testbed; where asked, fixes what it can, and checks again.
fn ready(args: &Args, live: &mut LiveTestbed, stop: &Stop) -> Result<Outcome, Failure> {
    let mut checked = doctor::look_hard(live)?;
    if args.fix {
        let mut changes: BTreeMap<String, Vec<Setting>> = BTreeMap::new();
        for finding in checked.findings.iter().filter(|finding| finding.state >= State::Doubtful) {
            let host = finding.place.split('/').next().unwrap_or_default().to_owned();
            changes.entry(host).or_default().extend(finding.settings.clone());
        }
        for (host, settings) in changes {
            live.change(&host, settings).map_err(Failure::unusable)?;
        }
        checked = doctor::look_hard(live)?;
    }
    let name = &live.topology().name;
    let object = json!({
        "testbed": name,
        "fixed": args.fix,
        "findings": checked.findings,
        "differences": checked.differences,
    });
    show(args, &doctor::readiness_page(name, &checked), &object)?;
    if args.fix {
        speak::print_stderr("settings are kept until Ctrl-C, and then put back\n");
        while !stop.is_requested() {
            std::thread::park_timeout(KEEPING);
        }
    }
    let bad = checked.findings.iter().filter(|finding| finding.state == State::Bad);
    let bad: Vec<String> =
        bad.map(|finding| format!("{}: {}", finding.place, finding.found)).collect();
    Ok(if bad.is_empty() {
        Outcome::Done
    } else {
        Outcome::Open(format!("Not ready: {}. The table above has the remedies.", bad.join("; ")))
    })
}

/// Returns the findings of a check of this machine as JSON.
fn in_json(check: &str, found: &impl Serialize) -> serde_json::Result<Value> {
    let mut object = serde_json::to_value(found)?;
    object["check"] = check.into();
    object["version"] = env!("CARGO_PKG_VERSION").into();
    Ok(object)
}

/// Prints the page, or the object with the page beside it on stderr.
fn show(args: &Args, page: &Page, object: &Value) -> Result<(), Failure> {
    let text = if page.line.is_empty() {
        render::text(page, screen())
    } else {
        page_text(format!("{}\n", page.line), page)
    };
    if !args.json {
        return Ok(speak::print(&text)?);
    }
    speak::print_json(object)?;
    if !args.quiet {
        speak::print_stderr(&text);
    }
    Ok(())
}
