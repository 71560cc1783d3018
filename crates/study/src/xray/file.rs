//! Data sheet as a profile file.
//!
//! Owns the keys' wording. A quantity that was not measured is named in a comment, and keeps the
//! file's default.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{DataSheet, Forwarding, Shared};

/// Minimum buffer in octets if frames queue only before it: it must not fill.
const LEAST_BUFFER: u64 = 1 << 20;
/// Longest frame that the studies send, in octets.
const LONGEST: u64 = 1518;

/// `1,2,5`
pub(super) fn joined(ports: &[usize]) -> String {
    ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

impl DataSheet {
    /// Writes the profile file.
    pub fn to_toml(&self) -> String {
        let mut out = String::from(
            "# Measured by `switchmark xray`; each figure stands in the run's report.\n",
        );
        let _ = writeln!(out, "name = \"{}-twin\"", self.name);
        let _ = writeln!(out, "ports = {}", self.ports.max(2));
        let _ = writeln!(out, "rate = \"{}bit\"", self.rate.0);
        out.push_str(&self.rates());
        out.push_str(&self.forwarding());
        out.push_str(&self.groups());
        out.push_str(&self.buffer());
        if let Some(limit) = self.packets {
            let _ = writeln!(out, "pps_limit = {}", limit.rate);
            match limit.queue {
                Some(queue) => {
                    let _ = writeln!(out, "pps_queue = {queue}");
                }
                None => out.push_str("# How many packets wait for that was not measured.\n"),
            }
        }
        out.push_str(&self.mac_table());
        out
    }

    /// Writes the ports with different rates, and those of unknown rate.
    fn rates(&self) -> String {
        let mut out = String::new();
        if !self.assumed.is_empty() {
            let ports = joined(&self.assumed);
            let _ = writeln!(out, "# Assumed of ports {ports}: nothing told their rates.");
        }
        if self.other_rates.is_empty() {
            return out;
        }
        let mut by_rate: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (port, rate) in &self.other_rates {
            by_rate.entry(rate.0).or_default().push(*port);
        }
        let each = by_rate.iter().map(|(rate, ports)| {
            format!("{{ ports = \"{}\", rate = \"{rate}bit\" }}", joined(ports))
        });
        let _ = writeln!(out, "cables = [{}]", each.collect::<Vec<_>>().join(", "));
        out
    }

    fn forwarding(&self) -> String {
        let Some(Forwarding { cut_through, latency, per_octet_ns }) = self.forwarding else {
            return "# Forwarding was not measured: no direct cable beside the device.\n"
                .to_owned();
        };
        let mode = if cut_through { "cut-through" } else { "store-and-forward" };
        format!(
            "# Its delay was seen to grow by {per_octet_ns:.3} ns with each octet of a frame.\n\
             forwarding = {{ mode = \"{mode}\", latency = \"{}ns\" }}\n",
            latency.0
        )
    }

    /// Writes the groups. Without one, the device is a single group whose ports all reach each
    /// other.
    fn groups(&self) -> String {
        if self.groups.is_empty() {
            return "# No uplink between ports was seen to be short.\n".to_owned();
        }
        let mut out = String::from("groups = [\n");
        for group in &self.groups {
            match (group.at_least, group.uplink) {
                (Some(_), Some(_)) => {
                    out.push_str(
                        "  # What passes between the two groups: either's uplink may be wider.\n",
                    );
                }
                (Some(rate), None) => {
                    let _ = writeln!(out, "  # Its uplink was not filled: at least {}bit.", rate.0);
                }
                _ => {}
            }
            let _ = write!(out, "  {{ ports = \"{}\"", joined(&group.ports));
            if let Some(uplink) = group.uplink {
                let _ = write!(out, ", uplink = \"{}bit\"", uplink.0);
            }
            out.push_str(" },\n");
        }
        out + "]\n"
    }

    fn buffer(&self) -> String {
        let Some(found) = self.buffer else {
            let queue = self.packets.and_then(|limit| limit.queue).unwrap_or(0);
            let size = LEAST_BUFFER.max(2 * LONGEST * queue);
            return format!(
                "# The buffer was not measured: no output was overfilled alone.\n\
                 buffer = {{ per_port = \"{size}B\" }}\n"
            );
        };
        let mut buffer = match found.shared {
            Some(shared) => self.shared(shared),
            None => format!("per_port = \"{}B\"", found.size.round()),
        };
        if let Some(cell) = found.cell.filter(|cell| *cell > 1.0) {
            let _ = write!(buffer, ", cell = {}", cell.round());
        }
        let bound = if found.at_least {
            "# At least so large: nothing overfilled it.\n"
        } else if found.shared.is_some_and(|shared| shared.doubted) {
            "# Total, alpha and reserve are known to their intervals only; these values fit.\n"
        } else {
            ""
        };
        format!("{bound}buffer = {{ {buffer} }}\n")
    }

    /// Writes a shared buffer. Every port's queue has the reserve, and both queues of each uplink.
    fn shared(&self, Shared { octets, alpha, reserve, .. }: Shared) -> String {
        let uplinks = self.groups.iter().filter(|group| group.uplink.is_some()).count();
        let queues = self.ports.max(2) + 2 * uplinks;
        let reserve = reserve.round();
        let total = octets.round() + queues as f64 * reserve;
        let alpha = alpha.clamp(1.0 / 128.0, 128.0);
        let own = if reserve > 0.0 {
            format!(", reserved_per_port = \"{reserve}B\"")
        } else {
            String::new()
        };
        format!("total = \"{total}B\"{own}, alpha = {alpha:.4}")
    }

    fn mac_table(&self) -> String {
        match self.mac_table {
            Some(table) => {
                let bound = if table.at_least { "# At least: all were known.\n" } else { "" };
                format!("{bound}mac_table = {{ entries = {} }}\n", table.entries)
            }
            None => {
                "# The size of the table of addresses was not measured, or could not be told.\n"
                    .to_owned()
            }
        }
    }
}
