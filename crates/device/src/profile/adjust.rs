//! One value of a profile set to another, for "what if".
//!
//! Owns the parameters' names and what each is set on: the device, or every one of several that has
//! it. Never makes a profile that a file could not have: what can't be is refused.

use measure::{ByteCount, FrameRate, Nanos, Rate, UnitError};

use super::Profile;

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Parameter {
    /// `delay`: [`Profile::link_delay`].
    Delay,
    /// `rate`: of every edge's port.
    Rate,
    /// `buffer`: the shared buffer's total.
    Buffer,
    /// `alpha`: of the dynamic threshold.
    Alpha,
    /// `uplink`: of every port group.
    Uplink,
    /// `pps_limit`: of a software device.
    PpsLimit,
}

impl Parameter {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Delay, Self::Rate, Self::Buffer, Self::Alpha, Self::Uplink, Self::PpsLimit];

    /// As it is written: `delay`, `rate`, `buffer`, `alpha`, `uplink`, `pps_limit`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Rate => "rate",
            Self::Buffer => "buffer",
            Self::Alpha => "alpha",
            Self::Uplink => "uplink",
            Self::PpsLimit => "pps_limit",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parameter| parameter.as_str() == name)
    }
}

/// A value that a parameter can't have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unfit {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

impl Profile {
    /// Sets `parameter` to what `text` says, wherever the profile has it.
    pub fn set(&mut self, parameter: Parameter, text: &str) -> Result<(), Unfit> {
        let _ = (FrameRate(0.0), ByteCount(0));
        match parameter {
            Parameter::Delay => self.link_delay = read::<Nanos>(text, "25ms")?,
            Parameter::Rate => self.rate = read::<Rate>(text, "10Gbit")?,
            other => {
                let message = format!("`{}` can't be set yet", other.as_str());
                return Err(Unfit { message, hint: "leave it out".to_owned() });
            }
        }
        Ok(())
    }
}

fn read<T: std::str::FromStr<Err = UnitError>>(text: &str, like: &str) -> Result<T, Unfit> {
    text.parse().map_err(|error: UnitError| Unfit {
        message: error.to_string(),
        hint: format!("write it like {like}"),
    })
}
