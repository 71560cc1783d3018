//! `serve` by TLS as its user has it: files of certificates and keys, right ones and wrong ones;
//! and curl, which trusts no certificate but the one it was told of.

use std::fs::{Permissions, set_permissions, write};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use super::{Server, command, two_runs};
use crate::program::Scratch;

const PAIR: [&str; 4] = ["--tls-certificate", "own.pem", "--tls-key", "own.key"];

/// A certificate that is valid within these years, and its key.
fn pair(scratch: &Scratch, name: &str, [from, until]: [i32; 2]) {
    let key = KeyPair::generate().expect("a key");
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut params = CertificateParams::new(names).expect("names");
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let certificate = params.self_signed(&key).expect("signed").pem();
    write(scratch.path(&format!("{name}.pem")), certificate).expect("written");
    secret(scratch, &format!("{name}.key"), &key.serialize_pem());
}

fn secret(scratch: &Scratch, name: &str, text: &str) {
    write(scratch.path(name), text).expect("written");
    set_permissions(scratch.path(name), Permissions::from_mode(0o600)).expect("set");
}

/// What curl says, and its exit code; none where it is not installed.
fn curl(scratch: &Scratch, args: &[&str]) -> Option<(String, i32)> {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--noproxy", "*", "--max-time", "20"]).args(args);
    let Ok(output) = curl.current_dir(scratch.folder()).output() else {
        eprintln!("skipped: curl is not installed");
        return None;
    };
    let said = [output.stdout, output.stderr].concat();
    Some((String::from_utf8_lossy(&said).into_owned(), output.status.code().unwrap_or(-1)))
}

#[test]
fn curl_reads_by_tls_what_it_trusts_and_by_nothing_else() {
    let scratch = Scratch::new("serve-tls");
    two_runs(&scratch);
    pair(&scratch, "own", [2020, 2100]);
    pair(&scratch, "other", [2020, 2100]);
    let server = Server::new(&scratch, &PAIR);
    assert!(server.address.starts_with("https://127.0.0.1:"), "{}", server.address);
    let at = |path: &str| format!("{}{path}", server.address);
    let Some((list, code)) = curl(&scratch, &["--cacert", "own.pem", &at("/")]) else { return };
    assert!(code == 0 && list.contains(">other<"), "{code}: {list}");
    for version in ["1.2", "1.3"] {
        let asked = ["--cacert", "own.pem", "--tls-max", version, &at("/metrics")];
        let (metrics, _) = curl(&scratch, &asked).expect("curl");
        assert!(metrics.contains("switchmark_journal_runs{state=\"done\"} 2"), "{metrics}");
    }
    let (said, code) = curl(&scratch, &["--cacert", "other.pem", &at("/")]).expect("curl");
    assert_eq!(code, 60, "a certificate that is not trusted: {said}");
    let plain = at("/").replace("https:", "http:");
    let (said, code) = curl(&scratch, &["--include", &plain]).expect("curl");
    assert!(code == 0 && said.starts_with("HTTP/1.1 400 ") && said.contains("https://"), "{said}");
    let (said, code) =
        curl(&scratch, &["--cacert", "own.pem", "--tls-max", "1.1", &at("/")]).expect("curl");
    assert!(code != 0, "{said}");
    assert_eq!(server.end(Signal::SIGINT), Some(0));
}

