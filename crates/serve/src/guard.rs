//! Checks of every request before any lookup: a known method, to this host, from no other site's
//! page; and the security headers of every answer.
//!
//! Pure. Never reads a body and never answers.

use axum::http::{HeaderMap, HeaderValue, Method, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::deeds::Deed;
use crate::parts::{Host, is_run};
use crate::refusal::Refusal;

/// Names under which these pages may be requested, and the rules for it.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    names: Vec<String>,
    /// True if actions on runs are allowed.
    with_deeds: bool,
    /// True if pages are served by TLS; if false, a proxy may still do so.
    is_secure: bool,
}

impl Guard {
    /// Accepts `localhost`, any address, and these names.
    pub(crate) fn new(own: &[String], with_deeds: bool, is_secure: bool) -> Self {
        let own = own.iter().map(|name| name.to_ascii_lowercase());
        Self { names: own.chain(["localhost".to_owned()]).collect(), with_deeds, is_secure }
    }

    /// True if the host is an address or one of the names. A name server can redirect a name (DNS
    /// rebinding), but not an address.
    fn has(&self, host: &Host) -> bool {
        host.is_address() || self.names.contains(&host.name)
    }

    /// Checks if a request may be processed.
    pub(crate) fn check(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        let is_deed = self.with_deeds && method == Method::POST && is_deed(path);
        let writes = method == Method::POST && matches!(path, "/login" | "/logout");
        if !writes && !is_deed && !matches!(*method, Method::GET | Method::HEAD) {
            return Err(Refusal::Method);
        }
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(own), None) = (hosts.next(), hosts.next()) else {
            return Err(Refusal::Malformed);
        };
        let own = own.to_str().map_err(|_| Refusal::Malformed)?;
        let host = Host::parse(own).map_err(|_| Refusal::Malformed)?;
        if !self.has(&host) {
            return Err(Refusal::Host);
        }
        // Browsers state a form's origin; a client that does not is none, or an old one.
        if is_deed && !headers.contains_key(header::ORIGIN) {
            return Err(Refusal::Origin);
        }
        self.same_site(own, headers, method == Method::GET || method == Method::HEAD)
    }

    /// Refuses requests from other sites, except for a link that a reader follows.
    fn same_site(&self, own: &str, headers: &HeaderMap, reads: bool) -> Result<(), Refusal> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        if let Some(origin) = text("origin") {
            let plain = origin.strip_prefix("http://").filter(|_| !self.is_secure);
            let rest = plain.or_else(|| origin.strip_prefix("https://"));
            if rest.is_none_or(|rest| !rest.eq_ignore_ascii_case(own)) {
                return Err(Refusal::Origin);
            }
        }
        let followed = reads
            && text("sec-fetch-mode") == Some("navigate")
            && text("sec-fetch-dest") == Some("document");
        match text("sec-fetch-site") {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if followed => Ok(()),
            Some(_) => Err(Refusal::Origin),
        }
    }
}

/// `/runs/ID/stop`
fn is_deed(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts[..], ["", "runs", run, last] if is_run(run) && Deed::from_address(last).is_some())
}

