//! Actions on the modelled device during a load, each at its time.
//!
//! Owns the order of a trial's events, and their effect on a model. Nothing outlives its trial: the
//! next one begins with another world.

use std::sync::atomic::AtomicBool;

use measure::Nanos;
use trial::record::DeedRecord;
use trial::{Deed, Trial};

use crate::build::Unfit;
use crate::learning;
use crate::mishap::Mishap;
use crate::nic::Far;
use crate::offered::Offered;
use crate::shared_state::Window;
use crate::world::World;

/// Time for which a reset takes every link to the device down.
pub const RESET_TIME: Nanos = Nanos::from_secs(1);

/// Performs the trial's events. One that is due before the last has ended follows right after it.
pub(crate) fn carry_out(
    trial: &Trial,
    world: &mut World,
    window: Window,
    stop: Option<&AtomicBool>,
) -> Result<Vec<DeedRecord>, Mishap> {
    let mut deeds = Vec::new();
    for event in &trial.events {
        let at = (window.start + event.at.into()).max(world.hosts.ground.now);
        if at >= window.closed {
            break;
        }
        world.run(at, stop)?;
        let took = match &event.deed {
            Deed::Reset => {
                world.reset(true);
                world.run((at + RESET_TIME.into()).min(window.closed), stop)?;
                world.reset(false);
                learning::announce(world);
                RESET_TIME
            }
            Deed::Do { name } => change(trial, world, name, true)?,
            Deed::Undo { name } => change(trial, world, name, false)?,
        };
        deeds.push(DeedRecord { at: (at - window.start).to_nanos(), took });
    }
    Ok(deeds)
}

/// Performs a deed, or undoes it; returns its duration.
fn change(trial: &Trial, world: &mut World, name: &str, on: bool) -> Result<Nanos, Unfit> {
    let unfit = |why: &str| Unfit::Trial(format!("deed `{name}`: {why}"));
    let port = trial.receiver().ok_or_else(|| unfit("no flow is measured"))?;
    let nics = &world.hosts.ground.nics;
    let nic = nics.iter().position(|nic| nic.place == *port);
    let nic = nic.ok_or_else(|| unfit("its receiver has no port"))?;
    let Far::Edge(edge) = nics[nic].far else {
        return Err(unfit("the measured flow does not cross the device"));
    };
    let deed = Offered::from_name(name);
    match deed.ok_or_else(|| unfit("a model offers `link-down` and `blackhole`"))? {
        Offered::LinkDown => {
            world.set_link(nic as u32, edge, !on);
            if !on {
                learning::announce_at(world, nic as u32);
            }
        }
        Offered::Blackhole => world.network.set_blackhole(edge, on),
    }
    Ok(Nanos::ZERO)
}