#[test]
fn a_pair_that_can_not_be_is_said_with_its_remedy() {
    let scratch = Scratch::new("serve-tls-errors");
    two_runs(&scratch);
    pair(&scratch, "own", [2020, 2100]);
    pair(&scratch, "other", [2020, 2100]);
    secret(&scratch, "locked.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n");
    secret(&scratch, "short.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    write(scratch.path("open.key"), std::fs::read(scratch.path("own.key")).expect("read"))
        .expect("written");
    write(scratch.path("own.der"), [0x30, 0x82, 0xff]).expect("written");
    for (certificate, key, words) in [
        ("none.pem", "own.key", &["read the certificate in none.pem", "--tls-certificate"][..]),
        ("own.key", "own.key", &["the certificate in own.key", "no certificate in it", "PEM"]),
        ("own.der", "own.key", &["read the certificate in own.der", "no text", "PEM"]),
        ("own.pem", "none.key", &["read the TLS key in none.key", "--tls-key"]),
        ("own.pem", "open.key", &["the TLS key in open.key", "any user", "chmod o= open.key"]),
        ("own.pem", "other.key", &["key in other.key", "does not belong", "comes first"]),
        ("own.pem", "locked.key", &["key in locked.key", "is encrypted", "openssl pkey"]),
        ("own.pem", "short.key", &["key in short.key", "cannot be used", "2048"]),
        ("own.pem", "", &["--tls-key"]),
    ] {
        let both = ["--tls-certificate", certificate, "--tls-key", key];
        let given = if key.is_empty() { &both[..2] } else { &both };
        let serve = [&["serve", "--journal", "j.db", "--listen", "127.0.0.1:0"], given].concat();
        let beside = ["latency", "--testbed", "sim:teg-s16g", "--journal", "j.db"];
        let beside = [&beside[..], &["--serve=127.0.0.1:0"], given].concat();
        for args in [serve, beside] {
            let output = command(&scratch, &args).output().expect("switchmark starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
            assert!(words.iter().all(|word| said.contains(word)), "{args:?}: {said}");
        }
    }
    let alone = [&["latency", "--testbed", "sim:teg-s16g"], &PAIR[..]].concat();
    let socket = [&["serve", "--journal", "j.db", "--listen", "unix:socket"], &PAIR[..]].concat();
    for (args, words) in [(alone, ["--serve", "is missing"]), (socket, ["no TLS", "--listen"])] {
        let output = command(&scratch, &args).output().expect("switchmark starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{args:?}: {said}");
    }
}

#[test]
fn a_certificate_of_another_time_is_warned_of_and_used() {
    let scratch = Scratch::new("serve-tls-times");
    two_runs(&scratch);
    for (years, words) in [
        ([2001, 2002], Some("expired on 2002-01-01 00:00 UTC")),
        ([2098, 2100], Some("is valid from 2098-01-01 00:00 UTC on")),
        ([2001, 2100], None),
    ] {
        pair(&scratch, "own", years);
        let args = ["serve", "--journal", "j.db", "--listen", "127.0.0.1:0", "--json"];
        let mut child = command(&scratch, &[&args[..], &PAIR].concat()).spawn().expect("it starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut said = String::new();
        while !said.contains("Ctrl-C ends it\n") && stderr.read_line(&mut said).expect("read") > 0 {
        }
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).expect("it lives");
        stderr.read_to_string(&mut said).expect("read");
        assert_eq!(child.wait().expect("it ends").code(), Some(0), "{said}");
        assert!(said.contains("https://127.0.0.1:"), "{said}");
        assert_eq!(said.contains("warning"), words.is_some(), "{said}");
        assert!(words.is_none_or(|words| said.contains(words)), "{said}");
    }
}

#[test]
fn a_run_shows_itself_by_tls_too() {
    let scratch = Scratch::new("serve-tls-beside");
    pair(&scratch, "own", [2001, 2002]);
    let asked = ["forwarding", "--testbed", "sim:teg-s16g", "--search", "rfc2544", "--size"];
    let more = ["64,512,1518", "-t", "1s", "--blocks", "500", "--journal", "j.db"];
    let shown = [&more[..], &["--serve=127.0.0.1:0"], &PAIR].concat();
    let mut measuring = command(&scratch, &[&asked[..], &shown].concat());
    let mut child = measuring.stdout(Stdio::null()).spawn().expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut lines = stderr.lines().map_while(Result::ok);
    let first = lines.next().expect("a line");
    assert!(first.contains("expired on 2002-01-01"), "{first}");
    let line = lines.find(|line| line.contains("/live shows the run")).expect("where it is shown");
    let address = line.split("live shows").next().expect("an address").to_owned();
    let rest = std::thread::spawn(move || lines.count());
    // There may be no journal yet, but there is a style.
    let style = format!("{address}style.css");
    if let Some((said, code)) = curl(&scratch, &["--insecure", &style]) {
        assert!(code == 0 && said.contains("color"), "{code}: {said}");
    }
    let _ = child.kill();
    child.wait().expect("it ends");
    rest.join().expect("it ends");
}
