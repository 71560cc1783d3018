//! The parts of a request that are read here: the fields of a query or a form, cookies, the Host.
//!
//! Owns their limits. Any octets may come: they are read or refused, and none panics. Never decides
//! what is allowed.

use std::fmt::Write as _;
use std::net::IpAddr;

pub use journal::is_run_id as is_run;

/// Maximum fields read.
const MOST_FIELDS: usize = 32;
/// A query or a form is no longer than this.
const LONGEST_TEXT: usize = 4096;
/// A name of a host is no longer than this (RFC 1035 §2.3.4).
const LONGEST_NAME: usize = 253;

/// A part that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request's {0} cannot be read")]
pub struct Malformed(pub &'static str);

/// The fields of a query or a form (`application/x-www-form-urlencoded`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads them. Octets that are no UTF-8, control characters and broken escapes are refused.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        const WHAT: Malformed = Malformed("query");
        if text.len() > LONGEST_TEXT {
            return Err(WHAT);
        }
        let mut fields = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            if fields.len() == MOST_FIELDS {
                return Err(WHAT);
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            fields.push((unescaped(name).ok_or(WHAT)?, unescaped(value).ok_or(WHAT)?));
        }
        Ok(Self(fields))
    }

    /// Returns the first value of that name; `None` if it is missing or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(own, value)| own == name && !value.is_empty());
        value.map(|(_, value)| value.as_str())
    }

    /// Every value of that name that is not empty, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let is_it = move |(own, value): &&(String, String)| own == name && !value.is_empty();
        self.0.iter().filter(is_it).map(|(_, value)| value.as_str())
    }

    /// Encodes them as a query, which [`Self::parse`] reads again.
    pub fn encoded(&self) -> String {
        let pair =
            |(name, value): &(String, String)| format!("{}={}", escaped(name), escaped(value));
        self.0.iter().map(pair).collect::<Vec<_>>().join("&")
    }

    /// Returns the fields with this value alone under the name; an empty one removes it.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut fields: Vec<_> = self.0.iter().filter(|(own, _)| own != name).cloned().collect();
        if !value.is_empty() {
            fields.push((name.to_owned(), value.to_owned()));
        }
        Self(fields)
    }
}

fn unescaped(text: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'+' => b' ',
            b'%' => {
                let digit = |octet: Option<u8>| char::from(octet?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                (high * 16 + low) as u8
            }
            other => other,
        });
    }
    let text = String::from_utf8(octets).ok()?;
    (!text.chars().any(char::is_control)).then_some(text)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for octet in text.bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                out.push(char::from(octet));
            }
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

/// The cookie of that name among those of a `Cookie` header (RFC 6265 §4.2.1).
pub fn cookie<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let pairs = header.split(';').filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(own, _)| *own == name).map(|(_, value)| value);
    let value = values.next()?;
    // Two of one name: somebody else set one of them.
    values.next().is_none().then_some(value)
}

/// A host as a request names it: `localhost:8377`, `[::1]`, `lab-3.example.org`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Name without the port and a literal's brackets, in lower case.
    pub name: String,
    /// Port; `None` if none is named.
    pub port: Option<u16>,
}

impl Host {
    /// Reads it.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        const WHAT: Malformed = Malformed("Host");
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (name, rest) = rest.split_once(']').ok_or(WHAT)?;
                if !matches!(name.parse(), Ok(IpAddr::V6(_))) {
                    return Err(WHAT);
                }
                match rest {
                    "" => (name, None),
                    rest => (name, Some(rest.strip_prefix(':').ok_or(WHAT)?)),
                }
            }
            None => match text.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (text, None),
            },
        };
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_part) {
            return Err(WHAT);
        }
        let is_number = |port: &str| !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit());
        let port = match port {
            None => None,
            Some(port) if is_number(port) => Some(port.parse().map_err(|_| WHAT)?),
            Some(_) => return Err(WHAT),
        };
        Ok(Self { name: name.to_ascii_lowercase(), port })
    }

    /// True if it is an address, which no name server can redirect.
    pub fn is_address(&self) -> bool {
        self.name.parse::<IpAddr>().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_broken_ones_are_refused() {
        let fields =
            Fields::parse("verb=latency&testbed=a+b%2fc&run=x&run=y&empty=&alone").unwrap();
        assert_eq!(fields.get("verb"), Some("latency"));
        assert_eq!(fields.get("testbed"), Some("a b/c"));
        assert_eq!(fields.all("run").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!((fields.get("empty"), fields.get("alone")), (None, None));
        assert_eq!(Fields::parse(&fields.encoded()).unwrap(), fields);
        assert_eq!(fields.with("run", "z").all("run").collect::<Vec<_>>(), ["z"]);
        let many = "a=b&".repeat(MOST_FIELDS + 1);
        let long = "a".repeat(LONGEST_TEXT + 1);
        for text in ["a=%", "a=%4", "a=%zz", "a=%ff", "a=%00", "a=%0a", &many, &long] {
            assert!(Fields::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_cookie_is_the_one_of_its_name() {
        for (header, expect) in [
            ("switchmark=abc", Some("abc")),
            ("other=1; switchmark=abc", Some("abc")),
            ("notswitchmark=abc", None),
            ("switchmark=abc; switchmark=def", None),
            ("switchmark", None),
            ("", None),
        ] {
            assert_eq!(cookie(header, "switchmark"), expect, "{header}");
        }
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_a_port() {
        for (text, name, port) in [
            ("localhost", "localhost", None),
            ("LocalHost:8377", "localhost", Some(8377)),
            ("127.0.0.1:80", "127.0.0.1", Some(80)),
            ("[::1]", "::1", None),
            ("[::1]:80", "::1", Some(80)),
        ] {
            let host = Host::parse(text).unwrap_or_else(|_| panic!("{text}"));
            assert_eq!((host.name.as_str(), host.port), (name, port), "{text}");
        }
        for text in
            ["", ":80", "a b", "[::1", "[x]", "[::1]80", "a:b", "a:", "a:99999", "a:+1", "a/b"]
        {
            assert!(Host::parse(text).is_err(), "{text}");
        }
        assert!(Host::parse("[::1]:1").unwrap().is_address());
        assert!(!Host::parse("evil.example").unwrap().is_address());
    }

    #[test]
    fn a_runs_id_leads_nowhere_else() {
        assert!(is_run("20261121-140312-3f9a.07"));
        for text in ["", "..", ".x", "a/b", "a b", "a%2f", &"x".repeat(65)] {
            assert!(!is_run(text), "{text}");
        }
    }
}
