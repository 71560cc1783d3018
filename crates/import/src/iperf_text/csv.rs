//! iperf 2's comma-separated lines (`-y C`): a time, both ends, the stream, its interval, octets
//! and bits per second. A receiver of datagrams adds jitter, lost, all, percent and out of order.
//! Pure.

use super::line::Line;
use crate::checks::Counts;
use crate::moved::Moved;
use crate::numbers::{Printed, number};

/// Time of a line, and the client's port: another run has others.
#[derive(Debug, Clone, Default)]
pub(super) struct Stamp {
    /// Second of the day.
    pub second: f64,
    pub port: String,
}

/// Parses a line and its stamp.
pub(super) fn line(line: &str) -> Option<(Line, Stamp)> {
    let stamp = line.get(..14).filter(|stamp| stamp.bytes().all(|c| c.is_ascii_digit()))?;
    let fields: Vec<&str> = line.split(',').collect();
    if !matches!(fields.len(), 9 | 14..) {
        return None;
    }
    let count = |at: usize| fields.get(at).and_then(|field| number(field));
    let (from, to) = fields[6].split_once('-')?;
    let (from, to) = (number(from)?, number(to)?);
    let counts = count(10).zip(count(11)).map(|(lost, all)| Counts {
        lost,
        all,
        percent: count(12).filter(|percent| *percent >= 0.0),
    });
    // A sender of datagrams prints -1 in place of a receiver's counts.
    let counts = counts.filter(|counts| counts.all >= 0.0 || counts.lost != 0.0);
    let sends_datagrams = fields.len() > 9 && counts.is_none();
    let id = if fields[5] == "-1" { "SUM" } else { fields[5] }.to_owned();
    let port = format!("{}-{}", fields[2], fields[4]);
    let part = |from: usize| number(&stamp[from..from + 2]);
    Some((
        Line {
            id,
            is_three: Some(false),
            from,
            to,
            time_step: 0.2,
            moved: Moved {
                seconds: to - from,
                bytes: Printed::exact(count(7)?),
                bits_per_second: Printed::exact(count(8)?),
                counts,
                sends_datagrams,
                ..Moved::default()
            },
            ..Line::default()
        },
        Stamp { second: 3600.0 * part(8)? + 60.0 * part(10)? + part(12)?, port },
    ))
}
