//! How much later than a frame left its host the model may see it.
//!
//! Owns the time scale on which a profile forgives that: what its shallowest queue holds. Never
//! measures anything.

use device::Profile;
use device::profile::Device;
use measure::{ByteCount, Nanos, Picos, Rate};

/// As for a sender: the least that shallow-buffered switches hold at a gigabit.
const MOST: Picos = Picos(500_000_000);
/// Below a few turns of the thread nothing can be told.
const LEAST: Picos = Picos(50_000_000);
/// Of a queue: frames that come closer together by this share of what it holds find room.
const PART: u64 = 4;

/// Beyond this a frame is displaced.
pub(super) fn limit(profile: &Profile) -> Picos {
    let drains = profile.devices().iter().flat_map(drains);
    let shortest = drains.min().unwrap_or(Picos::MAX);
    Picos(shortest.0 / PART).clamp(LEAST, MOST)
}

/// How long full queues take to drain: a port's, of the fastest way out, and that before a
/// processor.
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

/// What one queue may hold while all others are empty.
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
