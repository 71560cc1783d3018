//! Debian's Prometheus beside a page of ours: it scrapes that, and has our rules.
//!
//! Needs no root. It listens on loopback, keeps its data in the test's own folder and is ended with
//! the test.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{Scratch, get, switchmark, wait_for};

/// Whether there is such a program; where not, that is said.
pub fn is_there(program: &str, test: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {test}: {program} is not installed");
    }
    found
}

/// A Prometheus that is ended when it is dropped.
pub struct Prometheus {
    child: Child,
    pub address: String,
}

impl Prometheus {
    /// One that scrapes that server every second, and looks at the rules as often.
    pub fn new(scratch: &Scratch, host: &str) -> Self {
        let config = format!(
            "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\n\
             rule_files: [rules.yml]\n\
             scrape_configs:\n  - job_name: switchmark\n    \
             static_configs: [{{ targets: [\"{host}\"] }}]\n"
        );
        std::fs::write(scratch.path("prometheus.yml"), config).expect("written");
        let rules = Command::new(switchmark()).args(["serve", "--print", "rules"]).output();
        let rules = rules.expect("switchmark starts").stdout;
        std::fs::write(scratch.path("rules.yml"), rules).expect("written");
        let log = scratch.path("prometheus.log");
        let child = Command::new("prometheus")
            .arg("--config.file=prometheus.yml")
            .arg("--storage.tsdb.path=data")
            .arg("--web.listen-address=127.0.0.1:0")
            .current_dir(scratch.folder())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).expect("a file"))
            .spawn()
            .expect("prometheus starts");
        let mut this = Self { child, address: String::new() };
        wait_for("prometheus to listen", || {
            this.address = listening(&log).unwrap_or_default();
            !this.address.is_empty()
        });
        // It listens before it has read what it kept, and refuses every query until then.
        wait_for("prometheus to be ready", || get(&this.address, "/-/ready").0 == 200);
        this
    }

    /// What its API answers.
    pub fn ask(&self, path: &str) -> Value {
        let (_, body) = get(&self.address, path);
        serde_json::from_str(&body).unwrap_or_else(|why| panic!("{path}: {why}: {body}"))
    }

    pub fn query(&self, query: &str) -> Value {
        let encoded = query.bytes().fold(String::new(), |mut out, octet| {
            let _ = write!(out, "%{octet:02x}");
            out
        });
        let answer = self.ask(&format!("/api/v1/query?query={encoded}"));
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].clone()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address that it logs once it has a port.
fn listening(log: &Path) -> Option<String> {
    let log = std::fs::read_to_string(log).ok()?;
    let line = log.lines().find(|line| line.contains("\"Listening on\""))?;
    let address = line.split("address=").nth(1)?;
    Some(address.split_whitespace().next()?.trim_matches('"').to_owned())
}
