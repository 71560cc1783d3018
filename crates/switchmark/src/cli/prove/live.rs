//! Devices measured with real frames, one after the other: emulated ones, and the kernel's own.
//!
//! Owns what becomes of a device that could not be made. Each is a run of its own in the journal.

use std::thread;
use std::time::Duration;

use agents::controller::Stop;
use journal::Store;

use super::Proof;
use super::budget::Budget;
use super::case::{Case, World};
use super::draw::Draws;
use crate::cli::options::Data;
use crate::cli::session::{self, NewRun, Start};
use crate::cli::{Failure, output};

/// Interval between two looks at the clock.
const LOOK: Duration = Duration::from_millis(100);
/// Failed devices in a row after which a world is given up.
const MOST_FAILURES: u32 = 2;

/// Measures as many devices of a world as the budget allows.
pub fn all(
    proof: &mut Proof,
    world: World,
    draws: &Draws,
    budget: &Budget,
    stop: &Stop,
    data: &Data,
) {
    let mut failed = 0;
    for number in 0.. {
        let enough = budget.devices().is_some_and(|most| number >= most);
        if stop.is_requested() || budget.is_over() || enough {
            return;
        }
        proof.progress(world, budget);
        let case = draws.case(world, number);
        if proof.lacks(&case) {
            continue;
        }
        match within(budget, stop, |own| ask(proof, number, &case, own, data)) {
            Ok(()) => failed = 0,
            Err(_) if stop.is_requested() || budget.is_overdrawn() => return,
            Err(error) => {
                failed += 1;
                proof.could_not(world, number, &error);
                if failed >= MOST_FAILURES {
                    return;
                }
            }
        }
    }
}

/// Measures one device, in a run of its own.
pub fn ask(
    proof: &mut Proof,
    number: u64,
    case: &Case,
    stop: &Stop,
    data: &Data,
) -> Result<(), Failure> {
    let store = Store::open(&output::store_path(data)?)?;
    let place = case.testbed()?;
    let studies = vec![case.spec(&place)?];
    let start = Start::New(NewRun::new("prove", studies, case.seed));
    // The certificate's own progress is enough.
    let quiet = Data { quiet: true, ..data.clone() };
    let finished = session::carry_out(&store, &place, start, stop, &quiet, &|_| ())?;
    proof.take(number, case, &finished.figures, &finished.meta.id);
    Ok(())
}

/// Does the work, and ends it if the user asks for it or the budget is overdrawn.
fn within<T>(budget: &Budget, stop: &Stop, work: impl FnOnce(&Stop) -> T) -> T {
    let (own, done) = (Stop::new(), Stop::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.is_requested() {
                if stop.is_requested() || budget.is_overdrawn() {
                    own.ask();
                }
                thread::park_timeout(LOOK);
            }
        });
        let result = work(&own);
        done.ask();
        result
    })
}
