//! `switchmark lab up` holds a lab open; `switchmark lab exec` runs any program in one of its
//! hosts.
//!
//! A lab up is known by its processes alone: each node has one that stands in it and says so in its
//! command line. No state is kept anywhere else, so nothing can be left behind or be out of date.

mod enter;
mod find;

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use agents::controller::{Ports, Stop};
use agents::guest;
use lab::{Equipment, HostPortPlan, Lab, LabDevice, LabPlan, LabSpec, Switchboard};
use page::{Cell, Table};

use super::agent::STANDS;
use super::exit::Status;
use super::privilege::become_able;
use super::{Failure, Outcome, signals};
use crate::config::resolved::Source;
use crate::config::{ConfigError, testbed};
use crate::doctor::{Effort, Limits};
use crate::speak::{print, print_stderr};
use crate::terminal::screen::screen;

/// Interval at which a held lab is checked.
const LOOK: Duration = Duration::from_millis(100);

/// `lab`
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Build a lab and hold it until Ctrl-C
    Up(UpArgs),
    /// Run a program in a host of a lab that is up
    Exec(enter::Args),
}

/// `lab up`
#[derive(Debug, clap::Args)]
pub struct UpArgs {
    /// lab:bridge, lab:cable, lab:router, lab:routers, lab:emulated=PROFILE.toml with options, or a
    /// file with a [lab] table
    #[arg(value_name = "TESTBED")]
    testbed: String,
}

/// Runs either verb.
pub fn run(verb: Verb) -> Result<Outcome, Failure> {
    match verb {
        Verb::Up(args) => up(&args),
        Verb::Exec(args) => enter::run(&args),
    }
}

fn up(args: &UpArgs) -> Result<Outcome, Failure> {
    let testbed = testbed::from_argument("TESTBED", &args.testbed)?;
    let Source::Lab(config) = testbed.source else {
        let message = format!("`{}` is no lab, and nothing else can be brought up", args.testbed);
        return Err(ConfigError::bare(message, "name a lab, such as lab:bridge").into());
    };
    become_able()?;
    let stop = Stop::new();
    let asked = stop.clone();
    signals::ending(Status::Failed, move || asked.ask())?;
    let limits = limits_of_models(&config, &stop);
    let program = std::env::current_exe()?;
    let emulator = Some(guest::emulator(&program));
    let switchboard: Option<Arc<dyn Switchboard>> = Some(Arc::new(Ports));
    let equipment = Equipment { emulator, forwarder: None, switchboard };
    let lab = Lab::build_with(&config, equipment).map_err(Failure::unusable)?;
    let id = std::process::id().to_string();
    let mut hosts = Vec::new();
    for host in &lab.plan().hosts {
        hosts.push((host.name.clone(), stand(&lab, &host.name, &id)?));
    }
    // No process of ours can stand in a virtual machine.
    for device in lab.plan().devices.iter().filter(|d| lab.machine(&d.name).is_none()) {
        hosts.push((device.name.clone(), stand(&lab, &device.name, &id)?));
    }
    print(&format!("{}\n", describe_lab(lab.plan(), &hosts, &id, &limits)))?;
    hold(&stop, &mut hosts)?;
    for (_, mut child) in hosts {
        let _ = child.kill();
        let _ = child.wait();
    }
    Ok(Outcome::Done)
}

/// Measures what emulated devices can do here; empty if the lab has none. A failed measurement is
/// only reported: the lab is there all the same.
fn limits_of_models(config: &LabSpec, stop: &Stop) -> String {
    let is_model = |device: &LabDevice| matches!(device, LabDevice::Emulated(_));
    if !config.devices.iter().any(is_model) {
        return String::new();
    }
    match Limits::measure(&Limits::place(), stop.clone(), Effort::SHORT) {
        Ok(limits) => format!("\n{}", render::text(&limits.summary(), screen())),
        Err(failure) => {
            let why = failure.render();
            print_stderr(&format!(
                "warning: what emulated devices can do here was not measured\n{why}"
            ));
            String::new()
        }
    }
}

/// Holds the lab until a signal. A host whose process died is reported and the rest goes on: its
/// ports still work, but it cannot be entered any more.
fn hold(stop: &Stop, hosts: &mut Vec<(String, Child)>) -> Result<(), Failure> {
    while !stop.is_requested() {
        thread::park_timeout(LOOK);
        let mut left = Vec::new();
        for (name, mut child) in hosts.drain(..) {
            match child.try_wait()? {
                None => left.push((name, child)),
                Some(status) => print_stderr(&format!(
                    "warning: the process {} that stood in `{name}` ended ({status}); it cannot be \
                     entered any more\nhint: Ctrl-C, and bring the lab up again\n",
                    child.id()
                )),
            }
        }
        *hosts = left;
    }
    Ok(())
}

/// Starts a process that stands in the node and ends with this one, however it ends.
fn stand(lab: &Lab, node: &str, id: &str) -> Result<Child, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["agent", "--lab-host", node, "--lab", id]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = lab.spawn(node, &mut command)?;
    let mut said = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut said)?;
    }
    if said.trim_end() == STANDS {
        return Ok(child);
    }
    let status = child.wait()?;
    let message = format!("the process that shall stand in `{node}` ended: {status}");
    Err(ConfigError::bare(message, "see above for its own words").into())
}

fn describe_lab(plan: &LabPlan, hosts: &[(String, Child)], id: &str, limits: &str) -> String {
    let pid = |name: &str| {
        let child = hosts.iter().find(|(n, _)| n == name).map(|(_, child)| child);
        child.map_or_else(String::new, |child| child.id().to_string())
    };
    let port = |host: &str, port: &HostPortPlan| {
        let address = format!("{}/{}", port.address, port.prefix);
        [host.to_owned(), port.name.clone(), address, far_end(port.far_end()), pid(host)]
    };
    let ports =
        plan.hosts.iter().flat_map(|host| host.ports.iter().map(|one| port(&host.name, one)));
    let nodes = plan.devices.iter().map(|device| {
        let [name, pid] = [device.name.clone(), pid(&device.name)];
        [name, String::new(), String::new(), String::new(), pid]
    });
    let columns = ["host", "port", "address", "leads to", "pid"];
    let cells = |row: [String; 5]| row.map(Cell::text).to_vec();
    let table =
        Table::new(format!("lab {id} is up"), columns).with_rows(ports.chain(nodes).map(cells));
    let mut out = render::text::table(&table, screen());
    if let [first, second, ..] = plan.hosts.as_slice()
        && let Some(port) = second.ports.first()
    {
        let _ = writeln!(
            out,
            "run a program:  switchmark lab exec {} -- ping {}",
            first.name, port.address
        );
        let _ = writeln!(
            out,
            "or enter it:    nsenter -t {} -n   (add -U when not root)",
            pid(&first.name)
        );
    }
    out.push_str(limits);
    out.push_str("Ctrl-C takes it down");
    out
}

fn far_end(end: &lab::FarEnd) -> String {
    match end {
        lab::FarEnd::Device { device, port } => format!("{device}/{port}"),
        lab::FarEnd::Host { host, port } => format!("{host}/{port}"),
    }
}
