//! `serve` as its user has it: in a browser, beside a run that goes on, and where it cannot be.
//! Needs no root; pages are looked at where chromium is installed.

mod beside;
mod crowd;
mod deeds;
mod prometheus;
mod reader;
mod shown;
mod tls;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::program::browser::{self, SCREENS, browse_at, screens, seen};
use crate::program::{Scratch, switchmark};
use shown::Shown;

fn command(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = Command::new(switchmark());
    command.args(args).current_dir(scratch.folder()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(scratch: &Scratch, args: &[&str]) -> Output {
    let output = command(scratch, args).output().expect("switchmark starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{args:?}: {said}");
    output
}

/// Two runs of a model, with labels.
fn two_runs(scratch: &Scratch) -> [String; 2] {
    ["one", "other"].map(|label| {
        let asked = ["latency", "--testbed", "sim:teg-s16g", "--size", "64,1518", "-t", "20ms"];
        let more = ["--blocks", "6", "--label", label, "--journal", "j.db", "--json", "-q"];
        let output = run(scratch, &[&asked[..], &more].concat());
        crate::program::json(&output)["run"].as_str().expect("an id").to_owned()
    })
}

/// A server that is ended, by a signal, when it is dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn new(scratch: &Scratch, more: &[&str]) -> Self {
        Self::at(scratch, "j.db", more)
    }

    fn at(scratch: &Scratch, journal: &str, more: &[&str]) -> Self {
        let args = ["serve", "--journal", journal, "--listen", "127.0.0.1:0", "--json", "-q"];
        let mut child = command(scratch, &[&args[..], more].concat()).spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut lines = stdout.lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("\"listening\"")).expect("where it listens");
        let address = line.split('"').nth(3).expect("an address").trim_end_matches('/').to_owned();
        Self { child, address }
    }

    fn host(&self) -> &str {
        self.address.strip_prefix("http://").expect("an address")
    }

    /// Status and body.
    fn get(&self, path: &str) -> (u16, String) {
        crate::program::get(self.host(), path)
    }

    fn end(mut self, signal: Signal) -> Option<i32> {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).expect("it lives");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_watch_has_its_page_and_its_metrics() {
    let scratch = Scratch::new("serve-watch");
    let asked = ["watch", "sim:s400-48t,hosts=2", "--for", "20m", "--link-share", "1", "--json"];
    let more = ["--cpu-share", "100", "--journal", "j.db", "-q"];
    let output = run(&scratch, &[&asked[..], &more].concat());
    let told = crate::program::json(&output);
    let run = told["run"].as_str().expect("an id");
    let server = Server::new(&scratch, &[]);
    let (code, page) = server.get(&format!("/runs/{run}"));
    assert!(code == 200 && page.contains("Do all ways answer?"), "{page}");
    let (_, metrics) = server.get("/metrics");
    let of = |name: &str| {
        let mut lines = metrics.lines().filter(|line| line.starts_with(name));
        let line = lines.find(|line| line.contains("path=\"device\"")).expect("a sample");
        line.rsplit(' ').next().and_then(|n| n.parse::<f64>().ok()).expect("a number")
    };
    let way = &told["ways"][0];
    let sent = way["sent"].as_f64().expect("frames") + way["sent_back"].as_f64().expect("frames");
    assert_eq!(of("switchmark_watch_frames_sent_total{").to_bits(), sent.to_bits());
    let trips = way["round_trips"].as_f64().expect("round trips");
    assert_eq!(of("switchmark_watch_rtt_seconds_count{").to_bits(), trips.to_bits());
    let outage = of("switchmark_watch_outage{");
    assert!(outage.abs() < f64::EPSILON && way["rtt_p50_ns"].as_f64() > Some(0.0), "{metrics}");
}

#[test]
fn it_ends_by_either_signal_and_leaves_the_journal_as_it_was() {
    let scratch = Scratch::new("serve-ends");
    two_runs(&scratch);
    let files = || {
        let entries = std::fs::read_dir(scratch.folder()).expect("listed");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        (names, std::fs::read(scratch.path("j.db")).expect("a journal"))
    };
    let before = files();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let server = Server::new(&scratch, &[]);
        let (code, page) = server.get("/");
        assert!(code == 200 && page.contains(">other<"), "{page}");
        assert_eq!(server.get("/metrics").0, 200);
        // A page that is being followed is no reason to stay.
        let mut follows = TcpStream::connect(server.host()).expect("it listens");
        write!(follows, "GET /runs/none/events HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("sent");
        assert_eq!(server.end(signal), Some(0), "{signal}");
    }
    assert!(files() == before, "{:?}", files().0);
}

