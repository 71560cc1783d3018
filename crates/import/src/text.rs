//! An output of one tool or of several, one after the other, as it is pasted from a terminal: lines
//! of text, and JSON among them.
//!
//! Owns which lines are nobody's, and that they are named; what stands around a tool's lines, and
//! that it is said. Each tool's reader says which lines it understood.

use std::io::BufRead;

use crate::found::Found;
use crate::lines::{Prefix, Source, behind_log, behind_prefix, plain};
use crate::objects::Objects;
use crate::reader::Reader;
use crate::{ImportError, Imported, MOST_FIGURES, MOST_NAMED, json, unreadable};
use crate::{ethr, fio_terse, fio_text, fping, iperf_csv, iperf_text, irtt_text, mtr, nccl};
use crate::{netperf, perftest, ping, qperf, sockperf, uperf};

/// A line that is quoted is cut here.
const QUOTED: usize = 60;
/// So far in there must be no octet of zeros.
const HEAD: usize = 64;

fn readers() -> Vec<Box<dyn Reader>> {
    vec![
        Box::<ping::Ping>::default(),
        Box::<iperf_text::Iperf>::default(),
        Box::<iperf_csv::Csv>::default(),
        Box::<fio_text::Text>::default(),
        Box::<fio_terse::Terse>::default(),
        Box::<qperf::Qperf>::default(),
        Box::<sockperf::Sockperf>::default(),
        Box::<fping::Fping>::default(),
        Box::<mtr::Mtr>::default(),
        Box::<netperf::Netperf>::default(),
        Box::<irtt_text::Text>::default(),
        Box::<uperf::Uperf>::default(),
        Box::<ethr::Ethr>::default(),
        Box::<perftest::Perftest>::default(),
        Box::<nccl::Nccl>::default(),
    ]
}

pub(crate) fn read(from: impl BufRead) -> Result<Imported, ImportError> {
    let mut source = Source::new(from);
    let mut read = Read::default();
    while let Some(piece) = source.piece().map_err(unreadable)? {
        if piece.contains(&0) && read.lines < HEAD {
            return Err(ImportError::NotText);
        }
        let line = plain(piece);
        let octets = piece.len();
        let lead = piece.iter().position(|octet| matches!(octet, b'{' | b'[')).unwrap_or(0);
        let piece_is_plain = !piece.contains(&0x1b);
        let (number, begins) = (source.number, source.begins);
        let own = json_of(&line).filter(|_| begins);
        if let Some(own) = own {
            if piece_is_plain && own.len() == line.len() {
                source.consume(lead);
            } else {
                // Whatever stands in front of the first line stands in front of all.
                source.replace(own);
                source.prefix = Some(Prefix::of(&line, own));
            }
            let (document, broken) = json::document(&mut source);
            source.prefix = None;
            read.objects.take(number, document, broken, &mut read.found);
        } else {
            source.consume(octets);
            read.line(number, begins, &line);
        }
        read.lines += 1;
        if read.found.figures.len() > MOST_FIGURES {
            return Err(ImportError::TooMuch { number });
        }
    }
    read.end(source.number)
}

/// The JSON value that begins here, `{` or a list of objects, behind whatever stands in front.
fn json_of(line: &str) -> Option<&str> {
    let mut rest = line;
    loop {
        let begins = rest.starts_with('{')
            || rest.strip_prefix('[').is_some_and(|inside| inside.trim_start().starts_with('{'));
        if begins {
            return Some(rest);
        }
        rest = behind_log(rest).or_else(|| behind_prefix(rest))?.trim_start();
    }
}

