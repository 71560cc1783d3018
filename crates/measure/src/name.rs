//! What may be the name of a host, a device, a variant or a profile, wherever it comes from.
//!
//! Owns the rule, and the words that tell it. Names are joined to ports by a slash (`sw1/1`), stand
//! in lists and commands, and are printed to terminals.

/// The longest, in octets: a host's in DNS (RFC 1035, section 2.3.4).
const LONGEST: usize = 63;

/// For whoever gave another.
pub const RULE: &str =
    "names have 1 to 63 octets and no slash, colon, comma, quote, blank or control character";

/// Whether it may be a name.
pub fn is_name(text: &str) -> bool {
    let bad =
        |c: char| c.is_whitespace() || c.is_control() || "/:,\"'`\\".contains(c) || is_invisible(c);
    (1..=LONGEST).contains(&text.len()) && !text.contains(bad)
}

/// The same with `-` for whatever may not be in a name; `name` where nothing is left.
pub fn made_of(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if is_name(c.encode_utf8(&mut [0; 4])) { c } else { '-' }).collect();
    let cut = plain.floor_char_boundary(LONGEST);
    if cut == 0 { "name".to_owned() } else { plain[..cut].to_owned() }
}

/// Characters that no screen shows, or that turn the direction of writing (Unicode Annex 9).
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words() {
        for name in ["sw1", "teg-s16g", "X450a.48t_2", "größer", "10%"] {
            assert!(is_name(name), "{name}");
        }
        for name in
            ["", "ACME 10/100", "a b", "a\0b", "a\u{1b}[2J", "a:b", "a\u{202e}b", &"x".repeat(64)]
        {
            assert!(!is_name(name), "{name:?}");
            assert!(is_name(&made_of(name)), "{name:?}");
        }
        assert_eq!(made_of("ACME 10/100"), "ACME-10-100");
    }
}