#[test]
fn what_can_not_be_is_said_with_its_remedy() {
    let scratch = Scratch::new("serve-errors");
    two_runs(&scratch);
    let server = Server::new(&scratch, &[]);
    std::fs::write(scratch.path("open"), "0123456789abcdef0123\n").expect("written");
    std::fs::write(scratch.path("no.db"), "no database").expect("written");
    std::fs::copy(scratch.path("j.db"), scratch.path("new.db")).expect("copied");
    newer(&scratch.path("new.db"));
    let taken = server.host().to_owned();
    for (args, words) in [
        (&["--listen", &taken][..], &["listen at", "in use", "--listen"][..]),
        (&["--listen", "0.0.0.0:0"], &["there is no token", "--token-file"]),
        (&["--listen", "elsewhere"], &["no address and port"]),
        (&["--token-file", "open"], &["others than its owner", "chmod 600"]),
        (&["--token-file", "none"], &["read the token in none", "urandom"]),
        (&["--journal", "no.db"], &["open store no.db", "another with --journal"]),
        (&["--journal", "none/j.db"], &["open store none/j.db", "--journal"]),
        (&["--journal", "new.db"], &["schema is version", "newer switchmark"]),
    ] {
        let journal: &[&str] = if args[0] == "--journal" { &[] } else { &["--journal", "j.db"] };
        let output = command(&scratch, &[&["serve"], journal, args].concat()).output();
        let output = output.expect("switchmark starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{args:?}: {said}");
    }
}

/// As a later version would leave it.
fn newer(journal: &Path) {
    // The schema's version: 4 octets at 60 (https://www.sqlite.org/fileformat.html §1.3).
    let mut octets = std::fs::read(journal).expect("a journal");
    octets[60..64].copy_from_slice(&1000_u32.to_be_bytes());
    std::fs::write(journal, octets).expect("written");
}

#[test]
fn prometheus_takes_what_it_is_given() {
    let scratch = Scratch::new("serve-metrics");
    let [one, _] = two_runs(&scratch);
    let asked =
        ["forwarding", "--testbed", "sim:trident2", "--flood", "--size", "64", "-t", "20ms"];
    run(&scratch, &[&asked[..], &["--blocks", "2", "--journal", "j.db", "-q"]].concat());
    let server = Server::new(&scratch, &[]);
    let (code, scraped) = server.get("/metrics");
    assert_eq!(code, 200);
    assert_eq!(scraped, server.get("/metrics").1.replace("_total 2", "_total 1"), "twice alike");
    for words in [
        "switchmark_build_info{version=",
        "switchmark_journal_runs{state=\"done\"} 3",
        "switchmark_loss_ratio{",
        "switchmark_round_trip_seconds_bucket{",
        "percentile=\"50\"",
    ] {
        assert!(scraped.contains(words), "{words} in {scraped}");
    }
    for line in scraped.lines().filter(|line| !line.starts_with('#')) {
        let series = line.split(['{', ' ']).next().expect("a name");
        assert!(render::exposition::names::is_known(series), "{line}");
    }
    let export = ["export", &one, "--format", "prometheus", "--journal", "j.db"];
    let exported = String::from_utf8(run(&scratch, &export).stdout).expect("text");
    let Ok(version) = Command::new("promtool").arg("--version").output() else {
        eprintln!("skipped: promtool is not installed");
        return;
    };
    assert!(version.status.success());
    for text in [&scraped, &exported] {
        let mut promtool = Command::new("promtool");
        promtool.args(["check", "metrics"]).stdin(Stdio::piped());
        promtool.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = promtool.spawn().expect("promtool starts");
        child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("written");
        let output = child.wait_with_output().expect("it ends");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success() && said.trim().is_empty(), "{said}");
    }
}

