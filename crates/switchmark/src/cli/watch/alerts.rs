//! Alerts on changes, sent to commands and webhooks from a thread of their own.
//!
//! Owns how long one may take and how often it is tried. Never holds a trial up: an alert that
//! cannot be delivered is dropped and reported.

use std::io::{self, Write as _};
use std::process::Command;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use agents::controller::{Stop, run_to_end};
use serde_json::Value;

use crate::config::ConfigError;
use crate::speak;

/// Maximum alerts that wait.
const WAITING: usize = 64;
/// Time limit for a command, and for a webhook's answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Pauses after which a webhook is tried again.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// Checks for the last alerts once the user wants an end: for a second.
const LAST_GLANCES: u32 = 50;
/// Interval between two checks.
const POLL: Duration = Duration::from_millis(20);

/// Receivers of alerts, and the queue to them.
#[derive(Debug)]
pub struct Alerts {
    queue: Option<SyncSender<Value>>,
    thread: Option<JoinHandle<()>>,
    /// Set once the last alerts are no longer waited for.
    given_up: Stop,
}

impl Alerts {
    /// Alerts these commands and addresses; nobody if there are none.
    pub fn new(commands: &[String], webhooks: &[String]) -> Result<Self, ConfigError> {
        for url in webhooks {
            if !url.starts_with("http://") {
                let message = format!("--webhook {url}: only http:// is spoken");
                let hint = "by TLS a program can: --alert 'curl -sS --json @- https://…'";
                return Err(ConfigError::bare(message, hint));
            }
        }
        if commands.is_empty() && webhooks.is_empty() {
            return Ok(Self { queue: None, thread: None, given_up: Stop::new() });
        }
        let (queue, waiting) = sync_channel(WAITING);
        let (commands, webhooks) = (commands.to_vec(), webhooks.to_vec());
        let given_up = Stop::new();
        let given = given_up.clone();
        let thread = thread::Builder::new()
            .name("alerts".to_owned())
            .spawn(move || deliver(&waiting, &commands, &webhooks, &given))
            .map_err(|cause| {
                ConfigError::bare(format!("start the thread of alerts: {cause}"), "try again")
            })?;
        Ok(Self { queue: Some(queue), thread: Some(thread), given_up })
    }

    /// Queues an alert.
    pub fn enqueue(&self, alert: Value) {
        let Some(queue) = &self.queue else { return };
        if let Err(TrySendError::Full(_)) = queue.try_send(alert) {
            speak::speak("warning: an alert is dropped: those before it are not delivered yet");
        }
    }

    /// Waits until all queued alerts are delivered or given up; soon if the user wants an end.
    pub fn finish(mut self, stop: &Stop) {
        drop(self.queue.take());
        let Some(thread) = self.thread.take() else { return };
        let mut left = LAST_GLANCES;
        while !thread.is_finished() && left > 0 {
            left -= u32::from(stop.is_requested());
            thread::park_timeout(POLL);
        }
        self.given_up.ask();
        if !thread.is_finished() {
            speak::speak("warning: the last alerts are not delivered");
        }
    }
}

fn deliver(waiting: &Receiver<Value>, commands: &[String], webhooks: &[String], given_up: &Stop) {
    while let Ok(alert) = waiting.recv() {
        if given_up.is_requested() {
            return;
        }
        let text = alert.to_string();
        for command in commands {
            if let Err(why) = run(command, &text, given_up) {
                speak::speak(&format!("warning: alert: {why}"));
            }
        }
        for url in webhooks {
            if let Err(why) = post(url, &text) {
                speak::speak(&format!("warning: alert to {url}: {why}"));
            }
        }
    }
}

fn run(line: &str, text: &str, given_up: &Stop) -> Result<(), String> {
    let (stdin, mut told) = io::pipe().map_err(|cause| format!("`{line}`: {cause}"))?;
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).stdin(stdin);
    let text = text.to_owned();
    // A command that does not read its input may still do its work, and is not waited for here.
    let writes = move || drop(told.write_all(text.as_bytes()));
    let _ = thread::Builder::new().name("alert".to_owned()).spawn(writes);
    let ran = run_to_end(shell, line, PATIENCE.into(), given_up);
    ran.map(drop).map_err(|cause| cause.to_string())
}

#[expect(clippy::disallowed_methods, reason = "a pause before trying again, not a measurement")]
fn post(url: &str, text: &str) -> Result<(), String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        .build()
        .into();
    let once = || agent.post(url).content_type("application/json").send(text).map(drop);
    let mut tried = once();
    for pause in AGAIN {
        if tried.is_ok() {
            break;
        }
        thread::sleep(pause);
        tried = once();
    }
    tried.map_err(|cause| cause.to_string())
}
