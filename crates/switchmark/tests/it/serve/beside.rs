//! `--serve`: a run's page while it lasts, in the process that measures.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::command;
use crate::program::Scratch;

/// A run of a model that shows itself, and where.
fn shown(scratch: &Scratch, more: &[&str]) -> (Child, String) {
    let asked = ["forwarding", "--testbed", "sim:teg-s16g", "--search", "rfc2544", "--size"];
    let place = ["64,512,1518", "-t", "1s", "--journal", "j.db", "--serve=127.0.0.1:0"];
    let mut measuring = command(scratch, &[&asked[..], &place, more].concat());
    let mut child = measuring.stdout(Stdio::null()).spawn().expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut lines = stderr.lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("/live shows the run")).expect("where it is shown");
    let address = line.split("/live").next().and_then(|rest| rest.split("http://").nth(1));
    let address = address.expect("an address").to_owned();
    thread::spawn(move || lines.count());
    (child, address)
}

fn ask(address: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .expect("sent");
    stream
}

fn get(address: &str, path: &str) -> String {
    let mut answer = String::new();
    ask(address, path).read_to_string(&mut answer).expect("answered");
    answer
}

/// Where the newest run under way is; it may be only about to begin.
fn live(address: &str) -> String {
    let mut place = "/".to_owned();
    crate::program::wait_for("the run", || {
        let answer = get(address, "/live");
        // There may be no journal yet.
        let found = answer.lines().find_map(|line| line.strip_prefix("location: "));
        found.unwrap_or("/").clone_into(&mut place);
        place != "/"
    });
    place
}

#[test]
fn a_run_shows_itself_to_its_end_and_no_longer() {
    let scratch = Scratch::new("serve-beside");
    let (mut child, address) = shown(&scratch, &["--blocks", "6"]);
    let page = live(&address);
    assert!(get(&address, &page).contains("id=\"live\""));
    // A reader that stalls, and one that reads.
    let stalled = ask(&address, &page.replace("/live", "/events"));
    let events = BufReader::new(ask(&address, &page.replace("/live", "/events")));
    let lines: Vec<String> = events.lines().map_while(Result::ok).collect();
    let data: Vec<&String> = lines.iter().filter(|line| line.starts_with("data: ")).collect();
    let last = data.last().expect("an event");
    assert!(last.contains("\"ended\":true") && last.contains("\"status\":\"done\""), "{last}");
    assert!(child.wait().expect("it ends").success());
    drop(stalled);
    assert!(TcpStream::connect(&address).is_err(), "it is gone with the run");
}

#[test]
fn a_run_that_is_stopped_takes_its_page_with_it() {
    let scratch = Scratch::new("serve-beside-stopped");
    let (mut child, address) = shown(&scratch, &["--blocks", "200"]);
    let page = live(&address);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it lives");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    assert!(TcpStream::connect(&address).is_err(), "{page}");
}

#[test]
fn where_it_can_not_be_shown_nothing_is_measured() {
    let scratch = Scratch::new("serve-beside-taken");
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = format!("--serve={}", other.local_addr().expect("bound"));
    for (flags, words) in [
        (vec![taken.as_str()], "listen at"),
        (vec!["--serve=0.0.0.0:0"], "--token-file"),
        (vec!["--serve=elsewhere"], "no address and port"),
        (vec!["--token-file", "token"], "--serve"),
    ] {
        let asked = ["latency", "--testbed", "sim:teg-s16g", "-t", "10ms", "--journal", "j.db"];
        let output = command(&scratch, &[&asked[..], &flags].concat()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains(words), "{flags:?}: {said}");
        assert!(!scratch.path("j.db").exists(), "{flags:?}");
    }
}
