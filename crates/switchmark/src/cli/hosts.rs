//! Hosts given on the command line in place of a testbed file: `--hosts`, `--hostfile`, `--slurm`.
//!
//! Owns these flags, and the testbed that they stand for, whose ports are looked for if none is
//! named. Never writes a file.

use agents::controller::{Known, Stop, Surroundings};
use agents::hosts::Reach;
use toml::Spanned;
use trial::topology::PortRef;

use super::options::Measuring;
use super::{Failure, found_ports, lone};
use crate::config::host_file::ListedHost;
use crate::config::listed_hosts::ListedHosts;
use crate::config::resolved::Testbed;
use crate::config::source::SourceText;
use crate::config::{ConfigError, hosts_name, testbed};
use crate::speak::speak;

/// Hosts in place of a testbed.
#[derive(Debug, Clone, clap::Args)]
pub struct HostFlags {
    /// Hosts and their ports without any file: root@a:eth1,root@b:eth1 through a device,
    /// root@a:eth2=root@b:eth2 over a direct cable, or both, with a comma between; many in
    /// brackets: srun:node[001-016]:eth1
    #[arg(long, value_name = "H", conflicts_with = "ListFlags")]
    hosts: Option<String>,
    #[command(flatten)]
    list: ListFlags,
}

/// Lists of hosts.
#[derive(Debug, Clone, clap::Args)]
#[group(multiple = false)]
pub struct ListFlags {
    /// Hosts of a file, and their port: a plain list, or one of MPI (slots are not used) [default
    /// port: looked for]
    #[arg(long, value_name = "FILE[:PORT]")]
    hostfile: Option<String>,
    /// The nodes of this Slurm allocation, and their port [default port: looked for]
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    slurm: Option<String>,
}

impl ListFlags {
    /// Reads the list that a flag names, and prints its notes unless `is_quiet`; `None` without
    /// such a flag.
    pub fn read(&self, is_quiet: bool) -> Result<Option<ListedHosts>, ConfigError> {
        let listed = match (&self.hostfile, &self.slurm) {
            (Some(file), _) => ListedHosts::from_file(file)?,
            (None, Some(port)) => ListedHosts::from_slurm(port, |name| std::env::var(name).ok())?,
            (None, None) => return Ok(None),
        };
        for note in listed.notes.iter().filter(|_| !is_quiet) {
            speak(note);
        }
        Ok(Some(listed))
    }
}

/// Permission to look at hosts, and to say what was found.
#[derive(Debug, Clone, Copy)]
pub struct Looking {
    /// True if hosts must not be touched.
    pub is_forbidden: bool,
    /// True if nothing is printed.
    pub is_quiet: bool,
}

impl Looking {
    /// Permission of a verb that measures.
    pub const fn by(measuring: &Measuring) -> Self {
        Self { is_forbidden: measuring.dry_run, is_quiet: measuring.data.quiet }
    }
}

/// Returns the testbed of the hosts given by flags, or else that of `--testbed`.
pub fn place(flags: &HostFlags, named: Option<&str>, looking: Looking) -> Result<Testbed, Failure> {
    if let Some(hosts) = &flags.hosts {
        let name = format!("{}{hosts}", hosts_name::PREFIX);
        return Ok(testbed::from_argument("--hosts", &name)?);
    }
    let Some(mut listed) = flags.list.read(looking.is_quiet)? else {
        return Ok(testbed::from_argument("--testbed", named.unwrap_or(""))?);
    };
    if listed.lack_ports() {
        listed = with_ports(listed, looking)?;
    }
    Ok(testbed::from_argument(listed.flag, &listed.testbed_name()?)?)
}

