//! The devices under test and their current states.
//!
//! Owns the last variant of each device, so that the next trial gets the one it asks for. Ensures
//! that a trial's disturbances are over before the next trial. A lab's devices are set by the lab;
//! others are set by the user's commands. Never undoes a command of the user: the way back is a
//! variant of its own.

use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use lab::Lab;
use measure::Nanos;
use trial::Subject;
use trial::record::DeedRecord;

use super::Stop;
use super::command::{self, CommandError};
use super::deed_notes::Origin;
use super::trial_error::TrialError;
use crate::failed::Failed;
use crate::hosts::hooks::{DeedHook, Hooks, Ready, ReadyBy, VariantHook};
use crate::protocol::describe_error;
use crate::speak::speak;

/// Maximum number of time-outs of a variant, by its command or by the wait for the device; a third
/// attempt would time out too.
const MOST_HANGS: u32 = 2;
/// Duration after which the user is told about a command that applies a variant.
const WORTH_SAYING: Nanos = Nanos::from_secs(10);
/// Time-out for a probe, which prints a line, and for a reset, which is only started.
const AT_ONCE: Nanos = Nanos::from_secs(60);
/// Pause between two checks of a device that is coming up.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Time-out for one check.
const LOOK: Duration = Duration::from_secs(2);
/// Down time of a lab's device during a reset.
const LAB_RESET: Duration = Duration::from_millis(500);

/// Reason why a device is not in the state that a trial asks for.
struct Unapplied {
    failed: Failed,
    /// True if it timed out, except because the user stopped it.
    hung: bool,
}

impl From<Failed> for Unapplied {
    fn from(failed: Failed) -> Self {
        Self { failed, hung: false }
    }
}

fn no_way_back(device: &str, variant: &str) -> Failed {
    Failed::new(format!(
        "put device `{device}` back into the state in which it was found: variant `{variant}` was \
         applied, and no command leads back"
    ))
}

/// All devices.
#[derive(Debug, Default)]
pub struct Subjects {
    hooks: Hooks,
    /// Known variant of each device, with the output of its probe.
    states: BTreeMap<String, State>,
    /// Variant in which an earlier process left each device, as far as is known: later changes were
    /// not observed.
    left_in: BTreeMap<String, String>,
    /// Number of time-outs, by device and variant.
    hangs: BTreeMap<(String, String), u32>,
    /// Run that uses the devices; `None` outside a run.
    origin: Option<Origin>,
    /// Events of the current trial that were carried out.
    pub(super) done: Vec<DeedRecord>,
    /// Disturbances of the previous trial, each with its device, which may not have recovered yet.
    pub(super) unsettled: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
struct State {
    variant: String,
    probe: Option<String>,
}

impl Subjects {
    /// Creates the devices in their found state, with the user's commands for them.
    pub fn new(hooks: Hooks) -> Self {
        Self { hooks, ..Self::default() }
    }

    /// Sets the run to which disturbances belong from now on.
    pub fn used_by(&mut self, origin: Origin) {
        self.origin = Some(origin);
    }

    /// Run that uses them; `None` outside a run.
    pub const fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Sets the variants of a resumed run: none of these devices is in its found state.
    pub fn left_in(&mut self, variants: BTreeMap<String, String>) {
        self.left_in = variants;
    }

    /// Puts a device into the requested state, if it is not there already.
    pub(super) fn set_state(
        &mut self,
        subject: &Subject,
        lab: Option<&Lab>,
        stop: &Stop,
    ) -> Result<(), Failed> {
        let device = &subject.device;
        let now = self.states.get(device);
        // The state from an earlier process is not known for certain, but it is not the found state
        // either.
        if let (None, None, None, Some(variant)) =
            (lab, &subject.variant, now, self.left_in.get(device))
        {
            return Err(no_way_back(device, variant));
        }
        if subject.variant.as_ref() == now.map(|state| &state.variant) {
            return Ok(());
        }
        // Whatever happens, its state is no longer known for certain.
        let before = self.states.remove(device);
        // A command that fails may have done half of its work, so a way back is still needed.
        if let (None, Some(variant)) = (lab, &subject.variant) {
            self.left_in.insert(device.clone(), variant.clone());
        }
        let probe = match (lab, &subject.variant, before) {
            (Some(lab), variant, _) => {
                lab.apply(device, variant.as_deref())
                    .map_err(Failed::to(format!("set device `{device}`")))?;
                None
            }
            (None, Some(variant), _) => self.try_to_apply(device, variant, stop)?,
            (None, None, Some(before)) => {
                let refused = no_way_back(device, &before.variant);
                self.states.insert(device.clone(), before);
                return Err(refused);
            }
            (None, None, None) => None,
        };
        if let Some(variant) = subject.variant.clone() {
            self.states.insert(device.clone(), State { variant, probe });
        }
        Ok(())
    }

