//! The lines that go over a machine's second serial port.
//!
//! Owns their form, for both sides. The machine says `ready`, or `failed WORDS`, once after each
//! start. The host asks `NUMBER WORD`; the answer is one line with the same number: `NUMBER ok
//! TEXT` or `NUMBER error WORDS`. The number keeps an answer that came too late from being taken
//! for the next. Never carries a line's end inside a text.

/// What a machine says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// It forwards.
    Ready,
    /// It could not do what it was told: why.
    Failed(String),
    /// It answers a request.
    Answer {
        /// The request's number.
        number: u32,
        /// What was asked for, or why not.
        answer: Result<String, String>,
    },
}

impl Notice {
    /// The line that the machine writes, with its end.
    pub fn to_line(&self) -> String {
        let text = match self {
            Self::Ready => "ready".to_owned(),
            Self::Failed(words) => format!("failed {words}"),
            Self::Answer { number, answer: Ok(text) } => format!("{number} ok {text}"),
            Self::Answer { number, answer: Err(words) } => format!("{number} error {words}"),
        };
        format!("{}\n", text.replace(['\n', '\r'], " "))
    }

    /// Reads a line; none where it is none of these.
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
    /// To know its answer by.
    pub number: u32,
    /// What is asked.
    pub word: String,
}

impl Request {
    /// The line that the host writes, with its end.
    pub fn to_line(&self) -> String {
        format!("{} {}\n", self.number, self.word)
    }

    /// Reads a line; none where it is no request.
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
