//! Change of one value of a profile, for "what if" questions.
//!
//! Owns the parameters' names and their targets: every device that has the value. Never produces a
//! profile that a file could not have: impossible values are refused.

use measure::{ByteCount, Nanos, Rate, UnitError};

use super::Profile;
use super::data::Device;

/// Adjustable parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Parameter {
    /// `delay`: one-way delay of every host's cable.
    Delay,
    /// `rate`: rate of every host's port.
    Rate,
    /// `buffer`: the shared buffer, or every queue's own.
    Buffer,
    /// `alpha`: alpha of the dynamic threshold.
    Alpha,
    /// `uplink`: uplink rate of every port group that has one.
    Uplink,
    /// `pps_limit`: packet limit of a software device.
    PpsLimit,
}

impl Parameter {
    /// All parameters.
    pub const ALL: [Self; 6] =
        [Self::Delay, Self::Rate, Self::Buffer, Self::Alpha, Self::Uplink, Self::PpsLimit];

    /// Name as written: `delay`, `rate`, `buffer`, `alpha`, `uplink`, `pps_limit`.
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

    /// Returns the parameter of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parameter| parameter.as_str() == name)
    }
}

/// Error: a parameter cannot have this value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unfit {
    /// Description of the error.
    pub message: String,
    /// Suggested correction.
    pub hint: String,
}

/// Longest delay of a cable: some 2,000,000 km.
const MOST_DELAY: Nanos = Nanos::from_secs(10);
/// Range of alpha, as in the file: above it, a queue takes the whole buffer.
const ALPHA: std::ops::RangeInclusive<f64> = 1.0 / 128.0..=128.0;

impl Profile {
    /// Sets `parameter` to the value in `text`, wherever the profile has it.
    pub fn set(&mut self, parameter: Parameter, text: &str) -> Result<(), Unfit> {
        match parameter {
            Parameter::Delay => self.set_delay(read(text, "25ms")?),
            Parameter::Rate => self.set_rate(read(text, "10Gbit")?),
            Parameter::Buffer => self.set_buffer(read(text, "4MiB")?),
            Parameter::Alpha => self.set_alpha(text),
            Parameter::Uplink => self.set_uplink(read(text, "10Gbit")?),
            Parameter::PpsLimit => self.set_pps_limit(text),
        }
    }

    fn set_delay(&mut self, delay: Nanos) -> Result<(), Unfit> {
        if delay > MOST_DELAY {
            let message = format!("a delay of {delay} is more than {MOST_DELAY}");
            return Err(unfit(message, "write it like 25ms"));
        }
        *self = self.with_link_delay(delay);
        Ok(())
    }

    fn set_rate(&mut self, rate: Rate) -> Result<(), Unfit> {
        if rate.0 == 0 {
            return Err(unfit("a port with a rate of 0 sends nothing", "write it like 10Gbit"));
        }
        self.rate = rate;
        for device in &mut self.devices {
            device.rate = rate;
            for cable in device.cables.values_mut() {
                cable.rate = None;
            }
        }
        Ok(())
    }

    fn set_buffer(&mut self, size: ByteCount) -> Result<(), Unfit> {
        let longest = |device: &Device| {
            u64::from(device.max_frame.next_multiple_of(device.buffer.cell.max(1)))
        };
        let least = self.devices.iter().map(longest).max().unwrap_or(0);
        if size.0 < least {
            return Err(unfit(
                format!("a buffer of {size} cannot hold the longest frame: {least} octets"),
                format!("give at least {least}B"),
            ));
        }
        *self = self.with_buffer(size);
        Ok(())
    }

    fn set_alpha(&mut self, text: &str) -> Result<(), Unfit> {
        let alpha = text.trim().parse().ok().filter(|alpha| ALPHA.contains(alpha));
        let alpha: f64 = alpha.ok_or_else(|| {
            let (low, high) = (ALPHA.start(), ALPHA.end());
            let message = format!("`{text}` is outside the range of alpha, {low}…{high}");
            unfit(message, "write a number such as 0.5 or 8")
        })?;
        let mut shared = 0;
        for device in &mut self.devices {
            if device.buffer.alpha.is_some() {
                device.buffer.alpha = Some(alpha);
                shared += 1;
            }
        }
        self.is_set_on(
            shared,
            "has a shared buffer",
            "alpha divides a shared buffer among its queues",
        )
    }

    fn set_uplink(&mut self, rate: Rate) -> Result<(), Unfit> {
        if rate.0 == 0 {
            return Err(unfit("an uplink of 0 carries nothing", "write it like 10Gbit"));
        }
        let mut uplinks = 0;
        for group in self.devices.iter_mut().flat_map(|device| &mut device.groups) {
            if group.uplink.is_some() {
                group.uplink = Some(rate);
                uplinks += 1;
            }
        }
        self.is_set_on(uplinks, "has a group with an uplink", "name the groups in the profile")
    }

    fn set_pps_limit(&mut self, text: &str) -> Result<(), Unfit> {
        let limit = text.trim().parse().map_err(|_| {
            unfit(format!("`{text}` is not a whole number"), "give packets a second; 0 is no limit")
        })?;
        for device in &mut self.devices {
            device.pps_limit = limit;
        }
        Ok(())
    }

    fn is_set_on(&self, places: usize, what: &str, hint: &str) -> Result<(), Unfit> {
        if places > 0 {
            return Ok(());
        }
        Err(unfit(format!("no device of `{}` {what}", self.name), hint))
    }
}

fn unfit(message: impl Into<String>, hint: impl Into<String>) -> Unfit {
    Unfit { message: message.into(), hint: hint.into() }
}

fn read<T: std::str::FromStr<Err = UnitError>>(text: &str, like: &str) -> Result<T, Unfit> {
    text.parse().map_err(|e: UnitError| unfit(e.to_string(), format!("write it like {like}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_set_wherever_it_is() {
        let mut profile = Profile::single(4, Rate(1_000_000_000));
        for (parameter, text) in [
            (Parameter::Delay, "25ms"),
            (Parameter::Rate, "10Gbit"),
            (Parameter::Buffer, "4MiB"),
            (Parameter::PpsLimit, "1000"),
        ] {
            profile.set(parameter, text).expect(text);
        }
        let device = &profile.devices()[0];
        assert_eq!((profile.rate, device.rate), (Rate(10_000_000_000), Rate(10_000_000_000)));
        assert_eq!(profile.edge_delay(crate::Edge(3)), Nanos::from_millis(25));
        assert_eq!((device.buffer.size, device.pps_limit), (ByteCount(4 << 20), 1000));
    }

    #[test]
    fn what_can_not_be_is_refused() {
        let check = |parameter: Parameter, text: &str, words: &str| {
            let mut profile = Profile::single(4, Rate(1_000_000_000));
            let before = profile.clone();
            let problem = profile.set(parameter, text).expect_err(text);
            assert!(problem.message.contains(words), "{text}: {}", problem.message);
            assert_eq!(profile, before, "{text}");
        };
        check(Parameter::Delay, "11s", "more than 10s");
        check(Parameter::Delay, "5", "unit");
        check(Parameter::Rate, "0bit", "sends nothing");
        check(Parameter::Buffer, "1KiB", "longest frame");
        check(Parameter::Alpha, "2", "no device of `switch` has a shared buffer");
        check(Parameter::Alpha, "0", "range of alpha");
        check(Parameter::Uplink, "10Gbit", "has a group with an uplink");
        check(Parameter::PpsLimit, "1Mpps", "whole number");
    }
}