    /// Resets a device; returns when the reset has started, or, in a lab, when it is over.
    pub fn reset(&self, device: &str, lab: Option<&Lab>, stop: &Stop) -> Result<(), Failed> {
        if let Some(lab) = lab {
            let failed = Failed::to(format!("set device `{device}`"));
            return lab.reset(device, LAB_RESET).map_err(failed);
        }
        let line = self.hooks.get(device).and_then(|hooks| hooks.reset.as_deref());
        let line = line.ok_or_else(|| {
            Failed::new(format!("reset device `{device}`: the testbed has no command for it"))
        })?;
        let run = run("reset", line, device, None, AT_ONCE, stop);
        run.map(drop).map_err(|unapplied| unapplied.failed)
    }

    /// Command that disturbs a device, and its undoing; `None` if there is none.
    pub fn deed(&self, device: &str, name: &str) -> Option<&DeedHook> {
        self.hooks.get(device)?.deeds.get(name)
    }

    /// Output of the probe in the device's current state.
    pub fn probe_of(&self, device: &str) -> Option<String> {
        self.states.get(device)?.probe.clone()
    }

    /// Waits until devices have recovered from earlier trials' disturbances, if the testbed defines
    /// a check.
    pub(super) fn settle(&mut self, stop: &Stop) -> Result<(), TrialError> {
        while let Some((device, name)) = self.unsettled.last() {
            if let Some(hook) = self.deed(device, name) {
                let ready = hook.ready.as_ref().map(|ready| wait_for(device, ready, stop));
                if let Some(Err(Unapplied { failed, .. })) = ready {
                    let left = || TrialError::NotUndone(not_as_it_was(device, name, &failed));
                    return Err(if stop.is_requested() { TrialError::Stopped } else { left() });
                }
                stop.rest(hook.settle)?;
            }
            self.unsettled.pop();
        }
        Ok(())
    }

    fn try_to_apply(
        &mut self,
        device: &str,
        variant: &str,
        stop: &Stop,
    ) -> Result<Option<String>, Failed> {
        let of = (device.to_owned(), variant.to_owned());
        if self.hangs.get(&of).is_some_and(|hangs| *hangs >= MOST_HANGS) {
            return Err(Failed::new(format!(
                "put device `{device}` into variant `{variant}`: it hung {MOST_HANGS} times and is \
                 not tried again"
            )));
        }
        let applied = self.apply(device, variant, stop);
        applied.map_err(|Unapplied { failed, hung }| {
            if hung {
                *self.hangs.entry(of).or_default() += 1;
            }
            failed
        })
    }

