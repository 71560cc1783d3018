//! Text of one tool or of several, one after the other, as it is pasted from a terminal.
//!
//! Owns which lines are nobody's, and that they are named. Each tool's reader marks what it
//! understood.

use crate::found::Found;
use crate::lines::Lines;
use crate::{ImportError, Imported, fio_text, iperf_text, ping, qperf, sockperf};

/// A line that is quoted is cut here.
const QUOTED: usize = 60;

pub(crate) fn read(text: &str) -> Result<Imported, ImportError> {
    let mut lines = Lines::new(text);
    let mut found = Found::default();
    for reader in [ping::read, fio_text::read, iperf_text::read, qperf::read, sockperf::read] {
        reader(&mut lines, &mut found);
    }
    let unknown: Vec<(usize, String)> = lines
        .all
        .iter()
        .zip(lines.understood())
        .enumerate()
        .filter(|(_, (_, understood))| !**understood)
        .map(|(at, (line, _))| (at + 1, line.trim().chars().take(QUOTED).collect()))
        .collect();
    if found.figures.is_empty() {
        let (number, line) = unknown.into_iter().next().unwrap_or_default();
        return Err(ImportError::Nothing { number, line });
    }
    Ok(Imported { tools: found.tools, figures: found.figures, unknown })
}
