//! Valid names of hosts, devices, variants and profiles.
//!
//! Owns the rule and its wording. Names are joined to ports by a slash (`sw1/1`), used in lists and
//! commands, and printed to terminals.

/// Longest name in octets: that of a host in DNS (RFC 1035, section 2.3.4).
const LONGEST: usize = 63;

/// Rule in words, for error messages.
pub const RULE: &str =
    "names have 1 to 63 octets and no slash, colon, comma, quote, blank or control character";

/// True if the text is a valid name.
pub fn is_name(text: &str) -> bool {
    let bad =
        |c: char| c.is_whitespace() || c.is_control() || "/:,\"'`\\".contains(c) || is_invisible(c);
    (1..=LONGEST).contains(&text.len()) && !text.contains(bad)
}

/// Turns a text into a valid name: replaces invalid characters by `-` and cuts it to the longest
/// length. An empty text becomes `name`.
pub fn made_of(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if is_name(c.encode_utf8(&mut [0; 4])) { c } else { '-' }).collect();
    let cut = plain.floor_char_boundary(LONGEST);
    if cut == 0 { "name".to_owned() } else { plain[..cut].to_owned() }
}

/// Characters that are invisible or change the writing direction (Unicode Annex 9).
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
