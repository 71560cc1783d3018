//! Answers that state a value: with its verdict, and for a rate, whether it is line rate.
//!
//! Never words the sentence.

use page::{Answer, Figure, Reply, Verdict, words};

use super::super::line_share::share;
use crate::verdict::LINE_RATE;

/// Creates an answer that states a value.
pub fn stated(text: String, figure: &Figure) -> Answer {
    let nothing = figure.value.or(figure.low).is_none();
    let verdict = if nothing { Verdict::Undetermined } else { figure.verdict };
    Answer::new(words::capitalised(text)).limited_by(verdict).stating([figure])
}

/// Adds the answer on line rate. Yes: the link was the limit. No: the device was, and even the
/// interval's upper end is lower. If the link's rate is unknown, the `other` question applies.
pub fn line_rate(answer: Answer, figure: &Figure, other: &str) -> Answer {
    let (Some(share), Some(value)) = (share(figure), figure.value) else {
        return answer.with_question(other);
    };
    let most = share * figure.high.unwrap_or(value).max(value) / value.max(f64::MIN_POSITIVE);
    let known = match figure.verdict {
        Verdict::LinkLimited => Some(true),
        Verdict::DeviceLimited if most < LINE_RATE => Some(false),
        _ => None,
    };
    let rule = line_rate_rule(known, "");
    let text = format!("{} {rule}", answer.text).trim_start().to_owned();
    Answer { text, ..answer }.to("Line rate?", Reply::from(known))
}

/// States the share from which on a rate is line rate, and whether that is undecided. `of` names
/// the reference.
pub fn line_rate_rule(known: Option<bool>, of: &str) -> String {
    let least = words::percent(LINE_RATE);
    match known {
        Some(_) => format!("Line rate is {least} or more{of}."),
        None => format!(
            "Line rate is {least} or more{of}; whether the device fell short of it is not shown."
        ),
    }
}
