//! Floods that last longer where a queue may hide what is short.
//!
//! Owns how long, and when nothing may be called clean: what came, but did not keep up with what
//! was sent, waited in a queue. Never repairs a rate.

use rand_pcg::Pcg64;

use super::evidence::Round;
use super::{Finding, Floods, Inference, Inferred};
use trial::Result;

/// By more than this what came may not lag behind what was sent where nothing is said to be short.
const MOST_QUEUED: f64 = 0.02;

/// How many times longer floods get, one after the other, where a queue may hide what is short.
const STRETCHES: [u64; 3] = [1, 4, 16];

/// Tells the groups among so many ports.
pub(in super::super) fn infer(
    ports: usize,
    floods: &mut dyn Floods,
    chance: &Pcg64,
) -> Result<Inferred> {
    let mut spent = 0;
    let mut stretches = STRETCHES.into_iter().peekable();
    loop {
        floods.stretch(stretches.next().unwrap_or(1));
        let mut inference = Inference::new(ports, floods, chance.clone());
        let finding = inference.run()?;
        let kept_up = inference.kept_up();
        let Inference { trials, missing, local_share, .. } = inference;
        spent += trials;
        // A queue that takes what an uplink does not carry is full the sooner the longer it lasts.
        let queued = matches!(finding, Finding::Clean { .. }) && kept_up < 1.0 - MOST_QUEUED;
        if queued && stretches.peek().is_some() {
            continue;
        }
        let finding = if queued { Finding::Queued { kept_up } } else { finding };
        return Ok(Inferred { finding, trials: spent, missing, local_share });
    }
}

impl Inference<'_> {
    /// The lowest mean receiving rate of any one-to-one round, as a share of the sending rate.
    fn kept_up(&self) -> f64 {
        let mean = |round: &Round| {
            round.flows.iter().map(|flow| flow.kept_up).sum::<f64>() / round.flows.len() as f64
        };
        self.rounds.iter().map(mean).fold(1.0, f64::min)
    }
}
