//! What a page may have done to a run: stop it, and go on with it; and who may not.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;

use super::{Server, command, run, two_runs};
use crate::program::{Scratch, wait_for};

const TOKEN: &str = "a-token-of-the-tests";

/// A token's file that nobody else may read.
fn token(scratch: &Scratch) {
    std::fs::write(scratch.path("token"), format!("{TOKEN}\n")).expect("written");
    let own = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(scratch.path("token"), own).expect("settable");
}

/// Status and all of the answer.
fn ask(server: &Server, first: &str, fields: &[&str]) -> (u16, String) {
    let mut stream = TcpStream::connect(server.host()).expect("it listens");
    let host = server.host();
    let fields = fields.join("\r\n") + if fields.is_empty() { "" } else { "\r\n" };
    let head = format!("{first} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{fields}\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    (answer.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0), answer)
}

/// A run of a model that takes a minute or so, and its id.
fn long_run(scratch: &Scratch, server: &Server) -> (Child, String) {
    let asked = ["forwarding", "--testbed", "sim:teg-s16g", "--search", "rfc2544", "--size"];
    let more = ["64,128,256,512,1518", "-t", "1s", "--blocks", "60", "--journal", "j.db", "-q"];
    let mut measuring = command(scratch, &[&asked[..], &more].concat());
    let measuring = measuring.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    let mut found = None;
    wait_for("the run to be listed", || {
        let bearer = format!("authorization: Bearer {TOKEN}");
        let (_, list) = ask(server, "GET /?state=running", &[&bearer]);
        let id = list.split("name=\"run\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        found = id.map(str::to_owned);
        found.is_some()
    });
    (measuring, found.expect("it is listed"))
}

#[test]
fn a_run_is_stopped_and_goes_on_from_its_page_by_whoever_may() {
    let scratch = Scratch::new("serve-deeds");
    let [done, _] = two_runs(&scratch);
    token(&scratch);
    let server = Server::new(&scratch, &["--token-file", "token", "--allow-run"]);
    let (mut measuring, id) = long_run(&scratch, &server);
    let bearer = format!("authorization: Bearer {TOKEN}");
    let origin = format!("origin: http://{}", server.host());
    let may = [bearer.as_str(), &origin, "content-length: 0"];
    let post = |what: &str| ask(&server, &format!("POST /runs/{id}/{what}"), &may).0;
    let page = || ask(&server, &format!("GET /runs/{id}/live"), &may[..1]).1;
    assert!(page().contains(&format!("action=\"/runs/{id}/stop\"")), "{}", page());
    // Whoever has no token, or comes from another page, or does not say from where, or only looks.
    let foreign = [bearer.as_str(), "origin: https://evil.example", "content-length: 0"];
    let stop = format!("POST /runs/{id}/stop");
    assert_eq!(ask(&server, &stop, &may[1..]).0, 401);
    assert_eq!(ask(&server, &stop, &foreign).0, 403);
    assert_eq!(ask(&server, &stop, &[&bearer, "content-length: 0"]).0, 403);
    assert_eq!(ask(&server, &format!("GET /runs/{id}/stop"), &may[..1]).0, 404);
    assert_eq!(ask(&server, &format!("POST /runs/{done}/stop"), &may).0, 409);
    assert_eq!(ask(&server, &format!("POST /runs/{done}/resume"), &may).0, 409);
    assert_eq!(ask(&server, "POST /runs/none/stop", &may).0, 404);
    assert_eq!(post("resume"), 409, "it is under way");
    assert!(measuring.try_wait().expect("a child").is_none(), "none of that was done");
    assert_eq!(post("stop"), 303);
    assert_eq!(post("stop"), 409, "once is enough");
    assert_eq!(measuring.wait().expect("it ends").code(), Some(1));
    wait_for("the button to go on", || page().contains(&format!("action=\"/runs/{id}/resume\"")));
    let (_, list) = ask(&server, "GET /?state=interrupted", &may[..1]);
    assert!(list.contains("interrupted: go on?"), "{list}");
    assert_eq!(post("resume"), 303);
    wait_for("the run to go on", || page().contains(&format!("action=\"/runs/{id}/stop\"")));
    assert_eq!(post("stop"), 303);
    wait_for("its end", || page().contains(&format!("action=\"/runs/{id}/resume\"")));
    let (_, metrics) = ask(&server, "GET /metrics", &may[..1]);
    for (reason, least) in [("origin", 2.0), ("anonymous", 1.0), ("state", 4.0)] {
        let line = format!("switchmark_serve_refused_total{{reason=\"{reason}\"}} ");
        let count = metrics.lines().find_map(|l| l.strip_prefix(&line)).expect("it is counted");
        assert!(count.parse::<f64>().expect("a count") >= least, "{reason}: {count}");
    }
    assert_eq!(server.end(Signal::SIGINT), Some(0));
}

#[test]
fn a_signal_goes_to_nobody_but_the_run() {
    let scratch = Scratch::new("serve-forged");
    let [one, _] = two_runs(&scratch);
    token(&scratch);
    let mut bystander = Command::new("sleep").arg("60").spawn().expect("it starts");
    let holder = |process: u32| {
        let read = |path: &str| std::fs::read_to_string(path).expect("readable").trim().to_owned();
        let room = std::fs::read_link("/proc/self/ns/pid").expect("a link");
        let stat = read(&format!("/proc/{process}/stat"));
        let began = stat.rsplit_once(')').expect("a name").1.split_whitespace().nth(19);
        let host = read("/proc/sys/kernel/hostname").replace(' ', "-");
        let boot = read("/proc/sys/kernel/random/boot_id");
        format!("{host} {boot} {} {process} {}", room.display(), began.expect("a time"))
    };
    let store = journal::Store::open(&scratch.path("j.db")).expect("a journal");
    let by_this_machine = store.summary(&one).expect("there").holder.expect("it has one");
    store.set_status(&one, &study::run::RunStatus::Running).expect("set");
    let server = Server::new(&scratch, &["--token-file", "token", "--allow-run"]);
    let bearer = format!("authorization: Bearer {TOKEN}");
    let origin = format!("origin: http://{}", server.host());
    let may = [bearer.as_str(), &origin, "content-length: 0"];
    let own = holder(bystander.id());
    let later = own.rsplit_once(' ').map(|(rest, _)| format!("{rest} 1")).expect("words");
    for forged in [own, later, "elsewhere a b 1 1".to_owned(), String::new()] {
        store.held_by(&one, &forged).expect("set");
        let (code, said) = ask(&server, &format!("POST /runs/{one}/stop"), &may);
        assert_eq!(code, 409, "{forged}: {said}");
        assert!(bystander.try_wait().expect("a child").is_none(), "{forged}");
    }
    let _ = bystander.kill();
    let _ = bystander.wait();
    // What was begun elsewhere, or what others may have written, is not gone on with.
    store.set_status(&one, &study::run::RunStatus::Interrupted).expect("set");
    let resume = format!("POST /runs/{one}/resume");
    for elsewhere in ["merged", "elsewhere a b 1 1", "elsewhere a b 1 1 0123456789abcdef"] {
        store.held_by(&one, elsewhere).expect("set");
        let (code, said) = ask(&server, &resume, &may);
        assert!(code == 409 && said.contains("begin a new run"), "{elsewhere}: {code}: {said}");
        let (_, page) = ask(&server, &format!("GET /runs/{one}/live"), &may[..1]);
        assert!(!page.contains(&format!("action=\"/runs/{one}/resume\"")), "{page}");
    }
    store.held_by(&one, &by_this_machine).expect("set");
    let any = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(scratch.path("j.db"), any).expect("settable");
    let (code, said) = ask(&server, &resume, &may);
    assert!(code == 409 && said.contains("chmod go-w"), "{code}: {said}");
}

#[test]
fn without_the_flag_nothing_is_done_and_with_it_a_token_is_needed() {
    let scratch = Scratch::new("serve-no-deeds");
    let [one, _] = two_runs(&scratch);
    let server = Server::new(&scratch, &[]);
    let origin = format!("origin: http://{}", server.host());
    for deed in ["stop", "resume"] {
        let first = format!("POST /runs/{one}/{deed}");
        assert_eq!(ask(&server, &first, &[&origin, "content-length: 0"]).0, 405, "{deed}");
    }
    let (_, page) = ask(&server, &format!("GET /runs/{one}/live"), &[]);
    assert!(!page.contains("id=\"deed\""), "{page}");
    let output = command(&scratch, &["serve", "--journal", "j.db", "--allow-run"]).output();
    let output = output.expect("switchmark starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--token-file") && said.contains("unix:"), "{said}");
    run(&scratch, &["runs", "--journal", "j.db"]);
}
