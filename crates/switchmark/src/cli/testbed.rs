//! `switchmark testbed new`: a testbed file from a look at the hosts and at where frames go.
//!
//! Owns the file's form. Never sends anything out of a port that something else needs, and never
//! guesses where a cable leads that no frame came through.

use std::fmt::Write as _;
use std::ops::Range;

use agents::controller::{Known, Surroundings};
use agents::protocol::NicFacts;
use page::{Cell, Listing, Style};
use toml::Spanned;

use super::found_ports::{self, Leads, Port};
use super::hosts::{self, ListFlags};
use super::{Failure, Outcome, left_deeds, lone, privilege};
use crate::config::host_list::{HostList, HostWord};
use crate::config::hosts_name;
use crate::config::listed_hosts::ListedHosts;
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
  switchmark testbed new \"srun:node[001-016]\" > rack.toml
  switchmark testbed new netns:left netns:right --device mylabswitch

Ports that ssh, the default route or a bridge needs are left alone. All others are taken up for a
moment and send a handful of frames. Nothing stays changed on the hosts.")]
pub struct New {
    /// Hosts: root@a, srun:node[001-016], or as a testbed file's `reach`; NAME=root@a gives it that
    /// name
    #[arg(
        value_name = "HOST",
        required_unless_present = "ListFlags",
        conflicts_with = "ListFlags",
        num_args = 1..
    )]
    hosts: Vec<String>,
    #[command(flatten)]
    list: ListFlags,
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
    if let Some(host) = &seen.without_probes {
        let why = format!(
            "the agent on `{host}` may not send frames that show where cables lead (no CAP_NET_RAW, \
             or no CAP_NET_ADMIN)"
        );
        let hint = "log in as root, or measure by ports that have addresses: --slurm=eth1, \
                    --hostfile FILE:eth1, --hosts";
        return Err(ConfigError::bare(why, hint).into());
    }
    let ports = found_ports::all(&seen);
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
    if let Some(listed) = args.list.read(args.quiet)? {
        return listed_hosts(&listed, args);
    }
    let mut all: Vec<Known> = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    for word in &args.hosts {
        let source = SourceText::argument("HOST", word.as_str());
        for named in named_hosts(word).map_err(|fault| source.locate(fault))? {
            let known = known_host(named, args, &taken).map_err(|fault| source.locate(fault))?;
            if let Some(other) = all.iter().find(|other| other.reach == known.reach) {
                let message = format!("`{}` is named twice", known.reach);
                let hint = format!("name each host once; the first is called `{}`", other.name);
                return Err(source.locate(Fault::new(0..word.len(), message, hint)));
            }
            taken.push(known.name.clone());
            all.push(known);
        }
    }
    match &all[..] {
        [] | [_] => {
            let message = format!("a testbed needs at least two hosts, here are {}", all.len());
            Err(ConfigError::bare(message, "name another, or a list of them: root@n[1-4]"))
        }
        [_, _, ..] => Ok(all),
    }
}

/// The hosts of a list. Their ports are looked for, so the list names none.
fn listed_hosts(listed: &ListedHosts, args: &New) -> Result<Vec<Known>, ConfigError> {
    if let Some(host) = listed.hosts.iter().find(|host| host.port.is_some()) {
        let port = host.port.as_deref().unwrap_or_default();
        let message = format!("{}: `testbed new` looks for ports itself", listed.flag);
        return Err(ConfigError::bare(message, format!("leave out the port, `{port}`")));
    }
    let mut hosts = hosts::known_hosts(&listed.hosts)?;
    for host in &mut hosts {
        let source = SourceText::argument(listed.flag, host.reach.to_string());
        let place = 0..source.text.len();
        has_agent(&host.reach, place).map_err(|fault| source.locate(fault))?;
        host.becomes.clone_from(&args.becomes);
    }
    Ok(hosts)
}

/// A host of an argument.
struct NamedHost {
    /// Name that it was given; `None` without any.
    name: Option<String>,
    /// Host, and its place in the argument.
    word: HostWord,
}

