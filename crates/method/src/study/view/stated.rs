//! A value's sentence as an answer: with its verdict, and, of a rate, whether it is line rate.
//!
//! Never words the sentence.

use page::{Answer, Figure, Reply, Verdict, words};

use super::super::line_share::share;
use crate::verdict::LINE_RATE;

/// A sentence that states a value.
pub fn stated(text: String, figure: &Figure) -> Answer {
    let nothing = figure.value.or(figure.low).is_none();
    let verdict = if nothing { Verdict::Undetermined } else { figure.verdict };
    Answer::new(words::capitalised(text)).limited_by(verdict).stating([figure])
}

/// Whether a rate is line rate, and by which rule: yes where the link was the limit, no where the
/// device was and even the interval's upper end is less. Where the link's rate is not known the
/// `other` question stands.
pub fn line_rate(answer: Answer, figure: &Figure, other: &str) -> Answer {
    let (Some(share), Some(value)) = (share(figure), figure.value) else {
        return answer.asked(other);
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

/// From where on a rate is line rate, `of` what the link carries, and what a rate that is neither
/// leaves open.
pub fn line_rate_rule(known: Option<bool>, of: &str) -> String {
    let least = words::percent(LINE_RATE);
    match known {
        Some(_) => format!("Line rate is {least} or more{of}."),
        None => format!(
            "Line rate is {least} or more{of}; whether the device fell short of it is not shown."
        ),
    }
}
