//! A/A: a run in a lab with nobody looking, and the same with three pages open beside it. Looking
//! must change no figure.
//!
//! Owns the bar: the forwarding rate equivalent within 1 %, and no round trip different. The
//! readers are sockets that take whatever comes, as browsers elsewhere do: what is held against
//! each other is the server's own cost, not a browser's on the machine that measures. Needs root.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;

use crate::harness::{Scratch, alone, full, json, switchmark};

fn command(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = Command::new(switchmark());
    command.args(args).args(["--journal", "j.db"]).current_dir(scratch.folder());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Whatever comes until the server ends, as a page that follows the run has it.
fn follow(address: &str) {
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(address).ok()?;
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        Some(answer)
    };
    let place = loop {
        let Some(answer) = ask("/live") else { return };
        let place = answer.lines().find_map(|line| line.strip_prefix("location: /runs/"));
        if let Some(run) = place {
            break format!("/runs/{}", run.trim());
        }
        thread::sleep(std::time::Duration::from_millis(50));
    };
    ask(&place);
    ask(&place.replace("/live", "/events"));
}

/// The run's id.
fn measured(scratch: &Scratch, asked: &[&str], readers: usize) -> String {
    let shown: &[&str] = if readers > 0 { &["--serve=127.0.0.1:0"] } else { &[] };
    let mut child =
        command(scratch, &[asked, shown, &["--json"]].concat()).spawn().expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    let (tell, told) = std::sync::mpsc::channel();
    let reading = thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            let address = line.split("/live shows").next().and_then(|l| l.split("http://").nth(1));
            if let Some(address) = address {
                let _ = tell.send(address.to_owned());
            }
        }
    });
    let address = if readers > 0 { told.recv().expect("where it is shown") } else { String::new() };
    let page = |address: String| thread::spawn(move || follow(&address));
    let pages: Vec<_> = (0..readers).map(|_| page(address.clone())).collect();
    let output = child.wait_with_output().expect("it ends");
    for page in pages {
        page.join().expect("a page");
    }
    reading.join().expect("its stderr");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{asked:?}");
    json(&output)["run"].as_str().expect("an id").to_owned()
}

fn decisions(scratch: &Scratch, asked: &[&str]) -> Vec<(String, String)> {
    let [quiet, watched] = [0, 3].map(|readers| measured(scratch, asked, readers));
    let compare = ["compare", &quiet, &watched, "--margin", "1%", "--json"];
    let output = command(scratch, &compare).output().expect("it starts");
    let compared: Value = json(&output);
    println!("{}", compared["sentence"].as_str().unwrap_or_default());
    let rows = compared["differences"].as_array().expect("rows");
    rows.iter()
        .map(|row| {
            let of = |name: &str| row["where"][name].as_str().unwrap_or_default().to_owned();
            let (low, high) = (&row["low"], &row["high"]);
            println!("{} {}: {low}…{high}: {}", of("of"), row["where"], of("decision"));
            (of("of"), of("decision"))
        })
        .collect()
}

#[test]
fn three_open_pages_change_no_figure() {
    if !full() {
        eprintln!("skipped: three_open_pages_change_no_figure takes minutes of a quiet machine");
        return;
    }
    let Some(_alone) = alone("three_open_pages_change_no_figure", &[]) else { return };
    let scratch = Scratch::new("open-pages");
    // Both ports are limited by the kernel, so that what is left to differ is what looking costs.
    let flood = ["forwarding", "--testbed", "lab:bridge,rate=50Mbit", "--flood", "-t", "1"];
    let more = ["--size", "512,1518", "--blocks", "10", "--seed", "1"];
    let rates = decisions(&scratch, &[&flood[..], &more].concat());
    assert!(rates.iter().any(|(of, _)| of == "received"), "{rates:?}");
    for (of, decision) in rates.iter().filter(|(of, _)| of == "received") {
        assert_eq!(decision, "equivalent", "{of}: {rates:?}");
    }
    let latency = ["latency", "--testbed", "lab:bridge", "--protocol", "udp,tcp", "-t", "0.5"];
    let round_trips = decisions(
        &scratch,
        &[&latency[..], &["--blocks", "20", "--seed", "1", "--size", "64"]].concat(),
    );
    for (of, decision) in &round_trips {
        assert_ne!(decision, "different", "{of}: {round_trips:?}");
    }
}
