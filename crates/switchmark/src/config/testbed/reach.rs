//! Means of reaching a host, as a file or an argument states them.
//!
//! Pure. Owns the list of them, and what may be put before an agent's command. Never asks whether a
//! host is there.

use dataplane::iperf3;
use trial::topology::NOTHING;

use super::HostFile;
use crate::config::container::{Container, is_plain};
use crate::config::resolved::Reach;
use crate::config::source::Fault;
use crate::config::typed::Text;

const REACHES: &str = "a host is reached by `local`, `netns:NAME`, `pid:N`, `ssh://[USER@]HOST[:PORT]`, `srun:NODE`, \
     `mpirun:NODE`, `docker:NAME`, `podman:NAME` or `kubectl:[NAMESPACE/]POD`; one that runs an iperf3 server only by `iperf3://NAME[:PORT]`, \
     and one that runs nothing is `none`";

/// Parses how a host is reached.
pub fn reach_of(text: &Text) -> Result<Reach, Fault> {
    let fault = |message: String| Fault::new(text.span(), message, REACHES);
    match text.get_ref().split_once(':').unwrap_or((text.get_ref(), "")) {
        ("local", "") => Ok(Reach::Local),
        ("netns", name) if !name.is_empty() && !name.contains('/') => {
            Ok(Reach::Netns(name.to_owned()))
        }
        ("pid", number) => match number.parse() {
            Ok(pid) if pid > 0 => Ok(Reach::Pid(pid)),
            _ => Err(fault(format!("`{number}` is not a process id"))),
        },
        ("srun", node) if is_plain(node) => Ok(Reach::Srun(node.to_owned())),
        ("mpirun", node) if is_plain(node) => Ok(Reach::Mpirun(node.to_owned())),
        ("ssh", address) => match address.strip_prefix("//").filter(|it| is_destination(it)) {
            Some(destination) => Ok(Reach::Ssh(destination.to_owned())),
            None => Err(fault(format!("`{}` names no host for ssh", text.get_ref()))),
        },
        ("iperf3", server) => match self::server(server) {
            Some((server, port)) => Ok(Reach::Iperf3 { server, port }),
            None => Err(fault(format!("`{}` names no iperf3 server", text.get_ref()))),
        },
        (NOTHING, "") => Ok(Reach::Nothing),
        (keeper, place) if let Some(container) = Container::read(keeper, place) => {
            container.map(Reach::Container).map_err(fault)
        }
        _ => Err(fault(format!("unknown way to reach a host, `{}`", text.get_ref()))),
    }
}

/// `[user@]host[:port]` of letters that mean nothing to a shell, and nothing that ssh would take
/// for an option.
pub fn is_destination(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-@:%[]".contains(c);
    // ssh reads `%` before its commands do; it is wanted in an address with a zone only:
    // [fe80::1%eth0].
    let bracketed = text.split_once('[').is_some_and(|(before, rest)| {
        !before.contains('%') && rest.split_once(']').is_some_and(|(_, after)| !after.contains('%'))
    });
    if text.contains('%') && !bracketed {
        return false;
    }
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    !text.starts_with('-')
        && text.chars().all(plain)
        && host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
}

/// Parses `//NAME[:PORT]`, with an IPv6 address in brackets.
pub(super) fn server(text: &str) -> Option<(String, u16)> {
    let place = text.strip_prefix("//")?;
    let (server, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, "")) => (address, None),
        Some((address, rest)) => (address, Some(rest.strip_prefix(':')?)),
        None => match place.split_once(':') {
            Some((server, port)) => (server, Some(port)),
            None => (place, None),
        },
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-:".contains(c);
    let port = port.map_or(Some(iperf3::PORT), |port| port.parse().ok().filter(|it| *it > 0))?;
    (!server.is_empty() && server.chars().all(plain)).then(|| (server.to_owned(), port))
}

/// Returns the words before an agent's own command, if it is started by ssh or here.
pub(super) fn become_of(host: &HostFile, text: &Text) -> Result<(String, String), Fault> {
    let fault = |message: String, hint: &str| Fault::new(text.span(), message, hint);
    let plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "_./=-".contains(c));
    let words: Vec<&str> = text.get_ref().split_whitespace().collect();
    if words.is_empty() || !words.iter().all(|word| plain(word)) || words[0].starts_with('-') {
        let message = format!("`{}` is no command that becomes root", text.get_ref());
        return Err(fault(message, "write it as `sudo -n`: plain words, and no question asked"));
    }
    if !matches!(reach_of(&host.reach)?, Reach::Local | Reach::Ssh(_)) {
        let message = format!("nothing is put before an agent at `{}`", host.reach.get_ref());
        return Err(fault(message, "remove it: only `local` and `ssh://` hosts need it"));
    }
    Ok((host.name.get_ref().clone(), words.join(" ")))
}
