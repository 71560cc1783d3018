//! A server over a journal that is made up, and a client that sends whatever it is given.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use journal::progress::{Progress, TrialLine, Values};
use journal::{RunStatus, RunSummary};
use page::{Found, Tone};
use render::exposition::Family;
use serve::{
    Kind, Limits, Listen, Listing, Options, Place, Server, Source, Stopper, Testbed, Token,
    Unavailable, Watch,
};

/// A journal of runs called `run-0` and so on; the newest is under way.
#[derive(Clone)]
pub struct ScriptedJournal {
    pub runs: u64,
    /// How many trials the run under way has, and how long each one's words are.
    pub trials: Arc<AtomicU64>,
    pub words: usize,
    pub ended: Arc<Mutex<bool>>,
    /// What cannot be read beside the runs.
    pub warnings: Vec<String>,
}

impl ScriptedJournal {
    pub fn of(runs: u64) -> Self {
        let (trials, ended, warnings) = (Arc::default(), Arc::default(), Vec::new());
        Self { runs, trials, words: 10, ended, warnings }
    }
}

impl Source for ScriptedJournal {
    fn name(&self) -> String {
        "a journal <that> is made up".to_owned()
    }

    fn runs(&self) -> Result<Listing, Unavailable> {
        let run = |n: u64| RunSummary {
            id: format!("run-{n}"),
            created_unix_ns: n,
            verb: "latency".to_owned(),
            testbed: "<script>alert(1)</script>".to_owned(),
            status: if n + 1 == self.runs { RunStatus::Running } else { RunStatus::Done },
            trials: 0,
            invalid: 0,
            failed: 0,
            holder: None,
            found: None,
            label: Some("\"><b>".to_owned()),
            note: None,
        };
        let runs: Vec<RunSummary> = (0..self.runs).rev().map(run).collect();
        Ok(Listing { runs, warnings: self.warnings.clone() })
    }

    fn sum_up(&self, runs: &mut [RunSummary]) -> Result<(), Unavailable> {
        for run in runs {
            run.trials = 100;
            // The first has an answer.
            let found = || Found {
                question: "Non-blocking?".to_owned(),
                said: "no".to_owned(),
                tone: Some(Tone::Bad),
            };
            run.found = (run.id == "run-0").then(found);
        }
        Ok(())
    }

    fn report(&self, run: &str) -> Result<String, Unavailable> {
        match run {
            "run-0" => Ok("<!doctype html><p>the report, as it is</p>".to_owned()),
            "run-1" => panic!("a page that cannot be made"),
            _ => Err(Unavailable::new(Kind::Missing, format!("there is no run {run}"))),
        }
    }

    fn testbed(&self, _: &str) -> Result<Testbed, Unavailable> {
        let svg = "<svg></svg>".to_owned();
        Ok(Testbed { svg, caption: "a testbed <that> is made up".to_owned() })
    }

    fn comparison(&self, reference: &str, subject: &str) -> Result<String, Unavailable> {
        if reference == subject {
            return Err(Unavailable::new(Kind::Question, "both sides are the same"));
        }
        Ok(format!("{subject} against {reference}"))
    }

    fn metrics(&self) -> Result<Vec<Family>, Unavailable> {
        Ok(vec![Family::info("made_info", "Made up", &[("name", "a\"b")])])
    }

    fn watch(&self) -> Result<Box<dyn Watch>, Unavailable> {
        Ok(Box::new(Follows { of: self.clone(), seen: BTreeMap::new() }))
    }
}

struct Follows {
    of: ScriptedJournal,
    seen: BTreeMap<String, u64>,
}

impl Watch for Follows {
    fn changed(&mut self) -> Result<bool, Unavailable> {
        let now = self.of.trials.load(Ordering::Relaxed);
        let ended = *self.of.ended.lock().expect("not poisoned");
        Ok(self.seen.insert(String::new(), now) != Some(now) || ended)
    }

    fn progress(&mut self, _: &str) -> Result<Progress, Unavailable> {
        let done = self.of.trials.load(Ordering::Relaxed);
        let ended = *self.of.ended.lock().expect("not poisoned");
        let line = |ordinal| TrialLine {
            ordinal,
            began_unix_ns: "1795219200000000000".to_owned(),
            label: format!("trial {ordinal}"),
            path: "device",
            outcome: "valid",
            result: "x".repeat(self.of.words),
            values: Values::default(),
        };
        Ok(Progress {
            status: if ended { "done" } else { "running" }.to_owned(),
            ended,
            done,
            unusable: 0,
            expected: 100,
            left: "some".to_owned(),
            trials: (done.saturating_sub(200)..done).map(line).collect(),
            brackets: Vec::new(),
            warnings: Vec::new(),
            ports: Vec::new(),
        })
    }
}

/// A server that ends with it.
pub struct Running {
    pub place: Place,
    pub stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

pub const TOKEN: &str = "a-token-of-the-tests";

pub fn limits() -> Limits {
    Limits {
        connections: 128,
        handshakes: 16,
        request: Duration::from_millis(400),
        stalled: Duration::from_millis(400),
    }
}

impl Running {
    pub fn with(source: ScriptedJournal, listen: Listen, token: bool, limits: Limits) -> Self {
        let token = token.then(|| Token::new(TOKEN).expect("a token"));
        let names = vec!["lab-3".to_owned()];
        Self::by(source, Options { listen, token, names, limits, ..Options::default() })
    }

    pub fn by(source: ScriptedJournal, options: Options) -> Self {
        let server = Server::bind(options).expect("a free port");
        let (place, stopper) = (server.place().clone(), server.stopper());
        let thread = std::thread::spawn(move || server.run(Arc::new(source)).expect("it serves"));
        Self { place, stopper, thread: Some(thread) }
    }

    pub fn new(source: ScriptedJournal) -> Self {
        Self::with(source, "127.0.0.1:0".parse().expect("a place"), false, limits())
    }

    pub fn with_token(source: ScriptedJournal) -> Self {
        Self::with(source, "127.0.0.1:0".parse().expect("a place"), true, limits())
    }

    pub fn address(&self) -> SocketAddr {
        match self.place.listen {
            Listen::Tcp(address) => address,
            Listen::Unix(_) => panic!("no address"),
        }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("settable");
        stream
    }

    /// All that comes back for these octets until the server closes.
    pub fn say(&self, octets: &[u8]) -> String {
        let mut stream = self.connect();
        // It may be refused before all is said.
        let _ = stream.write_all(octets);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// One request with these fields.
    pub fn ask(&self, first: &str, fields: &[&str]) -> String {
        let host = if fields.iter().any(|f| f.to_lowercase().starts_with("host:")) {
            String::new()
        } else {
            "host: localhost\r\n".to_owned()
        };
        let fields = [fields, &["connection: close\r\n"]].concat().join("\r\n");
        self.say(format!("{first} HTTP/1.1\r\n{host}{fields}\r\n").as_bytes())
    }

    pub fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path}"), &[])
    }

    /// How often something was refused so.
    pub fn refused(&self, reason: &str) -> u64 {
        let metrics = self.ask("GET /metrics", &[&format!("authorization: Bearer {TOKEN}")]);
        let name = format!("switchmark_serve_refused_total{{reason=\"{reason}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or_else(|| panic!("{metrics}")).parse().expect("a count")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}

pub fn status(answer: &str) -> u16 {
    let code = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    code.and_then(|code| code.parse().ok()).unwrap_or(0)
}

pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("waited in vain for {what}");
}
