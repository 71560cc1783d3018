//! The page of a generator's calibration: where it reaches line rate, how fast each backend sends,
//! and how evenly. Never computes.

use page::{
    Block, Cell, Ends, Listing, Page, Quantity, Reply, Section, Style, Table, Unit, numbers,
};

use super::{Calibration, Highest, Paced};
use crate::doctor::line_rates::{AtSpeed, Cable, LineRates, Most};

impl Calibration {
    /// Everything measured, and what follows for line rates.
    pub fn page(&self, line_rates: &LineRates) -> Page {
        let tables = [line_rates.table(), self.highest(), self.pacing(), self.unavailable()];
        let tables = tables.into_iter().filter_map(Table::unless_empty);
        let rates = Section {
            id: "rates".to_owned(),
            heading: "Rates".to_owned(),
            blocks: tables.map(Block::Table).collect(),
        };
        Page {
            heading: "The generator".to_owned(),
            line: format!("Generator on {}: {} -> {}", self.testbed, self.from, self.to),
            notes: line_rates.notes(),
            sections: vec![rates],
            ..Page::default()
        }
    }

    fn highest(&self) -> Table {
        Listing::new("The highest rate, frames/s: median of floods", &self.highest)
            .column("backend", |row: &&Highest| Cell::text(row.backend))
            .column("size", |row| Cell::number(row.frame_size.to_string()))
            .column("sent", |row| rate(row.sent_frames_per_s))
            .column("received", |row| rate(row.received_frames_per_s))
            .column("lost", |row| Cell::quantity(Unit::Ratio, Some(row.loss_ratio)))
            .column("receiver", |row| Cell::text(&row.receiver))
            .table()
            .stating(Unit::FramesPerSecond)
    }

    fn pacing(&self) -> Table {
        let count = |count: f64| Cell::number(numbers::grouped(count));
        let percent = |share: f64| Cell::number(numbers::plain(share * 100.0));
        let gap = |ns: u64| Cell::quantity(Unit::Nanoseconds, Some(ns as f64));
        Listing::new("Pacing of 64-octet frames: gaps between departures", &self.pacing)
            .column("backend", |row: &&Paced| Cell::text(row.backend))
            .column("asked/s", |row| count(row.asked_frames_per_s))
            .column("sent/s", |row| count(row.sent_frames_per_s))
            .column("within 20 µs %", |row| percent(row.within_20us_ratio))
            .column("p50", |row| gap(row.gap_p50_ns))
            .column("p99", |row| gap(row.gap_p99_ns))
            .column("p99.9", |row| gap(row.gap_p999_ns))
            .column("bursts %", |row| percent(row.burst_ratio))
            .column("lost", |row| count(row.lost as f64))
            .table()
    }

    fn unavailable(&self) -> Table {
        Listing::new("Backends that are not available here", &self.unavailable)
            .column("backend", |row| Cell::text(row.backend))
            .column("why", |row| Cell::text(&row.reason).with_style(Style::Long))
            .table()
    }
}

fn rate(frames_per_s: f64) -> Cell {
    Cell::quantity(Unit::FramesPerSecond, Some(frames_per_s))
}

impl LineRates {
    fn table(&self) -> Table {
        let speeds = self.sizes.first().map(|size| size.at.as_slice()).unwrap_or_default();
        let speeds = speeds.iter().map(|at| format!("at {}", at.speed));
        Listing::new(format!("Line rate, {}", self.path()), &self.sizes)
            .column("size", |size: &&Most| Cell::number(size.frame_size.to_string()))
            .column("backend", |size| Cell::text(size.backend))
            .column("received", |size| Cell::Value {
                quantity: size.quantity(),
                note: String::new(),
            })
            .columns(speeds, |size, at| size.at.get(at).map_or(Cell::Missing, AtSpeed::cell))
            .table()
    }

    /// Describes the two ends and the cable between them.
    fn path(&self) -> String {
        let over = match self.place.cable {
            Cable::Virtual => "over a virtual cable".to_owned(),
            Cable::Of(rate) => format!("over a link of {rate}"),
            Cable::Unknown => "over a link of unknown rate".to_owned(),
        };
        let ends = if self.place.one_machine {
            "both ends on one machine"
        } else {
            "between two machines"
        };
        format!("{ends}, {over}")
    }

