//! Whole-host counters: processor time, and drops and retransmissions of the network stack.
//!
//! Parses `/proc`; the parsing is pure and tested on text. Never averages over more than the two
//! snapshots it is given.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use trial::record::Usage;

use super::{CountersError, ProcessTree};

const STAT: &str = "/proc/stat";
const SOFTNET: &str = "/proc/net/softnet_stat";
/// SNMP counters of this thread's network namespace, which may differ from the first thread's.
const SNMP: &str = "/proc/thread-self/net/snmp";

/// IPv6 SNMP counters of this thread's namespace; absent if the kernel has no IPv6.
const SNMP6: &str = "/proc/thread-self/net/snmp6";

/// Counters kept of `/proc/net/snmp`: protocol, the kernel's name, our name. Counters of UDP over
/// IPv6, which the kernel lists separately under `Udp6`, are added.
const SNMP_COUNTERS: [(&str, &str, &str); 6] = [
    ("Udp", "InErrors", "udp_in_errors"),
    ("Udp", "RcvbufErrors", "udp_rcvbuf_errors"),
    ("Udp", "SndbufErrors", "udp_sndbuf_errors"),
    ("Udp", "InCsumErrors", "udp_in_csum_errors"),
    ("Udp", "MemErrors", "udp_mem_errors"),
    ("Tcp", "RetransSegs", "tcp_retrans_segs"),
];

/// Whole-host counters at one moment: totals since boot, processor times in ticks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostSnapshot {
    busy: u64,
    softirq: u64,
    stolen: u64,
    total: u64,
    /// Part of the busy time spent by programs, without interrupts; in ticks.
    programs: u64,
    /// Part of the program time spent by the trial itself, and the error bound of a difference; in
    /// ticks.
    own: Option<(u64, u64)>,
    counters: BTreeMap<String, u64>,
}

/// Reads the host's counters: processors and softnet of the whole machine, protocols of the calling
/// thread's network namespace.
pub fn host() -> Result<HostSnapshot, CountersError> {
    let mut snapshot = parse_stat(&read(STAT)?)?;
    parse_softnet(&read(SOFTNET)?, &mut snapshot.counters)?;
    parse_snmp(&read(SNMP)?, &mut snapshot.counters)?;
    if let Ok(text) = std::fs::read_to_string(SNMP6) {
        add_snmp6(&text, &mut snapshot.counters)?;
    }
    Ok(snapshot)
}

/// Reads the host's counters and the processor time used by `kin`.
pub fn host_beside(kin: &ProcessTree) -> Result<HostSnapshot, CountersError> {
    let snapshot = host()?;
    Ok(HostSnapshot { own: Some((kin.ticks(), kin.doubt())), ..snapshot })
}

impl HostSnapshot {
    /// Returns the change since `before`. Shares are zero if no tick passed between the two.
    pub fn since(&self, before: &Self) -> Usage {
        let total = self.total.saturating_sub(before.total);
        let share = |now: u64, then: u64| match total {
            0 => 0.0,
            _ => now.saturating_sub(then) as f64 / total as f64,
        };
        let foreign = self.own.zip(before.own).map_or(0, |((now, doubt), (then, _))| {
            let programs = self.programs.saturating_sub(before.programs);
            programs.saturating_sub(now.saturating_sub(then) + doubt)
        });
        let moved = self.counters.iter().filter_map(|(name, now)| {
            let by = now.saturating_sub(before.counters.get(name).copied().unwrap_or(0));
            (by > 0).then(|| (name.clone(), by))
        });
        Usage {
            busy: share(self.busy, before.busy),
            softirq: share(self.softirq, before.softirq),
            stolen: share(self.stolen, before.stolen),
            foreign: share(foreign, 0),
            counters: moved.collect(),
        }
    }
}

fn read(path: &'static str) -> Result<String, CountersError> {
    std::fs::read_to_string(path).map_err(|cause| CountersError::Read { path, cause })
}

/// Parses `/proc/stat`. proc(5): user nice system idle iowait irq softirq steal guest guest_nice,
/// in ticks. Guest time is already included in user.
fn parse_stat(text: &str) -> Result<HostSnapshot, CountersError> {
    let unreadable =
        || CountersError::Unreadable { path: STAT, what: "the processors' times".to_owned() };
    let line = text.lines().find_map(|l| l.strip_prefix("cpu ")).ok_or_else(unreadable)?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|w| w.parse().ok()).collect();
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks[..] else {
        return Err(unreadable());
    };
    let busy = user + nice + system + irq + softirq;
    Ok(HostSnapshot {
        busy,
        softirq,
        stolen: steal,
        total: busy + idle + iowait + steal,
        programs: user + nice + system,
        own: None,
        counters: BTreeMap::new(),
    })
}

/// Parses softnet counters: one line per processor, hexadecimal: processed, dropped, time_squeeze,
/// …
fn parse_softnet(text: &str, into: &mut BTreeMap<String, u64>) -> Result<(), CountersError> {
    let (mut dropped, mut squeezed) = (0, 0);
    for line in text.lines() {
        let mut columns = line.split_whitespace().map(|word| u64::from_str_radix(word, 16));
        let (Some(Ok(_)), Some(Ok(drops)), Some(Ok(squeezes))) =
            (columns.next(), columns.next(), columns.next())
        else {
            let what = format!("three hexadecimal columns in `{line}`");
            return Err(CountersError::Unreadable { path: SOFTNET, what });
        };
        dropped += drops;
        squeezed += squeezes;
    }
    into.insert("softnet_dropped".to_owned(), dropped);
    into.insert("softnet_time_squeeze".to_owned(), squeezed);
    Ok(())
}

