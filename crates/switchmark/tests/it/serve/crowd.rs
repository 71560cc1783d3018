//! Many at once: what a hundred readers cost, and that they are answered.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::thread;

use super::{Server, two_runs};
use crate::program::Scratch;

/// A figure of a process' memory, in octets.
fn memory(process: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a figure");
    let number = line.split_whitespace().next().expect("a number");
    number.parse::<u64>().expect("a number") << 10
}

/// Half of them follow a run, the others read pages; the streams stay until the pages are read.
fn crowd(server: &Server, run: &str) {
    let follow = || {
        let mut stream = TcpStream::connect(server.host()).expect("it listens");
        write!(stream, "GET /runs/{run}/events HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("sent");
        let mut lines = BufReader::new(stream).lines();
        assert!(lines.any(|line| line.expect("it comes").starts_with("data: ")));
        lines
    };
    let paths = ["/".to_owned(), format!("/runs/{run}"), "/metrics".to_owned()];
    thread::scope(|scope| {
        let streams: Vec<_> = (0..50).map(|_| scope.spawn(follow)).collect();
        let read = |n: usize| server.get(&paths[n % paths.len()]).0;
        let pages: Vec<_> = (0..50).map(|n| scope.spawn(move || read(n))).collect();
        for page in pages {
            assert_eq!(page.join().expect("it ends"), 200);
        }
        let held: Vec<_> = streams.into_iter().map(|one| one.join().expect("it follows")).collect();
        assert_eq!(server.get("/").0, 200, "room for one more");
        drop(held);
    });
}

#[test]
fn a_hundred_readers_are_answered_again_and_again_in_the_same_memory() {
    let scratch = Scratch::new("serve-crowd");
    let [run, _] = two_runs(&scratch);
    let store = journal::Store::open(&scratch.path("j.db")).expect("a journal");
    store.set_status(&run, &study::run::RunStatus::Running).expect("set");
    store.held_by(&run, "elsewhere a b 1 1").expect("set");
    drop(store);
    let server = Server::new(&scratch, &[]);
    let process = server.child.id();
    for _ in 0..2 {
        crowd(&server, &run);
    }
    let warm = memory(process, "VmRSS:");
    for _ in 0..8 {
        crowd(&server, &run);
    }
    let (after, most) = (memory(process, "VmRSS:"), memory(process, "VmHWM:"));
    let of = format!("{warm} octets after 200 readers, {after} after 1,000, {most} at most");
    eprintln!("memory: {of}");
    assert!(after < warm + warm / 4 && most < 100_000_000, "{of}");
}
