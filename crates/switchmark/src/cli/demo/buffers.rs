//! The demo's deep and shallow buffer: two modelled switches, alike but for their memory.
//!
//! Owns the two devices and what is asked of them. Runs nothing: virtual time costs a few seconds.

use measure::{ByteCount, Nanos};
use sim::HostModel;
use study::buffer::Buffer;
use study::depth::Depth;
use study::request::given::Given;
use study::{Background, Blocks, Streams, StudySpec};

use super::simulated;
use crate::config::request;
use crate::config::resolved::Testbed;

/// True if a buffer holds what a gigabit has under way in 50 ms: the classic rule, one
/// bandwidth-delay product.
pub fn is_enough(size: ByteCount) -> bool {
    size.0 as f64 >= 1e9 / 8.0 * 0.05
}

/// Returns the buffer size of one of the devices; `None` for any other.
pub fn size(device: &str) -> Option<ByteCount> {
    DEVICES.iter().find(|(name, _)| *name == device).and_then(|(_, size)| size.parse().ok())
}

/// A gigabit over 50 ms holds 6.25 MB: one buffer is as large, the other a sixth.
const DEVICES: [(&str, &str); 2] = [("deep", "6.4MB"), ("shallow", "1MB")];

/// Window of a host that is set up for this path: what the path and the deep buffer hold. A sender
/// without a limit overfills any buffer in time.
const WINDOW: ByteCount = ByteCount(10_000_000);

/// Returns both switches, each with four hosts, a path of 50 ms for TCP and none for the bursts.
pub fn runs() -> Vec<(Testbed, Vec<StudySpec>)> {
    let mut runs = Vec::new();
    for (name, size) in DEVICES {
        let path = place(name, size, "12500us");
        let asked = Buffer {
            congestion_controls: vec![Given::new("htcp".to_owned())],
            streams: vec![Given::new(Streams::known(1))],
            backgrounds: Some(vec![Given::new(Some(Background::Share(0.2)))]),
            omit: Some(Given::new(Nanos::from_secs(5))),
            duration: Some(Given::new(Nanos::from_secs(15))),
            blocks: Some(Given::new(Blocks::known(1))),
            ..Buffer::default()
        };
        let esnet = request::from_flags(&asked, &path).expect("no device is named, and no size");
        runs.push((path, vec![esnet]));
        let short = place(name, size, "0us");
        let depth = request::from_flags(&Depth::default(), &short).expect("nor here");
        runs.push((short, vec![depth]));
    }
    runs
}

fn place(name: &str, size: &str, delay: &str) -> Testbed {
    let text = format!(
        "name = \"{name}\"\nports = 4\nrate = \"1Gbit\"\nlink_delay = \"{delay}\"\n\
         forwarding = {{ mode = \"store-and-forward\", latency = \"3us\" }}\n\
         buffer = {{ per_port = \"{size}\" }}\n"
    );
    let hosts = HostModel { mtu: 9000, receive_window: WINDOW, ..HostModel::ideal(4) };
    simulated(name, &text, hosts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::resolved::Source;

    #[test]
    fn both_devices_can_be_read() {
        let runs = runs();
        assert_eq!(runs.len(), 4);
        for (place, studies) in &runs {
            let Source::Virtual(config) = &place.source else { panic!("{}", place.name) };
            let topology = config.topology(&place.name);
            for study in studies {
                study.check(&topology).expect("it can be carried out");
            }
        }
    }
}
