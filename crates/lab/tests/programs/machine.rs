//! A minimal replacement of switchmark's binary for a virtual machine: the starter of the emulator
//! on the host, and the first process in the machine.
//!
//! `hold KERNEL` starts a machine without ports, prints its process id, and waits to be killed. In
//! the machine it answers `interfaces` with the machine's counters, `release` and `realtime` with
//! its kernel's. Ends what it started only by its own end.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use lab::vm::{self, Acceleration, Emulator, Image, Machine};
use lab::{LabDevice, LabError, LabSpec};

fn main() {
    if vm::is_first_process() {
        vm::serve(answer);
    }
    let mut arguments = std::env::args_os();
    if arguments.next().is_some_and(|name| name == vm::EMULATOR_NAME) {
        eprintln!("error: {}", vm::become_emulator(arguments));
    } else if arguments.next().is_some_and(|word| word == "hold") {
        let kernel = arguments.next().expect("a kernel");
        hold(Path::new(&kernel)).expect("a machine");
    }
    std::process::exit(2);
}

fn hold(kernel: &Path) -> Result<(), LabError> {
    let plan = LabSpec::new(LabDevice::Bridge).plan()?;
    let mut node = plan.nodes.last().expect("a bridge").clone();
    node.interfaces.clear();
    let emulator = Emulator {
        program: "/proc/self/exe".into(),
        open_tap: |_| Err(io::ErrorKind::Unsupported.into()),
        acceleration: Acceleration::Auto,
    };
    let image = Image::open(kernel, None)?;
    let machine = Machine::start(&emulator, &image, &node, plan.mtu, Vec::new())?;
    // So that the starter has become the emulator.
    machine.wait_until_ready()?;
    println!("{}", machine.pid());
    let _ = io::stdin().read(&mut [0]);
    Ok(())
}

fn answer(word: &str) -> Result<String, String> {
    let file = match word {
        "interfaces" => "/proc/net/dev",
        "release" => "/proc/sys/kernel/osrelease",
        "realtime" => "/sys/kernel/realtime",
        _ => return Err(format!("{word}: no such request")),
    };
    let text = fs::read_to_string(file).map_err(|e| format!("read {file}: {e}"))?;
    Ok(text.trim_end().replace('\n', "; "))
}
