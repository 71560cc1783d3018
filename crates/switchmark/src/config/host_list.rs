//! Lists of hosts in the form that Slurm uses: `node[001-003,007],login`.
//!
//! Pure. Owns the brackets: the names that they stand for, and the short form of many names. Never
//! knows what a name means, nor whether a host is there.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::ops::Range;

use super::source::Fault;

/// Maximum names of a list.
pub const MOST: usize = 1024;
/// Maximum digits of a number: more would not fit 64 bits.
const MOST_DIGITS: usize = 18;
/// Advice for brackets that cannot be read.
const LIKE: &str = "brackets hold numbers: node[001-003,007] is node001, node002, node003, node007";

/// Names of a list, in the order in which it has them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostList {
    /// Names, each with its place.
    pub words: Vec<HostWord>,
}

/// Name of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostWord {
    /// Name without brackets.
    pub text: String,
    /// Bytes of the text that stand for it, together with others if they have brackets.
    pub span: Range<usize>,
}

/// Two words that mean the same.
#[derive(Debug, Clone, Copy)]
pub struct Repeated<'a> {
    /// Earlier word.
    pub first: &'a HostWord,
    /// Later word.
    pub again: &'a HostWord,
}

impl HostList {
    /// Parses `part` of a text, in bytes; places are those in the whole text. Fails for brackets
    /// that are open, nested or hold no numbers, for empty names, and beyond [`MOST`] names.
    pub fn parse(text: &str, part: Range<usize>) -> Result<Self, Fault> {
        let mut words = Vec::new();
        let mut total: u64 = 0;
        for span in elements(text, part)? {
            if span.is_empty() {
                let hint = "remove the comma, or write the name";
                return Err(Fault::new(span, "a name is missing here", hint));
            }
            let pieces = pieces(text, span.clone())?;
            total =
                pieces.iter().map(Piece::count).fold(1, u64::saturating_mul).saturating_add(total);
            if total > MOST as u64 {
                let many = if total == u64::MAX { "very many".into() } else { total.to_string() };
                let message = format!("with `{}` the list has {many} names", &text[span.clone()]);
                let hint = format!(
                    "a list has at most {MOST} names: shorten it, or write the hosts in a testbed \
                     file, which takes {}",
                    super::MOST_HOSTS
                );
                return Err(Fault::new(span, message, hint));
            }
            let mut names = vec![String::new()];
            for piece in &pieces {
                names = piece.append_to(&names);
            }
            words.extend(names.into_iter().map(|text| HostWord { text, span: span.clone() }));
        }
        Ok(Self { words })
    }

    /// Creates the list of names that have no place in a text.
    pub fn from_names(names: impl IntoIterator<Item = String>) -> Self {
        let words = names.into_iter().map(|text| HostWord { text, span: 0..0 });
        Self { words: words.collect() }
    }

    /// Returns the first word whose key an earlier one has.
    pub fn repeated<K: Eq + Hash>(&self, key: impl Fn(&HostWord) -> K) -> Option<Repeated<'_>> {
        let mut known = HashMap::new();
        self.words.iter().find_map(|again| {
            let first = *known.entry(key(again)).or_insert(again);
            (!std::ptr::eq(first, again)).then_some(Repeated { first, again })
        })
    }
}

impl fmt::Display for HostList {
    /// Writes the names with brackets: reading that gives the same names in the same order.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = &self.words[..];
        let mut comma = "";
        while let [first, ..] = rest {
            let run = Run::longest(rest);
            match &run {
                Some(run) => write!(f, "{comma}{run}")?,
                None => write!(f, "{comma}{}", first.text)?,
            }
            rest = &rest[run.map_or(1, |run| run.numbers.len())..];
            comma = ",";
        }
        Ok(())
    }
}

/// Consecutive names that differ in one number.
struct Run<'a> {
    before: &'a str,
    numbers: Vec<&'a str>,
    after: &'a str,
}

impl<'a> Run<'a> {
    /// Returns the longest run that begins with the first name; `None` if that stands alone.
    fn longest(words: &'a [HostWord]) -> Option<Self> {
        let first = words.first()?.text.as_str();
        // Brackets in a name are those of an IPv6 address, and brackets do not nest.
        if first.contains('[') {
            return None;
        }
        let runs = digit_runs(first).map(|number| {
            let (before, after) = (&first[..number.start], &first[number.end..]);
            let middle = |word: &'a HostWord| {
                let middle = word.text.strip_prefix(before)?.strip_suffix(after)?;
                is_number(middle).then_some(middle)
            };
            Self { before, numbers: words.iter().map_while(middle).collect(), after }
        });
        runs.filter(|run| run.numbers.len() > 1).max_by_key(|run| run.numbers.len())
    }
}

impl fmt::Display for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.before)?;
        let mut rest = &self.numbers[..];
        let mut comma = "";
        while let [first, ..] = rest {
            let numbers = Numbers::from_first(first);
            let follows = |(number, text): &(u64, &&str)| numbers.name(*number) == **text;
            let count = (numbers.first..).zip(rest).take_while(follows).count().max(1);
            write!(f, "{comma}{first}")?;
            if count > 1 {
                write!(f, "-{}", rest[count - 1])?;
            }
            rest = &rest[count..];
            comma = ",";
        }
        write!(f, "]{}", self.after)
    }
}