#[test]
fn pages_fit_either_screen_and_no_console_complains() {
    if !browser::is_there("pages_fit_either_screen_and_no_console_complains") {
        return;
    }
    let scratch = Scratch::new("serve-pages");
    let [one, other] = two_runs(&scratch);
    let server = Server::new(&scratch, &[]);
    let paths = [
        "/".to_owned(),
        format!("/runs/{one}"),
        format!("/compare?run={one}&run={other}"),
        "/compare".to_owned(),
        format!("/runs/{one}/live"),
    ];
    for path in &paths {
        let (document, console) = browse_at(&format!("{}{path}", server.address), &scratch);
        assert!(console.is_empty(), "{path}: {console:?}");
        assert!(document.contains("<h1"), "{path}: {document}");
    }
    let (_, list) = server.get("/");
    let found = r#"<span class="question">Added latency</span> <span class="number">+"#;
    assert_eq!(list.matches(found).count(), 2, "{list}");
    let (_, report) = server.get(&paths[1]);
    assert!(report.contains("<title>Added latency +"), "{report}");
    let on_each = |path: &String| SCREENS.map(|screen| (path.clone(), screen));
    let frames: Vec<_> = paths.iter().flat_map(on_each).collect();
    let look = r#"(frame) => {
        const page = frame.contentDocument, root = page.documentElement;
        return {
          page: frame.getAttribute("src"), width: frame.contentWindow.innerWidth,
          content: root.scrollWidth, dark: page.querySelector("meta[name=color-scheme]").content,
          unreachable: [...page.querySelectorAll("a[href], button, input, select")].filter((one) => one.tabIndex < 0).length,
        };
    }"#;
    let ready = "(page) => page && page.readyState === 'complete'";
    let through = Shown::new(server.host(), screens(&frames, ready, look));
    let all: Vec<serde_json::Value> = seen(browse_at(&through.address(), &scratch));
    assert_eq!(all.len(), frames.len());
    for page in all {
        let number = |name: &str| page[name].as_u64().expect("a number");
        assert!(number("content") <= number("width"), "{page}");
        assert_eq!(
            (page["dark"].as_str(), number("unreachable")),
            (Some("light dark"), 0),
            "{page}"
        );
    }
}

#[test]
fn a_folder_of_journals_is_one_list_and_one_that_is_broken_a_warning() {
    let scratch = Scratch::new("serve-folder");
    let [one, other] = two_runs(&scratch);
    std::fs::create_dir(scratch.path("all")).expect("a folder");
    let moved = |from: &str, to: &str| {
        std::fs::rename(scratch.path(from), scratch.path(to)).expect("moved");
    };
    moved("j.db", "all/a.db");
    let [third, _] = two_runs(&scratch);
    moved("j.db", "all/b.db");
    let merge = ["runs", "merge", "all/a.db", "--journal", "all/c.db"];
    run(&scratch, &merge);
    let server = Server::at(&scratch, "all", &[]);
    let (code, page) = server.get("/");
    assert!(code == 200 && page.contains("1 to 4 of 4"), "{page}");
    assert!(!page.contains("role=\"alert\""), "{page}");
    assert_eq!(page.matches(&format!("value=\"{one}\"")).count(), 1, "merged, and shown once");
    for (path, words) in [
        (format!("/runs/{one}"), "RTT"),
        (format!("/runs/{third}"), "RTT"),
        (format!("/compare?run={one}&run={other}"), "compared"),
        (format!("/compare?run={one}&run={third}"), "compared"),
        (format!("/runs/{third}/live"), "Trials"),
        ("/metrics".to_owned(), "switchmark_journal_runs{state=\"done\"} 4"),
    ] {
        let (code, page) = server.get(&path);
        assert!(code == 200 && page.contains(words), "{path}: {page}");
    }
    assert_eq!(server.get("/runs/none").0, 404);
    // One more, and one that is none: seen without a new start, and no error.
    std::fs::write(scratch.path("all/d.db"), "no database").expect("written");
    std::fs::copy(scratch.path("all/a.db"), scratch.path("all/e.db")).expect("copied");
    newer(&scratch.path("all/e.db"));
    let (code, page) = server.get("/");
    assert!(code == 200 && page.contains("1 to 4 of 4"), "{page}");
    assert_eq!(page.matches("role=\"alert\"").count(), 2, "{page}");
    assert!(page.contains("d.db is not shown") && page.contains("newer switchmark"), "{page}");
    assert_eq!(server.get(&format!("/runs/{third}")).0, 200);
    assert_eq!(server.get("/metrics").0, 200);
    assert_eq!(server.end(Signal::SIGINT), Some(0));
}
