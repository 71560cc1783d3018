//! Hosts that a list names, of `--hostfile FILE[:PORT]` or of a Slurm allocation by
//! `--slurm[=PORT]`.
//!
//! Owns where such a list is read, and the testbed's name that it stands for. Never reaches a host.

use std::path::Path;

use super::host_file::{self, HostFile, ListedHost};
use super::host_list::HostList;
use super::hosts_name::PREFIX;
use super::source::{ConfigError, Fault, SourceText};
use super::testbed::is_interface;

/// Variables in which Slurm names the nodes of an allocation; the second is that of old versions.
const NODE_LISTS: [&str; 2] = ["SLURM_JOB_NODELIST", "SLURM_NODELIST"];
/// Rule for the names of ports.
const INTERFACE: &str =
    "a port is an interface's name, such as eth1: 1 to 15 octets, no slash, colon or blank";

/// Hosts of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedHosts {
    /// Flag that names the list.
    pub flag: &'static str,
    /// Hosts in the list's order.
    pub hosts: Vec<ListedHost>,
    /// Notes on the list for the user.
    pub notes: Vec<String>,
}

impl ListedHosts {
    /// Reads the hosts of `FILE[:PORT]`. The port is that of the lines that name none.
    pub fn from_file(text: &str) -> Result<Self, ConfigError> {
        let port = text.rsplit_once(':').filter(|(_, port)| is_interface(port));
        let (path, port) = port.map_or((text, None), |(path, port)| (path, Some(port)));
        let source = SourceText::read(Path::new(path))?;
        let HostFile { mut hosts, repeated } = host_file::parse(&source)?;
        for host in &mut hosts {
            host.port = host.port.take().or_else(|| port.map(str::to_owned));
        }
        let note = || {
            let names = HostList::from_names(repeated.clone());
            format!("{path}: takes {names} once: the file repeats it for more slots")
        };
        let notes = if repeated.is_empty() { Vec::new() } else { vec![note()] };
        Self { flag: "--hostfile", hosts, notes }.checked()
    }

    /// Reads the nodes of the allocation in which this program runs; `variable` looks up the
    /// environment. An empty `port` is none.
    pub fn from_slurm(
        port: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        const FLAG: &str = "--slurm";
        if !port.is_empty() && !is_interface(port) {
            let fault = Fault::new(0..port.len(), format!("`{port}` cannot be a port"), INTERFACE);
            return Err(SourceText::argument(FLAG, port).locate(fault));
        }
        let named = NODE_LISTS.iter().find_map(|name| {
            let list = variable(name).filter(|list| !list.is_empty())?;
            Some(SourceText::argument(*name, list))
        });
        let Some(source) = named else {
            let message =
                format!("{FLAG}: no Slurm allocation here: SLURM_JOB_NODELIST is not set");
            let hint = "get one: `salloc -N6 switchmark fabric --slurm`";
            return Err(ConfigError::bare(message, hint));
        };
        let list = HostList::parse(&source.text, 0..source.text.len());
        let list = list.map_err(|fault| source.locate(fault))?;
        let port = Some(port.to_owned()).filter(|port| !port.is_empty());
        let host = |node: &str| ListedHost { reach: format!("srun:{node}"), port: port.clone() };
        let hosts = list.words.iter().map(|word| host(&word.text)).collect();
        Self { flag: FLAG, hosts, notes: Vec::new() }.checked()
    }

    fn checked(self) -> Result<Self, ConfigError> {
        if self.hosts.len() > 1 {
            return Ok(self);
        }
        let message = format!("{}: a testbed needs at least two hosts, here is one", self.flag);
        let hint = match self.flag {
            "--slurm" => "allocate more nodes: `salloc -N6 switchmark fabric --slurm`",
            _ => "add a host to the file",
        };
        Err(ConfigError::bare(message, hint))
    }

    /// True if no host has a port, so that hosts must be looked at to find them.
    pub fn lack_ports(&self) -> bool {
        self.hosts.iter().all(|host| host.port.is_none())
    }