    /// Lists what limits the replies.
    fn notes(&self) -> Vec<String> {
        let shared = self.place.one_machine.then_some(
            "Sender and receiver share this machine's processors: as one end of two machines it \
             does at least as much.",
        );
        let virtual_cable = (self.place.cable == Cable::Virtual).then_some(
            "A virtual cable has neither card nor driver: yes is said of the processors alone, and \
             a card may carry less.",
        );
        let mut notes: Vec<String> =
            shared.into_iter().chain(virtual_cable).map(str::to_owned).collect();
        let reasons = self.sizes.iter().flat_map(|size| &size.at).filter_map(|at| at.because);
        for why in reasons.map(|why| format!("not shown: {why}")) {
            if !notes.contains(&why) {
                notes.push(why);
            }
        }
        notes
    }

    /// Cells of a row in a table of machines: the machine, and for each size its replies and rate.
    pub fn machine_row(&self) -> Vec<Cell> {
        let size = |size: &Most| {
            let replies: Vec<&str> = size.at.iter().map(|at| at.reply.word()).collect();
            let bound = if size.is_bound { "at least " } else { "" };
            let received = numbers::grouped(size.received);
            format!("{}: {bound}{received} ({})", replies.join(", "), size.backend)
        };
        let meanwhile = self.taken.map_or_else(String::new, |taken| {
            format!(", others took up to {} % of the processors", numbers::plain(taken * 100.0))
        });
        let place = [
            self.place.machine.clone(),
            self.place.kernel.clone(),
            env!("CARGO_PKG_VERSION").to_owned(),
            self.path() + &meanwhile,
        ];
        place.into_iter().chain(self.sizes.iter().map(size)).map(Cell::text).collect()
    }
}

impl Most {
    fn quantity(&self) -> Quantity {
        Quantity {
            unit: Unit::FramesPerSecond,
            value: Some(self.received),
            low: Some(self.interval.low),
            high: Some(self.interval.high),
            ends: Ends::Confidence(self.interval.confidence),
            at_least: self.is_bound,
            row: None,
        }
    }
}

impl AtSpeed {
    fn cell(&self) -> Cell {
        let text = match self.reply {
            Reply::NotShown => self.reply.word().to_owned(),
            known => format!("{}, {} %", known.word(), numbers::plain(self.share * 100.0)),
        };
        Cell::text(text).with_style(self.reply.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::generator::Unavailable;
    use crate::doctor::line_rates::Place;
    use render::Screen;

    #[test]
    fn tables_fit_a_hundred_columns_and_name_what_is_missing() {
        let highest = |backend, frame_size| Highest {
            sent_frames_per_s: 14_880_952.4,
            loss_ratio: 0.000_7,
            ..Highest::from_rates(backend, "xdp".to_owned(), frame_size, &[14_870_000.0])
        };
        let calibration = Calibration {
            testbed: "lab:cable".to_owned(),
            from: "h1/eth1".parse().expect("a port"),
            to: "h2/eth1".parse().expect("a port"),
            highest: vec![highest("xdp-live", 64), highest("xdp-live", 1518), highest("udp", 64)],
            pacing: vec![Paced {
                backend: "xdp-live",
                asked_frames_per_s: 1e5,
                sent_frames_per_s: 99_999.6,
                within_20us_ratio: 0.995,
                gap_p50_ns: 10_000,
                gap_p99_ns: 10_900,
                gap_p999_ns: 1_234_567,
                burst_ratio: 0.01,
                lost: 0,
            }],
            unavailable: vec![Unavailable {
                backend: "af-xdp",
                reason: "the kernel has no AF_XDP sockets ".repeat(5).trim().to_owned(),
            }],
        };
        let place = Place {
            machine: "a processor | 2 processors".to_owned(),
            kernel: "6.18.0".to_owned(),
            cable: Cable::Virtual,
            one_machine: true,
        };
        let line_rates = LineRates::from_calibration(&calibration, place);
        let text = render::text(&calibration.page(&line_rates), Screen::PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        for words in ["14,880,952", "100,000", "99.5", "10.0", "1,235", "af-xdp   the kernel"] {
            assert!(text.contains(words), "{words} in:\n{text}");
        }
        assert_eq!(text.matches("xdp-live").count(), 3, "each table names it once:\n{text}");
        assert!(text.contains("both ends on one machine, over a virtual cable"), "{text}");
        let row = render::markdown_row(&line_rates.machine_row());
        assert_eq!((row.lines().count(), row.matches(" | ").count()), (1, 5), "{row}");
        let end = "not shown, not shown, not shown: at least 14,870,000 (xdp-live) |\n";
        assert!(row.ends_with(end), "{row}");
    }
}
