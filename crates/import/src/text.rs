//! Output of one tool or of several, one after the other, as pasted from a terminal: lines of text,
//! and JSON among them.
//!
//! Owns the reporting of lines that no reader understood, and of text around a tool's lines. Each
//! tool's reader decides which lines it understands.

use std::io::BufRead;

use page::{Caveat, UnreadLine};

use crate::found::{Found, stamp};
use crate::lines::{Prefix, Source, behind_log, behind_prefix, behind_prompt, plain};
use crate::objects::Objects;
use crate::reader::Reader;
use crate::shapes::Part;
use crate::{ImportError, Imported, MOST_FIGURES, MOST_NAMED, json, unreadable};
use crate::{ethr, fio_terse, fio_text, fping, iperf_text, irtt_text, mtr, nccl};
use crate::{netperf, nuttcp, perftest, ping, qperf, sockperf, trex, uperf};

/// Length at which a quoted line is cut.
const QUOTED: usize = 60;
/// Octets at the beginning that must not contain a zero octet.
const HEAD: usize = 64;

/// Maker of a reader for one result.
type NewReader = fn() -> Box<dyn Reader>;

/// Readers by their tools. A tool's first lines are shapes of its part `begin`, or of `first` if no
/// line before them is the tool's.
const READERS: [(&str, NewReader); 17] = [
    ("ping", new::<ping::Ping>),
    ("iperf", new::<iperf_text::Iperf>),
    ("fio", new::<fio_text::Text>),
    ("fio", new::<fio_terse::Terse>),
    ("qperf", new::<qperf::Qperf>),
    ("sockperf", new::<sockperf::Sockperf>),
    ("fping", new::<fping::Fping>),
    ("mtr", new::<mtr::Mtr>),
    ("netperf", new::<netperf::Netperf>),
    ("irtt", new::<irtt_text::Text>),
    ("uperf", new::<uperf::Uperf>),
    ("ethr", new::<ethr::Ethr>),
    ("perftest", perftest::perftest),
    ("nccl-tests", new::<nccl::Nccl>),
    ("osu", perftest::osu),
    ("nuttcp", new::<nuttcp::Nuttcp>),
    ("trex", new::<trex::Trex>),
];

/// Tools whose reader keeps what it read before a result.
const KEPT: [&str; 2] = ["fio", "iperf"];

fn new<R: Reader + Default + 'static>() -> Box<dyn Reader> {
    Box::<R>::default()
}

pub(crate) fn read(from: impl BufRead) -> Result<Imported, ImportError> {
    let mut source = Source::new(from);
    let mut read =
        Read { slots: READERS.map(|(tool, new)| Slot::new(tool, new)).into(), ..Read::default() };
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
    // Most lines have none.
    if !line.contains('{') {
        return None;
    }
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
    tool: &'static str,
    new: NewReader,
    reader: Box<dyn Reader>,
    begin: Part,
    first: Part,
    span: Option<Span>,
}

impl Slot {
    fn new(tool: &'static str, new: NewReader) -> Self {
        let [begin, first] = ["begin", "first"].map(|part| Part::named(&format!("{tool}.{part}")));
        Self { tool, new, reader: new(), begin, first, span: None }
    }
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
            let slot = &self.slots[at];
            let is_first = slot.first.fits(line);
            if is_first || slot.begin.fits(line) || slot.reader.begins(line) {
                self.close(at);
            } else if slot.span.is_none() && !slot.first.is_empty() {
                continue;
            }
            let before = self.found.figures.len();
            let slot = &mut self.slots[at];
            if slot.reader.line(line, &mut self.found) || is_first {
                self.latest = at;
                self.taken = Some((number, slot.tool));
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
        if !KEPT.contains(&slot.tool) {
            slot.reader = (slot.new)();
        }
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
        stamp(figures, span.first, span.last);
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
            let text = problem.to_string();
            notes.push(format!("left out: {text}"));
            let line = problem.line().unwrap_or(last).min(last);
            self.unread.push(UnreadLine { file: String::new(), line, text, inside: false });
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
