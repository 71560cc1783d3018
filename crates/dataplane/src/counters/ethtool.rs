//! Facts that a driver reports by the ethtool ioctl alone: its counters of PAUSE frames, and the
//! version of its card's firmware. No other counter shows that missing frames were held back by a
//! link partner's PAUSE.
//!
//! Never changes a setting. A driver that reports neither is no error.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

/// `linux/ethtool.h`: a driver's description; names and values of its statistics.
const GET_DRIVER_INFO: u32 = 0x03;
const GET_SET_INFO: u32 = 0x37;
const GET_STRINGS: u32 = 0x1b;
const GET_STATS: u32 = 0x1d;
const SET_STATS: u32 = 1;
const NAME_OCTETS: usize = 32;
/// Upper bound on the number of statistics accepted from a driver; limits what is allocated.
const MOST: usize = 65_536;
/// Spare entries: the driver may have added statistics since it was asked for their number.
const SPARE: usize = 1_024;

/// The driver's counters of PAUSE frames, by its own names; empty where it has none.
pub fn pause_frames(interface: &str) -> BTreeMap<String, u64> {
    read(interface).unwrap_or_default()
}

fn read(interface: &str) -> Option<BTreeMap<String, u64>> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    let count = count(&socket, interface)?;
    // struct ethtool_gstrings: cmd, string_set, len, then the names. Kept as words for alignment.
    let mut names = vec![0_u32; 3 + (count + SPARE) * NAME_OCTETS / 4];
    names[..3].copy_from_slice(&[GET_STRINGS, SET_STATS, count as u32]);
    ask(&socket, interface, &mut names)?;
    let names: Vec<u8> = names[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    // struct ethtool_stats: cmd, n_stats, then 64-bit values.
    let mut values = vec![0_u64; 1 + count + SPARE];
    values[0] = two_words(GET_STATS, count as u32);
    ask(&socket, interface, &mut values)?;
    let named = names.chunks_exact(NAME_OCTETS).zip(&values[1..]).take(count);
    Some(named.filter_map(|(name, value)| Some((pause_name(name)?, *value))).collect())
}

/// Version of the card's firmware in the driver's words; `None` where it reports none.
pub fn firmware(interface: &str) -> Option<String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // struct ethtool_drvinfo: cmd, then names of 32 octets: driver, version, firmware, bus, ROM;
    // 12 reserved octets and five counts.
    let mut info = [0_u32; 49];
    info[0] = GET_DRIVER_INFO;
    ask(&socket, interface, &mut info)?;
    let names: Vec<u8> = info[1..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let version = text(names.chunks_exact(NAME_OCTETS).nth(2)?)?;
    (!matches!(version, "" | "N/A")).then(|| version.to_owned())
}

/// Returns the number of statistics that the driver has.
fn count(socket: &UdpSocket, interface: &str) -> Option<usize> {
    // struct ethtool_sset_info: cmd, reserved, a 64-bit mask of sets, then one count for each.
    let mut info = [two_words(GET_SET_INFO, 0), 1 << SET_STATS, 0];
    ask(socket, interface, &mut info)?;
    let count = u32::from_ne_bytes(info[2].to_ne_bytes()[..4].try_into().ok()?) as usize;
    (info[1] != 0 && (1..=MOST).contains(&count)).then_some(count)
}

/// Packs two consecutive 32-bit fields as they lie in memory.
fn two_words(first: u32, second: u32) -> u64 {
    let mut octets = [0; 8];
    octets[..4].copy_from_slice(&first.to_ne_bytes());
    octets[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(octets)
}

/// Returns the name if it is that of a PAUSE frame counter.
fn pause_name(octets: &[u8]) -> Option<String> {
    let name = text(octets)?;
    name.to_ascii_lowercase().contains("pause").then(|| name.to_owned())
}

/// Returns a field's text up to its first zero octet.
fn text(octets: &[u8]) -> Option<&str> {
    let end = octets.iter().position(|octet| *octet == 0).unwrap_or(octets.len());
    std::str::from_utf8(&octets[..end]).ok().map(str::trim)
}

/// Makes one request; the answer overwrites it.
#[expect(unsafe_code, reason = "the ethtool ioctl passes a pointer inside a structure")]
fn ask<T: Copy>(socket: &UdpSocket, interface: &str, request: &mut [T]) -> Option<()> {
    /// `linux/sockios.h`.
    const SIOCETHTOOL: u64 = 0x8946;
    // SAFETY: integers, arrays and pointers; all zeros is a value of it.
    let mut asked: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= asked.ifr_name.len() {
        return None;
    }
    for (to, from) in asked.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    asked.ifr_ifru.ifru_data = request.as_mut_ptr().cast();
    // SAFETY: `asked` names an interface, zero-terminated, and points to a request that `firmware`
    // made as long as the kernel's structure, or that `read` and `count` made long enough for as
    // many statistics as the kernel will write, and some to spare.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut asked) };
    (answer == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pause_counters_are_kept() {
        let mut name = [0_u8; NAME_OCTETS];
        name[..14].copy_from_slice(b"rx_pause_ctrl\0");
        assert_eq!(pause_name(&name).as_deref(), Some("rx_pause_ctrl"));
        assert_eq!(pause_name(b"tx_packets\0"), None);
        assert_eq!(pause_name(&[0xff; NAME_OCTETS]), None);
    }

    #[test]
    fn what_has_none_gives_nothing() {
        assert!(pause_frames("lo").is_empty());
        assert!(pause_frames("a name that is too long").is_empty());
        assert_eq!(firmware("lo"), None);
        assert_eq!(firmware("a name that is too long"), None);
    }
}
