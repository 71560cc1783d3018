//! `switchmark testbed new`: a testbed file from a look at the hosts and at where frames go.
//!
//! Owns the file's form. Never sends anything out of a port that something else needs, and never
//! guesses where a cable leads that no frame came through.

mod cables;

use std::fmt::Write as _;

use agents::controller::{Known, Surroundings};
use agents::protocol::NicFacts;
use page::{Cell, Listing, Style};
use toml::Spanned;
use trial::topology::PortRef;

use self::cables::Leads;
use super::{Failure, Outcome, left_deeds, lone, privilege};
use crate::config::hosts_name;
use crate::config::resolved::Reach;
use crate::config::source::{Fault, SourceText};
use crate::config::{ConfigError, testbed};
use crate::speak;
use crate::terminal::screen::screen;

/// `testbed`
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Look at hosts, find where their cables lead, and print a testbed file
    New(New),
}

/// `testbed new`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  switchmark testbed new root@a root@b root@c root@d > rack.toml
  switchmark testbed new admin@a admin@b --become \"sudo -n\" > rack.toml
  switchmark testbed new netns:left netns:right --device mylabswitch

Ports that ssh, the default route or a bridge needs are left alone. All others are taken up for a
moment and send a handful of frames. Nothing stays changed on the hosts.")]
pub struct New {
    /// Hosts: root@a, or as a testbed file's `reach`; NAME=root@a gives it that name
    #[arg(value_name = "HOST", required = true, num_args = 2..)]
    hosts: Vec<String>,
    /// Name of the device between them; if there are several, a number is added
    #[arg(long, value_name = "NAME", default_value = "sw")]
    device: String,
    /// Command that makes an agent root's where one logs in as somebody else: "sudo -n"
    #[arg(long = "become", value_name = "WORDS")]
    becomes: Option<String>,
    /// Wait for switches that run a spanning tree, half a minute, where a port hears nobody
    #[arg(long)]
    patient: bool,
    /// No table of what was found, only the file
    #[arg(long, short)]
    quiet: bool,
}

/// Inspects the hosts, and prints the file.
pub fn run(verb: &Verb) -> Result<Outcome, Failure> {
    let Verb::New(args) = verb;
    let hosts = parse_hosts(args)?;
    let stop = privilege::prepare(&[])?;
    left_deeds::warn_of_all();
    let mark = lone::seed() as u32;
    let seen =
        Surroundings::discover(&hosts, mark, args.patient, stop).map_err(Failure::unusable)?;
    let ports = ports(&seen);
    if !args.quiet {
        speak::print_stderr(&table(&ports, args));
    }
    let cabled = ports
        .iter()
        .any(|port| matches!(port.leads, Some(Leads::Device { .. } | Leads::Direct(_))));
    if !cabled {
        let why = "no port of these hosts hears another's frames, so there is nothing to measure";
        let hint = "plug cables in, set the switch's ports up, or try --patient where it runs a \
                    spanning tree";
        return Err(ConfigError::bare(why, hint).into());
    }
    let text = file(&hosts, &ports, args);
    // Checks that this program can read what it writes.
    testbed::from_source("the new testbed", &SourceText::file("the new testbed", text.as_str()))?;
    speak::print(&text)?;
    Ok(Outcome::Done)
}

/// The hosts asked for, each with a name of its own.
fn parse_hosts(args: &New) -> Result<Vec<Known>, ConfigError> {
    let mut all: Vec<Known> = Vec::new();
    for word in &args.hosts {
        let taken: Vec<String> = all.iter().map(|host| host.name.clone()).collect();
        let (name, way) = match word.split_once('=') {
            Some((name, way)) => (Some(name), way),
            None => (None, word.as_str()),
        };
        let reach = hosts_name::reach(way);
        let name = name.map_or_else(|| hosts_name::host_name(&reach, &taken), str::to_owned);
        let source = SourceText::argument("HOST", reach.as_str());
        let spanned = Spanned::new(0..reach.len(), reach.clone());
        let reach = testbed::reach_of(&spanned).map_err(|fault| source.locate(fault))?;
        if let Reach::Iperf3 { .. } | Reach::Nothing = reach {
            let why = "without an agent nothing tells of a host's ports";
            let hint = "leave it out, and add its [[host]] to the file that is printed";
            return Err(source.locate(Fault::new(spanned.span(), why, hint)));
        }
        all.push(Known { name, reach, becomes: args.becomes.clone() });
    }
    Ok(all)
}

