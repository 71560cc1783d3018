//! Lines of a source, one piece of it in memory at a time. Removes the decoration that a terminal,
//! a log or a paste added to a line.
//!
//! Never reads a number, and never holds more than a piece.

use std::io::{self, BufRead, Read};

use crate::shapes::Values;

/// Length up to which a line of text is read; JSON continues in further pieces.
const PIECE: usize = 64 << 10;
/// Maximum octets of a JSON string, which is held whole.
const LONGEST_STRING: usize = 16 << 20;

/// Source of numbered pieces of lines.
pub(crate) struct Source<R> {
    from: R,
    piece: Vec<u8>,
    /// Octets of the piece already used.
    used: usize,
    /// Number of the piece's line, from 1.
    pub number: usize,
    /// True if the piece begins its line.
    pub begins: bool,
    whole: bool,
    /// Prefix of each line that is not part of the output.
    pub prefix: Option<Prefix>,
}

impl<R: BufRead> Source<R> {
    pub(crate) const fn new(from: R) -> Self {
        Self {
            from,
            piece: Vec::new(),
            used: 0,
            number: 0,
            begins: false,
            whole: true,
            prefix: None,
        }
    }

    /// Replaces the rest of the piece by another text.
    pub(crate) fn replace(&mut self, text: &str) {
        self.piece = [text.as_bytes(), b"\n"].concat();
        self.used = 0;
    }

    /// Rest of the piece, or the next one; `None` at the end.
    pub(crate) fn piece(&mut self) -> io::Result<Option<&[u8]>> {
        if self.used >= self.piece.len() && !self.advance()? {
            return Ok(None);
        }
        Ok(Some(&self.piece[self.used..]))
    }

    /// Marks octets of the piece as used.
    pub(crate) fn consume(&mut self, octets: usize) {
        self.used = (self.used + octets).min(self.piece.len());
    }

    fn advance(&mut self) -> io::Result<bool> {
        self.piece.clear();
        self.used = 0;
        self.begins = self.whole;
        let read = (&mut self.from).take(PIECE as u64).read_until(b'\n', &mut self.piece)?;
        self.whole = self.piece.last() == Some(&b'\n');
        self.number += usize::from(self.begins && read > 0);
        if let Some(prefix) = self.prefix.as_ref().filter(|_| self.begins) {
            let text = plain(&self.piece);
            let own = prefix.behind(&text).unwrap_or_else(|| behind_prefix(&text).unwrap_or(&text));
            self.piece = [own.as_bytes(), b"\n"].concat();
        }
        Ok(read > 0)
    }
}

/// Octets of one JSON value that begins at the source's position: all of it and nothing after.
pub(crate) struct Object<'a, R> {
    source: &'a mut Source<R>,
    depth: usize,
    in_string: bool,
    escaped: bool,
    done: bool,
    /// Octets of the string so far.
    string: usize,
    /// True if a string was too long, and that was reported.
    refused: bool,
}

impl<'a, R: BufRead> Object<'a, R> {
    pub(crate) const fn new(source: &'a mut Source<R>) -> Self {
        Self {
            source,
            depth: 0,
            in_string: false,
            escaped: false,
            done: false,
            string: 0,
            refused: false,
        }
    }

    /// Number of these octets that belong to the value; records its end.
    fn of_value(&mut self, octets: &[u8]) -> usize {
        for (at, octet) in octets.iter().enumerate() {
            self.string = if self.in_string { self.string + 1 } else { 0 };
            match octet {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.done = true;
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
        octets.len()
    }
}

impl<R: BufRead> Read for Object<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.done {
            return Ok(0);
        }
        let mut own = [0_u8; 4096];
        let most = out.len().min(own.len());
        let Some(piece) = self.source.piece()? else { return Ok(0) };
        let given = piece.len().min(most);
        own[..given].copy_from_slice(&piece[..given]);
        let count = self.of_value(&own[..given]);
        out[..count].copy_from_slice(&own[..count]);
        self.source.consume(count);
        if self.string > LONGEST_STRING && !self.refused {
            self.refused = true;
            let said = format!("a string in it has more than {} MiB", LONGEST_STRING >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, said));
        }
        Ok(count)
    }
}