/// Places of a name's numbers.
fn digit_runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_digit = |at: &usize| text.as_bytes().get(*at).is_some_and(u8::is_ascii_digit);
    let starts = (0..text.len()).filter(move |at| {
        is_digit(at) && at.checked_sub(1).is_none_or(|before| !is_digit(&before))
    });
    let run = move |start: usize| {
        start..(start..text.len()).find(|at| !is_digit(at)).unwrap_or(text.len())
    };
    starts.map(run).filter(|run| run.len() <= MOST_DIGITS)
}

fn is_number(text: &str) -> bool {
    (1..=MOST_DIGITS).contains(&text.len()) && text.bytes().all(|octet| octet.is_ascii_digit())
}

/// Places of a list's elements: commas within brackets separate numbers.
fn elements(text: &str, part: Range<usize>) -> Result<Vec<Range<usize>>, Fault> {
    let mut all = Vec::new();
    let (mut start, mut open) = (part.start, None);
    for (at, letter) in text[part.clone()].char_indices().map(|(at, c)| (part.start + at, c)) {
        match (letter, open) {
            ('[', Some(_)) => {
                let message = "a bracket within brackets";
                return Err(Fault::new(at..at + 1, message, "close the first one before it"));
            }
            ('[', None) => open = Some(at),
            (']', None) => {
                let message = "`]` closes nothing";
                return Err(Fault::new(at..at + 1, message, "write the `[` that it closes"));
            }
            (']', Some(_)) => open = None,
            (',', None) => {
                all.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    if let Some(at) = open {
        return Err(Fault::new(at..part.end, "`[` is never closed", "write the `]`"));
    }
    all.push(start..part.end);
    Ok(all)
}

/// Part of a name.
#[derive(Debug)]
enum Piece<'a> {
    /// Text as it is.
    Plain(&'a str),
    /// Numbers of which each name has one.
    Bracket(Vec<Numbers>),
}

impl Piece<'_> {
    fn count(&self) -> u64 {
        match self {
            Self::Plain(_) => 1,
            Self::Bracket(ranges) => {
                ranges.iter().fold(0, |sum, range| sum.saturating_add(range.count()))
            }
        }
    }

    /// Appends itself to each of these names.
    fn append_to(&self, names: &[String]) -> Vec<String> {
        let numbers = |ranges: &[Numbers]| -> Vec<String> {
            ranges
                .iter()
                .flat_map(|range| (range.first..=range.last).map(|n| range.name(n)))
                .collect()
        };
        let ends = match self {
            Self::Plain(text) => vec![(*text).to_owned()],
            Self::Bracket(ranges) => numbers(ranges),
        };
        names.iter().flat_map(|name| ends.iter().map(move |end| format!("{name}{end}"))).collect()
    }
}

/// Numbers from the first to the last, with leading zeros up to a width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbers {
    first: u64,
    last: u64,
    /// Minimum digits.
    width: usize,
}

impl Numbers {
    /// Creates the one number that the text is.
    fn from_first(text: &str) -> Self {
        let first = text.parse().unwrap_or(0);
        Self { first, last: first, width: text.len() }
    }

    const fn count(&self) -> u64 {
        self.last - self.first + 1
    }

    fn name(&self, number: u64) -> String {
        format!("{number:0width$}", width = self.width)
    }

    /// Parses `003` or `001-003`.
    fn parse(text: &str, span: Range<usize>) -> Result<Self, Fault> {
        let written = &text[span.clone()];
        let (first, last) = written.split_once('-').unwrap_or((written, written));
        if written.is_empty() {
            return Err(Fault::new(span, "a number is missing here", LIKE));
        }
        if let Some(long) = [first, last].into_iter().find(|end| end.len() > MOST_DIGITS) {
            let message = format!("`{long}` has {} digits", long.len());
            return Err(Fault::new(span, message, format!("write at most {MOST_DIGITS}")));
        }
        if !is_number(first) || !is_number(last) {
            let message = format!("`{written}` is neither a number nor a range of numbers");
            let hint = format!("{LIKE}; list other names with commas between");
            return Err(Fault::new(span, message, hint));
        }
        let numbers = Self { last: last.parse().unwrap_or(0), ..Self::from_first(first) };
        if numbers.last < numbers.first {
            let message = format!("`{written}` ends before it begins");
            return Err(Fault::new(span, message, format!("write {last}-{first}")));
        }
        if last.starts_with('0') && last.len() != first.len() {
            let message = format!("the two ends of `{written}` have different widths");
            let width = first.len().max(last.len());
            let (first, last) = (numbers.first, numbers.last);
            let hint = format!("write {first:0width$}-{last:0width$}");
            return Err(Fault::new(span, message, hint));
        }
        Ok(numbers)
    }
}

/// Parts of the element at a place, whose brackets are closed and not nested.
fn pieces(text: &str, element: Range<usize>) -> Result<Vec<Piece<'_>>, Fault> {
    let mut all = Vec::new();
    let mut start = element.start;
    while let Some(open) = text[start..element.end].find('[').map(|at| start + at) {
        let close = text[open..element.end].find(']').map_or(element.end, |at| open + at);
        all.push(Piece::Plain(&text[start..open]));
        let inner = open + 1..close;
        start = (close + 1).min(element.end);
        // An IPv6 address (RFC 3986, section 3.2.2): no number has a colon.
        if text[inner.clone()].contains(':') {
            all.push(Piece::Plain(&text[open..start]));
            continue;
        }
        let mut ranges = Vec::new();
        let mut at = inner.start;
        for written in text[inner].split(',') {
            ranges.push(Numbers::parse(text, at..at + written.len())?);
            at += written.len() + 1;
        }
        all.push(Piece::Bracket(ranges));
    }
    all.push(Piece::Plain(&text[start..element.end]));
    Ok(all)
}
