//! A copy of a journal on another machine, by the system's OpenSSH and the switchmark there.
//!
//! Owns the protocol: the journal's name on the far one's stdin, since no shell line is built from
//! it; back one line with the copy's size, then its octets. Reads only; never asks for a password,
//! and takes no more than [`LARGEST`]. Where the copy is kept is the caller's.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

use agents::controller::far_shell;
use agents::failed::Failed;
use agents::unfinished::{self, Kind};

use crate::config::ConfigError;
use crate::config::testbed::is_destination;

/// Largest journal that is copied, in octets.
pub const LARGEST: u64 = 4 << 30;
/// Command that is run there.
const LINE: &str = "switchmark runs --send";
/// First words of the far side.
const GREETING: &str = "switchmark-journal 1";
/// Maximum octets that a login script may print before them.
const MOST_BEFORE: u64 = 64 << 10;
/// Maximum octets of its stderr that are kept.
const MOST_SAID: u64 = 16 << 10;
/// Exit code of a shell that does not find the command.
const NOT_FOUND: i32 = 127;
/// Exit code of ssh if it did not get there.
const NOT_REACHED: i32 = 255;

/// Location of a journal: `ssh://[user@]host[:port][/path]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FarJournal {
    destination: String,
    /// Path there; `None` is that user's own journal.
    path: Option<String>,
}

impl fmt::Display for FarJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ssh://{}", self.destination)?;
        match self.path.as_deref() {
            None => Ok(()),
            Some(path) if path.starts_with('/') => f.write_str(path),
            Some(path) => write!(f, "/~/{path}"),
        }
    }
}

impl FarJournal {
    /// Parses a location; `None` if it is the name of a file on this machine.
    pub fn parse(text: &str) -> Option<Result<Self, ConfigError>> {
        let rest = text.strip_prefix("ssh://")?;
        let (destination, path) = match rest.split_once('/') {
            None | Some((_, "")) => (rest.trim_end_matches('/'), None),
            Some((destination, path)) => {
                let below_home = path.strip_prefix("~/").map(str::to_owned);
                (destination, Some(below_home.unwrap_or_else(|| format!("/{path}"))))
            }
        };
        let is_plain = path.as_deref().is_none_or(|path| !path.contains(char::is_control));
        if !is_destination(destination) || !is_plain {
            let message = format!("`{}` names no journal elsewhere", text.escape_default());
            let hint = "ssh://[USER@]HOST[:PORT]/PATH; /~/PATH begins in that user's home, and no \
                        path is that user's own journal";
            return Some(Err(ConfigError::bare(message, hint)));
        }
        Some(Ok(Self { destination: destination.to_owned(), path }))
    }

    /// Writes a copy into the file.
    pub fn copy(&self, into: &mut File) -> Result<(), Failed> {
        let done = self.copied(into);
        done.map_err(|why| {
            let hint = why.hint();
            let failed = Failed::because(format!("read {self}"), why);
            hint.into_iter().fold(failed, Failed::hinted)
        })
    }

    fn copied(&self, into: &mut File) -> Result<(), Failed> {
        let mut ssh = far_shell::ssh(&self.destination, LINE);
        ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // It asks nobody anything, and ends with this program even if its far end is silent.
        ssh.process_group(0);
        let mut child = ssh.spawn().map_err(Failed::to("start `ssh`"))?;
        let _under_way = unfinished::note(format!("`{self}`"), Kind::Program(child.id()));
        let mut name = child.stdin.take().expect("piped");
        // If it has ended already, its exit code says why.
        let _ = name.write_all(self.path.as_deref().unwrap_or_default().as_bytes());
        drop(name);
        let errors = child.stderr.take().expect("piped");
        let errors = thread::spawn(move || read_errors(errors));
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let taken = take(&mut out, into);
        drop(out);
        let end = ended(&mut child, taken.is_err());
        let errors = errors.join().unwrap_or_default();
        match (taken, end?) {
            (Ok(true), Some(0)) => Ok(()),
            (Err(why), Some(0) | None) => Err(why),
            (_, code) => Err(self.why(code, &errors)),
        }
    }