/// Looks at the hosts, and gives each the port that it has at the device where they all are.
fn with_ports(listed: ListedHosts, looking: Looking) -> Result<ListedHosts, Failure> {
    let ListedHosts { flag, hosts, notes } = listed;
    let name_it = if flag == "--slurm" { "--slurm=eth1" } else { "--hostfile FILE:eth1" };
    if looking.is_forbidden {
        let message = format!("--dry-run: looks at no host, and {flag} names no port");
        return Err(ConfigError::bare(message, format!("name it: {name_it}")).into());
    }
    let known = known_hosts(&hosts)?;
    let seen = Surroundings::discover(&known, lone::seed() as u32, false, Stop::new());
    let seen = seen.map_err(|cause| {
        let advice = format!("name the port that they measure by, {name_it}");
        Failure::unusable(cause).or_hinted(advice)
    })?;
    let ports = found_ports::all(&seen);
    let names: Vec<&str> = known.iter().map(|host| host.name.as_str()).collect();
    let chosen = match &seen.without_probes {
        None => found_ports::at_one_device(&names, &ports),
        Some(_) => found_ports::in_one_subnet(&names, &ports),
    };
    let chosen = chosen.map_err(|why| {
        let hint = format!(
            "name the port, {name_it}; `switchmark testbed new {flag}` shows what each leads to"
        );
        ConfigError::bare(format!("{flag}: {why}"), hint)
    })?;
    let with_port =
        |(host, at): (ListedHost, &PortRef)| ListedHost { port: Some(at.port.clone()), ..host };
    let hosts = hosts.into_iter().zip(chosen).map(with_port).collect();
    let found = ListedHosts { flag, hosts, notes };
    if !looking.is_quiet {
        speak(&format!("{flag}: measures {}", found.testbed_name()?));
        for port in &ports {
            if let Some(why) = port.reason_left() {
                speak(&format!("{flag}: {}: {why}", port.at));
            }
        }
    }
    Ok(found)
}

/// Hosts to look at, each with a name of its own.
pub fn known_hosts(hosts: &[ListedHost]) -> Result<Vec<Known>, ConfigError> {
    let mut taken: Vec<String> = Vec::new();
    let known = |ListedHost { reach, .. }: &ListedHost| {
        let name = hosts_name::host_name(reach, &taken);
        taken.push(name.clone());
        let spanned = Spanned::new(0..reach.len(), reach.clone());
        let source = SourceText::argument("HOST", reach.as_str());
        let reach: Reach = testbed::reach_of(&spanned).map_err(|fault| source.locate(fault))?;
        Ok(Known { name, reach, becomes: None })
    };
    hosts.iter().map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::super::command;

    #[test]
    fn hosts_are_given_in_one_way() {
        let check = |line: &str, is_accepted: bool| {
            let words = ["switchmark"].into_iter().chain(line.split_whitespace());
            let parsed = command().try_get_matches_from(words);
            assert_eq!(parsed.is_ok(), is_accepted, "{line}: {:?}", parsed.err());
        };
        for verb in ["fabric", "accept --claims c", "watch"] {
            let with = |flags: &str| format!("{verb} {flags}");
            check(&with("--hosts a:eth1,b:eth1"), true);
            check(&with("--hostfile f:eth1"), true);
            check(&with("--slurm"), true);
            check(&with("--slurm=eth1"), true);
            check(&with("--slurm --hostfile f"), false);
            check(&with("--slurm --hosts a:eth1,b:eth1"), false);
            check(&with(""), false);
        }
        check("fabric --testbed lab:bridge --slurm", false);
        check("fabric --testbed lab:bridge --hostfile f", false);
        check("fabric --resume 7 --slurm", false);
        check("fabric --resume 7 --hosts a:eth1,b:eth1", false);
        check("accept --resume 7 --hosts a:eth1,b:eth1", false);
        check("fabric --resume 7", true);
        check("watch lab:bridge --slurm", false);
        check("testbed new --slurm", true);
        check("testbed new --hostfile f", true);
        check("testbed new srun:n[1-2]", true);
        check("testbed new", false);
        check("testbed new a b --slurm", false);
    }
}
