//! Host files: those of Open MPI (`node1 slots=4`) and MPICH (`node1:4`), and plain lists.
//!
//! Pure. Owns their lines. Never opens a file, and never uses how many processes a host would get:
//! one agent runs on each.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use toml::Spanned;

use super::host_list::{self, HostList, HostWord};
use super::hosts_name::{self, HostAndPort};
use super::source::{ConfigError, Fault, SourceText};
use super::testbed;

/// Keys behind a host that say how many processes it gets (Open MPI's and MPICH's manuals).
const SLOT_KEYS: [&str; 5] = ["slots", "max_slots", "max-slots", "cpu", "count"];

/// Host of a list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListedHost {
    /// Transport, as a testbed file's `reach`.
    pub reach: String,
    /// Interface; `None` if its line names none.
    pub port: Option<String>,
}

/// Hosts of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostFile {
    /// Hosts in the file's order.
    pub hosts: Vec<ListedHost>,
    /// Names of hosts that an MPI file repeats for more slots; each is among the hosts once.
    pub repeated: Vec<String>,
}

/// Line of a host.
struct Line {
    number: usize,
    has_slots: bool,
}

/// Parses a host file. Fails for a host that a plain list has twice, for words that are not
/// understood, and beyond [`host_list::MOST`] hosts.
pub fn parse(source: &SourceText) -> Result<HostFile, ConfigError> {
    read(&source.text).map_err(|fault| source.locate(fault))
}

fn read(text: &str) -> Result<HostFile, Fault> {
    let mut file = HostFile::default();
    let mut lines: HashMap<ListedHost, Line> = HashMap::new();
    let mut start = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let words = words(text, start..start + line.len());
        start += line.len();
        let Some((first, rest)) = words.split_first() else { continue };
        let has_slots = has_slots(text, rest)?;
        for word in HostList::parse(text, first.clone())?.words {
            let place = word.span.clone();
            let (host, is_counted) = read_host(word)?;
            let line = Line { number, has_slots: has_slots || is_counted };
            match lines.entry(host.clone()) {
                Entry::Vacant(free) => {
                    free.insert(line);
                    file.hosts.push(host);
                }
                Entry::Occupied(taken) if line.has_slots || taken.get().has_slots => {
                    let name = name_of(&host);
                    if !file.repeated.contains(&name) {
                        file.repeated.push(name);
                    }
                }
                Entry::Occupied(taken) => return Err(twice(place, &host, taken.get(), &line)),
            }
            if file.hosts.len() > host_list::MOST {
                let message = format!("the file has more than {} hosts", host_list::MOST);
                let hint = "take hosts out, or write a testbed file, which takes 4096";
                return Err(Fault::new(first.clone(), message, hint));
            }
        }
    }
    if file.hosts.is_empty() {
        let hint = "write a host a line: node1, root@a, srun:node[001-016]";
        return Err(Fault::new(0..0, "the file names no host", hint));
    }
    Ok(file)
}

/// Places of a line's words, without its comment.
fn words(text: &str, line: Range<usize>) -> Vec<Range<usize>> {
    let end = text[line.clone()].find('#').map_or(line.end, |at| line.start + at);
    let mut all = Vec::new();
    let mut at = line.start;
    for word in text[line.start..end].split(char::is_whitespace) {
        if !word.is_empty() {
            all.push(at..at + word.len());
        }
        // A blank may have more octets than one.
        let blank = text[at + word.len()..].chars().next().map_or(0, char::len_utf8);
        at += word.len() + blank;
    }
    all
}

/// Checks the words behind a host; true if one says how many processes it gets.
fn has_slots(text: &str, words: &[Range<usize>]) -> Result<bool, Fault> {
    for word in words {
        let written = &text[word.clone()];
        let count =
            |(key, value): (&str, &str)| SLOT_KEYS.contains(&key) && value.parse::<u32>().is_ok();
        if !written.split_once('=').is_some_and(count) {
            let message = format!("`{written}` behind a host is not understood");
            let hint = "write a host a line; behind it may be slots=4 or max_slots=4";
            return Err(Fault::new(word.clone(), message, hint));
        }
    }
    Ok(!words.is_empty())
}

/// Returns a word's host, and true if the word says how many processes it gets: `node1:4`.
fn read_host(word: HostWord) -> Result<(ListedHost, bool), Fault> {
    let HostAndPort { host, port } = HostAndPort::split(&word.text);
    let is_count = port.is_some_and(|port| port.bytes().all(|octet| octet.is_ascii_digit()));
    let port = port.filter(|_| !is_count).map(str::to_owned);
    let reach = hosts_name::reach(host);
    testbed::reach_of(&Spanned::new(word.span.clone(), reach.clone()))?;
    match &port {
        Some(port) if !testbed::is_interface(port) => {
            let message = format!("`{port}` cannot be an interface");
            Err(Fault::new(word.span, message, "write HOST or HOST:PORT, such as node1:eth1"))
        }
        _ => Ok((ListedHost { reach, port }, is_count)),
    }
}