/// A host's port, and the findings on it.
struct Port<'a> {
    at: PortRef,
    nic: &'a NicFacts,
    /// Far end of the cable; `None` if the port was left alone.
    leads: Option<Leads>,
}

fn ports(seen: &Surroundings) -> Vec<Port<'_>> {
    let leads = cables::leads(&seen.proofs);
    let mut all = Vec::new();
    for (host, nics) in &seen.nics {
        for nic in nics {
            let at = PortRef { host: host.clone(), port: nic.name.clone() };
            let proven = seen.proofs.iter().position(|proof| proof.port == at);
            let leads = match (&nic.kept, proven) {
                (Some(_), _) => None,
                (None, Some(number)) => Some(leads[number].clone()),
                (None, None) => Some(Leads::Nowhere),
            };
            all.push(Port { at, nic, leads });
        }
    }
    all
}

fn device_name(args: &New, number: usize) -> String {
    format!("{}{number}", args.device)
}

/// `sw1/2`, or why there is none.
fn end(port: &Port<'_>, args: &New) -> Result<String, String> {
    match &port.leads {
        Some(Leads::Device { device, port }) => {
            Ok(format!("{}/{port}", device_name(args, *device)))
        }
        Some(Leads::Direct(far)) => Ok(far.to_string()),
        None => Err(format!("left alone: {}", port.nic.kept.as_deref().unwrap_or_default())),
        Some(Leads::Nowhere) if !port.nic.link.carrier => {
            Err("no link: no cable, or its far end is down".to_owned())
        }
        Some(Leads::Nowhere) => {
            Err("a link, but no host here hears it: another network, or a router".to_owned())
        }
    }
}

/// `ixgbe, 10000 Mbit/s`
fn what(nic: &NicFacts) -> String {
    let speed = nic.speed_mbits.filter(|_| !is_virtual(nic));
    let speed = speed.map(|speed| format!("{speed} Mbit/s"));
    let half = (nic.full_duplex == Some(false)).then(|| "half duplex".to_owned());
    let all: Vec<String> = [nic.driver.clone(), speed, half].into_iter().flatten().collect();
    all.join(", ")
}

/// A virtual cable has no speed, whatever it says.
fn is_virtual(nic: &NicFacts) -> bool {
    nic.driver.as_deref() == Some("veth")
}

fn table(ports: &[Port<'_>], args: &New) -> String {
    let leads =
        |port: &Port<'_>| end(port, args).map_or_else(|why| why, |end| format!("leads to {end}"));
    let table = Listing::new("", ports)
        .column("port", |port| Cell::text(port.at.to_string()))
        .column("card", |port| Cell::text(what(port.nic)))
        .column("cable", |port| Cell::text(leads(port)).with_style(Style::Long))
        .table();
    render::text::table(&table, screen())
}

fn file(hosts: &[Known], ports: &[Port<'_>], args: &New) -> String {
    let mut out = String::from(
        "# Made by `switchmark testbed new`, by frames that went from port to port.\n\
         # Addresses are set for each run and taken away after it.\n\
         # Next: `switchmark doctor --testbed FILE`.\n",
    );
    let mut devices = 0;
    for host in hosts {
        let own = || ports.iter().filter(|port| port.at.host == host.name);
        let cabled = own().any(|port| end(port, args).is_ok());
        let mark = if cabled { "" } else { "# " };
        let _ = writeln!(
            out,
            "\n{mark}[[host]]\n{mark}name = \"{}\"\n{mark}reach = \"{}\"",
            host.name, host.reach
        );
        if let Some(becomes) = &host.becomes {
            let _ = writeln!(out, "{mark}become = \"{becomes}\"");
        }
        for port in own() {
            let name = &port.nic.name;
            let end = match end(port, args) {
                Ok(end) => end,
                Err(why) => {
                    let _ = writeln!(out, "# {name}: {why}");
                    continue;
                }
            };
            if let Some(Leads::Device { device, .. }) = port.leads {
                devices = devices.max(device);
            }
            let _ = writeln!(
                out,
                "[[host.port]]\nname = \"{name}\"  # {}\naddress = \"auto\"\ncable = \"{end}\"",
                what(port.nic)
            );
            if let Some(speed) = port.nic.speed_mbits.filter(|_| !is_virtual(port.nic)) {
                let _ = writeln!(out, "rate = \"{speed}Mbit\"");
            }
        }
    }
    for number in 1..=devices {
        let _ = write!(
            out,
            "\n[[device]]\nname = \"{}\"\nkind = \"switch\"\n# facts = {{ model = \"\", firmware = \"\" }}\n",
            device_name(args, number)
        );
    }
    out
}
