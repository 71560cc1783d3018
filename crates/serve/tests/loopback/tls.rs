//! The server by TLS: its pages as they are without, and strangers who stall, talk plain HTTP or
//! know no handshake. Certificates are made here, for each server its own.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};
use serve::{Identity, Limits, Options, Place, ServeError, Server, Token};

use crate::talk::{Running, ScriptedJournal, TOKEN, limits, status, wait_for};

/// A server by TLS, and who trusts it.
struct Secure {
    server: Running,
    roots: RootCertStore,
}

impl Secure {
    fn with(source: ScriptedJournal, token: bool, limits: Limits) -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).expect("made");
        let identity = Identity::from_pem(&cert.pem(), &signing_key.serialize_pem());
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).expect("a certificate");
        let options = Options {
            listen: "127.0.0.1:0".parse().expect("a place"),
            identity: Some(identity.expect("an identity")),
            token: token.then(|| Token::new(TOKEN).expect("a token")),
            limits,
            ..Options::default()
        };
        Self { server: Running::by(source, options), roots }
    }

    fn new() -> Self {
        Self::with(ScriptedJournal::of(3), true, limits())
    }

    fn connect_by(
        &self,
        version: &'static SupportedProtocolVersion,
        protocols: &[&str],
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(&[version]).expect("spoken");
        let mut config = builder.with_root_certificates(self.roots.clone()).with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let name = ServerName::try_from("localhost").expect("a name");
        let client = ClientConnection::new(Arc::new(config), name).expect("a client");
        StreamOwned::new(client, self.server.connect())
    }

    /// All that comes back for these octets.
    fn say(&self, octets: &str) -> io::Result<String> {
        said(self.connect_by(&TLS13, &[]), octets)
    }

    fn get(&self, path: &str, more: &str) -> io::Result<String> {
        self.say(&format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\n{more}connection: close\r\n\r\n"
        ))
    }

    fn metrics(&self) -> String {
        let bearer = format!("authorization: Bearer {TOKEN}\r\n");
        self.get("/metrics", &bearer).expect("answered")
    }

    fn refused(&self, reason: &str) -> u64 {
        let metrics = self.metrics();
        let name = format!("switchmark_serve_refused_total{{reason=\"{reason}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or_else(|| panic!("{metrics}")).parse().expect("a count")
    }
}

