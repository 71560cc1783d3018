//! A page of the documentation as roff: the paragraphs, lists, tables and blocks that our pages
//! have.
//!
//! Owns how roff is escaped. Never reads a file.

use std::fmt::Write as _;

/// A page in its parts.
#[derive(Debug)]
pub struct Reference<'a> {
    /// What stands below the title.
    pub introduction: &'a str,
    /// Heading and text, in order.
    sections: Vec<(&'a str, &'a str)>,
}

impl<'a> Reference<'a> {
    pub fn parse(page: &'a str) -> Self {
        let mut parts = page.split("\n## ");
        let head = parts.next().unwrap_or_default();
        let introduction = head.split_once('\n').map_or("", |(_, text)| text);
        let sections = parts.map(|part| part.split_once('\n').unwrap_or((part, ""))).collect();
        Self { introduction, sections }
    }

    pub fn section(&self, heading: &str) -> Option<&'a str> {
        self.sections.iter().find(|(name, _)| *name == heading).map(|(_, text)| *text)
    }

    #[cfg(test)]
    pub fn headings(&self) -> impl Iterator<Item = &'a str> {
        self.sections.iter().map(|(name, _)| *name)
    }
}

/// A text as it is, nothing in it being roff's.
pub fn plain(text: &str) -> String {
    let mut out = text.replace('\\', "\\e").replace('-', "\\-");
    if out.starts_with(['.', '\'']) {
        out.insert_str(0, "\\&");
    }
    out
}

/// Lines as they stand.
pub fn block<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut out = ".PP\n.RS 4\n.nf\n".to_owned();
    for line in lines {
        let _ = writeln!(out, "{}", plain(line));
    }
    out + ".fi\n.RE\n"
}

/// What stands below a heading.
pub fn body(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    // The head of the table that is under way.
    let mut head: Option<Vec<&str>> = None;
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let rest = std::iter::from_fn(|| lines.next().filter(|line| !line.starts_with("```")));
            out += &block(rest);
        } else if let Some(line) = line.strip_prefix("    ") {
            let mut all = vec![line];
            while let Some(more) = lines.peek().and_then(|line| line.strip_prefix("    ")) {
                all.push(more);
                lines.next();
            }
            out += &block(all.into_iter());
        } else if let Some(heading) = line.strip_prefix("### ") {
            let _ = writeln!(out, ".SS \"{}\"", marked(heading));
        } else if line.starts_with("|---") {
        } else if line.starts_with('|') {
            match &head {
                Some(head) => out += &row(head, &cells(line)),
                None => head = Some(cells(line)),
            }
        } else if let Some(item) = line.strip_prefix("- ") {
            let _ = writeln!(out, ".IP \\(bu 2\n{}", marked(&joined(item, &mut lines)));
        } else if !line.is_empty() {
            let _ = writeln!(out, ".PP\n{}", marked(&joined(line, &mut lines)));
        }
        if !line.starts_with('|') {
            head = None;
        }
    }
    out
}

/// A paragraph or an item to its end, as one line.
fn joined<'a>(
    first: &str,
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> String {
    let goes_on = |line: &&str| {
        let ends = ["|", "- ", "```", "#"].iter().any(|begun| line.starts_with(begun));
        !line.is_empty() && !ends && !line.starts_with("    ")
    };
    let mut text = first.to_owned();
    while let Some(more) = lines.next_if(goes_on) {
        text.push(' ');
        text.push_str(more.trim());
    }
    text
}

fn cells(line: &str) -> Vec<&str> {
    let mut in_code = false;
    let at_bars = |letter: char| {
        in_code ^= letter == '`';
        letter == '|' && !in_code
    };
    let cells: Vec<&str> = line.split(at_bars).map(str::trim).collect();
    // In front of the first bar, and behind the last, is nothing.
    cells.get(1..cells.len() - 1).unwrap_or_default().to_vec()
}

/// A key with what it means; what other columns say stands in front of that, by their heads.
fn row(head: &[&str], cells: &[&str]) -> String {
    let [key, between @ .., meaning] = cells else { return String::new() };
    let mut said = String::new();
    for (of, cell) in head.iter().skip(1).zip(between).filter(|(_, cell)| !cell.is_empty()) {
        let _ = write!(said, "{of}: {cell}; ");
    }
    format!(".TP\n{}\n{}\n", marked(key), marked(&(said + meaning)))
}

/// Code is bold, what is stressed is italic, of a link its text remains.
fn marked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '[', '*']) {
        let (before, mark) = rest.split_at(at);
        out += &plain(before);
        let (sign, after) = mark.split_at(if mark.starts_with("**") { 2 } else { 1 });
        let ended = match sign {
            "[" => link(after),
            sign => after.split_once(sign),
        };
        rest = match (sign, ended) {
            ("[", Some((inner, left))) => {
                out += &marked(inner);
                left
            }
            ("*", Some((inner, left))) => {
                let _ = write!(out, "\\fI{}\\fR", marked(inner));
                left
            }
            ("`", Some((inner, left))) => {
                let _ = write!(out, "\\fB{}\\fR", plain(inner));
                left
            }
            (_, Some((inner, left))) => {
                let _ = write!(out, "\\fB{}\\fR", marked(inner));
                left
            }
            (sign, None) => {
                out += sign;
                after
            }
        };
    }
    out + &plain(rest)
}

/// Behind `[`: the link's text, and what stands behind the link.
fn link(after: &str) -> Option<(&str, &str)> {
    let (inner, to) = after.split_once("](")?;
    let (_, left) = to.split_once(')')?;
    Some((inner, left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_fonts() {
        let table = [
            ("`a-b` and *so*", r"\fBa\-b\fR and \fIso\fR"),
            ("a [`x` file](y.md#z), 2 * 3", r"a \fBx\fR file, 2 * 3"),
            (".start", r"\&.start"),
            ("[[host]]", "[[host]]"),
        ];
        for (text, roff) in table {
            assert_eq!(marked(text), roff, "{text}");
        }
    }

    #[test]
    fn a_table_is_a_list_of_keys() {
        let text = "Some\nwords.\n\n| key | default | meaning |\n|---|---|---|\n| `mtu` | 1500 | of hosts |\n| `x` | | y |\n\n    $ run\n";
        let roff = ".PP\nSome words.\n.TP\n\\fBmtu\\fR\ndefault: 1500; of hosts\n.TP\n\\fBx\\fR\ny\n\
                    .PP\n.RS 4\n.nf\n$ run\n.fi\n.RE\n";
        assert_eq!(body(text), roff);
    }

    #[test]
    fn a_page_comes_apart_at_its_headings() {
        let page = Reference::parse("# T\nintro\n\n## One\na\n\n## Two\nb\n");
        assert_eq!(page.introduction.trim(), "intro");
        assert_eq!(page.section("Two"), Some("b\n"));
        assert_eq!(page.headings().collect::<Vec<_>>(), ["One", "Two"]);
    }
}