struct Read {
    readers: Vec<Box<dyn Reader>>,
    /// Whose line the last one was: it is asked first.
    latest: usize,
    found: Found,
    objects: Objects,
    lines: usize,
    /// The line that a reader took last, and whose it was.
    taken: Option<(usize, &'static str)>,
    unknown: Vec<(usize, String)>,
    unknown_lines: usize,
    prefixed: usize,
    /// What stood in front of the last line that had something there.
    prefix: Option<Prefix>,
    fences: usize,
}

impl Default for Read {
    fn default() -> Self {
        Self {
            readers: readers(),
            latest: 0,
            found: Found::default(),
            objects: Objects::default(),
            lines: 0,
            taken: None,
            unknown: Vec::new(),
            unknown_lines: 0,
            prefixed: 0,
            prefix: None,
            fences: 0,
        }
    }
}

impl Read {
    fn line(&mut self, number: usize, begins: bool, line: &str) {
        if line.is_empty() {
            // An empty line ends no output: tools print them in the middle of one.
        } else if line.starts_with("```") || line.starts_with("~~~") {
            self.fences += 1;
        } else if !begins || self.is_own(number, line) {
            // The rest of a line that is longer than any tool's is nobody's, and was named.
        } else {
            self.unknown_lines += 1;
            if self.unknown.len() < MOST_NAMED {
                self.unknown.push((number, line.chars().take(QUOTED).collect()));
            }
        }
    }

    /// Whether some reader understands the line, or what stands behind whatever is in front of it.
    fn is_own(&mut self, number: usize, line: &str) -> bool {
        let prefix = self.prefix.clone();
        if let Some(rest) = prefix.as_ref().and_then(|prefix| prefix.behind(line))
            && (rest.trim().is_empty() || self.is_somebodys(number, rest.trim()))
        {
            self.prefixed += 1;
            return true;
        }
        let mut rest = line;
        if let Some(behind) = behind_log(line) {
            rest = behind.trim_start();
            self.prefix = Some(Prefix::of(line, behind));
            self.prefixed += 1;
        }
        if rest.is_empty() || self.is_somebodys(number, rest) {
            return true;
        }
        while let Some(behind) = behind_prefix(rest) {
            rest = behind.trim_start();
            if rest.is_empty() || self.is_somebodys(number, rest) {
                self.prefixed += 1;
                if !rest.is_empty() {
                    self.prefix = Some(Prefix::of(line, behind));
                }
                return true;
            }
        }
        false
    }

    fn is_somebodys(&mut self, number: usize, line: &str) -> bool {
        let others = (0..self.readers.len()).filter(|at| *at != self.latest);
        for at in std::iter::once(self.latest).chain(others) {
            if self.readers[at].line(line, &mut self.found) {
                self.latest = at;
                self.taken = Some((number, self.readers[at].tool()));
                return true;
            }
        }
        false
    }

    fn end(mut self, last: usize) -> Result<Imported, ImportError> {
        for reader in &mut self.readers {
            reader.end(&mut self.found);
        }
        self.objects.end(&mut self.found);
        let figures = self.found.figures.len();
        let mut problems = self.objects.problems;
        if figures == 0 {
            if !problems.is_empty() {
                return Err(problems.remove(0));
            }
            if let (Some((number, tool)), true) = (self.taken, self.unknown.is_empty()) {
                return Err(ImportError::NoResult { number, tool });
            }
            let (number, line) = self.unknown.into_iter().next().unwrap_or((last, String::new()));
            return Err(ImportError::Nothing { number, line });
        }
        let mut notes = Vec::new();
        let mut say = |count: usize, one: &str, many: &str| match count {
            0 => {}
            1 => notes.push(format!("1 line {one}")),
            _ => notes.push(format!("{count} lines {many}")),
        };
        let behind = "read behind a log's prefix, a prompt or a mark of quotation";
        say(self.prefixed, &format!("was {behind}"), &format!("were {behind}"));
        say(
            self.fences,
            "of a Markdown fence was stepped over",
            "of Markdown fences were stepped over",
        );
        notes.extend(problems.into_iter().map(|problem| format!("left out: {problem}")));
        self.found.number_repeats();
        Ok(Imported {
            tools: self.found.tools,
            figures: self.found.figures,
            unknown: self.unknown,
            unknown_lines: self.unknown_lines,
            notes,
        })
    }
}
