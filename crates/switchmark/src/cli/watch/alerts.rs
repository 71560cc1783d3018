//! Alerts: what came to light, to commands and to webhooks, from a thread of their own.
//!
//! Owns how long one may take and how often it is tried. Never holds a trial up: what can't be
//! delivered is dropped and said.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::config::ConfigError;
use crate::speak;

/// So many wait at most.
const WAITING: usize = 64;
/// A command may take so long, and a webhook's answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// After these pauses a webhook is tried again.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// How often a command is asked whether it has ended.
const POLL: Duration = Duration::from_millis(20);

/// Whoever is told.
#[derive(Debug)]
pub struct Alerts {
    queue: Option<SyncSender<Value>>,
    thread: Option<JoinHandle<()>>,
}

impl Alerts {
    /// Of these commands and addresses; nobody is told where there are none.
    pub fn new(commands: &[String], webhooks: &[String]) -> Result<Self, ConfigError> {
        for url in webhooks {
            if !url.starts_with("http://") {
                let message = format!("--webhook {url}: only http:// is spoken");
                let hint = "by TLS a program can: --alert 'curl -sS --json @- https://…'";
                return Err(ConfigError::bare(message, hint));
            }
        }
        if commands.is_empty() && webhooks.is_empty() {
            return Ok(Self { queue: None, thread: None });
        }
        let (queue, waiting) = sync_channel(WAITING);
        let (commands, webhooks) = (commands.to_vec(), webhooks.to_vec());
        let thread = thread::Builder::new()
            .name("alerts".to_owned())
            .spawn(move || deliver(&waiting, &commands, &webhooks))
            .map_err(|cause| {
                ConfigError::bare(format!("start the thread of alerts: {cause}"), "try again")
            })?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Tells them, soon.
    pub fn tell(&self, alert: Value) {
        let Some(queue) = &self.queue else { return };
        if let Err(TrySendError::Full(_)) = queue.try_send(alert) {
            speak::speak("warning: an alert is dropped: those before it are not delivered yet");
        }
    }

    /// All that wait are delivered, or given up.
    pub fn finish(mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn deliver(waiting: &Receiver<Value>, commands: &[String], webhooks: &[String]) {
    while let Ok(alert) = waiting.recv() {
        let text = alert.to_string();
        for command in commands {
            if let Err(why) = run(command, &text) {
                speak::speak(&format!("warning: alert by `{command}`: {why}"));
            }
        }
        for url in webhooks {
            if let Err(why) = post(url, &text) {
                speak::speak(&format!("warning: alert to {url}: {why}"));
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a wait for another program, not a measurement")]
fn run(command: &str, text: &str) -> Result<(), String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|cause| format!("start it: {cause}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let text = text.to_owned();
        // One that does not read what it is told may still do its work, and is not waited for here.
        let writes = move || drop(stdin.write_all(text.as_bytes()));
        let _ = thread::Builder::new().name("alert".to_owned()).spawn(writes);
    }
    let began = Instant::now();
    loop {
        match child.try_wait().map_err(|cause| format!("wait for it: {cause}"))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("it ended with {status}")),
            None if began.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not end within {} s", PATIENCE.as_secs()));
            }
            None => thread::sleep(POLL),
        }
    }
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