fn name_of(host: &ListedHost) -> String {
    hosts_name::host_name(&host.reach, &[])
}

fn twice(place: Range<usize>, host: &ListedHost, first: &Line, again: &Line) -> Fault {
    let name = name_of(host);
    let message = if first.number == again.number {
        format!("`{name}` is named twice on line {}", again.number)
    } else {
        format!("`{name}` is named on lines {} and {}", first.number, again.number)
    };
    let hint =
        "name it once; of a file with a line for each slot, `sort -u FILE` makes a list of hosts";
    Fault::new(place, message, hint)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Hosts of a file, each as `reach` or `reach port`.
    fn hosts(text: &str) -> Vec<String> {
        let told = |host: ListedHost| match host.port {
            Some(port) => format!("{} {port}", host.reach),
            None => host.reach,
        };
        read(text).expect(text).hosts.into_iter().map(told).collect()
    }

    #[test]
    fn files_of_mpi_and_plain_lists() {
        let check = |text: &str, expected: &[&str]| assert_eq!(hosts(text), expected, "{text}");
        check("a\nb\n", &["ssh://a", "ssh://b"]);
        check("a slots=4 max_slots=8\r\nb max-slots=2\r\n", &["ssh://a", "ssh://b"]);
        check("a:4\nb:4", &["ssh://a", "ssh://b"]);
        check("# rack 7\n\n  a  # old\n\tb\n#c\n", &["ssh://a", "ssh://b"]);
        check("node[01-02] slots=2\nlogin", &["ssh://node01", "ssh://node02", "ssh://login"]);
        check("n[1-2]:8,m", &["ssh://n1", "ssh://n2", "ssh://m"]);
        check("srun:n[1-2]\nroot@a:eth1", &["srun:n1", "srun:n2", "ssh://root@a eth1"]);
        check("a:eth1\na:eth2", &["ssh://a eth1", "ssh://a eth2"]);
        check("ssh://root@[2001:db8::1]:22", &["ssh://root@[2001:db8::1]:22"]);
    }

    #[test]
    fn a_host_with_slots_may_be_repeated() {
        let check = |text: &str, repeated: &[&str]| {
            let file = read(text).expect(text);
            assert_eq!(file.repeated, repeated, "{text}");
            assert_eq!(file.hosts.len(), 2, "{text}");
        };
        check("a slots=2\nb slots=2\na slots=4\na", &["a"]);
        check("a:2\nb\na:2", &["a"]);
        check("a\nb\na slots=1", &["a"]);
        check("n[1-2]:2\nn[1-2]:2", &["n1", "n2"]);
    }

    #[test]
    fn a_fault_names_its_line() {
        let check = |text: &str, place: &str, message: &str| {
            let error = read(text).expect_err(text);
            assert_eq!(&text[error.span.clone()], place, "{text}: {error:?}");
            assert!(error.message.contains(message), "{text}: {error:?}");
            assert!(!error.hint.is_empty());
        };
        check("a\nb\n\na\n", "a", "`a` is named on lines 1 and 4");
        check("n[1-3]\nm\nssh://n2", "ssh://n2", "`n2` is named on lines 1 and 3");
        check("n[1,1]", "n[1,1]", "`n1` is named twice on line 1");
        check("a\nb 4", "4", "`4` behind a host is not understood");
        check("rank 0=a slot=1", "0=a", "not understood");
        check("a slots=many", "slots=many", "not understood");
        check("a\nn[3-1]", "3-1", "ends before it begins");
        check("a\n-oProxyCommand=x", "-oProxyCommand=x", "names no host for ssh");
        check("n[1-1024]\nm", "m", "more than 1024 hosts");
        check("", "", "names no host");
        check("# none\n", "", "names no host");
        let error = parse(&SourceText::file("list", "a\nb\nb\n")).expect_err("twice");
        assert!(error.place.ends_with("list:3:1"), "{}", error.place);
    }

    proptest! {
        #[test]
        fn any_text_has_hosts_or_a_fault(text in "[ab1\\[\\],:=#@/ \\-\\n\u{a0}é]{0,40}") {
            match read(&text) {
                Ok(file) => prop_assert!(file.hosts.len() <= host_list::MOST),
                Err(fault) => prop_assert!(text.get(fault.span.clone()).is_some()),
            }
        }
    }
}