/// Returns a line as its tool printed it: without colours, carriage returns and surrounding blanks.
/// If text was overwritten in a terminal, the last version counts.
pub(crate) fn plain(octets: &[u8]) -> String {
    let text = String::from_utf8_lossy(octets);
    let text = text.trim_start_matches('\u{feff}').trim_end_matches(['\n', '\r']);
    let text = text.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or(text);
    // ping rings a bell after a reply.
    let text = text.trim_matches('\u{7}');
    if !text.contains('\u{1b}') {
        return text.trim().to_owned();
    }
    let mut out = String::new();
    let mut inside = false;
    for c in text.chars() {
        match (inside, c) {
            (false, '\u{1b}') => inside = true,
            (true, c) if c.is_ascii_alphabetic() => inside = false,
            (true, _) => {}
            (false, c) => out.push(c),
        }
    }
    out.trim().to_owned()
}

/// Text after one quotation mark, part of a time, a log's host and program, or the stream name of a
/// job launcher or test runner (`[1,0]<stdout>:` of mpirun, `3: ` of srun, `DEBUG| [stdout] `);
/// `None` if the line has no such prefix. The blanks after it are kept.
pub(crate) fn behind_prefix(line: &str) -> Option<&str> {
    let launcher = || Values::read("prefix", line)?.text("rest");
    let cut = behind_server(line).or_else(launcher).or_else(|| behind_time(line));
    cut.or_else(|| behind_program(line))
}

/// Programs whose command is recognised without a distinctive prompt.
const TOOLS: [&str; 10] =
    ["ping", "iperf", "iperf3", "fio", "netperf", "qperf", "sockperf", "mtr", "fping", "mpirun"];

/// Command after a shell's prompt, if its first word is a program's name: `root@host:~# iperf3 -s`.
pub(crate) fn behind_prompt(line: &str) -> Option<&str> {
    let (prompt, command) = line.split_at(line.find(['$', '#', '%', '>'])? + 1);
    let prompt = &prompt[..prompt.len() - 1];
    let first = command.split_whitespace().next().unwrap_or_default();
    let is_prompt = prompt.is_empty() && (line.starts_with('$') || TOOLS.contains(&first))
        || prompt.starts_with("C:\\")
        || prompt.starts_with("PS ")
        || (prompt.starts_with('[') && prompt.ends_with(']') && line.contains("]$ "))
        || (prompt.contains('@') && prompt.split(' ').count() <= 2);
    let program = command.trim_start().trim_start_matches("sudo ");
    let is_command = program.is_empty()
        || (command.starts_with(' ') || prompt.starts_with("C:\\"))
            && program
                .starts_with(|c: char| c.is_ascii_lowercase() || matches!(c, '.' | '/' | '['));
    (is_prompt && is_command).then_some(program)
}

/// Text after quotation marks and a log's `program[123]: `, with which no tool begins a line.
pub(crate) fn behind_log(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(['>', ' ']);
    let cut = rest.match_indices("]: ").next().and_then(|(at, _)| {
        let (program, pid) = rest[..at].rsplit_once('[')?;
        let is_pid = !pid.is_empty() && pid.bytes().all(|c| c.is_ascii_digit());
        let is_named = program.ends_with(|c: char| c.is_ascii_alphanumeric());
        (is_pid && is_named).then_some(&rest[at + 2..])
    });
    cut.or_else(|| line.starts_with('>').then(|| line.trim_start_matches('>')))
}

/// Prefix of the lines of one paste or log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prefix(String);

impl Prefix {
    /// Prefix of a line whose own text is `rest`, including the blanks before it.
    pub(crate) fn from_line(line: &str, rest: &str) -> Self {
        let blank = usize::from(rest.starts_with(' '));
        Self(shape(&line[..line.len() - rest.len() + blank]))
    }

    /// Text after a prefix of the same shape, with other digits and letters.
    pub(crate) fn behind<'a>(&self, line: &'a str) -> Option<&'a str> {
        // No text follows: the blank at the prefix's end was removed with the line's.
        if shape(line) == self.0.trim_end() {
            return Some("");
        }
        let (front, rest) = line.split_at_checked(self.0.len())?;
        (shape(front) == self.0).then_some(rest)
    }
}

fn shape(text: &str) -> String {
    let of = |c: char| match c {
        c if c.is_ascii_digit() => '0',
        c if c.is_ascii_alphabetic() => 'a',
        c => c,
    };
    text.chars().map(of).collect()
}

