//! Output of one tool or of several, one after the other, as pasted from a terminal: lines of text,
//! and JSON among them.
//!
//! Owns the reporting of lines that no reader understood, and of text around a tool's lines. Each
//! tool's reader decides which lines it understands.

use std::io::BufRead;

use page::{Caveat, UnreadLine};

use crate::found::{Found, in_lines_of};
use crate::lines::{Prefix, Source, behind_log, behind_prefix, behind_prompt, plain};
use crate::objects::Objects;
use crate::reader::Reader;
use crate::{ImportError, Imported, MOST_FIGURES, MOST_NAMED, json, unreadable};
use crate::{ethr, fio_terse, fio_text, fping, iperf_text, irtt_text, mtr, nccl};
use crate::{netperf, nuttcp, osu, perftest, ping, qperf, sockperf, trex, uperf};

/// Length at which a quoted line is cut.
const QUOTED: usize = 60;
/// Octets at the beginning that must not contain a zero octet.
const HEAD: usize = 64;

fn readers() -> Vec<Box<dyn Reader>> {
    vec![
        Box::<ping::Ping>::default(),
        Box::<iperf_text::Iperf>::default(),
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
        Box::<osu::Osu>::default(),
        Box::<nuttcp::Nuttcp>::default(),
        Box::<trex::Trex>::default(),
    ]
}

pub(crate) fn read(from: impl BufRead) -> Result<Imported, ImportError> {
    let mut source = Source::new(from);
    let slots = readers().into_iter().map(|reader| Slot { reader, span: None }).collect();
    let mut read = Read { slots, ..Read::default() };
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
                // Any prefix of the first line is expected on all lines.
                source.replace(own);
                source.prefix = Some(Prefix::from_line(&line, own));
            }
            let (document, broken) = json::document(&mut source);
            source.prefix = None;
            read.objects.take(number, source.number, document, broken, &mut read.found);
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

/// JSON value that begins here, `{` or a list of objects, after any prefix.
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

/// Lines of one reader's result, so far.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: usize,
    last: usize,
    /// First line after the last understood one that no reader understood.
    unread: Option<usize>,
    /// True if such a line stood between two lines of the result.
    has_unread: bool,
}

#[derive(Default)]
struct Read {
    slots: Vec<Slot>,
    /// Reader of the last line: it is asked first.
    latest: usize,
    found: Found,
    objects: Objects,
    lines: usize,
    /// Line that a reader accepted last, and its tool.
    taken: Option<(usize, &'static str)>,
    unread: Vec<UnreadLine>,
    unread_lines: usize,
    prefixed: usize,
    /// Prefix of the last line that had one.
    prefix: Option<Prefix>,
    fences: usize,
}

/// Reader, and the span of its unfinished result.
struct Slot {
    reader: Box<dyn Reader>,
    span: Option<Span>,
}

impl Read {
    fn line(&mut self, number: usize, begins: bool, line: &str) {
        if line.is_empty() {
            // An empty line ends no output: tools print them in the middle of one.
        } else if line.starts_with("```") || line.starts_with("~~~") {
            self.fences += 1;
        } else if !begins || self.is_own(number, line) {
            // The rest of a line longer than any tool's is not read, and was reported.
        } else {
            self.note_unread(number, line);
            for span in self.slots.iter_mut().filter_map(|slot| slot.span.as_mut()) {
                span.unread = span.unread.or(Some(number));
            }
        }
    }

    fn note_unread(&mut self, number: usize, line: &str) {
        self.unread_lines += 1;
        if self.unread.len() < MOST_NAMED {
            let text = line.chars().take(QUOTED).collect();
            self.unread.push(UnreadLine { file: String::new(), line: number, text, inside: false });
        }
    }

    /// True if some reader understands the line, or the text after its prefix.
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
            self.prefix = Some(Prefix::from_line(line, behind));
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
                    self.prefix = Some(Prefix::from_line(line, behind));
                }
                return true;
            }
        }
        // A command is no result, even if a reader accepts it.
        behind_prompt(rest).is_some_and(|command| {
            self.is_somebodys(number, command);
            self.prefixed += 1;
            true
        })
    }

    fn is_somebodys(&mut self, number: usize, line: &str) -> bool {
        self.found.at = number;
        let latest = self.latest;
        let others = (0..self.slots.len()).filter(|at| *at != latest);
        for at in std::iter::once(latest).chain(others) {
            if self.slots[at].reader.begins(line) {
                self.close(at);
            }
            let before = self.found.figures.len();
            let slot = &mut self.slots[at];
            if slot.reader.line(line, &mut self.found) {
                self.latest = at;
                self.taken = Some((number, slot.reader.tool()));
                let new = Span { first: number, last: number, unread: None, has_unread: false };
                let span = slot.span.get_or_insert(new);
                span.has_unread |= span.unread.take().is_some();
                span.last = number;
                let span = *span;
                self.stamp(before, span);
                return true;
            }
        }
        false
    }

    /// Ends a reader's result.
    fn close(&mut self, at: usize) {
        let before = self.found.figures.len();
        let slot = &mut self.slots[at];
        slot.reader.end(&mut self.found);
        if let Some(mut span) = slot.span.take() {
            // A line that follows at once may have been the result's last.
            span.has_unread |= span.unread == Some(span.last + 1);
            self.stamp(before, span);
        }
    }

    /// Adds line numbers to the figures from there on.
    fn stamp(&mut self, from: usize, span: Span) {
        if from == self.found.figures.len() {
            return;
        }
        let figures = &mut self.found.figures[from..];
        in_lines_of(figures, span.first, span.last);
        if span.has_unread {
            for figure in figures {
                figure.doubt(Caveat::UnreadLines);
            }
        }
        for line in self.unread.iter_mut().filter(|_| span.has_unread) {
            line.inside |= (span.first..=span.last + 1).contains(&line.line);
        }
    }

    fn end(mut self, last: usize) -> Result<Imported, ImportError> {
        for at in 0..self.slots.len() {
            self.close(at);
        }
        self.objects.end(&mut self.found);
        let figures = self.found.figures.len();
        let mut problems = self.objects.problems;
        if figures == 0 {
            if !problems.is_empty() {
                return Err(problems.remove(0));
            }
            if let (Some((number, tool)), true) = (self.taken, self.unread.is_empty()) {
                return Err(ImportError::NoResult { number, tool });
            }
            let first = self.unread.into_iter().next();
            let (number, line) = first.map_or((last, String::new()), |one| (one.line, one.text));
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
        for problem in problems {
            notes.push(format!("left out: {problem}"));
            self.unread.push(UnreadLine {
                file: String::new(),
                line: problem.line().unwrap_or(last).min(last),
                text: problem.to_string(),
                inside: false,
            });
        }
        self.found.number_repeats();
        Ok(Imported {
            tools: self.found.tools,
            figures: self.found.figures,
            unread: self.unread,
            unread_lines: self.unread_lines,
            notes,
        })
    }
}
