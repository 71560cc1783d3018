//! uperf's text: its transactions, and the total of them.
//!
//! Owns that the transaction that moved most is the measurement: the total's time holds the
//! connecting and the waiting as well.

use page::Caveat;

use crate::found::{Found, Row};
use crate::numbers::{leading, prefix};
use crate::reader::Reader;

/// Reads it.
#[derive(Debug, Default)]
pub(crate) struct Uperf {
    begun: bool,
    /// Octets and bits a second of the transaction that moved most.
    most: Option<(f64, f64)>,
    total: Option<(f64, f64)>,
}

impl Reader for Uperf {
    fn tool(&self) -> &'static str {
        "uperf"
    }

    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        const AROUND: [&str; 18] = [
            "-----",
            "Netstat",
            "Nic ",
            "Run Statistics",
            "Hostname",
            "Difference(%)",
            "master",
            "Group",
            "Strand",
            "Thr",
            "Txn",
            "Flowop",
            "connect ",
            "write ",
            "read ",
            "disconnect ",
            "lo ",
            "eth",
        ];
        if line.starts_with("Starting ") && line.contains(" running profile:") {
            self.end(found);
            self.begun = true;
            return true;
        }
        if !self.begun {
            return false;
        }
        if line.contains("(s) =") {
            let Some(read) = moved(line) else { return false };
            if line.starts_with("Total") {
                self.total = Some(read);
            } else if line.starts_with("Txn") && self.most.is_none_or(|most| read.0 >= most.0) {
                self.most = Some(read);
            }
            return true;
        }
        AROUND.iter().any(|start| line.starts_with(start))
            || line.contains("b/s ")
            || line.ends_with('%')
            || line.matches('.').count() >= 3
    }

    fn end(&mut self, found: &mut Found) {
        let read = std::mem::take(self);
        let rate = read.most.filter(|(octets, _)| *octets > 0.0).or(read.total);
        if let Some((octets, bits)) = rate.filter(|(octets, _)| *octets > 0.0) {
            let row = Row::of("uperf").doubting(Caveat::SenderOnly);
            let row = row.doubting_if(read.total.is_none(), Caveat::CutOff);
            debug_assert!(octets > 0.0);
            found.goodput(&row, bits);
        }
    }
}

/// `Txn2 943.44M / 1.20(s) = 6.59Gb/s 100500op/s`
fn moved(line: &str) -> Option<(f64, f64)> {
    let (before, after) = line.split_once("(s) =")?;
    let octets = before.split_whitespace().nth(1)?;
    let (value, unit) = leading(octets)?;
    let letter = unit.chars().next().filter(|c| *c != 'B' && *c != '/');
    let octets = value * prefix(letter, 1024.0)?;
    let (rate, unit) = leading(after.trim_start())?;
    let unit = unit.split_whitespace().next().unwrap_or_default();
    let bits = match unit.strip_suffix("b/s") {
        Some(letter) => rate * prefix(letter.chars().next(), 1000.0)?,
        None if rate == 0.0 => 0.0,
        None => return None,
    };
    Some((octets, bits))
}
