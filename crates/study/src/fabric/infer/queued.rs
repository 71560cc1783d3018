//! Longer floods, for devices whose queues may hide a short uplink.
//!
//! Owns the lengths, and the rule that forbids a clean finding: frames that arrive more slowly than
//! sent were queued. Never repairs a rate.

use rand_pcg::Pcg64;

use super::evidence::Round;
use super::{Finding, Floods, Inference, Inferred};
use trial::Result;

/// Largest lag of the receiving rate behind the sending rate for a clean finding.
const MOST_QUEUED: f64 = 0.02;

/// Factors on the length of floods, tried in order while a queue may hide a short uplink.
const STRETCHES: [u64; 3] = [1, 4, 16];

/// Infers the groups of the given number of ports.
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
        // The longer the flood, the sooner it fills a queue that absorbs an uplink's excess.
        let queued = matches!(finding, Finding::Clean { .. }) && kept_up < 1.0 - MOST_QUEUED;
        if queued && stretches.peek().is_some() {
            continue;
        }
        let finding = if queued { Finding::Queued { kept_up } } else { finding };
        return Ok(Inferred { finding, trials: spent, missing, local_share });
    }
}

impl Inference<'_> {
    /// Lowest mean receiving rate of any one-to-one round, as a share of the sending rate.
    fn kept_up(&self) -> f64 {
        let mean = |round: &Round| {
            round.flows.iter().map(|flow| flow.kept_up).sum::<f64>() / round.flows.len() as f64
        };
        self.rounds.iter().map(mean).fold(1.0, f64::min)
    }
}
