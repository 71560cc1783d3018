//! What must hold of any octets as a query, a cookie, a Host or a place to listen at: they are
//! refused or read, what was read has no control characters, and what is written is read again.

use serve::parts::{Fields, Host, cookie, is_run};
use serve::{Listen, Place};

/// Panics where a reader breaks its promise on `octets`.
pub fn request_parts(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    if let Ok(fields) = Fields::parse(&text) {
        let written = fields.encoded();
        // Escapes are longer than what they stand for.
        if written.len() <= 4096 {
            assert_eq!(Fields::parse(&written).as_ref(), Ok(&fields), "{written}");
        }
        for name in ["run", "study", "token", ""] {
            let values: Vec<&str> = fields.all(name).collect();
            assert_eq!(fields.get(name), values.first().copied());
            assert!(values.iter().all(|value| !value.chars().any(char::is_control)));
        }
        assert_eq!(fields.with("page", "2").get("page"), Some("2"));
    }
    if let Some(value) = cookie(&text, "switchmark") {
        assert!(!value.contains(';') && text.contains(value));
    }
    if let Ok(host) = Host::parse(&text) {
        assert!(!host.name.is_empty() && host.name.len() <= 253);
        assert!(host.name.bytes().all(|octet| octet.is_ascii_graphic() && octet != b'/'));
        assert!(!host.name.bytes().any(|octet| octet.is_ascii_uppercase()));
    }
    if is_run(&text) {
        assert!(!text.contains('/') && !text.starts_with('.') && text.is_ascii());
    }
    if let Ok(listen) = text.parse::<Listen>() {
        assert!(!Place { listen, is_secure: true }.to_string().is_empty());
    }
}
