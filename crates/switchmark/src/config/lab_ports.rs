//! What a lab's ports do beyond a rate and a queue: `shaper=htb`, `loss=0.001`, `police=10kpps`.
//!
//! Owns how these are written, in a lab's name and in the `[lab]` table alike. Never says which
//! devices can be told so: the lab does.

use lab::{LabSpec, Policer, RandomLoss, Shaper};
use measure::{FrameRate, UnitError};

use super::source::{Fault, Word};
use super::suggest;

/// The options of this kind.
pub const OPTIONS: [&str; 3] = ["shaper", "loss", "police"];

/// Sets one of them; false where `key` is none.
pub fn set(config: &mut LabSpec, key: &str, value: &Word<'_>) -> Result<bool, Fault> {
    match key {
        "shaper" => config.shaper = shaper(value)?,
        "loss" => config.drops.loss = Some(loss(value)?),
        "police" => config.drops.police = Some(police(value)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// `tbf` or `htb`.
fn shaper(value: &Word<'_>) -> Result<Shaper, Fault> {
    Shaper::ALL.into_iter().find(|shaper| shaper.as_str() == value.text).ok_or_else(|| {
        Fault::new(
            value.span.clone(),
            format!("unknown shaper `{}`", value.text),
            suggest::hint(value.text, &Shaper::ALL.map(Shaper::as_str)),
        )
    })
}

/// A share of all frames.
fn loss(value: &Word<'_>) -> Result<RandomLoss, Fault> {
    value.text.parse().ok().and_then(RandomLoss::of_share).ok_or_else(|| {
        let message = format!(
            "`{}` is outside the range of a share lost at random, 0.000001…{}",
            value.text,
            RandomLoss::MOST
        );
        Fault::new(value.span.clone(), message, "write a share such as 0.001: one in a thousand")
    })
}

/// A rate of frames.
fn police(value: &Word<'_>) -> Result<Policer, Fault> {
    let fault = |message: String| {
        Fault::new(value.span.clone(), message, "write a rate of frames such as 10kpps")
    };
    let rate: Result<FrameRate, UnitError> = value.text.parse();
    let rate = rate.map_err(|error| fault(error.to_string()))?;
    Policer::of_rate(rate).ok_or_else(|| {
        let most = Policer::MOST;
        fault(format!("{} frames/s are outside the range of a policer, 1…{most}", rate.0))
    })
}
