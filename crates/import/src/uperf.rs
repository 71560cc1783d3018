//! uperf's text: its transactions, and their total.
//!
//! Owns the choice of the transaction that moved most: the total's time includes connecting and
//! waiting.

use page::Caveat;

use crate::contradiction::Contradiction;
use crate::found::{Found, Row};
use crate::moved::Moved;
use crate::numbers::{Printed, number, scaled};
use crate::reader::Reader;
use crate::shapes::is_around;

/// Reader of uperf's text.
#[derive(Debug, Default)]
pub(crate) struct Uperf {
    /// Transaction that moved most.
    most: Option<Moved>,
    /// Octets of all transactions.
    moved: f64,
    total: Option<Moved>,
}

impl Reader for Uperf {
    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        if line.contains("(s) =") {
            let Some(read) = parse(line) else { return false };
            if line.starts_with("Total") {
                self.total = Some(read);
            } else if line.starts_with("Txn") {
                self.moved += read.bytes.value;
                if self.most.is_none_or(|most| read.bytes.value >= most.bytes.value) {
                    self.most = Some(read);
                }
            }
            return true;
        }
        is_around("uperf", line)
            || line.contains("b/s ")
            || line.ends_with('%')
            || line.matches('.').count() >= 3
    }

    fn end(&mut self, found: &mut Found) {
        let has_moved = |moved: &Moved| moved.bytes.value > 0.0;
        // The total has what all transactions moved, or one of them is missing.
        let moved = Printed::near(self.moved, 0.02);
        let total = self.total.map(|total| total.bytes);
        let missing = Contradiction::unless_same("octets-of-intervals", total, moved);
        let most = self.most.filter(|most| has_moved(most) && missing.is_none());
        if let Some(moved) = most.or(self.total.filter(has_moved)) {
            let row = Row::new("uperf").doubting(Caveat::SenderOnly);
            let row = row.doubting_if(self.total.is_none(), Caveat::CutOff);
            let row = row.contradicted(missing.or_else(|| moved.contradiction(0.01)));
            found.goodput(&row, moved.bits_per_second.value);
        }
    }
}

/// Parses `Txn2 943.44M / 1.20(s) = 6.59Gb/s 100500op/s`.
fn parse(line: &str) -> Option<Moved> {
    let (before, after) = line.split_once("(s) =")?;
    let (octets, seconds) = before.split_once(char::is_whitespace)?.1.split_once('/')?;
    let rate = after.split_whitespace().next()?;
    let is_rate = rate.ends_with("b/s") || rate == "0";
    Some(Moved {
        bytes: scaled(octets, 1024.0)?,
        seconds: number(seconds)?,
        bits_per_second: scaled(rate, 1000.0).filter(|_| is_rate)?,
        ..Moved::default()
    })
}
