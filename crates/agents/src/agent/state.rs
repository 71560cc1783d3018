//! Handling of the agent's requests, one after another.
//!
//! Owns the current trial, and the changes to undo when the agent ends. Never reads or writes a
//! pipe.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dataplane::cable_probe::{self, Audience, CableProbeListener, Sign};
use dataplane::{FlowError, clock};
use measure::Nanos;

use super::bounds::{Bounds, Load};
use super::cancel::Cancel;
use super::delays::Delays;
use super::found;
use super::hold::Hold;
use super::launcher_connection::LauncherConnection;
use super::storage::Files;
use super::trial::{LONGEST_TRIAL, Trial};
use super::{Handled, change, examine, facts, nics, offloads};
use crate::failed::Failed;
use crate::protocol::{Answer, Ask, OffloadChange, Order, PortProbe, ProbeReply, describe_error};

/// Time-out after which a prepared trial that was not started is abandoned: its data ports must not
/// stay.
const PREPARED_FOR: Duration = Duration::from_mins(1);
/// Time to wait for answers; a host with the address answers at once.
const ANSWERING: Nanos = Nanos::from_millis(200);
/// Wait for requests while no trial is prepared.
const IDLE_FOR: Duration = Duration::from_hours(1);

/// The agent's state between requests.
pub struct AgentState {
    cancel: Cancel,
    bounds: Option<Bounds>,
    /// Load of the trial's answers by interface.
    answers: Load,
    delays: Delays,
    hold: Hold,
    ears: Vec<CableProbeListener>,
    trial: Option<Trial>,
    files: Files,
    connection: LauncherConnection,
}

impl AgentState {
    /// Creates an idle state; `connection` is that of what launched this agent.
    pub fn new(cancel: Cancel, connection: LauncherConnection) -> Self {
        let (delays, hold) = (Delays::default(), Hold::default());
        Self {
            cancel,
            bounds: None,
            answers: Load::new(),
            delays,
            hold,
            ears: Vec::new(),
            trial: None,
            files: Files::default(),
            connection,
        }
    }

    /// Time to wait for the next request before [`Self::abandon`].
    pub fn patience(&self) -> Duration {
        match &self.trial {
            Some(trial) if !trial.is_running() => PREPARED_FOR,
            _ => IDLE_FOR,
        }
    }

    /// Abandons a trial that was not started.
    pub fn abandon(&mut self) {
        self.trial = self.trial.take().filter(Trial::is_running);
    }

    /// Handles a request.
    pub fn handle(&mut self, ask: Ask) -> Handled {
        match ask {
            Ask::Clock => Ok(Answer::Clock { monotonic: clock::monotonic() }),
            Ask::Facts { interfaces } => Ok(Answer::Facts(Box::new(facts::gather(&interfaces)))),
            Ask::Offloads { interfaces, change } => self.offloads(&interfaces, change),
            Ask::Delay { ports, delay } => self.delay(&ports, delay),
            Ask::Terms { terms } => {
                if self.bounds.is_some() {
                    return Err(Failed::new("terms: terms are said once, and hold"));
                }
                self.cancel.notes().lasts(terms.lasting);
                self.bounds = Some(Bounds::new(terms));
                Ok(Answer::Agreed { mended: found::mend() })
            }
            Ask::Hold { interfaces, holder } => {
                for interface in &interfaces {
                    self.bounds("hold")?.check_interface(interface)?;
                }
                self.hold = Hold::default();
                self.hold = Hold::take(&interfaces, &holder)?;
                Ok(Answer::Done)
            }
            Ask::Examine { interfaces, watched } => {
                let examined = examine::gather(&interfaces, watched.as_duration());
                Ok(Answer::Examined(Box::new(examined)))
            }
            Ask::Nics => Ok(Answer::Nics { nics: nics::list(&self.connection)? }),
            Ask::Change { settings } => {
                for setting in &settings {
                    self.bounds("change")?.check_setting(setting)?;
                }
                change::change(&mut self.cancel.notes(), &settings)?;
                Ok(Answer::Done)
            }
            Ask::Listen { interfaces, mark } => self.listen(&interfaces, mark),
            Ask::CableProbe { mark, ports } => self.probe(mark, &ports),
            Ask::Heard => self.collect_frames(),
            Ask::Prepare { mut receivers, interfaces } => self.prepare(&mut receivers, interfaces),
            Ask::Connect { senders } => self.connect(&senders),
            Ask::Start { window } => {
                let longest = self.bounds.as_ref().map(|bounds| bounds.longest(LONGEST_TRIAL));
                self.prepared("start")?.start(window, longest.unwrap_or(LONGEST_TRIAL))?;
                Ok(Answer::Done)
            }
            Ask::Collect => match self.trial.take() {
                Some(trial) => Ok(Answer::Collected(Box::new(trial.collect()?))),
                None => Err(Failed::new("collect: no trial was prepared")),
            },
            Ask::Abort => {
                self.cancel.halt();
                self.trial = None;
                Ok(Answer::Done)
            }
            Ask::Goodbye => {
                self.trial = None;
                self.cancel.halt_and_restore()?;
                Ok(Answer::Done)
            }
        }
    }