    /// Explains by the far side's exit code why there is no copy.
    fn why(&self, code: Option<i32>, errors: &str) -> Failed {
        let last = errors.trim().lines().last().unwrap_or_default();
        let version = env!("CARGO_PKG_VERSION");
        let by_hand = format!("ssh ssh://{} switchmark --version", self.destination);
        match code {
            Some(NOT_REACHED) => Failed::new(format!("log in there: {last}")).hinted(format!(
                "`ssh ssh://{} true` has to work without a question",
                self.destination
            )),
            Some(NOT_FOUND) => {
                Failed::new(format!("run switchmark there: {last}")).hinted(format!(
                    "install it where that user's commands are looked for; `{by_hand}` has to work"
                ))
            }
            _ if errors.contains("--send") => {
                let words = "the switchmark there is another version, which sends no journal";
                Failed::new(words).hinted(format!(
                    "install version {version} there; `{by_hand}` says which it is"
                ))
            }
            _ => self.its_own_words(errors),
        }
    }

    /// Returns the error that it reported, with its hint.
    fn its_own_words(&self, errors: &str) -> Failed {
        let told = |what: &str| errors.lines().find_map(|line| line.trim().strip_prefix(what));
        let causes = errors.lines().skip_while(|line| !line.trim().starts_with("error: ")).skip(1);
        let causes: Vec<&str> =
            causes.take_while(|line| line.starts_with("  ")).map(str::trim).collect();
        let words = told("error: ").unwrap_or("it ended without a copy");
        let words = [&[words], &causes[..]].concat().join(": ");
        let failed = Failed::new(format!("on {}: {words}", self.destination));
        told("hint: ").into_iter().fold(failed, Failed::hinted)
    }
}

/// Refuses the name of a journal elsewhere, which can only be read.
pub fn refuse_elsewhere(named: &Path) -> Result<(), ConfigError> {
    match named.to_str().and_then(FarJournal::parse) {
        None => Ok(()),
        Some(_) => Err(ConfigError::bare(
            format!("{}: a journal elsewhere can only be read", named.display()),
            "`runs`, `report`, `compare`, `trend` and `export` read one; name a file here",
        )),
    }
}

/// Sends a copy in a file, as [`FarJournal::copy`] reads it.
pub fn send(copy: &mut File, to: &mut impl Write) -> io::Result<()> {
    let size = copy.metadata()?.len();
    writeln!(to, "{GREETING} {size}")?;
    io::copy(copy, to)?;
    to.flush()
}

/// Copies what comes; false if nothing came, an error if it broke off or is too large.
fn take(from: &mut impl io::BufRead, into: &mut impl Write) -> Result<bool, Failed> {
    let mut before = from.by_ref().take(MOST_BEFORE);
    let size = loop {
        let mut line = Vec::new();
        let octets = before.read_until(b'\n', &mut line).map_err(Failed::to("read its answer"))?;
        if octets == 0 {
            return Ok(false);
        }
        let line = String::from_utf8_lossy(&line);
        if let Some(size) = line.trim_end().strip_prefix(GREETING) {
            break size.trim().parse::<u64>().map_err(Failed::to("read the size of its copy"))?;
        }
    };
    if size > LARGEST {
        let words = format!("it has {} GiB, and {} at most are copied", size >> 30, LARGEST >> 30);
        return Err(
            Failed::new(words).hinted("look at it there, or merge the runs wanted: runs merge")
        );
    }
    let copied = io::copy(&mut from.take(size), into).map_err(Failed::to("keep a copy of it"))?;
    if copied < size {
        let words = format!("the connection broke off after {copied} of {size} octets");
        return Err(Failed::new(words).hinted("ask again"));
    }
    Ok(true)
}

