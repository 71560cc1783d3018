//! Who comes in: nobody from elsewhere without a token, and the token never by an address.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serve::{Listen, Options, ServeError, Server, Token};

use crate::talk::{Running, ScriptedJournal, TOKEN, limits, status};

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("switchmark-serve-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn nothing_is_shown_without_the_token() {
    let server = Running::with_token(ScriptedJournal::of(3));
    let person = ["accept: text/html"];
    for path in ["/", "/runs/run-0", "/runs/run-2/live", "/compare?run=a&run=b", "/none"] {
        let answer = server.ask(&format!("GET {path}"), &person);
        assert_eq!(status(&answer), 303, "{path}");
        assert!(answer.contains("location: /login") && !answer.contains("run-0"), "{path}");
    }
    for path in ["/metrics", "/runs/run-2/events", "/script.js"] {
        let answer = server.get(path);
        assert_eq!(status(&answer), 401, "{path}: {answer}");
        assert!(answer.contains("www-authenticate: Bearer"), "{answer}");
    }
    for wrong in ["Bearer ", "Bearer wrong", "Basic YTpi", TOKEN] {
        let answer = server.ask("GET /metrics", &[&format!("authorization: {wrong}")]);
        assert_eq!(status(&answer), 401, "{wrong}");
    }
    assert_eq!(status(&server.get(&format!("/metrics?token={TOKEN}"))), 401, "never by an address");
    let answer = server.ask("GET /metrics", &[&format!("authorization: Bearer {TOKEN}")]);
    assert!(answer.contains("made_info{name=\"a\\\"b\"} 1"), "{answer}");
}

#[test]
fn a_browser_logs_in_by_a_form_and_out_again() {
    let server = Running::with_token(ScriptedJournal::of(3));
    assert_eq!(status(&server.get("/login")), 200);
    let log_in = |token: &str| {
        let body = format!("token={token}");
        let length = format!("content-length: {}", body.len());
        server.say(
            format!("POST /login HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost\r\n{length}\r\nconnection: close\r\n\r\n{body}")
                .as_bytes(),
        )
    };
    let refused = log_in("another-token-of-tests");
    assert_eq!(status(&refused), 403);
    assert!(!refused.contains("set-cookie"), "{refused}");
    assert_eq!(server.refused("token"), 1);
    let answer = log_in(TOKEN);
    assert_eq!(status(&answer), 303, "{answer}");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("one");
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert!(!cookie.contains(TOKEN));
    let pair = cookie.split(';').next().expect("a pair");
    let list = server.ask("GET /", &[&format!("cookie: {pair}")]);
    assert!(status(&list) == 200 && list.contains("run-0"), "{list}");
    let out = format!("cookie: {pair}");
    let out = server.ask("POST /logout", &[&out, "content-length: 0"]);
    assert!(out.contains("Max-Age=0"), "{out}");
}

#[test]
fn no_other_address_without_a_token_and_no_port_twice() {
    let open = Options { listen: "0.0.0.0:0".parse().expect("a place"), ..Options::default() };
    let error = Server::bind(open).expect_err("nobody is let in");
    assert!(matches!(error, ServeError::NoToken { .. }), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--token-file")));
    let with = Options {
        listen: "0.0.0.0:0".parse().expect("a place"),
        token: Some(Token::new(TOKEN).expect("a token")),
        ..Options::default()
    };
    drop(Server::bind(with).expect("with a token it may"));
    let server = Running::new(ScriptedJournal::of(1));
    let again = Options { listen: server.place.listen.clone(), ..Options::default() };
    let error = Server::bind(again).expect_err("it is taken");
    assert!(error.hint().is_some_and(|hint| hint.contains("--listen")), "{error}");
}

#[test]
fn a_socket_is_its_owners_and_goes_with_the_server() {
    let path = scratch("socket");
    let listen = Listen::Unix(path.clone());
    let server = Running::with(ScriptedJournal::of(3), listen.clone(), false, limits());
    let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).expect("it listens");
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    assert!(answer.contains("run-2"), "{answer}");
    let again = Options { listen: listen.clone(), ..Options::default() };
    assert!(Server::bind(again).is_err(), "one at a time");
    drop(server);
    assert!(!path.exists());
    // A file that somebody put in its place while it listened stays.
    let server = Running::with(ScriptedJournal::of(1), listen.clone(), false, limits());
    std::fs::remove_file(&path).expect("removed");
    std::fs::write(&path, "theirs").expect("written");
    drop(server);
    assert_eq!(std::fs::read_to_string(&path).expect("still there"), "theirs");
    std::fs::remove_file(&path).expect("removed");
    // What a killed server left is taken over; what is no socket is somebody's.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    drop(Running::with(ScriptedJournal::of(1), listen.clone(), false, limits()));
    std::fs::write(&path, "mine").expect("written");
    assert!(Server::bind(Options { listen, ..Options::default() }).is_err());
    assert_eq!(std::fs::read_to_string(&path).expect("still there"), "mine");
    let _ = std::fs::remove_file(&path);
}