    fn apply(&self, device: &str, variant: &str, stop: &Stop) -> Result<Option<String>, Unapplied> {
        let hook = self.hooks.get(device).and_then(|hooks| hooks.variants.get(variant));
        let VariantHook { apply, timeout, ready, probe } = hook.ok_or_else(|| {
            Failed::new(format!(
                "put device `{device}` into variant `{variant}`: it has no such variant"
            ))
        })?;
        say_when_slow(device, variant, *timeout, || {
            run("apply the variant to", apply, device, Some(variant), *timeout, stop)
        })?;
        if let Some(ready) = ready {
            wait_for(device, ready, stop)?;
        }
        let run_probe = |line: &String| run("probe", line, device, Some(variant), AT_ONCE, stop);
        let probe = probe.as_ref().map(run_probe);
        probe.transpose()
    }
}

/// Builds the error for a device that has not recovered: every later trial would measure something
/// else.
fn not_as_it_was(device: &str, deed: &str, cause: &Failed) -> Failed {
    Failed::new(format!(
        "device `{device}` is not as it was before `{deed}`: {}; look at it, or give `ready` of the \
         deed a longer timeout",
        describe_error(cause)
    ))
}

/// Runs `work`; if it takes long, tells the user the reason and the time limit.
fn say_when_slow<T: Send>(
    device: &str,
    variant: &str,
    limit: Nanos,
    work: impl FnOnce() -> T + Send,
) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    thread::scope(|threads| {
        threads.spawn(move || {
            if waiting.recv_timeout(WORTH_SAYING.as_duration()) == Err(RecvTimeoutError::Timeout) {
                speak(&format!(
                    "device `{device}`: variant `{variant}` is applied, within {limit}"
                ));
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// Runs a command. The names go into the environment, never into the line.
fn run(
    deed: &str,
    line: &str,
    device: &str,
    variant: Option<&str>,
    limit: Nanos,
    stop: &Stop,
) -> Result<String, Unapplied> {
    let mut environment = vec![("SWITCHMARK_DEVICE", device)];
    environment.extend(variant.map(|variant| ("SWITCHMARK_VARIANT", variant)));
    command::run(line, &environment, limit, stop).map_err(|cause| uncommanded(deed, device, cause))
}

fn uncommanded(deed: &str, device: &str, cause: CommandError) -> Unapplied {
    let hung = matches!(cause, CommandError::Slow { .. });
    Unapplied { failed: Failed::because(format!("{deed} device `{device}`"), cause), hung }
}

#[expect(clippy::disallowed_methods, reason = "a device that comes up is waited for")]
fn wait_for(device: &str, ready: &Ready, stop: &Stop) -> Result<(), Unapplied> {
    let begun = Instant::now();
    loop {
        let up = match &ready.by {
            ReadyBy::Tcp(address) => answers(address),
            ReadyBy::Command(line) => {
                match command::run(line, &[("SWITCHMARK_DEVICE", device)], ready.timeout, stop) {
                    Ok(_) => true,
                    Err(CommandError::Failed { .. }) => false,
                    Err(cause) => return Err(uncommanded("wait for", device, cause)),
                }
            }
        };
        if up {
            return Ok(());
        }
        if stop.is_requested() || begun.elapsed() >= ready.timeout.as_duration() {
            let waited = Nanos(begun.elapsed().as_nanos() as u64);
            let words = format!("wait for device `{device}`: it was not ready after {waited}");
            return Err(Unapplied { failed: Failed::new(words), hung: true });
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// True if the device accepts a connection. A name that does not resolve yet means a device that is
/// not up yet.
fn answers(address: &str) -> bool {
    let Ok(found) = address.to_socket_addrs() else { return false };
    found.into_iter().any(|address| TcpStream::connect_timeout(&address, LOOK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::hooks::DeviceHooks;

    fn subjects(apply: &str, ready: Option<Ready>) -> Subjects {
        let timeout = Nanos::from_millis(60);
        let hook = VariantHook { apply: apply.to_owned(), timeout, ready, probe: None };
        let variants = BTreeMap::from([("new".to_owned(), hook)]);
        let hooks = DeviceHooks { variants, ..DeviceHooks::default() };
        Subjects::new(Hooks::from([("sw1".to_owned(), hooks)]))
    }

    /// A resumed run knows what the process before it applied, but not what has happened since.
    #[test]
    fn a_device_left_in_a_variant_is_not_taken_for_as_found() {
        let file = std::env::temp_dir().join(format!("switchmark-variant-{}", std::process::id()));
        let mut subjects = subjects(&format!("echo new >> {}", file.display()), None);
        let subject = |variant: Option<&str>| Subject {
            device: "sw1".to_owned(),
            variant: variant.map(str::to_owned),
        };
        assert!(
            subjects.set_state(&subject(None), None, &Stop::new()).is_ok(),
            "nothing was applied"
        );
        subjects.left_in(BTreeMap::from([("sw1".to_owned(), "new".to_owned())]));
        for _ in 0..2 {
            let refused =
                subjects.set_state(&subject(None), None, &Stop::new()).expect_err("no way back");
            assert!(refused.to_string().contains("no command leads back"), "{refused}");
        }
        for _ in 0..2 {
            subjects.set_state(&subject(Some("new")), None, &Stop::new()).expect("it is applied");
        }
        let applied = std::fs::read_to_string(&file).expect("the command wrote it");
        std::fs::remove_file(&file).expect("it was made here");
        assert_eq!(applied, "new\n", "once: who knows whether it still is in it");
        let refused =
            subjects.set_state(&subject(None), None, &Stop::new()).expect_err("no way back");
        assert!(refused.to_string().contains("no command leads back"), "{refused}");
    }

    #[test]
    fn what_hangs_is_tried_once_more_and_no_more() {
        let never = || {
            let by = ReadyBy::Command("false".to_owned());
            Some(Ready { by, timeout: Nanos::from_millis(1) })
        };
        let subject = Subject { device: "sw1".to_owned(), variant: Some("new".to_owned()) };
        for (apply, ready, hangs) in
            [("sleep 60", None, true), ("true", never(), true), ("exit 3", None, false)]
        {
            let mut subjects = subjects(apply, ready);
            let mut tried =
                || subjects.set_state(&subject, None, &Stop::new()).expect_err("it fails");
            for _ in 0..MOST_HANGS {
                let error = tried().to_string();
                assert!(!error.contains("not tried again"), "{error}");
            }
            let third = tried();
            assert_eq!(third.to_string().contains("not tried again"), hangs, "{third}");
        }
    }
}