/// Headers for the browser's security, in every answer.
#[derive(Debug, Clone)]
pub(crate) struct SecurityHeaders(Vec<(&'static str, HeaderValue)>);

impl SecurityHeaders {
    /// Creates them for pages whose only inline script and style are `inline`.
    pub(crate) fn new(inline: &Inline) -> Self {
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
        // Colours and widths of a report's plots are in attributes, which run nothing.
        let policy = format!(
            "default-src 'none'; script-src 'self' 'sha256-{}'; style-src-elem 'self' 'sha256-{}'; \
             style-src-attr 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            hash(&inline.script),
            hash(&inline.style),
        );
        let policy = HeaderValue::from_str(&policy).expect("it is ASCII");
        let fixed = HeaderValue::from_static;
        Self(vec![
            ("content-security-policy", policy),
            ("x-content-type-options", fixed("nosniff")),
            ("x-frame-options", fixed("DENY")),
            // `no-referrer` would hide the origin of this server's own forms too.
            ("referrer-policy", fixed("same-origin")),
            ("cross-origin-opener-policy", fixed("same-origin")),
            ("cross-origin-resource-policy", fixed("same-origin")),
            ("cache-control", fixed("no-store")),
        ])
    }

    pub(crate) fn add_to(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.0 {
            headers.insert(*name, value.clone());
        }
    }
}

/// Inline script and style of every report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inline {
    pub(crate) script: String,
    pub(crate) style: String,
}

impl Inline {
    /// Extracts them from a report, as a browser reads them.
    pub(crate) fn from_report(report: &str) -> Self {
        let between = |open: &str, close: &str| {
            let rest = report.split_once(open).map_or("", |(_, rest)| rest);
            rest.split_once(close).map_or("", |(text, _)| text).to_owned()
        };
        Self { script: between("<script>", "</script>"), style: between("<style>", "</style>") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(method: &str, path: &str, said: &[(&str, &str)]) -> Result<(), Refusal> {
        checked_with(false, method, path, said)
    }

    fn checked_with(
        with_deeds: bool,
        method: &str,
        path: &str,
        said: &[(&str, &str)],
    ) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            let name = axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        let guard = Guard::new(&["Lab-3".to_owned()], with_deeds, false);
        guard.check(&method.parse().unwrap(), path, &headers)
    }

    #[test]
    fn only_reads_of_this_host_by_this_hosts_own_pages() {
        let local = ("host", "localhost:8377");
        let elsewhere = Err(Refusal::Host);
        for (method, path, said, expect) in [
            ("GET", "/", vec![local], Ok(())),
            ("HEAD", "/", vec![("host", "127.0.0.1:1")], Ok(())),
            ("GET", "/", vec![("host", "lab-3")], Ok(())),
            ("GET", "/", vec![("host", "evil.example")], elsewhere),
            ("GET", "/", vec![("host", "127.0.0.1.evil.example")], elsewhere),
            ("GET", "/", vec![], Err(Refusal::Malformed)),
            ("GET", "/", vec![local, local], Err(Refusal::Malformed)),
            ("GET", "/", vec![("host", "a b")], Err(Refusal::Malformed)),
            ("POST", "/", vec![local], Err(Refusal::Method)),
            ("DELETE", "/runs/x", vec![local], Err(Refusal::Method)),
            ("POST", "/login", vec![local], Ok(())),
            ("POST", "/login", vec![local, ("origin", "http://localhost:8377")], Ok(())),
            (
                "POST",
                "/login",
                vec![local, ("origin", "http://localhost:80")],
                Err(Refusal::Origin),
            ),
            ("POST", "/login", vec![local, ("origin", "null")], Err(Refusal::Origin)),
            (
                "GET",
                "/metrics",
                vec![local, ("origin", "https://evil.example")],
                Err(Refusal::Origin),
            ),
            ("GET", "/", vec![local, ("sec-fetch-site", "cross-site")], Err(Refusal::Origin)),
        ] {
            assert_eq!(checked(method, path, &said), expect, "{method} {path} {said:?}");
        }
        let followed = [
            local,
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        assert_eq!(checked("GET", "/", &followed), Ok(()));
        assert_eq!(checked("POST", "/login", &followed), Err(Refusal::Origin));
        let framed = [followed[0], followed[1], followed[2], ("sec-fetch-dest", "iframe")];
        assert_eq!(checked("GET", "/", &framed), Err(Refusal::Origin));
    }

    #[test]
    fn by_tls_only_pages_that_came_by_it_are_this_hosts_own() {
        for (is_secure, origin, expect) in [
            (false, "http://localhost:8377", Ok(())),
            (false, "https://localhost:8377", Ok(())),
            (true, "http://localhost:8377", Err(Refusal::Origin)),
            (true, "https://localhost:8377", Ok(())),
            (true, "https://localhost", Err(Refusal::Origin)),
        ] {
            let guard = Guard::new(&[], false, is_secure);
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static("localhost:8377"));
            headers.insert("origin", HeaderValue::from_static(origin));
            let found = guard.check(&Method::POST, "/login", &headers);
            assert_eq!(found, expect, "{is_secure} {origin}");
        }
    }

    #[test]
    fn a_deed_is_asked_for_by_this_hosts_own_page_and_only_where_it_may_be() {
        let own = [("host", "localhost:8377"), ("origin", "http://localhost:8377")];
        let foreign = [own[0], ("origin", "https://evil.example")];
        let cross = [own[0], own[1], ("sec-fetch-site", "cross-site")];
        for (allowed, method, path, said, expect) in [
            (true, "POST", "/runs/x-1/stop", &own[..], Ok(())),
            (true, "POST", "/runs/x-1/resume", &own, Ok(())),
            (false, "POST", "/runs/x-1/stop", &own, Err(Refusal::Method)),
            (true, "POST", "/runs/x-1/stop", &own[..1], Err(Refusal::Origin)),
            (true, "POST", "/runs/x-1/stop", &foreign, Err(Refusal::Origin)),
            (true, "POST", "/runs/x-1/stop", &cross, Err(Refusal::Origin)),
            (true, "PUT", "/runs/x-1/stop", &own, Err(Refusal::Method)),
            (true, "POST", "/runs/x-1/live", &own, Err(Refusal::Method)),
            (true, "POST", "/runs/x-1", &own, Err(Refusal::Method)),
            (true, "POST", "/runs/../stop", &own, Err(Refusal::Method)),
            (true, "POST", "/runs/x/y/stop", &own, Err(Refusal::Method)),
            (true, "POST", "/runs//stop", &own, Err(Refusal::Method)),
        ] {
            let found = checked_with(allowed, method, path, said);
            assert_eq!(found, expect, "{method} {path} {said:?}");
        }
    }

    #[test]
    fn a_reports_own_script_is_known_by_its_hash() {
        let inline = Inline::from_report("<style>a{}</style><script>\nx()\n</script>");
        assert_eq!((inline.script.as_str(), inline.style.as_str()), ("\nx()\n", "a{}"));
        let mut headers = HeaderMap::new();
        SecurityHeaders::new(&inline).add_to(&mut headers);
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("script-src 'self' 'sha256-") && !policy.contains("unsafe-eval"));
        assert!(policy.starts_with("default-src 'none'"));
    }
}
