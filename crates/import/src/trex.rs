//! TRex's console: the last table of its ports' statistics.
//!
//! Never takes a port for the total: only the total's column is reported. Never merges two tables.

use page::{Caveat, Key, Metric, Unit};

use crate::contradiction::Contradiction;
use crate::found::{Found, Row};
use crate::numbers::{Printed, begins, scaled};
use crate::reader::Reader;
use crate::shapes::is_around;

/// Names of the reported rows.
const ROWS: [&str; 4] = ["Tx pps", "Rx pps", "opackets", "ipackets"];

/// Reader of TRex's console.
#[derive(Debug, Default)]
pub(crate) struct Trex {
    /// Number of columns, once its heading was seen.
    columns: usize,
    /// Number of each row in each column.
    rows: [Option<Vec<Printed>>; 4],
}

impl Reader for Trex {
    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        if is_around("trex.begin", line) {
            self.columns = line.matches('|').count();
            return true;
        }
        if (!line.contains('|') && is_around("trex", line))
            || (self.columns > 0 && begins(&["-----------+"], line))
        {
            return true;
        }
        let mut cells = line.split('|').map(str::trim);
        let name = cells.next().unwrap_or_default();
        let cells: Vec<&str> = cells.collect();
        if self.columns == 0 || cells.len() != self.columns {
            return false;
        }
        let Some(at) = ROWS.iter().position(|row| *row == name) else {
            return is_around("trex", line);
        };
        let numbers: Option<Vec<Printed>> =
            cells.into_iter().map(|cell| scaled(cell, 1000.0)).collect();
        let is_new = numbers.is_some() && self.rows[at].is_none();
        if is_new {
            self.rows[at] = numbers;
        }
        is_new
    }

    fn end(&mut self, found: &mut Found) {
        let total = |at: usize| self.rows[at].as_ref()?.last().copied();
        let row = Row::new("trex").with(Key::Ports, self.columns.saturating_sub(1) as u64);
        for (at, metric) in [(0, Metric::Sent), (1, Metric::Received)] {
            let Some(told) = total(at) else { continue };
            let row = row.clone().contradicted(self.of_ports(at));
            found.add(&row, metric, Unit::FramesPerSecond, told.value);
        }
        if let (Some(sent), Some(received)) = (total(2), total(3)) {
            let row = row.contradicted(self.of_ports(2)).contradicted(self.of_ports(3));
            let (sent, received) = (sent.value, received.value);
            // Counts of a running test include frames still in flight.
            let row = row.doubting(Caveat::GapLoss);
            found.loss(&row, sent, received);
        }
    }
}

impl Trex {
    /// Contradiction if the total is not the sum of the ports.
    fn of_ports(&self, at: usize) -> Option<Contradiction> {
        let (total, ports) = self.rows[at].as_ref()?.split_last()?;
        let sum = Printed {
            value: ports.iter().map(|port| port.value).sum(),
            step: ports.iter().map(|port| port.step).sum(),
        };
        Contradiction::unless_same("sent-of-streams", *total, sum)
    }
}