    fn prepare(&mut self, receivers: &mut [Order], interfaces: Vec<String>) -> Handled {
        self.trial = None;
        self.bounds("prepare")?.hear_translated(receivers);
        self.answers = self.bounds("prepare")?.check(receivers, None)?;
        let mut trial = Trial::new(self.cancel.fresh_halt(), interfaces);
        let ports = trial.open(receivers, false, &self.files)?;
        self.trial = Some(trial);
        Ok(Answer::Prepared { ports })
    }

    fn connect(&mut self, senders: &[Order]) -> Handled {
        self.prepared("connect")?;
        self.bounds("connect")?.check(senders, Some(&self.answers))?;
        let files = self.files.clone();
        self.prepared("connect")?.open(senders, true, &files)?;
        Ok(Answer::Done)
    }

    fn listen(&mut self, interfaces: &[String], mark: u32) -> Handled {
        for interface in interfaces {
            self.bounds("listen")?.check_interface(interface)?;
        }
        let open = |interface: &String| {
            CableProbeListener::open(interface, mark).map_err(|cause| untold(interface, cause))
        };
        self.ears = interfaces.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Answer::Done)
    }

    fn probe(&self, mark: u32, ports: &[PortProbe]) -> Handled {
        for port in ports {
            self.bounds("cable-probe")?.check_interface(&port.interface)?;
        }
        let reply = |port: &PortProbe| {
            let failed = send_all(port, mark).err();
            let failed = failed.map(|cause| describe_error(&untold(&port.interface, cause)));
            let asked = port.address.map(|it| cable_probe::owners(&port.interface, it, ANSWERING));
            let owners = asked.and_then(Result::ok).unwrap_or_default();
            let text = |mac: &[u8; 6]| mac.map(|octet| format!("{octet:02x}")).join(":");
            ProbeReply { owners: owners.iter().map(text).collect(), failed }
        };
        Ok(Answer::CableProbed { replies: ports.iter().map(reply).collect() })
    }

    fn collect_frames(&mut self) -> Handled {
        let mut frames: BTreeMap<String, BTreeSet<u16>> = BTreeMap::new();
        for ear in std::mem::take(&mut self.ears) {
            let interface = ear.interface().to_owned();
            let numbers = ear.receive_numbers().map_err(|cause| untold(&interface, cause))?;
            frames.entry(interface).or_default().extend(numbers);
        }
        Ok(Answer::Heard { frames })
    }

    fn bounds(&self, ask: &'static str) -> Result<&Bounds, Failed> {
        self.bounds.as_ref().ok_or_else(|| Failed::new(format!("{ask}: no terms were said")))
    }

    fn prepared(&mut self, ask: &'static str) -> Result<&mut Trial, Failed> {
        match &mut self.trial {
            Some(trial) if !trial.is_running() => Ok(trial),
            Some(_) => Err(Failed::new(format!("{ask}: the trial runs already"))),
            None => Err(Failed::new(format!("{ask}: no trial was prepared"))),
        }
    }

    fn offloads(&self, interfaces: &[String], change: OffloadChange) -> Handled {
        let mut notes = self.cancel.notes();
        match change {
            OffloadChange::Off => offloads::turn_off(&mut notes, interfaces)?,
            OffloadChange::Restore => offloads::restore(&mut notes, interfaces)?,
        }
        Ok(Answer::Done)
    }

    fn delay(&mut self, ports: &BTreeMap<String, u32>, delay: Nanos) -> Handled {
        let mut notes = self.cancel.notes();
        Ok(Answer::Delayed { through: self.delays.add(&mut notes, ports, delay)? })
    }
}

fn send_all(port: &PortProbe, mark: u32) -> Result<(), FlowError> {
    port.frames.iter().try_for_each(|frame| {
        let sign = Sign { mark, number: frame.number };
        let audience = if frame.far_end_only { Audience::FarEnd } else { Audience::Everybody };
        cable_probe::send_frame(&port.interface, sign, frame.size, audience)
    })
}

fn untold(interface: &str, cause: FlowError) -> Failed {
    Failed::because(format!("prove the cable of `{interface}`"), cause)
}
