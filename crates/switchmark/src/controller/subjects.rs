//! The devices under test and the state each is in.
//!
//! Owns which variant a device was put into last, so that the next trial finds the one it asks for. A
//! lab's devices are the lab's to set; others are set by the user's commands. Never undoes a command
//! of the user's: what leads back is a variant of its own.

use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Lab, LabError};
use measure::Nanos;
use method::trial::Subject;

use super::Stop;
use super::command::{self, CommandError};
use crate::config::hooks::{Hooks, Ready, ReadyBy, VariantHook};

/// A command that applies a variant may build and install a kernel.
const APPLYING: Nanos = Nanos::from_secs(3600);
/// A probe prints a line, and a reset is only begun.
const AT_ONCE: Nanos = Nanos::from_secs(60);
/// Between two looks at a device that is coming up.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// One look.
const LOOK: Duration = Duration::from_secs(2);
/// How long a lab's device is down when it is reset.
const LAB_RESET: Duration = Duration::from_millis(500);

/// Why a device is not in the state that a trial asks for.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// Neither the lab nor a command knows it.
    #[error("put device `{device}` into variant `{variant}`: it has no such variant")]
    NoVariant {
        /// The device's name.
        device: String,
        /// The variant's.
        variant: String,
    },
    /// There is no command for its plain state.
    #[error(
        "put device `{device}` back into the state in which it was found: variant `{variant}` was \
         applied, and no command leads back"
    )]
    NoWayBack {
        /// The device's name.
        device: String,
        /// The variant it is in.
        variant: String,
    },
    /// It can't be reset.
    #[error("reset device `{device}`: the testbed has no command for it")]
    NoReset {
        /// The device's name.
        device: String,
    },
    /// The lab could not do it.
    #[error("set device `{device}`")]
    Lab {
        /// The device's name.
        device: String,
        /// Why.
        #[source]
        cause: LabError,
    },
    /// A command failed.
    #[error("{deed} device `{device}`")]
    Command {
        /// What it was to do.
        deed: &'static str,
        /// The device's name.
        device: String,
        /// Why.
        #[source]
        cause: CommandError,
    },
    /// It did not come up.
    #[error("wait for device `{device}`: it was not ready after {waited}")]
    NotReady {
        /// The device's name.
        device: String,
        /// How long.
        waited: Nanos,
    },
}

/// All devices.
#[derive(Debug, Default)]
pub struct Subjects {
    hooks: Hooks,
    /// The variant each is known to be in, and what its probe said.
    states: BTreeMap<String, State>,
}

#[derive(Debug, Clone)]
struct State {
    variant: String,
    probe: Option<String>,
}

impl Subjects {
    /// Devices as they are found, with what the user's commands can do to them.
    pub const fn new(hooks: Hooks) -> Self {
        Self { hooks, states: BTreeMap::new() }
    }

    /// Puts a device into the state asked for, if it is not there already; what its probe says.
    pub fn put(
        &mut self,
        subject: &Subject,
        lab: Option<&Lab>,
        stop: &Stop,
    ) -> Result<Option<String>, SubjectError> {
        let device = &subject.device;
        let now = self.states.get(device);
        if subject.variant.as_ref() == now.map(|state| &state.variant) {
            return Ok(now.and_then(|state| state.probe.clone()));
        }
        // Whatever happens, it is no longer known to be where it was.
        let before = self.states.remove(device);
        let probe = match (lab, &subject.variant, before) {
            (Some(lab), variant, _) => {
                lab.apply(device, variant.as_deref())
                    .map_err(|cause| SubjectError::Lab { device: device.clone(), cause })?;
                None
            }
            (None, Some(variant), _) => self.apply(device, variant, stop)?,
            (None, None, Some(before)) => {
                let (device, variant) = (device.clone(), before.variant.clone());
                self.states.insert(device.clone(), before);
                return Err(SubjectError::NoWayBack { device, variant });
            }
            (None, None, None) => None,
        };
        if let Some(variant) = subject.variant.clone() {
            self.states.insert(device.clone(), State { variant, probe: probe.clone() });
        }
        Ok(probe)
    }

    /// Resets a device; returns when the reset was begun, or, in a lab, when it is over.
    pub fn reset(&self, device: &str, lab: Option<&Lab>, stop: &Stop) -> Result<(), SubjectError> {
        if let Some(lab) = lab {
            let failed = |cause| SubjectError::Lab { device: device.to_owned(), cause };
            return lab.reset(device, LAB_RESET).map_err(failed);
        }
        let line = self.hooks.get(device).and_then(|hooks| hooks.reset.as_deref());
        let line = line.ok_or_else(|| SubjectError::NoReset { device: device.to_owned() })?;
        run("reset", line, (device, None), AT_ONCE, stop).map(drop)
    }

    fn apply(
        &self,
        device: &str,
        variant: &str,
        stop: &Stop,
    ) -> Result<Option<String>, SubjectError> {
        let hook = self.hooks.get(device).and_then(|hooks| hooks.variants.get(variant));
        let VariantHook { apply, ready, probe } = hook.ok_or_else(|| SubjectError::NoVariant {
            device: device.to_owned(),
            variant: variant.to_owned(),
        })?;
        let of = (device, Some(variant));
        run("apply the variant to", apply, of, APPLYING, stop)?;
        if let Some(ready) = ready {
            wait_for(device, ready, stop)?;
        }
        let probe = probe.as_ref().map(|line| run("probe", line, of, AT_ONCE, stop));
        probe.transpose()
    }
}

/// The names go into the environment, never into the line.
fn run(
    deed: &'static str,
    line: &str,
    (device, variant): (&str, Option<&str>),
    limit: Nanos,
    stop: &Stop,
) -> Result<String, SubjectError> {
    let mut environment = vec![("SWITCHMARK_DEVICE", device)];
    environment.extend(variant.map(|variant| ("SWITCHMARK_VARIANT", variant)));
    command::run(line, &environment, limit, stop).map_err(|cause| SubjectError::Command {
        deed,
        device: device.to_owned(),
        cause,
    })
}

#[expect(clippy::disallowed_methods, reason = "a device that comes up is waited for")]
fn wait_for(device: &str, ready: &Ready, stop: &Stop) -> Result<(), SubjectError> {
    let begun = Instant::now();
    loop {
        let up = match &ready.by {
            ReadyBy::Tcp(address) => answers(address),
            ReadyBy::Command(line) => {
                match command::run(line, &[("SWITCHMARK_DEVICE", device)], ready.timeout, stop) {
                    Ok(_) => true,
                    Err(CommandError::Failed { .. }) => false,
                    Err(cause) => {
                        let device = device.to_owned();
                        return Err(SubjectError::Command { deed: "wait for", device, cause });
                    }
                }
            }
        };
        if up {
            return Ok(());
        }
        if stop.asked() || begun.elapsed() >= ready.timeout.as_duration() {
            return Err(SubjectError::NotReady {
                device: device.to_owned(),
                waited: Nanos(begun.elapsed().as_nanos() as u64),
            });
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// A name that does not resolve yet is a device that is not up yet.
fn answers(address: &str) -> bool {
    let Ok(found) = address.to_socket_addrs() else { return false };
    found.into_iter().any(|address| TcpStream::connect_timeout(&address, LOOK).is_ok())
}