/// Parses pairs of lines: `Udp: InDatagrams NoPorts …` above `Udp: 12 0 …`. A counter that this
/// kernel does not have is left out.
fn parse_snmp(text: &str, into: &mut BTreeMap<String, u64>) -> Result<(), CountersError> {
    for (protocol, theirs, ours) in SNMP_COUNTERS {
        let mut rows = text.lines().filter_map(|l| l.strip_prefix(protocol)?.strip_prefix(':'));
        let (Some(names), Some(values)) = (rows.next(), rows.next()) else {
            let what = format!("the counters of {protocol}");
            return Err(CountersError::Unreadable { path: SNMP, what });
        };
        let mut pairs = names.split_whitespace().zip(values.split_whitespace());
        let Some((_, value)) = pairs.find(|(name, _)| *name == theirs) else { continue };
        let value = value.parse().map_err(|_| CountersError::Unreadable {
            path: SNMP,
            what: format!("a number for {protocol} {theirs}"),
        })?;
        into.insert(ours.to_owned(), value);
    }
    Ok(())
}

/// Parses one counter per line: `Udp6RcvbufErrors   12`.
fn add_snmp6(text: &str, into: &mut BTreeMap<String, u64>) -> Result<(), CountersError> {
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(theirs) = words.next().and_then(|name| name.strip_prefix("Udp6")) else {
            continue;
        };
        let known = SNMP_COUNTERS.iter().find(|(of, name, _)| *of == "Udp" && *name == theirs);
        let Some((_, _, ours)) = known else { continue };
        let value: u64 = words.next().and_then(|word| word.parse().ok()).ok_or_else(|| {
            CountersError::Unreadable { path: SNMP6, what: format!("a number in `{line}`") }
        })?;
        *into.entry((*ours).to_owned()).or_default() += value;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_times_become_shares() {
        let parse = |line: &str| parse_stat(&format!("{line}\ncpu0 1 2 3\n")).expect("readable");
        let before = parse("cpu  100 0 100 700 100 0 0 0 50 0");
        let after = parse("cpu  130 10 110 720 110 0 10 10 60 0");
        let change = after.since(&before);
        assert!((change.busy - 0.6).abs() < 1e-9, "{change:?}");
        assert!((change.softirq - 0.1).abs() < 1e-9);
        assert!((change.stolen - 0.1).abs() < 1e-9);
        assert_eq!(after.since(&after), Usage::default());
        assert!(change.foreign.abs() < 1e-9, "nobody's kin were asked for");
        let beside =
            |snapshot: &HostSnapshot, own| HostSnapshot { own: Some((own, 3)), ..snapshot.clone() };
        // Of 50 ticks of programs 20 were our own, and 3 may have been.
        let change = beside(&after, 120).since(&beside(&before, 100));
        assert!((change.foreign - 0.27).abs() < 1e-9, "{change:?}");
        let change = beside(&after, 200).since(&beside(&before, 100));
        assert!(change.foreign.abs() < 1e-9, "{change:?}");
        assert!(parse_stat("cpu  1 2 3\n").is_err());
        assert!(parse_stat("").is_err());
    }

    #[test]
    fn softnet_is_summed_over_processors() {
        let mut counters = BTreeMap::new();
        let text = "0000ffff 0000000a 00000001 0 0\n00000001 00000010 00000002 0 0\n";
        parse_softnet(text, &mut counters).expect("readable");
        assert_eq!(counters["softnet_dropped"], 26);
        assert_eq!(counters["softnet_time_squeeze"], 3);
        assert!(parse_softnet("xyz", &mut counters).is_err());
    }

    #[test]
    fn protocols_counters_are_found_by_name_and_never_in_udplite() {
        let text = "Tcp: RetransSegs InErrs\nTcp: 3 4\nUdp: InErrors RcvbufErrors SndbufErrors\n\
                    Udp: 1 2 5\nUdpLite: InErrors RcvbufErrors\nUdpLite: 8 9\n";
        let mut counters = BTreeMap::new();
        parse_snmp(text, &mut counters).expect("readable");
        assert_eq!(counters["tcp_retrans_segs"], 3);
        assert_eq!(counters["udp_rcvbuf_errors"], 2);
        assert_eq!(counters["udp_sndbuf_errors"], 5);
        assert!(!counters.contains_key("udp_mem_errors"));
        assert!(parse_snmp("Udp: InErrors\n", &mut counters).is_err());
    }

    #[test]
    fn udp_over_ipv6_is_added() {
        let text = "Ip6InReceives 9\nUdp6InErrors  \t4\nUdp6RcvbufErrors 5\nUdpLite6InErrors 8\n";
        let mut counters = BTreeMap::from([("udp_in_errors".to_owned(), 1)]);
        add_snmp6(text, &mut counters).expect("readable");
        assert_eq!(counters["udp_in_errors"], 5);
        assert_eq!(counters["udp_rcvbuf_errors"], 5);
        assert_eq!(counters.len(), 2);
        assert!(add_snmp6("Udp6InErrors x\n", &mut counters).is_err());
    }

    #[test]
    fn only_what_moved_is_told() {
        let of = |pairs: &[(&str, u64)]| HostSnapshot {
            counters: pairs.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(),
            ..HostSnapshot::default()
        };
        let change = of(&[("a", 5), ("b", 7)]).since(&of(&[("a", 5), ("b", 4)]));
        assert_eq!(change.counters, BTreeMap::from([("b".to_owned(), 3)]));
    }
}
