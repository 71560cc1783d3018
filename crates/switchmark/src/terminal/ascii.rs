//! Text for terminals whose locale has no Unicode.
//!
//! Owns which character stands for which. Never touches data: JSON and exports are UTF-8
//! everywhere.

use std::borrow::Cow;
use std::sync::OnceLock;

/// Our signs, each with what stands for it.
const SIGNS: &[(char, &str)] = &[
    ('\u{a0}', " "),
    ('·', "."),
    ('×', "x"),
    ('±', "+-"),
    ('µ', "u"),
    ('–', "-"),
    ('−', "-"),
    ('…', ".."),
    ('→', "->"),
    ('↔', "<->"),
    ('≤', "<="),
    ('≥', ">="),
    ('─', "-"),
    ('━', "-"),
    ('═', "="),
    ('█', "#"),
    ('░', "."),
    ('○', "o"),
    ('●', "*"),
];

static IS_UNICODE: OnceLock<bool> = OnceLock::new();

/// A text as the user's locale can show it.
pub fn for_locale(text: &str) -> Cow<'_, str> {
    let is_unicode = IS_UNICODE.get_or_init(|| is_unicode(&|name| std::env::var(name).ok()));
    if *is_unicode || text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(to_ascii(text)) }
}

/// True unless the locale that holds names another character set. Without any locale, as in most
/// containers, terminals show UTF-8 all the same.
fn is_unicode(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable);
    let Some(locale) = set.into_iter().find(|value| !value.is_empty()) else { return true };
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

fn to_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match SIGNS.iter().find(|(sign, _)| *sign == c) {
            _ if c.is_ascii() => out.push(c),
            Some((_, plain)) => out.push_str(plain),
            None => out.push('?'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_locale_that_is_set_decides() {
        let set = |values: &'static [(&'static str, &'static str)]| {
            move |name: &str| {
                values.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
            }
        };
        assert!(is_unicode(&set(&[])));
        assert!(is_unicode(&set(&[("LANG", "en_GB.UTF-8")])));
        assert!(is_unicode(&set(&[("LC_ALL", ""), ("LANG", "C.utf8")])));
        assert!(!is_unicode(&set(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")])));
        assert!(!is_unicode(&set(&[("LANG", "de_DE.ISO-8859-1")])));
    }

    #[test]
    fn our_signs_have_a_plain_form() {
        let plain = to_ascii("≥ 2.96\u{a0}µs [−0.35, 4.93] ·○━●· 50 % — x");
        assert_eq!(plain, ">= 2.96 us [-0.35, 4.93] .o-*. 50 % ? x");
    }
}
