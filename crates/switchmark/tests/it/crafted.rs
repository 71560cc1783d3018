//! Journals that somebody wrote to do harm, and every verb and page that reads one: bounded memory
//! and time, nothing written elsewhere, nothing executed, no other run's figures changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use journal::Store;

use crate::program::{self, Scratch, full, switchmark};
use generator::{KINDS, Wishes, craft, lay_trap};

#[path = "../../../journal/tests/crafted/mod.rs"]
mod generator;

/// The most memory of a process, in kB.
const MOST_KB: u64 = 300_000;

/// So long may a process take: on a machine with nothing else to do what is promised.
fn most_time() -> Duration {
    Duration::from_secs(if full() { 5 } else { 60 })
}

/// Everything that a journal is tried on.
struct Bench {
    scratch: Scratch,
    ids: [String; 2],
    own: String,
    holder: String,
    peak_kb: u64,
    longest: Duration,
}

impl Bench {
    fn new() -> Self {
        let scratch = Scratch::new("crafted");
        let measured = |journal: &str| {
            let asked = ["latency", "--testbed", "sim:teg-s16g", "--size", "64", "-t", "20ms"];
            let more = ["--blocks", "4", "--journal", journal, "--json", "-q"];
            let mut command = Command::new(switchmark());
            let output = command.args(asked).args(more).current_dir(scratch.folder()).output();
            let output = output.expect("switchmark starts");
            program::json(&output)["run"].as_str().expect("an id").to_owned()
        };
        let ids = [measured("sound.db"), measured("sound.db")];
        let own = measured("own.db");
        let store = Store::open(&scratch.path("own.db")).expect("a journal");
        let holder = store.summary(&own).expect("there").holder.expect("it has one");
        drop(store);
        lay_trap(&scratch.path("evil"), &scratch.path("ran"));
        fs::create_dir(scratch.path("served")).expect("a folder");
        fs::copy(scratch.path("own.db"), scratch.path("served/own.db")).expect("copied");
        Self { scratch, ids, own, holder, peak_kb: 0, longest: Duration::ZERO }
    }

    fn craft(&self, number: u64) -> String {
        let folder = self.scratch.path("evil");
        let wishes =
            Wishes { folder: &folder, testbed: "rack.toml", holder: &self.holder, run: &self.own };
        craft(&self.scratch.path("sound.db"), &self.scratch.path("c.db"), number, &wishes)
    }

    /// Octets of every file that nobody names.
    fn others(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        for folder in [".", "evil", "served"] {
            for entry in fs::read_dir(self.scratch.path(folder)).expect("listed") {
                let path = entry.expect("an entry").path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let is_named = ["c.db", "o.db", "i.db", "r.html", "own.db-"];
                if path.is_file() && !is_named.iter().any(|own| name.starts_with(own)) {
                    let octets = fs::read(&path).expect("readable");
                    all.insert(path, octets);
                }
            }
        }
        all
    }

    /// Runs a verb to its end, within bounds.
    fn verb(&mut self, what: &str, args: &[&str]) {
        let mut command = Command::new(switchmark());
        command.args(args).current_dir(self.scratch.folder()).stdin(Stdio::null());
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let began = Instant::now();
        let status = loop {
            self.peak(&child, what, args);
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            if began.elapsed() > most_time() {
                let _ = child.kill();
                let _ = child.wait();
                panic!("{what}: {args:?} goes on after {:?}", began.elapsed());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        self.longest = self.longest.max(began.elapsed());
        assert!(status.code().is_some_and(|code| code < 100), "{what}: {args:?}: {status}");
    }

    fn peak(&mut self, child: &Child, what: &str, args: &[&str]) {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0);
        assert!(kb <= MOST_KB, "{what}: {args:?}: {kb} kB");
        self.peak_kb = self.peak_kb.max(kb);
    }

    fn verbs(&mut self, what: &str) {
        let [one, other] = self.ids.clone();
        fs::copy(self.scratch.path("own.db"), self.scratch.path("o.db")).expect("copied");
        let all: [&[&str]; 9] = [
            &["runs", "--journal", "c.db"],
            &["runs", "--json", "--journal", "c.db"],
            &["report", "latest", "--out", "r.html", "--journal", "c.db"],
            &["export", &one, "--journal", "c.db"],
            &["compare", &one, &other, "--journal", "c.db"],
            &["trend", "--journal", "c.db"],
            &["runs", "merge", "c.db", "--journal", "o.db"],
            &["import", "c.db", "--journal", "i.db"],
            &["run", "--resume", "latest", "--quiet", "--journal", "c.db"],
        ];
        let records = |name: &str, run: &str| {
            let store = Store::open(&self.scratch.path(name)).expect("one's own journal");
            store.records(run).expect("readable")
        };
        let before = records("own.db", &self.own);
        for args in all {
            self.verb(what, args);
        }
        let after = {
            let store = Store::open(&self.scratch.path("o.db")).expect("one's own journal");
            store.records(&self.own).expect("readable")
        };
        assert_eq!(before, after, "{what}: one's own run is another one");
    }

    fn pages(&mut self, what: &str) {
        fs::copy(self.scratch.path("c.db"), self.scratch.path("served/c.db")).expect("copied");
        let args = ["serve", "--journal", "served", "--listen", "127.0.0.1:0", "--json", "-q"];
        let mut command = Command::new(switchmark());
        command.args(args).current_dir(self.scratch.folder()).stdin(Stdio::null());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("it starts");
        let stdout = std::io::BufReader::new(child.stdout.take().expect("piped"));
        let mut lines = std::io::BufRead::lines(stdout).map_while(Result::ok);
        let line = lines.find(|line| line.contains("\"listening\"")).expect("where it listens");
        let address = line.split('"').nth(3).expect("an address").trim_end_matches('/').to_owned();
        let host = address.strip_prefix("http://").expect("an address");
        let [one, other] = &self.ids;
        for path in [
            "/".to_owned(),
            format!("/runs/{one}"),
            format!("/runs/{one}/live"),
            format!("/compare?run={one}&run={other}"),
            "/metrics".to_owned(),
            format!("/runs/{}", self.own),
        ] {
            let began = Instant::now();
            let (code, page) = program::get(host, &path);
            let took = began.elapsed();
            self.longest = self.longest.max(took);
            assert!(code >= 200 && took <= most_time(), "{what}: {path}: {code} after {took:?}");
            let is_own = path == "/" || path.ends_with(&self.own);
            assert!(!is_own || (code == 200 && page.contains(&self.own)), "{what}: {path}: {page}");
            self.peak(&child, what, &[&path]);
        }
        let _ = child.kill();
        let _ = child.wait();
        for name in ["c.db", "c.db-wal", "c.db-shm"] {
            let _ = fs::remove_file(self.scratch.path("served").join(name));
        }
    }
}

#[test]
fn a_crafted_journal_does_no_harm() {
    let mut bench = Bench::new();
    let before = bench.others();
    let numbers = if full() { 300 } else { KINDS };
    for number in 0..numbers {
        let what = bench.craft(number);
        bench.pages(&what);
        bench.verbs(&what);
        assert!(bench.others() == before, "{what}: a file was written that nobody named");
        assert!(!bench.scratch.path("ran").exists(), "{what}: a command was run");
        for name in ["c.db", "o.db", "i.db"] {
            for beside in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(bench.scratch.path(&format!("{name}{beside}")));
            }
        }
    }
    println!("{numbers} journals: {} kB, {:?} at most", bench.peak_kb, bench.longest);
}
