//! What switchmark's binary is to a virtual machine, as small as it can be: the emulator's forerunner
//! on the host, and the first process in the machine.
//!
//! Answers `interfaces` with the machine's counters, `release` and `realtime` with its kernel's. Never
//! does anything when a person starts it.

use std::fs;

use lab::vm;

fn main() {
    if vm::is_first_process() {
        vm::serve(answer);
    }
    let mut arguments = std::env::args_os();
    if arguments.next().is_some_and(|name| name == vm::EMULATOR_NAME) {
        eprintln!("error: {}", vm::become_emulator(arguments));
    }
    std::process::exit(2);
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
