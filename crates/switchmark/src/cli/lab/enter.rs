//! `switchmark lab exec HOST -- CMD`: this process becomes the command, in the host's namespace.
//!
//! Enters the user namespace first where it is another one, because only there may the network
//! namespace be entered.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::sched::{CloneFlags, setns};

use super::find::{self, Standing};
use crate::cli::{Failure, Outcome};
use crate::config::ConfigError;
use crate::speak::print_stderr;

/// `lab exec`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lab to enter, if several are up
    #[arg(long, value_name = "ID")]
    lab: Option<String>,
    /// The host, or the device: h1, h2, bridge
    #[arg(value_name = "HOST")]
    host: String,
    /// The program and its arguments
    #[arg(value_name = "CMD", required = true, last = true)]
    command: Vec<String>,
}

/// Becomes the command; comes back only to say why it could not.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let standing = find::standing();
    let place = choose(&standing, args.lab.as_deref(), &args.host)?;
    enter(place.pid).map_err(|cause| {
        Failure::unusable(Entering { host: args.host.clone(), cause })
            .hinted("enter as the user who brought the lab up, or as root")
    })?;
    let (program, rest) = args.command.split_first().unwrap_or((&args.host, &[]));
    let cause = Command::new(program).args(rest).exec();
    let plain = crate::config::source::plain(&cause);
    print_stderr(&format!("error: run {program} in {}\n  {plain}\n", args.host));
    // As a shell does: 127 for a program that is not there, 126 for one that cannot be run.
    let missing = cause.kind() == std::io::ErrorKind::NotFound;
    Ok(Outcome::Ended(if missing { 127 } else { 126 }))
}

/// The host's namespaces could not be entered.
#[derive(Debug, thiserror::Error)]
#[error("enter host `{host}`")]
struct Entering {
    host: String,
    #[source]
    cause: std::io::Error,
}

fn choose<'a>(
    standing: &'a [Standing],
    lab: Option<&str>,
    host: &str,
) -> Result<&'a Standing, ConfigError> {
    let mut labs: Vec<&str> = standing.iter().map(|s| s.lab.as_str()).collect();
    labs.dedup();
    let lab = match (lab, labs.as_slice()) {
        (_, []) => {
            let hint = "`switchmark lab up lab:bridge` brings one up and holds it";
            return Err(ConfigError::bare("no lab is up", hint));
        }
        (Some(asked), known) if known.contains(&asked) => asked,
        (Some(asked), known) => {
            let hint = format!("up are {}", known.join(", "));
            return Err(ConfigError::bare(format!("no lab `{asked}` is up"), hint));
        }
        (None, [only]) => only,
        (None, known) => {
            let hint = format!("say which: --lab {}", known.join(" or --lab "));
            return Err(ConfigError::bare(format!("{} labs are up", known.len()), hint));
        }
    };
    let hosts: Vec<&Standing> = standing.iter().filter(|s| s.lab == lab).collect();
    hosts.iter().find(|s| s.host == host).copied().ok_or_else(|| {
        let known: Vec<&str> = hosts.iter().map(|s| s.host.as_str()).collect();
        let hint = format!("it has {}", known.join(", "));
        ConfigError::bare(format!("lab {lab} has no host `{host}`"), hint)
    })
}

fn enter(pid: u32) -> std::io::Result<()> {
    let net = File::open(format!("/proc/{pid}/ns/net"))?;
    let user = format!("/proc/{pid}/ns/user");
    if fs::read_link(&user)? != fs::read_link("/proc/self/ns/user")? {
        setns(File::open(&user)?, CloneFlags::CLONE_NEWUSER)?;
    }
    setns(net, CloneFlags::CLONE_NEWNET)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(pid: u32, host: &str, lab: &str) -> Standing {
        Standing { pid, host: host.into(), lab: lab.into() }
    }

    #[test]
    fn one_lab_needs_no_name_and_two_do() {
        let one = [place(1, "h1", "7"), place(2, "h2", "7")];
        assert_eq!(choose(&one, None, "h2").unwrap().pid, 2);
        let two = [place(1, "h1", "7"), place(2, "h1", "8")];
        assert_eq!(choose(&two, None, "h1").unwrap_err().hint, "say which: --lab 7 or --lab 8");
        assert_eq!(choose(&two, Some("8"), "h1").unwrap().pid, 2);
        assert!(choose(&[], None, "h1").is_err());
        assert!(choose(&one, None, "h3").is_err());
    }
}
