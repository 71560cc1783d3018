//! Frame image for the sending program: the constant octets, and the partial sums of the checksums.
//!
//! Owns the program's `struct shape` and `struct image`. Takes whole frames that were built
//! elsewhere and locates their headers; never builds one.

use wire::Probe;

use crate::datagram::Spread;

const ETHERNET_OCTETS: usize = 14;
const TAG_OCTETS: usize = 4;
const UDP_OCTETS: usize = 8;
/// Octets of the longest headers with a probe: tagged IPv6.
const HEAD_OCTETS: usize = 88;
/// Maximum sizes of a pattern.
pub(super) const SIZES: usize = 64;

/// Settings that the loader fixes before verification, in the program's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub tagged: bool,
    pub paced: bool,
    pub octets: usize,
    pub sizes: usize,
    pub batch: u32,
    pub ends: Ends,
    pub spread: Spread,
}

/// Variable fields of the first frame: ports, and the low 32 bits of the addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    pub version: u32,
    pub source_port: u16,
    pub destination_port: u16,
    pub source: u32,
    pub destination: u32,
}

impl Shape {
    pub fn octets(&self) -> Vec<u8> {
        let count = |range: Option<trial::topology::AddressBlock>| {
            range.map_or(1, |range| u32::from(range.count.max(1)))
        };
        let words = [
            self.ends.version,
            u32::from(self.tagged),
            u32::from(self.paced),
            self.octets as u32,
            self.sizes as u32,
            self.batch,
            u32::from(self.ends.source_port),
            u32::from(self.spread.source_ports.max(1)),
            u32::from(self.ends.destination_port),
            u32::from(self.spread.destination_ports.max(1)),
            self.ends.source,
            count(self.spread.sources),
            self.ends.destination,
            count(self.spread.destinations),
        ];
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }
}

/// Offsets of a frame's headers.
#[derive(Debug, Clone, Copy)]
struct Places {
    ip: usize,
    udp: usize,
    version: u32,
    tagged: bool,
}

/// Constant part of a frame, ready for the program.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub octets: Vec<u8>,
    pub ends: Ends,
    pub tagged: bool,
}

fn places(frame: &[u8]) -> Option<Places> {
    let number = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
    let tagged = number(12)? == 0x8100;
    let ip = ETHERNET_OCTETS + if tagged { TAG_OCTETS } else { 0 };
    let (version, octets) = match number(ip - 2)? {
        0x0800 => (4, 20),
        0x86dd => (6, 40),
        _ => return None,
    };
    let udp = ip + octets;
    (frame.len() >= udp + UDP_OCTETS + Probe::LEN).then_some(Places { ip, udp, version, tagged })
}

/// Sum of 16-bit words, the last one padded with a zero.
fn sum(octets: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    octets.chunks(2).map(word).sum()
}

fn folded(mut sum: u64) -> u32 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u32
}

/// Clears the fields that the program writes itself. `None` for a frame that is not one of ours.
pub(super) fn image(frame: &[u8]) -> Option<Image> {
    const UDP: u64 = 17;
    let Places { ip, udp, version, tagged } = places(frame)?;
    let mut frame = frame.to_vec();
    let octets = frame.len() as u32;
    let probe = udp + UDP_OCTETS;
    // Offsets of the addresses' low 32 bits.
    let (source_at, destination_at) =
        if version == 4 { (ip + 12, ip + 16) } else { (ip + 20, ip + 36) };
    let port = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let low =
        |at: usize| u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    let ends = Ends {
        version,
        source_port: port(udp),
        destination_port: port(udp + 2),
        source: low(source_at),
        destination: low(destination_at),
    };
    frame[source_at..source_at + 4].fill(0);
    frame[destination_at..destination_at + 4].fill(0);
    frame[udp..udp + 4].fill(0);
    frame[udp + 6..udp + 8].fill(0);
    // Sequence and time.
    frame[probe + 6..probe + Probe::LEN].fill(0);
    let mut header_sum = 0;
    let addresses = if version == 4 {
        frame[ip + 10..ip + 12].fill(0);
        header_sum = folded(sum(&frame[ip..udp]));
        0
    } else {
        sum(&frame[ip + 8..ip + 40])
    };
    let length = u64::from(u16::from_be_bytes([frame[udp + 4], frame[udp + 5]]));
    let datagram = udp + usize::try_from(length).ok()?;
    let sum = folded(addresses + UDP + length + sum(frame.get(udp..datagram)?));
    let mut image = frame[..probe + Probe::LEN].to_vec();
    image.resize(HEAD_OCTETS, 0);
    image.extend([sum, header_sum, octets, 0].iter().flat_map(|word| word.to_ne_bytes()));
    Some(Image { octets: image, ends, tagged })
}
