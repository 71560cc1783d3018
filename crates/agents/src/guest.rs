//! This program when it is not started by a user: as the starter of an emulator, and as the only
//! process of a virtual machine under test.
//!
//! Owns the requests between the controller and a machine's first process, on both sides, and the
//! check for such a start before the command line is read. Neither can be reached from a command
//! line by accident: one needs a program name that no shell passes, the other must be process 1 of
//! a system with a machine's orders in it.

use std::path::Path;
use std::process::ExitCode;

use dataplane::counters::{self, InterfaceCounters};
use lab::Cause;
use lab::vm::{self, Acceleration, Emulator, Machine};
use netlink::Netlink;
use serde::de::DeserializeOwned;

use crate::agent;
use crate::failed::Failed;
use crate::protocol::{HostFacts, describe_error};
use crate::speak::print_stderr;

const COUNTERS: &str = "counters";
const FACTS: &str = "facts";

/// Handles a start by something other than a user; returns its exit code, or `None` for a user's
/// start. As a machine's first process it never returns.
pub fn called() -> Option<ExitCode> {
    if vm::is_first_process() {
        vm::serve(answer);
    }
    let mut arguments = std::env::args_os();
    if arguments.next().is_none_or(|name| name != vm::EMULATOR_NAME) {
        return None;
    }
    print_stderr(&format!("error: {}\n", describe_error(&vm::become_emulator(arguments))));
    Some(ExitCode::FAILURE)
}

/// Builds the emulator for machines; `program` is a switchmark, used both outside and inside.
pub fn emulator(program: &Path) -> Emulator {
    Emulator {
        program: program.to_owned(),
        open_tap: dataplane::tap::open,
        acceleration: Acceleration::Auto,
    }
}

/// Reads the counters of a machine's ports, as an agent would read those of a host. Frames that the
/// machine did not accept from a cable count as receive drops of its port, as at the far end of a
/// virtual cable. Frames that its host did not accept count as transmit drops.
pub fn counters(machine: &Machine) -> Result<Vec<InterfaceCounters>, Cause> {
    let mut ports: Vec<InterfaceCounters> = ask(machine, COUNTERS)?;
    let losses = machine.losses()?;
    for port in &mut ports {
        let lost = losses.get(&port.name).copied().unwrap_or_default();
        for (name, by) in [("rx_dropped", lost.to_machine), ("tx_dropped", lost.from_machine)] {
            *port.counters.entry(name.to_owned()).or_default() += by;
        }
    }
    Ok(ports)
}

/// Reads the facts of a machine's kernel and its ports: release, build, whether it is a real-time
/// kernel, offloads.
pub fn facts(machine: &Machine) -> Result<HostFacts, Cause> {
    ask(machine, FACTS)
}

fn ask<T: DeserializeOwned>(machine: &Machine, word: &'static str) -> Result<T, Cause> {
    let text = machine.ask(word)?;
    let unreadable = Failed::to(format!("read the {word} of machine {}", machine.name()));
    Ok(serde_json::from_str(&text).map_err(unreadable)?)
}

/// Answers a request as the first process; runs in the machine.
fn answer(word: &str) -> Result<String, String> {
    let said = match word {
        COUNTERS => serde_json::to_string(&read_counters()?),
        FACTS => serde_json::to_string(&agent::gather_facts(&ports()?)),
        _ => return Err(format!("{word}: no such request")),
    };
    said.map_err(|e| e.to_string())
}

fn read_counters() -> Result<Vec<InterfaceCounters>, String> {
    counters::interfaces(&ports()?).map_err(|e| describe_error(&e))
}

/// Lists all network cards: links that are no loopback, bridge or other virtual link.
fn ports() -> Result<Vec<String>, String> {
    let links =
        Netlink::open().and_then(|mut kernel| kernel.links()).map_err(|e| describe_error(&e))?;
    let card = |link: &netlink::Link| link.kind.is_none() && link.name != "lo";
    Ok(links.into_iter().filter(card).map(|link| link.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_user_is_taken_for_a_machine() {
        assert!(called().is_none());
        assert!(answer("rm -rf").unwrap_err().contains("no such request"));
    }
}
