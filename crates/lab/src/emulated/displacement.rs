//! Limit of the delay between a frame's transmission by its host and its arrival in the model.
//!
//! Owns the time scale that the profile tolerates: the drain time of its shallowest queue. Never
//! measures anything.

use device::Profile;
use device::profile::Device;
use measure::{ByteCount, Nanos, Picos, Rate};

/// Upper bound, the same as for a sender: the least that shallow-buffered switches hold at a
/// gigabit.
const MOST: Picos = Picos(500_000_000);
/// Lower bound: a few turns of the thread, below which nothing can be distinguished.
const LEAST: Picos = Picos(50_000_000);
/// Divisor of a queue's drain time: frames that arrive closer together by this share still fit.
const PART: u64 = 4;

/// Delay beyond which a frame counts as displaced.
pub(super) fn limit(profile: &Profile) -> Picos {
    let drains = profile.devices().iter().flat_map(drains);
    let shortest = drains.min().unwrap_or(Picos::MAX);
    Picos(shortest.0 / PART).clamp(LEAST, MOST)
}

/// Drain times of full queues: a port's at the fastest egress rate, and the one before a processor.
fn drains(device: &Device) -> impl Iterator<Item = Picos> {
    let uplinks = device.groups.iter().filter_map(|group| group.uplink);
    let own = device.cables.values().filter_map(|cable| cable.rate);
    let fastest = uplinks.chain(own).fold(device.rate, Rate::max);
    let port = Picos::to_send(room(device).0, fastest);
    let second = Nanos::from_secs(1).0 * 1_000;
    let packets = second.checked_div(device.pps_limit);
    let processor = packets.map(|one| Picos(one * u64::from(device.pps_queue)));
    [Some(port), processor].into_iter().flatten()
}

/// Bytes that one queue can hold while all others are empty.
fn room(device: &Device) -> ByteCount {
    let buffer = device.buffer;
    let Some(alpha) = buffer.alpha else { return buffer.size };
    let shared = buffer.size.0.saturating_sub(buffer.reserved.0 * device.queues());
    ByteCount(buffer.reserved.0 + (shared as f64 * alpha / (1.0 + alpha)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_shallowest_queue() {
        let none = |name: &str| Err(format!("no file {name}"));
        let check = |text: &str, expected: Picos| {
            let text = format!("name = \"x\"\nports = 2\n{text}");
            let profile = Profile::parse(&text, &none).unwrap();
            assert_eq!(limit(&profile), expected, "{text}");
        };
        // 64 KiB at 100 Mbit/s are 5 ms, of which a quarter is more than a millisecond.
        check("rate = \"100Mbit\"\nbuffer = { per_port = \"64KiB\" }", MOST);
        // 100 kB at 1 Gbit/s: 800 us.
        check("rate = \"1Gbit\"\nbuffer = { per_port = \"100kB\" }", Picos(200_000_000));
        // Half of a shared 200 kB is the same.
        check("rate = \"1Gbit\"\nbuffer = { total = \"200kB\", alpha = 1.0 }", Picos(200_000_000));
        // 100 packets at 500,000 a second: 200 us.
        let software = "rate = \"1Gbit\"\nbuffer = { per_port = \"1MB\" }\npps_limit = 500_000\npps_queue = 100";
        check(software, LEAST);
        check("rate = \"100Gbit\"\nbuffer = { per_port = \"64KiB\" }", LEAST);
    }
}
