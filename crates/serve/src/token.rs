//! Access for readers: the token, and the session that a browser has instead of it.
//!
//! Owns their comparison, in constant time, and where they may stand: in a header, in a form's
//! body, in a cookie; never in an address. Neither is ever printed.

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::TryRng as _;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::parts;

/// Minimum length in characters; a shorter token can be guessed.
const SHORTEST: usize = 16;
/// The cookie's name.
const COOKIE: &str = "switchmark";
/// Lifetime of the cookie, in seconds; a new start of the server ends it as well.
const KEPT: u32 = 12 * 3600;

/// Secret that readers must know.
#[derive(Clone)]
pub struct Token {
    digest: [u8; 32],
    session: String,
}

/// A text is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoToken {
    /// The token can be guessed.
    #[error("the token has fewer than {SHORTEST} characters")]
    Short,
    /// The token has spaces or signs that a header cannot carry.
    #[error("the token has characters other than letters, digits and signs of ASCII")]
    Unprintable,
    /// The kernel gives no random octets.
    #[error("the kernel gave no random octets")]
    NoChance,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Creates a token from its text.
    pub fn new(text: &str) -> Result<Self, NoToken> {
        if text.len() < SHORTEST {
            return Err(NoToken::Short);
        }
        if !text.bytes().all(|octet| octet.is_ascii_graphic()) {
            return Err(NoToken::Unprintable);
        }
        let mut octets = [0; 32];
        rand::rngs::SysRng.try_fill_bytes(&mut octets).map_err(|_| NoToken::NoChance)?;
        Ok(Self { digest: digest(text), session: URL_SAFE_NO_PAD.encode(octets) })
    }

    /// True if it is that text. Digests are compared, so that not even the length shows.
    pub fn is(&self, text: &str) -> bool {
        self.digest.ct_eq(&digest(text)).into()
    }

    /// True if a request comes with the session that it was given for the token: random, and too
    /// long to be guessed.
    pub fn has_session(&self, headers: &HeaderMap) -> bool {
        let all = headers.get(header::COOKIE).and_then(|value| value.to_str().ok());
        let cookie = all.and_then(|all| parts::cookie(all, COOKIE));
        let own = digest(&self.session);
        cookie.is_some_and(|said| own.ct_eq(&digest(said)).into())
    }

    /// Returns the token that a request states, right or wrong; `None` without one.
    pub fn said_in(headers: &HeaderMap) -> Option<&str> {
        let said = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        said.and_then(|said| said.strip_prefix("Bearer "))
    }

    /// Returns the cookie that a browser gets for the token: no script reads it, no other site
    /// sends it.
    pub fn cookie(&self, is_secure: bool) -> String {
        set(&self.session, KEPT, is_secure)
    }

    /// Returns the cookie that removes the session.
    pub fn no_cookie(is_secure: bool) -> String {
        set("", 0, is_secure)
    }
}

/// Formats the cookie. One that was set by TLS goes back by TLS alone.
fn set(value: &str, kept: u32, is_secure: bool) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={kept}{secure}")
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_is_told_by_header_or_session() {
        assert_eq!(Token::new("short").unwrap_err(), NoToken::Short);
        assert_eq!(Token::new("sixteen letters plus").unwrap_err(), NoToken::Unprintable);
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(token.is("0123456789abcdef") && !token.is("0123456789abcdeX") && !token.is(""));
        let with = |name, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            Token::said_in(&headers).is_some_and(|said| token.is(said))
                || token.has_session(&headers)
        };
        assert!(with(header::AUTHORIZATION, "Bearer 0123456789abcdef"));
        assert!(!with(header::AUTHORIZATION, "Bearer 0123456789abcdee"));
        let cookie = token.cookie(false);
        assert!(!cookie.contains("Secure") && token.cookie(true).ends_with("; Secure"));
        let pair = cookie.split(';').next().unwrap();
        assert!(with(header::COOKIE, pair));
        assert!(!with(header::COOKIE, "switchmark="));
        assert!(!with(header::COOKIE, "switchmark=0123456789abcdef"), "the token is no session");
        assert_eq!(format!("{token:?}"), "Token");
    }
}