/// Text after a part of a date or a time of day: `Nov`, `24`, `2026-11-24T10:00:00.123Z`,
/// `10:00:00`, `[1732.45]`.
fn behind_time(text: &str) -> Option<&str> {
    const NAMES: [&str; 19] = [
        "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Jan", "Feb", "Mar", "Apr", "May", "Jun",
        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let bare = word.trim_start_matches('[').trim_end_matches([']', ',', ':']);
    if NAMES.contains(&bare) {
        return Some(rest);
    }
    let of_time = |c: char| c.is_ascii_digit() || ":-.,+/TZ".contains(c);
    let is_time = bare.starts_with(|c: char| c.is_ascii_digit()) && bare.chars().all(of_time);
    let is_day = bare.len() <= 2 && text.len() > 12 && rest.contains(':');
    let is_year = bare.len() == 4 && bare.starts_with("20");
    let has_parts = bare.contains(':') || bare.matches('-').count() == 2;
    let is_stamp = word.starts_with('[') && bare.contains('.');
    (is_time && (has_parts || is_stamp || is_day || is_year)).then_some(rest)
}

/// Text after `<host> `, which fio's client prints before each line.
fn behind_server(text: &str) -> Option<&str> {
    let (name, rest) = text.strip_prefix('<')?.split_once("> ")?;
    (!name.contains([' ', '<', '/'])).then_some(rest)
}

/// Text after `host iperf3[123]: `, `iperf3[123]: `, `container  | `.
fn behind_program(text: &str) -> Option<&str> {
    let mut words = text.splitn(3, ' ');
    let (first, second) = (words.next()?, words.next().unwrap_or_default());
    let is_program = |word: &str| word.ends_with("]:") && word.contains('[') && word.len() > 4;
    if is_program(first) {
        return Some(&text[first.len()..]);
    }
    if is_program(second) {
        return Some(&text[first.len() + 1 + second.len()..]);
    }
    let (name, rest) = text.split_once(" | ")?;
    let of_name = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    (name.len() < 40 && name.trim().contains(['_', '-']) && name.chars().all(of_name))
        .then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_line_is_stepped_over() {
        for (line, wanted) in [
            ("> [  5] 0.00-1.00 sec", "[  5] 0.00-1.00 sec"),
            ("Tue Nov 24 13:47:41 2026 [  5] x", "[  5] x"),
            ("Tue Nov 24 13:47:41 2026", ""),
            ("2026-11-24T13:47:41.123Z host iperf3[12]: iperf Done.", "iperf Done."),
            ("Nov 24 13:47:41 host ping[9]: PING a", "PING a"),
            ("[1732450000.123456] 64 bytes from a", "64 bytes from a"),
            ("client-1  | Connecting to host a", "Connecting to host a"),
            ("[1,0]<stdout>:# nThread 1", "# nThread 1"),
            ("3: # nThread 1", "# nThread 1"),
            ("12:06:53 DEBUG| [stdout]      lat (usec)", "lat (usec)"),
        ] {
            let mut rest = line;
            while rest.trim_start() != wanted {
                rest = behind_prefix(rest.trim_start()).unwrap_or_else(|| panic!("{line}: {rest}"));
            }
        }
        for line in ["[  5] 0.00-1.00 sec", "131072  16384  16384    1.00     36000.12"] {
            assert_eq!(behind_prefix(line), None, "{line}");
        }
        let line = "Nov 24 13:47:41 host ping[9]: PING a";
        let prefix = Prefix::from_line(line, " PING a");
        assert_eq!(prefix.behind("Dec 25 01:02:03 host ping[8]:   64 bytes"), Some("  64 bytes"));
        assert_eq!(prefix.behind("64 bytes from 127.0.0.1: icmp_seq=1 ttl=64"), None);
        for (line, command) in [
            ("root@host:~# iperf3 -c a --sctp", Some("iperf3 -c a --sctp")),
            ("[root@host /]# bash super.sh 5", Some("bash super.sh 5")),
            ("user@host:~> ping -c5 a", Some("ping -c5 a")),
            ("$ sudo fio job", Some("fio job")),
            ("C:\\>ping a", Some("ping a")),
            ("# fio job", Some("fio job")),
            ("# size count", None),
            ("#bytes #iterations", None),
            ("a > b", None),
            ("5 packets, 0% loss", None),
        ] {
            assert_eq!(behind_prompt(line), command, "{line}");
        }
        assert_eq!(plain(b"\x1b[0;31mred\x1b[0m \r\n"), "red");
        assert_eq!(plain(b"Jobs: 1 (f=1)\rJobs: 2\r\n"), "Jobs: 2");
    }
}