fn said(mut stream: StreamOwned<ClientConnection, TcpStream>, octets: &str) -> io::Result<String> {
    stream.write_all(octets.as_bytes())?;
    let mut answer = String::new();
    // An end that is not said is an error here.
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// What somebody is told who says this, whatever it is.
fn told(mut stream: TcpStream, octets: &[u8]) -> Vec<u8> {
    let _ = stream.write_all(octets);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn pages_are_the_same_by_tls_of_either_version() {
    let secure = Secure::new();
    assert!(secure.server.place.to_string().starts_with("https://127.0.0.1:"));
    let ask = format!(
        "GET / HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\r\n"
    );
    for version in [&TLS13, &TLS12] {
        for protocols in [&[][..], &["h2", "http/1.1"]] {
            let answer = said(secure.connect_by(version, protocols), &ask).expect("answered");
            assert!(status(&answer) == 200 && answer.contains("run-2"), "{answer}");
        }
        assert!(said(secure.connect_by(version, &["h2"]), &ask).is_err(), "it is not spoken");
    }
    assert!(secure.metrics().contains("made_info{"));
    assert_eq!(status(&secure.get("/", "").expect("answered")), 401, "no token");
}

#[test]
fn who_logs_in_by_tls_is_known_by_tls_alone() {
    let secure = Secure::new();
    let post = |path: &str, origin: &str, body: &str| {
        let length = body.len();
        secure
            .say(&format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            ))
            .expect("answered")
    };
    let form = format!("token={TOKEN}");
    let elsewhere = post("/login", "http://localhost", &form);
    assert_eq!(status(&elsewhere), 403, "{elsewhere}");
    for (path, body) in [("/login", form.as_str()), ("/logout", "")] {
        let answer = post(path, "https://localhost", body);
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        assert!(cookie.is_some_and(|cookie| cookie.ends_with("; Secure")), "{answer}");
    }
}

#[test]
fn plain_http_is_told_so_and_no_octet_gets_further() {
    let secure = Secure::new();
    let mut long = format!("POST / HTTP/1.1\r\nauthorization: Bearer {TOKEN}\r\n\r\n").into_bytes();
    long.resize(50_000, b'a');
    for octets in [b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".as_slice(), &long, b"\x00"] {
        let answer = String::from_utf8(told(secure.server.connect(), octets)).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 400 ") && body.contains("https://"), "{answer}");
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{answer}");
    }
    assert_eq!(secure.refused("handshake"), 3);
    // What only looks like TLS: it is told so by an alert at most.
    let mut records = vec![b"\x16".to_vec(), b"\x16\x03\x01\x00\x05hello".to_vec()];
    records.push([&[22, 3, 1, 0xff, 0xff][..], &vec![0xff; 1 << 17]].concat());
    for octets in records {
        let stream = secure.server.connect();
        let answer = told(stream, &octets);
        assert!(answer.len() <= 7 && !answer.starts_with(b"HTTP"), "{answer:?}");
    }
    wait_for("all to be counted", || secure.refused("handshake") + secure.refused("slow") == 6);
    // Who comes and goes without a word is none.
    drop(secure.server.connect());
    assert!(secure.metrics().contains("switchmark_serve_connections 1"));
}

#[test]
fn whoever_stalls_in_a_handshake_stops_nobody_and_is_let_go() {
    let patient = Limits { request: Duration::from_secs(6), handshakes: 16, ..limits() };
    let secure = Secure::with(ScriptedJournal::of(3), true, patient);
    let stalled: Vec<TcpStream> = (0..15)
        .map(|n| {
            let mut stream = secure.server.connect();
            // Not a word, one octet, or a record that does not end.
            stream.write_all(&b"\x16\x03\x01\x01\x00\x01"[..n % 7]).expect("sent");
            stream
        })
        .collect();
    for _ in 0..20 {
        assert!(secure.metrics().contains("switchmark_serve_connections 16"));
    }
    // One more than may be in a handshake at once: none is waited for, and who was in is served.
    let mut early = secure.connect_by(&TLS13, &[]);
    early.write_all(b"GET /login HTTP/1.1\r\nhost: localhost\r\n").expect("sent");
    let last = secure.server.connect();
    wait_for("no more room", || secure.get("/login", "").is_err());
    let answer = said(early, "connection: close\r\n\r\n").expect("answered");
    assert_eq!(status(&answer), 200, "{answer}");
    for mut stream in stalled.into_iter().chain([last]) {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    wait_for("all to be counted", || secure.refused("slow") >= 15);
    assert!(secure.refused("full") >= 1);
}

#[test]
fn a_reader_that_stalls_is_dropped_by_tls_too_and_a_handshake_keeps_no_server() {
    let source = ScriptedJournal { words: 200_000, ..ScriptedJournal::of(3) };
    source.trials.store(200, std::sync::atomic::Ordering::Relaxed);
    let secure = Secure::with(source, true, limits());
    let mut reader = secure.connect_by(&TLS13, &[]);
    let ask = format!(
        "GET /runs/run-2/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
    );
    reader.write_all(ask.as_bytes()).expect("sent");
    wait_for("it to be dropped", || secure.refused("stalled") >= 1);
    drop(reader);
    let patient = Limits { request: Duration::from_mins(1), ..limits() };
    let secure = Secure::with(ScriptedJournal::of(3), true, patient);
    let mut stalled = secure.server.connect();
    stalled.write_all(b"\x16").expect("sent");
    assert!(secure.metrics().contains("switchmark_serve_connections 2"));
    let before = Instant::now();
    drop(secure);
    assert!(before.elapsed() < Duration::from_secs(30), "the handshake was waited for");
}

#[test]
fn a_socket_has_no_tls() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    let identity = Identity::from_pem(&cert.pem(), &signing_key.serialize_pem());
    let identity = Some(identity.expect("an identity"));
    let listen = "unix:/nowhere/socket".parse().expect("a place");
    let error = Server::bind(Options { listen, identity, ..Options::default() });
    let error = error.expect_err("no socket");
    assert!(matches!(error, ServeError::SecureSocket { .. }), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--tls-certificate")));
    let listen = "127.0.0.1:1".parse().expect("a place");
    assert_eq!(Place { listen, is_secure: true }.to_string(), "https://127.0.0.1:1/");
}

#[test]
fn when_a_certificate_ends_is_known() {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(["localhost".to_owned()]).expect("made");
    params.not_before = rcgen::date_time_ymd(2020, 1, 2);
    params.not_after = rcgen::date_time_ymd(2051, 3, 4);
    let certificate = params.self_signed(&key).expect("signed").pem();
    let identity = Identity::from_pem(&certificate, &key.serialize_pem()).expect("an identity");
    let validity = identity.validity();
    let found = format!("{} {}", validity.from, validity.until);
    assert_eq!(found, "2020-01-02T00:00:00Z 2051-03-04T00:00:00Z");
}
