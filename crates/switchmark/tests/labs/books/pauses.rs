//! Ports that were held back by PAUSE frames, by a device that tells so: a script, because no
//! kernel's veth pauses.
//!
//! Owns what the script says. Never pauses anything.

use std::process::{Command, Stdio};

use measure::Nanos;
use trial::books::{self, Held};

use super::super::harness::{Scratch, alone, switchmark};
use super::{Bench, Wires};

const REST: &str = r#"[{"p":"swp1","n":70,"us":900},{"p":"swp2","n":0,"us":0}]"#;
const AFTER: &str = r#"[{"p":"swp1","n":12380,"us":66000},{"p":"swp2","n":0,"us":0}]"#;

/// Once a load has crossed the switch it says another thing than before; that may be so many
/// frames by which hosts try the way.
fn counters(scratch: &Scratch, before: u64) -> String {
    for (name, text) in [("rest", REST), ("after", AFTER)] {
        std::fs::write(scratch.path(name), text).expect("writes");
    }
    let crossed = "$(ip netns exec SWITCH cat /sys/class/net/swp1/statistics/rx_packets)";
    let script = format!(
        "cd {}; if test {crossed} -gt {before}; then cat after; else cat rest; fi",
        scratch.folder().display()
    );
    format!(
        "[[device.counters]]\ncommand = [\"sh\", \"-c\", \"{script}\"]\nport = \"$[*].p\"\n\
         lag = \"200ms\"\nmap = {{ tx_pause = \"$[*].n\", tx_pause_us = \"$[*].us\" }}\n"
    )
}

#[test]
fn pauses_stand_beside_the_books() {
    let programs = ["ip", "sh"];
    let Some(_alone) = alone("pauses_stand_beside_the_books", &programs) else { return };
    let scratch = Scratch::new("books-pauses");
    let mut bench = Bench::new(&scratch, &counters(&scratch, 2_000), false);
    let (record, told) = bench.run(Nanos::from_millis(200));
    assert_eq!((told.lost, told.deaths.len()), (0, 0), "{told:?}");
    let held = |port: &str, by: &str, frames, us| Held {
        port: port.to_owned(),
        by: by.to_owned(),
        frames,
        time: Some(Nanos::from_micros(us)),
    };
    let expected = [held("h1/eth1", "sw1/1", 12_310, 65_100), held("h2/eth1", "sw1/2", 0, 0)];
    assert_eq!(books::pause_counts(&record), expected, "{:?}", record.ports);
}

/// As its user runs it: 65.1 ms of all floods' time.
#[test]
fn the_program_says_which_port_was_held_back() {
    let programs = ["ip", "sh"];
    let Some(_alone) = alone("the_program_says_which_port_was_held_back", &programs) else {
        return;
    };
    let scratch = Scratch::new("books-pauses-program");
    let wires = Wires::new(&scratch, &counters(&scratch, 30_000), false);
    let mut command = Command::new(switchmark());
    command.args(["forwarding", "--flood", "--size", "512", "-t", "0.3", "--blocks", "1"]);
    command
        .args(["--full", "--journal", "j.db", "--testbed"])
        .arg(&wires.file)
        .current_dir(scratch.folder());
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let [said, errors] = [&output.stdout, &output.stderr].map(|out| String::from_utf8_lossy(out));
    assert!(output.status.success(), "{said}{errors}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let share = words.split("sw1/1 made h1/eth1 wait: 12,310 PAUSE frames, ").nth(1);
    let share = share.and_then(|rest| rest.split_once(" % of the load.")?.0.parse::<f64>().ok());
    // How many longer floods follow, of 1.2 s, 4.8 s and 8 s, those before decide.
    let seconds = [
        0.3 + 1.2,
        0.3 + 1.2 + 1.2,
        0.3 + 1.2 + 4.8,
        0.3 + 1.2 + 4.8 + 4.8,
        0.3 + 1.2 + 8.0,
        0.3 + 1.2 + 8.0 + 16.0,
    ];
    let expected = seconds.map(|all| (65.1e-3 / all * 1000.0_f64).round() / 10.0);
    assert!(share.is_some_and(|share| expected.contains(&share)), "{share:?} {said}");
}
