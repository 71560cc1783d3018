//! Other tools' outputs of any length, imported by the program in little memory. Needs no root:
//! nothing is sent.
//!
//! The kernel holds the bound: the program may not take more than that.

use std::fmt::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use crate::program::{Scratch, switchmark};

/// What a program may take, in kB: 100 MB.
const MOST: u32 = 102_400;

/// `import -` of one file, within the bound.
fn import(scratch: &Scratch, file: &str) -> Output {
    // The limit is on what is private and can be written: memory that was asked for.
    let limited = format!("ulimit -d {MOST}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited]).arg(switchmark());
    command.args(["import", file, "--store", "j.db", "--json", "--quiet"]);
    command.current_dir(scratch.folder()).stdin(Stdio::null());
    command.output().expect("sh starts")
}

/// One output of a tool's: what comes first, what is repeated, and what ends it.
struct Long {
    name: &'static str,
    first: &'static str,
    again: fn(usize, &mut String),
    last: &'static str,
}

const LONG: [Long; 8] = [
    Long {
        name: "ping",
        first: "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n",
        again: |at, out| {
            let us = 20 + at % 100;
            let _ = writeln!(out, "64 bytes from 10.0.0.1: icmp_seq={at} ttl=64 time=0.{us:03} ms");
        },
        last: "",
    },
    Long {
        name: "iperf3-text",
        first: "Connecting to host 10.0.0.1, port 5201\n",
        again: |at, out| {
            let _ = writeln!(
                out,
                "[  5] {at}.00-{}.00 sec  1.09 GBytes  9.40 Gbits/sec    0   1.50 MBytes",
                at + 1
            );
        },
        last: "[  5] 0.00-99.00 sec  1.09 GBytes  9.40 Gbits/sec    0  sender\n",
    },
    Long {
        name: "iperf3-json",
        first: "{\"start\": {\"test_start\": {\"protocol\": \"TCP\"}}, \"intervals\": [",
        again: |at, out| {
            let comma = if at == 0 { "" } else { "," };
            let _ = writeln!(
                out,
                "{comma}{{\"streams\": [{{\"socket\": 5, \"bytes\": 1000000, \"seconds\": 1}}], \
                 \"sum\": {{\"start\": {at}, \"seconds\": 1, \"bytes\": 1000000, \"retransmits\": 0}}}}"
            );
        },
        last: "], \"end\": {\"sum_received\": {\"bytes\": 1000, \"bits_per_second\": 8e6}}}\n",
    },
    Long {
        name: "iperf3-stream",
        first: "{\"event\": \"start\", \"data\": {\"test_start\": {\"protocol\": \"TCP\"}}}\n",
        again: |at, out| {
            let _ = writeln!(
                out,
                "{{\"event\": \"interval\", \"data\": {{\"sum\": {{\"start\": {at}, \"seconds\": 1, \"bytes\": 1000000}}}}}}"
            );
        },
        last: "",
    },
    Long {
        name: "irtt",
        first: "{\"config\": {}, \"stats\": {\"packet_loss_percent\": 0}, \"round_trips\": [",
        again: |at, out| {
            let comma = if at == 0 { "" } else { "," };
            let ns = 20_000 + at % 1000;
            let _ = writeln!(
                out,
                "{comma}{{\"seqno\": {at}, \"lost\": \"false\", \"delay\": {{\"receive\": 9, \"rtt\": {ns}, \"send\": 9}}}}"
            );
        },
        last: "]}\n",
    },
    Long {
        name: "flent",
        first: "{\"metadata\": {\"NAME\": \"ping\"}, \"raw_values\": {\"Ping (ms) ICMP\": [",
        again: |at, out| {
            let comma = if at == 0 { "" } else { "," };
            let _ =
                writeln!(out, "{comma}{{\"dur\": 0.1, \"t\": {at}.0, \"val\": 1.{}}}", at % 100);
        },
        last: "]}, \"x_values\": []}\n",
    },
    Long {
        name: "fping",
        first: "",
        again: |at, out| {
            let _ =
                writeln!(out, "10.0.0.1 : [{at}], 64 bytes, 0.0{} ms (0.05 avg, 0% loss)", at % 90);
        },
        last: "10.0.0.1 : xmt/rcv/%loss = 9/9/0%, min/avg/max = 0.01/0.05/0.09\n",
    },
    Long {
        name: "noise",
        first: "round-trip min/avg/max = 1/2/3 ms\n",
        again: |at, out| {
            let _ = writeln!(out, "a line of somebody's log, number {at}, that no tool printed");
        },
        last: "",
    },
];

/// Calls with pieces of the output until it has so many octets.
fn write(of: &Long, octets: usize, mut to: impl std::io::Write) -> std::io::Result<()> {
    let mut piece = of.first.to_owned();
    let (mut at, mut written) = (0, 0);
    while written < octets {
        while piece.len() < 64 << 10 {
            (of.again)(at, &mut piece);
            at += 1;
        }
        to.write_all(piece.as_bytes())?;
        written += piece.len();
        piece.clear();
    }
    to.write_all(of.last.as_bytes())?;
    to.flush()
}

/// 10 MB of each, and where everything is tested 2 GB of each: no more than the kernel allows.
#[test]
fn an_output_of_any_length_is_read_in_bounded_memory() {
    let scratch = Scratch::new("large-outputs");
    let is_full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|said| said == "full");
    let sizes: &[usize] = if is_full { &[10 << 20, 2 << 30] } else { &[10 << 20] };
    for octets in sizes {
        for long in &LONG {
            let path = scratch.path(long.name);
            let file = std::fs::File::create(&path).expect("a file");
            write(long, *octets, std::io::BufWriter::new(file)).expect("room for it");
            let begun = Instant::now();
            let ran = import(&scratch, long.name);
            eprintln!("{}: {} MB in {:.2?}", long.name, octets >> 20, begun.elapsed());
            let said = String::from_utf8_lossy(&ran.stderr);
            assert_eq!(ran.status.code(), Some(0), "{}: {said}", long.name);
            let told = String::from_utf8_lossy(&ran.stdout);
            assert!(told.contains("\"figures\""), "{}: {told}", long.name);
            std::fs::remove_file(&path).expect("its file");
        }
    }
}