/// Hosts of one argument: `root@n[1-4]`, or with names, `h[1-4]=root@n[1-4]`.
fn named_hosts(word: &str) -> Result<Vec<NamedHost>, Fault> {
    let Some(equals) = word.find('=') else {
        let list = HostList::parse(word, 0..word.len())?;
        return Ok(list.words.into_iter().map(|word| NamedHost { name: None, word }).collect());
    };
    let names = HostList::parse(word, 0..equals)?.words;
    let hosts = HostList::parse(word, equals + 1..word.len())?.words;
    if names.len() != hosts.len() {
        let message = format!("{} name(s) for {} host(s)", names.len(), hosts.len());
        let hint = "give each host a name, h[1-4]=root@n[1-4], or none";
        return Err(Fault::new(0..word.len(), message, hint));
    }
    let named = |(name, word): (HostWord, HostWord)| NamedHost { name: Some(name.text), word };
    Ok(names.into_iter().zip(hosts).map(named).collect())
}

fn known_host(named: NamedHost, args: &New, taken: &[String]) -> Result<Known, Fault> {
    let reach = hosts_name::reach(&named.word.text);
    let name = named.name.unwrap_or_else(|| hosts_name::host_name(&reach, taken));
    let span = named.word.span;
    let reach = testbed::reach_of(&Spanned::new(span.clone(), reach))?;
    has_agent(&reach, span)?;
    Ok(Known { name, reach, becomes: args.becomes.clone() })
}

/// Refuses a host that runs no agent.
fn has_agent(reach: &Reach, place: Range<usize>) -> Result<(), Fault> {
    let why = "without an agent nothing tells of a host's ports";
    let hint = "leave it out, and add its [[host]] to the file that is printed";
    match reach {
        Reach::Iperf3 { .. } | Reach::Nothing => Err(Fault::new(place, why, hint)),
        _ => Ok(()),
    }
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
        None => Err(port.reason_left().unwrap_or_default()),
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(subcommand)]
        verb: Verb,
    }

    /// Hosts of a command line: `name reach`.
    fn told(line: &str) -> Result<Vec<String>, ConfigError> {
        let words = ["testbed", "new"].into_iter().chain(line.split_whitespace());
        let Verb::New(args) = Line::try_parse_from(words).expect(line).verb;
        let hosts = parse_hosts(&args)?;
        Ok(hosts.iter().map(|host| format!("{} {}", host.name, host.reach)).collect())
    }

    #[test]
    fn hosts_are_named_one_by_one_or_in_lists() {
        let check = |line: &str, expected: &[&str]| {
            assert_eq!(told(line).expect(line), expected, "{line}");
        };
        check("root@a b", &["a ssh://root@a", "b ssh://b"]);
        check("srun:node[001-002]", &["node001 srun:node001", "node002 srun:node002"]);
        check("x=root@a netns:b", &["x ssh://root@a", "b netns:b"]);
        check("h[1-2]=root@n[3-4]", &["h1 ssh://root@n3", "h2 ssh://root@n4"]);
        check("ssh:n[1-2],docker:web", &["n1 ssh://n1", "n2 ssh://n2", "web docker:web"]);
    }

    #[test]
    fn what_names_no_hosts_is_refused() {
        let check = |line: &str, message: &str, place: &str| {
            let error = told(line).expect_err(line);
            assert!(error.message.contains(message), "{line}: {error:?}");
            assert_eq!(
                error.excerpt.matches('^').count(),
                place.len(),
                "{line}: {}",
                error.excerpt
            );
        };
        check("root@a", "needs at least two hosts, here are 1", "");
        check("srun:node[3-1] b", "ends before it begins", "3-1");
        check("root@a srun:n[1-2 b", "never closed", "[1-2");
        check("root@a ssh://root@a", "`ssh://root@a` is named twice", "ssh://root@a");
        check("srun:n[1-3] srun:n2", "`srun:n2` is named twice", "srun:n2");
        check("h=n[1-2]", "1 name(s) for 2 host(s)", "h=n[1-2]");
        check("a iperf3://n[1-2]", "without an agent", "iperf3://n[1-2]");
    }
}
