//! iperf 2's lines of commas (`-y C`): a time, both ends, the stream, its interval, octets and bits
//! a second; of a receiver of datagrams jitter, lost, all, percent and what was out of order.
//!
//! Never takes an interval for the whole.

use std::collections::BTreeMap;

use page::{Caveat, Key};

use crate::counts::Counts;
use crate::found::{Found, Row};
use crate::numbers::number;
use crate::reader::Reader;

/// No test has more streams.
const MOST_STREAMS: usize = 4096;

/// Reads it: of each stream the longest interval.
#[derive(Debug, Default)]
pub(crate) struct Csv {
    streams: BTreeMap<String, Stream>,
}

#[derive(Debug, Clone, Default)]
struct Stream {
    seconds: f64,
    bits_per_second: f64,
    counts: Option<Counts>,
    udp: bool,
}

impl Reader for Csv {
    fn tool(&self) -> &'static str {
        "iperf"
    }

    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        let fields: Vec<&str> = line.split(',').collect();
        let stamp = fields[0].split_once(['.', '+', '-']).map_or(fields[0], |(stamp, _)| stamp);
        let is_stamp = stamp.len() == 14 && stamp.bytes().all(|c| c.is_ascii_digit());
        if !is_stamp || !matches!(fields.len(), 9 | 14..) {
            return false;
        }
        let Some((from, to)) = fields[6].split_once('-') else { return false };
        let told = (number(from), number(to), number(fields[8]));
        let (Some(from), Some(to), Some(bits_per_second)) = told else { return false };
        let count = |at: usize| fields.get(at).and_then(|field| number(field));
        let counts = count(10).zip(count(11)).map(|(lost, all)| Counts {
            lost,
            all,
            percent: count(12).filter(|percent| *percent >= 0.0),
        });
        // A sender of datagrams prints -1 where a receiver counts.
        let counts = counts.filter(|counts| counts.all >= 0.0 || counts.lost != 0.0);
        let stream = Stream { seconds: to - from, bits_per_second, counts, udp: fields.len() > 9 };
        if self.streams.len() < MOST_STREAMS {
            let at = self.streams.entry(format!("{}:{}", fields[2], fields[5])).or_default();
            if stream.seconds >= 0.95 * at.seconds {
                *at = stream;
            }
        }
        true
    }

    fn end(&mut self, found: &mut Found) {
        let mut streams: Vec<Stream> = std::mem::take(&mut self.streams).into_values().collect();
        let longest = streams.iter().map(|stream| stream.seconds).fold(0.0, f64::max);
        streams.retain(|stream| stream.seconds >= 0.5 * longest);
        let Some(first) = streams.first() else { return };
        let udp = first.udp;
        let counts: Option<Vec<Counts>> = streams.iter().map(|stream| stream.counts).collect();
        let counts = counts.map(|all| Counts {
            lost: all.iter().map(|one| one.lost).sum(),
            all: all.iter().map(|one| one.all).sum(),
            percent: all.first().and_then(|one| one.percent).filter(|_| all.len() == 1),
        });
        let row = Row::of("iperf")
            .with(Key::Protocol, if udp { "udp" } else { "tcp" })
            .doubting_if(udp, Caveat::GapLoss)
            .doubting_if(udp && counts.is_none(), Caveat::SenderOnly)
            .contradicted(counts.and_then(|counts| counts.contradiction()));
        found.goodput(&row, streams.iter().map(|stream| stream.bits_per_second).sum());
        if let Some(counts) = counts {
            counts.put(&row, longest, found);
        }
    }
}
