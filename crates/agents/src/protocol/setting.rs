//! A setting of a host that an agent may change and later restores.
//!
//! Owns the list of permitted files: an agent changes nothing else on a host. Data only.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// One setting with its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// A file below `/proc` or `/sys` that [`Setting::check`] permits.
    File {
        /// Path of the file.
        path: String,
        /// Value, one word.
        value: String,
    },
    /// Administrative state of a port.
    Up {
        /// Name of the port.
        interface: String,
        /// True for up, false for down.
        up: bool,
    },
    /// Address of a port.
    Address {
        /// Name of the port.
        interface: String,
        /// A test address.
        address: IpAddr,
        /// Prefix length of its subnet, in bits.
        prefix: u8,
        /// True if the port has the address.
        present: bool,
    },
    /// MTU of a port.
    Mtu {
        /// Name of the port.
        interface: String,
        /// MTU in octets.
        mtu: u32,
    },
    /// Ring sizes of a port, in frames.
    Rings {
        /// Name of the port.
        interface: String,
        /// Size of the receive ring.
        rx: u32,
        /// Size of the transmit ring.
        tx: u32,
    },
    /// Interrupt coalescing of received frames.
    Coalescing {
        /// Name of the port.
        interface: String,
        /// Delay before the interrupt, in microseconds.
        rx_us: u32,
        /// True if the driver adapts the delay by itself.
        adaptive: bool,
    },
    /// Flow control of a port by PAUSE frames.
    Pause {
        /// Name of the port.
        interface: String,
        /// True if negotiated with the far end.
        negotiated: bool,
        /// True if the port obeys PAUSE frames.
        rx: bool,
        /// True if the port sends PAUSE frames.
        tx: bool,
    },
}

/// Files that an agent may change; `*` stands for letters and digits.
const FILES: [&str; 6] = [
    "/proc/sys/net/core/rmem_max",
    "/proc/sys/net/core/wmem_max",
    "/proc/irq/*/smp_affinity_list",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/*/cpuidle/*/disable",
];

/// A file that an agent must not write, or an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write `{value}` to {path}: agents do not")]
pub struct NotSettable {
    /// Requested path.
    pub path: String,
    /// Requested value.
    pub value: String,
}

impl Setting {
    /// True if it has the value of `other`. Ignores values that a driver adapts or a link
    /// negotiates, since these change by themselves.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Coalescing { adaptive: true, .. }, Self::Coalescing { adaptive, .. }) => {
                *adaptive
            }
            (Self::Pause { negotiated: true, .. }, Self::Pause { negotiated, .. }) => *negotiated,
            _ => self == other,
        }
    }

    /// Formats its value: `performance`, `mtu 9000`.
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

    /// Number of the interrupt that the file moves; `None` for any other setting.
    pub fn interrupt(&self) -> Option<u32> {
        let Self::File { path, .. } = self else { return None };
        path.strip_prefix("/proc/irq/")?.split('/').next()?.parse().ok()
    }

    /// Port that it belongs to; `None` for a file.
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

    /// Refuses files that are not on the list, and values of more than one word.
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
