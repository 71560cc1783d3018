//! What the agent does for each request, one after another.
//!
//! Owns the trial under way, and what is to be put back when the agent ends. Never reads or writes
//! a pipe.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use dataplane::cable_probe::{self, CableProbeListener, Sign};
use dataplane::{FlowError, clock};
use measure::Nanos;

use super::bounds::{Bounds, Load};
use super::cancel::Cancel;
use super::delays::Delays;
use super::found;
use super::hold::Hold;
use super::trial::{LONGEST_TRIAL, Trial};
use super::{Handled, change, examine, facts, offloads};
use crate::failed::Failed;
use crate::protocol::{Answer, Ask, OffloadChange};

/// A trial that was prepared and never started is given up after this: its data ports must not
/// stay.
const PREPARED_FOR: Duration = Duration::from_mins(1);
/// Whoever has an address answers at once.
const ANSWERING: Nanos = Nanos::from_millis(200);
/// Nothing to look after.
const IDLE_FOR: Duration = Duration::from_hours(1);

/// The agent's state between requests.
pub struct AgentState {
    reins: Cancel,
    bounds: Option<Bounds>,
    /// What the trial's answers ask of the interfaces.
    answers: Load,
    delays: Delays,
    hold: Hold,
    ears: Vec<CableProbeListener>,
    trial: Option<Trial>,
}

impl AgentState {
    /// With nothing under way.
    pub fn new(reins: Cancel) -> Self {
        let (delays, hold) = (Delays::default(), Hold::default());
        Self {
            reins,
            bounds: None,
            answers: Load::new(),
            delays,
            hold,
            ears: Vec::new(),
            trial: None,
        }
    }

    /// How long to wait for the next request before [`Self::abandon`].
    pub fn patience(&self) -> Duration {
        match &self.trial {
            Some(trial) if !trial.is_running() => PREPARED_FOR,
            _ => IDLE_FOR,
        }
    }

    /// Gives up a trial that nobody started.
    pub fn abandon(&mut self) {
        self.trial = self.trial.take().filter(Trial::is_running);
    }

    /// Does what is asked.
    pub fn handle(&mut self, ask: Ask) -> Handled {
        match ask {
            Ask::Clock => Ok(Answer::Clock { monotonic: clock::monotonic() }),
            Ask::Facts { interfaces } => Ok(Answer::Facts(facts::gather(&interfaces))),
            Ask::Offloads { interfaces, change } => self.offloads(&interfaces, change),
            Ask::Delay { ports, delay } => self.delay(&ports, delay),
            Ask::Terms { terms } => {
                if self.bounds.is_some() {
                    return Err(Failed::new("terms: terms are said once, and hold"));
                }
                self.reins.notes().lasts(terms.lasting);
                self.bounds = Some(Bounds::new(terms));
                Ok(Answer::Agreed { mended: found::mend() })
            }
            Ask::Hold { interfaces, holder } => {
                for interface in &interfaces {
                    self.bounds("hold")?.check_interface(interface)?;
                }
                self.hold = Hold::default();
                self.hold = Hold::take(&interfaces, &holder)?;
                Ok(Answer::Holding)
            }
            Ask::Examine { interfaces } => {
                Ok(Answer::Examined(Box::new(examine::gather(&interfaces))))
            }
            Ask::Change { settings } => {
                change::change(&mut self.reins.notes(), &settings)?;
                Ok(Answer::Changed)
            }
            Ask::Listen { interfaces, mark } => self.listen(&interfaces, mark),
            Ask::CableProbe { interface, mark, port, size, address } => {
                self.knock(&interface, Sign { mark, port }, size, address)
            }
            Ask::Heard => self.heard(),
            Ask::Prepare { receivers, interfaces } => {
                self.trial = None;
                self.answers = self.bounds("prepare")?.check(&receivers, None)?;
                let mut trial = Trial::new(self.reins.fresh_halt(), interfaces);
                let ports = trial.receive(&receivers)?;
                self.trial = Some(trial);
                Ok(Answer::Prepared { ports })
            }
            Ask::Connect { senders } => {
                self.prepared("connect")?;
                self.bounds("connect")?.check(&senders, Some(&self.answers))?;
                let reins = self.reins.clone();
                self.prepared("connect")?.send(&senders, &reins)?;
                Ok(Answer::Connected)
            }
            Ask::Start { window } => {
                let longest = self.bounds.as_ref().map(|bounds| bounds.longest(LONGEST_TRIAL));
                self.prepared("start")?.start(window, longest.unwrap_or(LONGEST_TRIAL))?;
                Ok(Answer::Started)
            }
            Ask::Collect => match self.trial.take() {
                Some(trial) => Ok(Answer::Collected(Box::new(trial.collect()?))),
                None => Err(Failed::new("collect: no trial was prepared")),
            },
            Ask::Abort => {
                self.reins.halt();
                self.trial = None;
                Ok(Answer::Aborted)
            }
            Ask::Goodbye => {
                self.trial = None;
                self.reins.let_go()?;
                Ok(Answer::Farewell)
            }
        }
    }

    fn listen(&mut self, interfaces: &[String], mark: u32) -> Handled {
        for interface in interfaces {
            self.bounds("listen")?.check_interface(interface)?;
        }
        let open = |interface: &String| {
            CableProbeListener::open(interface, mark).map_err(|cause| untold(interface, cause))
        };
        self.ears = interfaces.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Answer::Listening)
    }

    fn knock(&self, interface: &str, sign: Sign, size: u32, address: Option<Ipv4Addr>) -> Handled {
        self.bounds("knock")?.check_interface(interface)?;
        let failed = |cause| untold(interface, cause);
        cable_probe::knock(interface, sign, size).map_err(failed)?;
        let owners = match address {
            Some(address) => cable_probe::owners(interface, address, ANSWERING).map_err(failed)?,
            None => Vec::new(),
        };
        let text = |mac: &[u8; 6]| mac.map(|octet| format!("{octet:02x}")).join(":");
        Ok(Answer::CableProbed { owners: owners.iter().map(text).collect() })
    }

    fn heard(&mut self) -> Handled {
        let mut knocks: BTreeMap<String, BTreeMap<u16, u32>> = BTreeMap::new();
        for ear in std::mem::take(&mut self.ears) {
            let here = knocks.entry(ear.interface().to_owned()).or_default();
            for knock in ear.heard().map_err(|cause| untold(ear.interface(), cause))? {
                let longest = here.entry(knock.port).or_default();
                *longest = knock.size.max(*longest);
            }
        }
        Ok(Answer::Heard { knocks })
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
        let mut notes = self.reins.notes();
        let changed = match change {
            OffloadChange::Off => offloads::turn_off(&mut notes, interfaces)?,
            OffloadChange::Restore => offloads::restore(&mut notes, interfaces)?,
        };
        Ok(Answer::Offloads { changed })
    }

    fn delay(&mut self, ports: &BTreeMap<String, u32>, delay: Nanos) -> Handled {
        let mut notes = self.reins.notes();
        Ok(Answer::Delayed { through: self.delays.add(&mut notes, ports, delay)? })
    }
}

fn untold(interface: &str, cause: FlowError) -> Failed {
    Failed::because(format!("prove the cable of `{interface}`"), cause)
}