    /// Returns the name of the testbed that these hosts and ports are: `hosts:srun:n[1-4]:eth1`.
    /// Fails if a host has no port.
    pub fn testbed_name(&self) -> Result<String, ConfigError> {
        let word = |ListedHost { reach, port }: &ListedHost| {
            let named = port.as_ref().map(|port| format!("{reach}:{port}"));
            named.ok_or_else(|| {
                let message = format!("{}: no port is named for `{reach}`", self.flag);
                let hint = format!("write {} FILE:PORT, or HOST:PORT in its line", self.flag);
                ConfigError::bare(message, hint)
            })
        };
        let words = self.hosts.iter().map(word).collect::<Result<Vec<_>, _>>()?;
        Ok(format!("{PREFIX}{}", HostList::from_names(words)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::testbed;

    fn from_slurm(port: &str, variables: &[(&str, &str)]) -> Result<ListedHosts, ConfigError> {
        ListedHosts::from_slurm(port, |name| {
            let of = variables.iter().find(|(variable, _)| *variable == name);
            of.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nodes_of_an_allocation() {
        let check = |port: &str, name: &str, list: &str, expected: Result<&str, &str>| {
            let listed = from_slurm(port, &[(name, list)]).expect(list);
            let named = listed.testbed_name();
            assert_eq!(listed.lack_ports(), port.is_empty(), "{list}");
            match expected {
                Ok(expected) => {
                    let named = named.expect(list);
                    assert_eq!(named, expected);
                    assert!(testbed::from_argument("--slurm", &named).is_ok(), "{named}");
                }
                Err(expected) => assert!(named.expect_err(list).message.contains(expected)),
            }
        };
        let now = "SLURM_JOB_NODELIST";
        check("eth1", now, "node[001-003]", Ok("hosts:srun:node[001-003]:eth1"));
        check("ib0", now, "a,n[1-2,4]", Ok("hosts:srun:a:ib0,srun:n[1-2,4]:ib0"));
        check("eth1", "SLURM_NODELIST", "n[1-2]", Ok("hosts:srun:n[1-2]:eth1"));
        check("", now, "n[1-2]", Err("no port is named for `srun:n1`"));
    }

    #[test]
    fn what_is_no_allocation_is_refused() {
        let check = |port: &str, variables: &[(&str, &str)], message: &str, hint: &str| {
            let error = from_slurm(port, variables).expect_err(message);
            assert!(error.message.contains(message), "{error:?}");
            assert!(error.hint.contains(hint), "{error:?}");
        };
        let now = "SLURM_JOB_NODELIST";
        check("eth1", &[], "no Slurm allocation here", "salloc -N6 switchmark fabric --slurm");
        check("", &[(now, "")], "no Slurm allocation here", "salloc");
        check("", &[(now, "n1")], "at least two hosts", "salloc");
        check("", &[(now, "n[1-")], "never closed", "`]`");
        check("", &[(now, "n[1-2000]")], "2000 names", "at most 1024");
        check("a/b", &[(now, "n[1-2]")], "cannot be a port", "interface");
    }

    #[test]
    fn hosts_of_a_file_with_their_port() {
        let folder = std::env::temp_dir().join(format!("switchmark-list-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("hosts.txt");
        let file = path.to_str().expect("a plain path");
        let named = |text: &str, argument: &str| {
            fs::write(&path, text).expect("writes");
            let listed = ListedHosts::from_file(argument)?;
            Ok::<_, ConfigError>((listed.testbed_name(), listed))
        };
        let with_port = format!("{file}:eth1");
        let (name, listed) =
            named("n[1-3] slots=4\nn2 slots=4\nm:ib0\n", &with_port).expect("hosts");
        assert_eq!(name.as_deref(), Ok("hosts:ssh://n[1-3]:eth1,ssh://m:ib0"));
        assert!(listed.notes[0].contains("takes n2 once"), "{listed:?}");
        assert!(!listed.lack_ports());
        let (name, listed) = named("a\nb\n", file).expect("hosts");
        assert!(listed.lack_ports() && listed.notes.is_empty());
        assert!(name.expect_err("no port").hint.contains("FILE:PORT"));
        let error = named("a\n", &with_port).expect_err("one host");
        assert!(error.message.contains("at least two hosts"), "{error:?}");
        let error = named("a\na\n", &with_port).expect_err("twice");
        assert!(error.message.contains("lines 1 and 2"), "{error:?}");
        let missing = ListedHosts::from_file("no-such-file:eth1").expect_err("no file");
        assert!(missing.message.contains("read no-such-file"), "{missing:?}");
        fs::remove_dir_all(&folder).expect("removed");
    }
}
