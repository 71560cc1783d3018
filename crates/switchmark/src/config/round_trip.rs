//! Effect of an added round trip on a testbed's name.
//!
//! Owns which testbeds can have one, and how often its delay is crossed. Never builds anything.

use measure::{Nanos, Refused};

use super::{lab_name, sim_name};

/// Links that a request and its answer cross: two each.
const LINKS_OF_A_ROUND_TRIP: u64 = 4;

/// Hosts at which a request and its answer arrive.
const HOSTS_OF_A_ROUND_TRIP: u64 = 2;

/// Returns the testbed's name with the delay that a round trip of `rtt` needs. A model's links have
/// it, and hosts of a testbed file add it to what arrives. A lab's cables have none.
pub fn with_round_trip(name: &str, rtt: Nanos) -> Result<String, Refused> {
    if name.starts_with(sim_name::PREFIX) || is_emulated(name) {
        return Ok(format!("{name},delay={}", rtt / LINKS_OF_A_ROUND_TRIP));
    }
    if !name.starts_with(lab_name::PREFIX) {
        return Ok(format!("{name}{}{}", agents::hosts::DELAY, rtt / HOSTS_OF_A_ROUND_TRIP));
    }
    let needed = rtt / LINKS_OF_A_ROUND_TRIP;
    Err(Refused::new(
        format!("add a round trip of {rtt}: this lab's cables have no delay that could be set"),
        format!(
            "use a model (sim:PROFILE.toml) or an emulated device (lab:emulated=PROFILE.toml), whose \
             cables then have {needed} each; without --rtt the study runs at the path's own round trip"
        ),
    ))
}

/// True if every device of a lab is a model, whose cables have a delay.
fn is_emulated(name: &str) -> bool {
    let Some(devices) = name.strip_prefix(lab_name::PREFIX) else { return false };
    let devices = devices.split(',').next().unwrap_or_default();
    devices.split('+').all(|device| device.starts_with("emulated="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_is_four_links() {
        let rtt = Nanos::from_millis(50);
        assert_eq!(
            with_round_trip("sim:p.toml,mtu=9000", rtt).unwrap(),
            "sim:p.toml,mtu=9000,delay=12500us"
        );
        assert_eq!(
            with_round_trip("lab:emulated=p.toml,hosts=4", rtt).unwrap(),
            "lab:emulated=p.toml,hosts=4,delay=12500us"
        );
        assert_eq!(with_round_trip("testbed.toml", rtt).unwrap(), "testbed.toml,delay=25ms");
        for place in ["lab:bridge,hosts=4", "lab:emulated=p.toml+bridge"] {
            let Refused { message, hint } = with_round_trip(place, rtt).unwrap_err();
            assert!(message.contains("50ms") && hint.contains("12500us"), "{message} {hint}");
        }
    }
}
