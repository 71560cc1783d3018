//! A setting of a host that an agent may change, and puts back.
//!
//! Owns the list of what may be written at all: nothing else on a host is an agent's business. Data
//! only.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// One setting, to a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// A file below `/proc` or `/sys`, of those that [`Setting::check`] allows.
    File {
        /// Which.
        path: String,
        /// One word.
        value: String,
    },
    /// Whether a port is up.
    Up {
        /// The port.
        interface: String,
        /// Or down.
        up: bool,
    },
    /// Whether a port has an address.
    Address {
        /// The port.
        interface: String,
        /// A test address.
        address: IpAddr,
        /// Of its subnet, in bits.
        prefix: u8,
        /// Or has it not.
        present: bool,
    },
    /// A port's largest IP packet.
    Mtu {
        /// The port.
        interface: String,
        /// Octets.
        mtu: u32,
    },
    /// A port's rings, in frames.
    Rings {
        /// The port.
        interface: String,
        /// Received.
        rx: u32,
        /// To be sent.
        tx: u32,
    },
    /// How long received frames wait for others.
    Coalescing {
        /// The port.
        interface: String,
        /// Microseconds.
        rx_us: u32,
        /// Whether the driver chooses.
        adaptive: bool,
    },
    /// Whether a port sends and obeys PAUSE.
    Pause {
        /// The port.
        interface: String,
        /// Negotiated with the far end.
        negotiated: bool,
        /// Obeys.
        rx: bool,
        /// Sends.
        tx: bool,
    },
}

/// Files whose value an agent may change; `*` stands for letters and digits.
const FILES: [&str; 6] = [
    "/proc/sys/net/core/rmem_max",
    "/proc/sys/net/core/wmem_max",
    "/proc/irq/*/smp_affinity_list",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/*/cpuidle/*/disable",
];

/// No file that an agent may write, or no value of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write `{value}` to {path}: agents do not")]
pub struct NotSettable {
    /// Asked.
    pub path: String,
    /// Asked.
    pub value: String,
}

impl Setting {
    /// Whether it has the value of `other`, as far as nobody but a user changes it: what a driver
    /// chooses or a link negotiates moves by itself.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Coalescing { adaptive: true, .. }, Self::Coalescing { adaptive, .. }) => {
                *adaptive
            }
            (Self::Pause { negotiated: true, .. }, Self::Pause { negotiated, .. }) => *negotiated,
            _ => self == other,
        }
    }

    /// Its value in words: `performance`, `mtu 9000`.
    pub fn value(&self) -> String {
        let on = |on: &bool| if *on { "on" } else { "off" };
        match self {
            Self::File { value, .. } => value.clone(),
            Self::Up { up, .. } => if *up { "up" } else { "down" }.to_owned(),
            Self::Address { present, address, .. } => {
                format!("{} {address}", if *present { "with" } else { "without" })
            }
            Self::Mtu { mtu, .. } => format!("mtu {mtu}"),
            Self::Rings { rx, tx, .. } => format!("rings of {rx} and {tx}"),
            Self::Coalescing { adaptive: true, .. } => "adaptive coalescing".to_owned(),
            Self::Coalescing { rx_us, .. } => format!("coalescing of {rx_us} us"),
            Self::Pause { negotiated, rx, tx, .. } => {
                format!("pause negotiated {}, rx {}, tx {}", on(negotiated), on(rx), on(tx))
            }
        }
    }

    /// The interrupt that it would move, if it is one.
    pub fn interrupt(&self) -> Option<u32> {
        let Self::File { path, .. } = self else { return None };
        path.strip_prefix("/proc/irq/")?.split('/').next()?.parse().ok()
    }

    /// The port that it is of, where it is one's.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Self::File { .. } => None,
            Self::Up { interface, .. }
            | Self::Address { interface, .. }
            | Self::Mtu { interface, .. }
            | Self::Rings { interface, .. }
            | Self::Coalescing { interface, .. }
            | Self::Pause { interface, .. } => Some(interface),
        }
    }

    /// Refuses files that are not on the list, and values of more than a word.
    pub fn check(&self) -> Result<(), NotSettable> {
        let Self::File { path, value } = self else { return Ok(()) };
        let word = |c: char| c.is_ascii_alphanumeric() || "_-,".contains(c);
        let plain = !value.is_empty() && value.len() <= 64 && value.chars().all(word);
        if plain && FILES.iter().any(|allowed| matches(path, allowed)) {
            return Ok(());
        }
        Err(NotSettable { path: path.clone(), value: value.clone() })
    }
}

fn matches(path: &str, allowed: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric());
    let (mut parts, mut pattern) = (path.split('/'), allowed.split('/'));
    loop {
        match (parts.next(), pattern.next()) {
            (None, None) => return true,
            (Some(part), Some("*")) if plain(part) => {}
            (Some(part), Some(word)) if part == word => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_else_is_an_agents_business() {
        let check = |path: &str, value: &str, allowed| {
            let setting = Setting::File { path: path.into(), value: value.into() };
            assert_eq!(setting.check().is_ok(), allowed, "{path} {value}");
        };
        check("/proc/sys/net/core/rmem_max", "16777216", true);
        check("/proc/irq/24/smp_affinity_list", "0-1,3", true);
        check("/sys/devices/system/cpu/cpu11/cpufreq/scaling_governor", "performance", true);
        check("/sys/devices/system/cpu/../cpufreq/scaling_governor", "performance", false);
        check("/proc/sys/kernel/core_pattern", "x", false);
        check("/proc/sys/net/core/rmem_max/", "1", false);
        check("/proc/sys/net/core/rmem_max", "1; reboot", false);
        check("/proc/sys/net/core/rmem_max", "", false);
        check("/etc/passwd", "x", false);
    }
}
