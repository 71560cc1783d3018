//! This program where no user calls it: as the emulator's forerunner, and as the only process of a
//! virtual machine under test.
//!
//! Owns the words that the controller and a machine's first process exchange, on both sides, and
//! the moment before the command line is looked at in which it is seen who called. Never is
//! anything of it reached from a command line: one needs a first word that no shell gives by
//! accident, the other to be process 1 of a system with a machine's orders in it.

use std::path::Path;
use std::process::ExitCode;

use dataplane::counters::{self, InterfaceCounters};
use lab::Cause;
use lab::vm::{self, Acceleration, Emulator, Machine};
use netlink::Netlink;
use serde::de::DeserializeOwned;

use crate::agent;
use crate::failed::Failed;
use crate::protocol::{HostFacts, in_words};
use crate::speak::tell;

const COUNTERS: &str = "counters";
const FACTS: &str = "facts";

/// Whether somebody other than a user started this program, and if so, how that ended. As a
/// machine's first process it does not end.
pub fn called() -> Option<ExitCode> {
    if vm::is_first_process() {
        vm::serve(answer);
    }
    let mut arguments = std::env::args_os();
    if arguments.next().is_none_or(|name| name != vm::EMULATOR_NAME) {
        return None;
    }
    tell(&format!("error: {}\n", in_words(&vm::become_emulator(arguments))));
    Some(ExitCode::FAILURE)
}

/// How machines are started, with `program`, a switchmark, on both sides of their walls.
pub fn emulator(program: &Path) -> Emulator {
    Emulator {
        program: program.to_owned(),
        open_tap: dataplane::tap::open,
        acceleration: Acceleration::Auto,
    }
}

/// The counters of a machine's ports, as an agent would read those of a host. What the machine did
/// not take from a cable counts as dropped by its port, as the far end of a virtual cable would
/// count it; what its host did not take, as dropped on the way out.
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

/// What a machine's kernel tells of itself and of its ports: release, build, whether it is a
/// real-time kernel, offloads.
pub fn facts(machine: &Machine) -> Result<HostFacts, Cause> {
    ask(machine, FACTS)
}

fn ask<T: DeserializeOwned>(machine: &Machine, word: &'static str) -> Result<T, Cause> {
    let text = machine.ask(word)?;
    let unreadable = Failed::to(format!("read the {word} of machine {}", machine.name()));
    Ok(serde_json::from_str(&text).map_err(unreadable)?)
}

/// What the first process says to a request; in the machine.
fn answer(word: &str) -> Result<String, String> {
    let said = match word {
        COUNTERS => serde_json::to_string(&read_counters()?),
        FACTS => serde_json::to_string(&agent::gather_facts(&ports()?)),
        _ => return Err(format!("{word}: no such request")),
    };
    said.map_err(|e| e.to_string())
}

fn read_counters() -> Result<Vec<InterfaceCounters>, String> {
    counters::interfaces(&ports()?).map_err(|e| in_words(&e))
}

/// Every card: what is no loopback, bridge or other kind of virtual link.
fn ports() -> Result<Vec<String>, String> {
    let links = Netlink::open().and_then(|mut kernel| kernel.links()).map_err(|e| in_words(&e))?;
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
