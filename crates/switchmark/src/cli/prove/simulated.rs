//! Devices asked about in virtual time, one to a thread.
//!
//! Owns the threads and when they end. The order in which devices come to their end means nothing: their
//! numbers do.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use method::{Figure, TestbedError};

use super::Proof;
use super::budget::Budget;
use super::case::{Case, World};
use super::draw::Draws;
use crate::cli::Failure;
use crate::controller::{Opened, Stop};

/// Between two looks at the clock.
const LOOK: Duration = Duration::from_millis(100);

/// What a thread has found out about a device.
struct Asked {
    number: u64,
    case: Case,
    /// None where there was no time left.
    figures: Option<Result<Vec<Figure>, Failure>>,
}

/// As many devices as the budget allows.
pub fn all(proof: &mut Proof, draws: &Draws, budget: &Budget, stop: &Stop) -> Result<(), Failure> {
    let (next, own) = (AtomicU64::new(0), Stop::new());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut failure = None;
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for _ in 0..workers {
            let (tell, next, own) = (tell.clone(), &next, &own);
            scope.spawn(move || {
                while !own.asked() && !budget.is_over() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if budget.devices().is_some_and(|most| number >= most) {
                        return;
                    }
                    let case = draws.case(World::Sim, number);
                    let figures = ask(&case, own);
                    let _ = tell.send(Asked { number, case, figures });
                }
            });
        }
        drop(tell);
        loop {
            match told.recv_timeout(LOOK) {
                Ok(Asked { number, case, figures }) => match figures {
                    Some(Ok(figures)) => proof.take(number, &case, &figures, ""),
                    Some(Err(error)) => {
                        own.ask();
                        failure.get_or_insert(error);
                    }
                    None => {}
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // A device that was begun late is not waited for.
            if stop.asked() || budget.is_overdrawn() {
                own.ask();
            }
            proof.progress(World::Sim, budget);
        }
    });
    failure.map_or(Ok(()), Err)
}

/// One study on one simulated device; `None` where it was stopped.
pub fn ask(case: &Case, stop: &Stop) -> Option<Result<Vec<Figure>, Failure>> {
    let asked = || {
        let testbed = case.simulated()?;
        let study = case.spec(&testbed)?;
        let mut opened =
            Opened::open(&testbed, stop.clone(), case.seed).map_err(Failure::unusable)?;
        study.check(method::Testbed::topology(&opened))?;
        Ok(study.run(&mut opened, case.seed))
    };
    match asked() {
        Ok(Ok(figures)) => Some(Ok(figures)),
        Ok(Err(TestbedError::Interrupted)) => None,
        Ok(Err(error)) => Some(Err(error.into())),
        Err(failure) => Some(Err(failure)),
    }
}
