//! Columns that make up each counter (IF-MIB, RFC 2863; EtherLike-MIB, RFC 3635).
//!
//! Owns the sums and the fallbacks for a device without high-capacity columns. A column that a
//! device does not have is absent, never 0. Never sends a request.

use async_snmp::Value;

use crate::account::Counter;

/// A column by its identifier, and by its name in the MIB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub oid: Vec<u32>,
    pub name: String,
}

/// A counter and the columns that it is the sum of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sum {
    pub counter: String,
    pub columns: Vec<Column>,
    /// True if the user added it.
    pub added: bool,
}

/// A column of the ifTable, of the ifXTable, or of EtherLike-MIB.
#[derive(Debug, Clone, Copy)]
enum Known {
    If(u32, &'static str),
    IfX(u32, &'static str),
    Dot3(&'static [u32], &'static str),
}

use Known::{Dot3, If, IfX};

/// Sums in order of preference: the first one that a port has completely is used. RFC 2863 §3.1.6
/// has the wide ones in the ifXTable; ifInNUcastPkts is their predecessor (RFC 1213).
const SUMS: &[(&str, &[Known])] = &[
    (
        "rx_packets",
        &[IfX(7, "ifHCInUcastPkts"), IfX(8, "ifHCInMulticastPkts"), IfX(9, "ifHCInBroadcastPkts")],
    ),
    (
        "rx_packets",
        &[If(11, "ifInUcastPkts"), IfX(2, "ifInMulticastPkts"), IfX(3, "ifInBroadcastPkts")],
    ),
    ("rx_packets", &[If(11, "ifInUcastPkts"), If(12, "ifInNUcastPkts")]),
    (
        "tx_packets",
        &[
            IfX(11, "ifHCOutUcastPkts"),
            IfX(12, "ifHCOutMulticastPkts"),
            IfX(13, "ifHCOutBroadcastPkts"),
        ],
    ),
    (
        "tx_packets",
        &[If(17, "ifOutUcastPkts"), IfX(4, "ifOutMulticastPkts"), IfX(5, "ifOutBroadcastPkts")],
    ),
    ("tx_packets", &[If(17, "ifOutUcastPkts"), If(18, "ifOutNUcastPkts")]),
    ("rx_bytes", &[IfX(6, "ifHCInOctets")]),
    ("rx_bytes", &[If(10, "ifInOctets")]),
    ("tx_bytes", &[IfX(10, "ifHCOutOctets")]),
    ("tx_bytes", &[If(16, "ifOutOctets")]),
    ("rx_dropped", &[If(13, "ifInDiscards")]),
    ("tx_dropped", &[If(19, "ifOutDiscards")]),
    ("rx_errors", &[If(14, "ifInErrors")]),
    ("tx_errors", &[If(20, "ifOutErrors")]),
    // RFC 3635 §4: dot3StatsTable, dot3HCStatsTable and dot3PauseTable, all indexed by ifIndex.
    ("rx_crc_errors", &[Dot3(&[11, 1, 2], "dot3HCStatsFCSErrors")]),
    ("rx_crc_errors", &[Dot3(&[2, 1, 3], "dot3StatsFCSErrors")]),
    ("rx_pause", &[Dot3(&[10, 1, 5], "dot3HCInPauseFrames")]),
    ("rx_pause", &[Dot3(&[10, 1, 3], "dot3InPauseFrames")]),
    ("tx_pause", &[Dot3(&[10, 1, 6], "dot3HCOutPauseFrames")]),
    ("tx_pause", &[Dot3(&[10, 1, 4], "dot3OutPauseFrames")]),
];

impl Column {
    fn from_known(known: Known) -> Self {
        let (table, rest, name): (&[u32], &[u32], _) = match &known {
            If(column, name) => (&[1, 3, 6, 1, 2, 1, 2, 2, 1], &[*column], *name),
            IfX(column, name) => (&[1, 3, 6, 1, 2, 1, 31, 1, 1, 1], &[*column], *name),
            Dot3(rest, name) => (&[1, 3, 6, 1, 2, 1, 10, 7], rest, *name),
        };
        Self { oid: [table, rest].concat(), name: name.to_owned() }
    }
}

/// Lists every sum that a port may have, the user's first.
pub(super) fn all(added: impl Iterator<Item = (String, Vec<u32>)>) -> Vec<Sum> {
    let mut sums: Vec<Sum> = added
        .map(|(counter, oid)| {
            let name = counter.clone();
            Sum { counter, columns: vec![Column { oid, name }], added: true }
        })
        .collect();
    for (counter, columns) in SUMS {
        if sums.iter().any(|sum| sum.added && sum.counter == *counter) {
            continue;
        }
        let columns = columns.iter().map(|&known| Column::from_known(known)).collect();
        sums.push(Sum { counter: (*counter).to_owned(), columns, added: false });
    }
    sums
}

/// Adds up the columns' values; `None` if one is missing.
pub(super) fn summed(values: &[Option<Value>]) -> Option<Counter> {
    let parts: Vec<Counter> =
        values.iter().map(|v| v.as_ref().and_then(counted)).collect::<Option<_>>()?;
    let sum = parts.iter().fold(0, |sum: u64, part| sum.wrapping_add(part.value));
    // Counters that wrap at 2^32 have a sum that does, if it is taken modulo 2^32 (RFC 2578 §7.1.6:
    // only differences mean anything).
    let narrow = parts.iter().any(|part| part.narrow);
    Some(Counter { value: if narrow { sum & u64::from(u32::MAX) } else { sum }, narrow })
}

/// Reads a value as a counter, with the width that the device reports, whatever the MIB says.
/// `None` for other types.
pub(super) fn counted(value: &Value) -> Option<Counter> {
    match *value {
        Value::Counter64(value) => Some(Counter::wide(value)),
        Value::Counter32(value) | Value::Gauge32(value) | Value::UInteger32(value) => {
            Some(Counter { value: value.into(), narrow: true })
        }
        Value::Integer(value) => Some(Counter { value: u64::try_from(value).ok()?, narrow: true }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_as_narrow_as_its_narrowest_part() {
        let (wide, narrow) = (Value::Counter64, Value::Counter32);
        let counter = |value, narrow| Some(Counter { value, narrow });
        for (values, sum) in [
            (
                vec![Some(wide(1 << 40)), Some(wide(2)), Some(wide(3))],
                counter((1 << 40) + 5, false),
            ),
            (vec![Some(narrow(u32::MAX)), Some(narrow(3))], counter(2, true)),
            (vec![Some(wide(u64::MAX)), Some(wide(3))], counter(2, false)),
            (vec![Some(wide(1)), None], None),
            (vec![Some(Value::Integer(-1))], None),
            (vec![Some(Value::IpAddress([1; 4]))], None),
        ] {
            assert_eq!(summed(&values), sum, "{values:?}");
        }
    }

    #[test]
    fn what_the_user_adds_stands_in_the_place_of_ours() {
        let added = [("rx_pause".to_owned(), vec![1, 3, 6, 1, 4, 1, 9, 1])];
        let sums = all(added.into_iter());
        let of = |counter| sums.iter().filter(move |sum| sum.counter == counter);
        assert_eq!(of("rx_pause").count(), 1);
        assert_eq!(of("tx_pause").count(), 2);
    }
}
