//! The protocol on a machine's second serial port.
//!
//! Owns the format of the lines, for both sides. The machine sends `ready`, or `failed WORDS`, once
//! after each start. The host sends `NUMBER WORD`; the answer is one line with the same number:
//! `NUMBER ok TEXT` or `NUMBER error WORDS`. The number distinguishes a late answer from the next
//! one. Text never contains a line end.

/// A line from the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The machine forwards.
    Ready,
    /// The machine could not carry out its orders, with the reason.
    Failed(String),
    /// Answer to a request.
    Answer {
        /// Number of the request.
        number: u32,
        /// Result of the request, or the reason for its failure.
        answer: Result<String, String>,
    },
}

impl Notice {
    /// Formats the line that the machine writes, with its end.
    pub fn to_line(&self) -> String {
        let text = match self {
            Self::Ready => "ready".to_owned(),
            Self::Failed(words) => format!("failed {words}"),
            Self::Answer { number, answer: Ok(text) } => format!("{number} ok {text}"),
            Self::Answer { number, answer: Err(words) } => format!("{number} error {words}"),
        };
        format!("{}\n", text.replace(['\n', '\r'], " "))
    }

    /// Parses a line; `None` if it is none of these.
    pub fn from_line(line: &str) -> Option<Self> {
        let line = line.trim_end();
        if line == "ready" {
            return Some(Self::Ready);
        }
        let (first, rest) = line.split_once(' ')?;
        if first == "failed" {
            return Some(Self::Failed(rest.to_owned()));
        }
        let number = first.parse().ok()?;
        let (kind, text) = rest.split_once(' ').unwrap_or((rest, ""));
        match kind {
            "ok" => Some(Self::Answer { number, answer: Ok(text.to_owned()) }),
            "error" => Some(Self::Answer { number, answer: Err(text.to_owned()) }),
            _ => None,
        }
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Number that identifies the answer.
    pub number: u32,
    /// Command to run.
    pub word: String,
}

impl Request {
    /// Formats the line that the host writes, with its end.
    pub fn to_line(&self) -> String {
        format!("{} {}\n", self.number, self.word)
    }

    /// Parses a line; `None` if it is no request.
    pub fn from_line(line: &str) -> Option<Self> {
        let (number, word) = line.trim_end().split_once(' ')?;
        Some(Self { number: number.parse().ok()?, word: word.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_what_is_heard() {
        let answer = |number, answer| Notice::Answer { number, answer };
        for notice in [
            Notice::Ready,
            Notice::Failed("load module a: no".to_owned()),
            answer(7, Ok("{\"a\": 1}".to_owned())),
            answer(8, Ok(String::new())),
            answer(9, Err("no such request".to_owned())),
        ] {
            assert_eq!(Notice::from_line(&notice.to_line()), Some(notice));
        }
        let request = Request { number: 3, word: "counters".to_owned() };
        assert_eq!(Request::from_line(&request.to_line()), Some(request));
    }

    #[test]
    fn noise_is_not_heard() {
        for noise in ["", "read", "x ok y", "7", "7 perhaps", "-1 ok", "\u{fffd}ready"] {
            assert_eq!(Notice::from_line(noise), None, "{noise}");
        }
        let broken = Notice::Failed("two\nlines".to_owned()).to_line();
        assert_eq!(broken, "failed two lines\n");
    }
}
