//! Log of a watch: lines on stderr, as journald takes them, and to systemd that it is ready and
//! alive.
//!
//! Owns the priorities and the one datagram socket to the service manager. Never waits for a
//! reader.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

use page::numbers;
use study::run::RunMeta;
use study::watch::{WatchSpec, round_takes};

use crate::speak;
use crate::terminal::screen;

/// sd-daemon(3)'s priorities, which journald takes from the beginning of a line.
const WARNING: &str = "<4>";
const NOTICE: &str = "<5>";
const INFO: &str = "<6>";

/// Log lines, and messages to the service manager.
#[derive(Debug)]
pub struct Log {
    quiet: bool,
    by_priority: bool,
    manager: Option<(UnixDatagram, SocketAddr)>,
}

impl Log {
    /// Reads the environment: `JOURNAL_STREAM`, `NOTIFY_SOCKET` (systemd.exec(5), sd_notify(3)).
    pub fn new(quiet: bool) -> Self {
        let by_priority = std::env::var_os("JOURNAL_STREAM").is_some();
        let manager = std::env::var_os("NOTIFY_SOCKET").and_then(|path| {
            let octets = path.as_bytes();
            let address = match octets.strip_prefix(b"@") {
                Some(name) => SocketAddr::from_abstract_name(name),
                None => SocketAddr::from_pathname(Path::new(&path)),
            };
            let socket = UnixDatagram::unbound().ok()?;
            socket.set_nonblocking(true).ok()?;
            Some((socket, address.ok()?))
        });
        Self { quiet, by_priority, manager }
    }

    /// Warns of something that may spoil figures.
    pub fn warn(&self, text: &str) {
        self.line(WARNING, &format!("warning: {text}"));
    }

    /// Logs something that a user wants to know.
    pub fn notice(&self, text: &str) {
        self.line(NOTICE, text);
    }

    /// Logs progress.
    pub fn info(&self, text: &str) {
        if !self.quiet {
            self.line(INFO, text);
        }
    }

    /// Logs the start: what is watched, how, and where that is kept.
    pub fn begins(&self, meta: &RunMeta, goes_on: bool, spec: &WatchSpec, journal: &Path) {
        let cables = spec.ways.iter().filter(|way| way.is_direct()).count();
        let through = spec.ways.len() - cables;
        let again = if goes_on { " goes on" } else { "" };
        self.info(&format!(
            "watch {}{again}: {through} {} and {cables} direct {} on {}; at most {} % of a link and {} % \
             of a processor, so that a round takes {} at most; journal {}",
            meta.id,
            if through == 1 { "way" } else { "ways" },
            if cables == 1 { "cable" } else { "cables" },
            meta.topology.name,
            spec.link_share * 100.0,
            spec.processor_share * 100.0,
            numbers::span(round_takes(spec, &meta.topology)),
            journal.display(),
        ));
        self.manage(&format!("READY=1\nSTATUS=watching {}", meta.topology.name));
    }

    /// Reports that the watch is alive, and its status; on a terminal in a line that the next
    /// replaces.
    pub fn alive(&self, status: &str, line: &str) {
        self.manage(&format!("WATCHDOG=1\nSTATUS={status}"));
        if !self.quiet && screen::is_redrawn() {
            speak::redraw(line, screen::line());
        }
    }

    /// Reports that the watch is about to end.
    pub fn ends(&self) {
        self.manage("STOPPING=1");
    }

    fn line(&self, priority: &str, text: &str) {
        let before = if self.by_priority { priority } else { "" };
        speak::speak(&format!("{before}{}", text.replace('\u{a0}', " ")));
    }

    fn manage(&self, state: &str) {
        if let Some((socket, address)) = &self.manager {
            // A manager that has gone changes nothing.
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}