/// Returns its exit code; `None` if it was ended here.
fn ended(child: &mut Child, is_unwanted: bool) -> Result<Option<i32>, Failed> {
    if is_unwanted {
        // Its remaining output would wait for its reader.
        let _ = child.kill();
    }
    let status = child.wait().map_err(Failed::to("wait for `ssh`"))?;
    Ok(status.code())
}

fn read_errors(mut errors: impl Read) -> String {
    let mut kept = Vec::new();
    let _ = errors.by_ref().take(MOST_SAID).read_to_end(&mut kept);
    // Read to its end, so that it never waits for its reader.
    let _ = io::copy(&mut errors, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_journal_lies() {
        let place = |text: &str| {
            FarJournal::parse(text).map(|far| far.ok().map(|far| (far.destination, far.path)))
        };
        let at =
            |host: &str, path: Option<&str>| Some(Some((host.to_owned(), path.map(str::to_owned))));
        for (text, expect) in [
            ("journal.db", None),
            ("./ssh:/x", None),
            ("ssh://a", at("a", None)),
            ("ssh://a/", at("a", None)),
            ("ssh://u@a:2222/x y.db", at("u@a:2222", Some("/x y.db"))),
            ("ssh://a/~/it's.db", at("a", Some("it's.db"))),
            ("ssh:///x.db", Some(None)),
            ("ssh://-oProxyCommand=x/y", Some(None)),
            ("ssh://a b/y", Some(None)),
            ("ssh://a/y\nz", Some(None)),
        ] {
            assert_eq!(place(text), expect, "{text:?}");
        }
        for text in ["ssh://a", "ssh://u@a:22/x.db", "ssh://a/~/x.db"] {
            let parsed = FarJournal::parse(text).expect("elsewhere").expect("a journal");
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn a_copy_is_whole_or_none() {
        let check = |sent: &str, expect: Result<&str, &str>| {
            let mut kept = Vec::new();
            let taken = take(&mut sent.as_bytes(), &mut kept);
            let taken = taken.map_err(|why| why.to_string());
            match expect {
                Ok("") => assert_eq!(taken, Ok(false), "{sent:?}"),
                Ok(octets) => {
                    assert_eq!((taken, &*kept), (Ok(true), octets.as_bytes()), "{sent:?}");
                }
                Err(words) => {
                    let why = taken.expect_err("refused");
                    assert!(why.contains(words), "{sent:?}: {why}");
                }
            }
        };
        check("", Ok(""));
        check("Welcome!\n", Ok(""));
        check("switchmark-journal 1 3\nabc", Ok("abc"));
        check("Welcome!\nswitchmark-journal 1 3\nabcd", Ok("abc"));
        check("switchmark-journal 1 4\nabc", Err("after 3 of 4 octets"));
        check("switchmark-journal 1 x\nabc", Err("size of its copy"));
        check("switchmark-journal 1 99999999999\n", Err("93 GiB"));
    }

    #[test]
    fn every_end_has_its_remedy() {
        let far = FarJournal::parse("ssh://a/x.db").expect("elsewhere").expect("a journal");
        let clap = "error: unexpected argument '--send' found\n\nUsage: switchmark runs";
        let own = "error: open store /x.db: no such file\n  unable to open\nhint: name another";
        for (code, errors, words, hint) in [
            (
                255,
                "ssh: connect to host a: refused",
                "log in there: ssh: connect",
                "ssh ssh://a true",
            ),
            (127, "sh: switchmark: not found", "run switchmark there", "install it"),
            (2, clap, "another version", "--version"),
            (2, own, "on a: open store /x.db: no such file: unable to open", "name another"),
            (1, "", "without a copy", ""),
        ] {
            let why = far.why(Some(code), errors);
            assert!(why.to_string().contains(words), "{code}: {why}");
            assert!(why.hint().unwrap_or_default().contains(hint), "{code}: {:?}", why.hint());
        }
    }
}
