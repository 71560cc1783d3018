//! What strangers try: to ask for somebody else's files, from somebody else's page, too much, too
//! slowly, all at once. Each is refused and counted, and the next honest request is answered.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use crate::talk::{Running, ScriptedJournal, limits, status};

#[test]
fn no_path_leads_out_of_the_journal() {
    let server = Running::new(ScriptedJournal::of(3));
    let tricks = [
        "/../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/runs/../../etc/passwd",
        "/runs/..%2f..%2fetc%2fpasswd",
        "/runs/%00",
        "/runs/run-0%00.html",
        "/runs/",
        "/runs/run-0/",
        "/runs//live",
        "//etc/passwd",
        "/style.css/../../x",
        "/runs/%ff",
        "/static/x.js",
        "/runs/run-0/events/more",
    ];
    for path in tricks {
        let answer = server.get(path);
        assert!(matches!(status(&answer), 400 | 404), "{path}: {answer}");
        assert!(!answer.contains("root:"), "{path}");
    }
    assert_eq!(status(&server.get("/runs/run-0")), 200);
    assert!(server.refused("unknown") >= 8);
    assert!(
        status(&server.ask("GET http://evil.example/", &[])) != 200 || server.refused("host") == 0
    );
}

#[test]
fn whatever_comes_from_elsewhere_is_refused_and_counted() {
    let server = Running::with_token(ScriptedJournal::of(3));
    for (first, fields, code, reason) in [
        ("GET /", &["host: evil.example"][..], 403, "host"),
        ("GET /", &["host: 127.0.0.1.evil.example:80"], 403, "host"),
        ("GET /", &["origin: https://evil.example"], 403, "origin"),
        ("GET /metrics", &["sec-fetch-site: cross-site", "sec-fetch-mode: no-cors"], 403, "origin"),
        ("POST /login", &["origin: https://evil.example", "content-length: 0"], 403, "origin"),
        ("POST /login", &["sec-fetch-site: same-site", "content-length: 0"], 403, "origin"),
        ("POST /", &["content-length: 0"], 405, "method"),
        ("DELETE /runs/run-0", &[], 405, "method"),
        ("OPTIONS /", &[], 405, "method"),
        ("TRACE /", &[], 405, "method"),
        ("GET /", &["host: localhost", "host: localhost"], 400, "malformed"),
    ] {
        let before = server.refused(reason);
        let answer = server.ask(first, fields);
        assert_eq!(status(&answer), code, "{first} {fields:?}: {answer}");
        assert_eq!(server.refused(reason), before + 1, "{first} {fields:?}");
        for field in [
            "content-security-policy: default-src 'none'",
            "x-frame-options: DENY",
            // With `no-referrer` a browser sends this server's own forms with `Origin: null`.
            "referrer-policy: same-origin",
        ] {
            assert!(answer.contains(field), "{first}: {answer}");
        }
        assert!(!answer.to_lowercase().contains("access-control-allow"), "{answer}");
    }
}

#[test]
fn too_much_is_refused_before_it_is_read() {
    let server = Running::with_token(ScriptedJournal::of(1));
    let long = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "a".repeat(100_000));
    let many = format!("GET / HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "a: b\r\n".repeat(1000));
    let wide = format!("GET / HTTP/1.1\r\nhost: localhost\r\na: {}\r\n\r\n", "b".repeat(100_000));
    for (octets, codes) in [(long, [414, 431]), (many, [431, 400]), (wide, [431, 431])] {
        let answer = server.say(octets.as_bytes());
        assert!(codes.contains(&status(&answer)) || answer.is_empty(), "{answer}");
    }
    assert!(server.refused("oversized") >= 2, "{}", server.refused("oversized"));
    let form = format!(
        "POST /login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50000\r\nconnection: close\r\n\r\ntoken={}",
        "a".repeat(49_994)
    );
    let before = server.refused("oversized");
    let answer = server.say(form.as_bytes());
    assert!(status(&answer) == 413 || answer.is_empty(), "{answer}");
    assert_eq!(server.refused("oversized"), before + 1);
    for octets in
        [&b"\x00\x01\x02\r\n\r\n"[..], b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01"]
    {
        let answer = server.say(octets);
        assert!(matches!(status(&answer), 0 | 400), "{answer}");
    }
    assert!(server.refused("malformed") >= 2);
    assert_eq!(status(&server.ask("GET /login", &[])), 200, "it goes on");
}

#[test]
fn whoever_is_slow_is_let_go() {
    let server = Running::with_token(ScriptedJournal::of(1));
    // A head that never ends, an octet at a time; a connection that says nothing; a form that
    // stops.
    let mut trickling = server.connect();
    let mut silent = server.connect();
    let mut form = server.connect();
    form.write_all(b"POST /login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\ntoken=")
        .expect("sent");
    let head = b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ";
    let mut sent = 0;
    for octet in head.iter().copied().chain(std::iter::repeat(b'a')).take(2000) {
        if trickling.write_all(&[octet]).is_err() {
            break;
        }
        sent += 1;
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(sent < 2000, "after {sent} octets it was still being listened to");
    let mut answer = Vec::new();
    assert!(silent.read_to_end(&mut answer).is_ok(), "closed by the server");
    let mut answer = String::new();
    let _ = form.read_to_string(&mut answer);
    assert_eq!(status(&answer), 408, "{answer}");
    assert!(server.refused("slow") >= 2, "{}", server.refused("slow"));
}

#[test]
fn a_hundred_clients_at_once_are_answered_and_more_than_there_is_room_for_are_told() {
    let server = Running::new(ScriptedJournal::of(60));
    let clients = std::thread::scope(|scope| {
        let ask = || status(&server.get("/"));
        let all: Vec<_> = (0..100).map(|_| scope.spawn(ask)).collect();
        all.into_iter().map(|client| client.join().expect("it ends")).collect::<Vec<_>>()
    });
    assert!(clients.iter().all(|code| *code == 200), "{clients:?}");
    drop(server);
    let few = serve::Limits { connections: 4, request: Duration::from_secs(5), ..limits() };
    let server =
        Running::with(ScriptedJournal::of(1), "127.0.0.1:0".parse().expect("a place"), false, few);
    let held: Vec<_> = (0..4).map(|_| server.connect()).collect();
    crate::talk::wait_for("a full house", || status(&server.get("/")) == 503);
    drop(held);
    crate::talk::wait_for("room", || status(&server.get("/")) == 200);
    assert!(server.refused("full") >= 1);
}

#[test]
fn what_was_measured_is_text_and_no_markup() {
    let server = Running::new(ScriptedJournal::of(2));
    let page = server.get("/");
    assert!(!page.contains("<script>alert") && !page.contains("\"><b>"), "{page}");
    assert!(page.contains("&#60;script&#62;") || page.contains("&lt;script&gt;"), "{page}");
    let answer = server.get("/?study=%3Cscript%3E&testbed=%22%3E%3Cb%3E");
    assert!(!answer.contains("\"><b>"), "{answer}");
}
