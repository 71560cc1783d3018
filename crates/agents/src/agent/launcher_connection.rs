//! Ports by which this agent's launcher reaches this host, whether that is ssh, srun, mpirun or a
//! container's manager.
//!
//! Only reads. Owns what tells of such a connection: ssh's own words, Slurm's environment, and the
//! sockets of the processes that started this agent. Never decides what a port may be used for.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::process::parent_id;

use netlink::Netlink;

/// Variables in which srun names addresses of the machine that it runs on (srun(1), "output
/// environment variables").
const SLURM: [&str; 2] = ["SLURM_SRUN_COMM_HOST", "SLURM_LAUNCH_NODE_IPADDR"];
/// The kernel's tables of TCP sockets, in this network namespace.
const SOCKETS: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
/// State of an open connection in them (`TCP_ESTABLISHED`, `include/net/tcp_states.h`).
const ESTABLISHED: &str = "01";
/// Maximum processes between the agent and the first of its host.
const MOST_ANCESTORS: usize = 16;
const UDP: u8 = 17;

/// Ends of the launcher's connections to this host; both empty if nothing tells of any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LauncherConnection {
    /// Addresses of this host to which launchers are connected.
    own: BTreeSet<IpAddr>,
    /// Addresses of machines on which launchers run.
    far: BTreeSet<IpAddr>,
}

impl LauncherConnection {
    /// Gathers what tells of the connection. `ssh` is ssh's description of it (ssh(1),
    /// `SSH_CONNECTION`); `variable` looks up this agent's environment.
    pub fn gather(ssh: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Self {
        // `client-address client-port own-address own-port`
        let by_ssh = ssh.and_then(|text| text.split(' ').nth(2)?.split('%').next()?.parse().ok());
        let far = SLURM.iter().filter_map(|name| variable(name)?.parse::<IpAddr>().ok());
        Self {
            own: by_ssh.into_iter().chain(sockets_of_ancestors()).filter(is_elsewhere).collect(),
            far: far.filter(is_elsewhere).collect(),
        }
    }

    /// True if the interface of this number, with these addresses, carries such a connection.
    pub fn is_by(&self, kernel: &mut Netlink, interface: u32, addresses: &[IpAddr]) -> bool {
        let mut route = |far: &IpAddr| kernel.route_to(*far, None, 0, 0, UDP).ok();
        addresses.iter().any(|address| self.own.contains(address))
            || self.far.iter().any(|far| route(far).is_some_and(|route| route.index == interface))
    }
}

fn is_elsewhere(address: &IpAddr) -> bool {
    !address.is_loopback() && !address.is_unspecified()
}

/// Own addresses of the open TCP connections that this agent's ancestors have: sshd, orted, srun's
/// step. Those of other users' processes cannot be seen.
fn sockets_of_ancestors() -> BTreeSet<IpAddr> {
    let inodes: BTreeSet<u64> = ancestors().into_iter().flat_map(sockets_of).collect();
    let tables = SOCKETS.iter().filter_map(|table| fs::read_to_string(table).ok());
    let sockets: Vec<Socket> = tables.flat_map(|table| established(&table)).collect();
    let of_ancestors = sockets.into_iter().filter(|socket| inodes.contains(&socket.inode));
    of_ancestors.map(|socket| socket.own).collect()
}

/// Process ids from the parent upwards, without the first process of all, which starts everything.
fn ancestors() -> Vec<u32> {
    let parent = |pid: &u32| parent_of(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
    let all = std::iter::successors(Some(parent_id()), parent);
    all.take_while(|pid| *pid > 1).take(MOST_ANCESTORS).collect()
}

/// Parses the parent's id of `/proc/PID/stat`; the program's name before it may hold anything.
fn parent_of(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Inodes of a process's sockets.
fn sockets_of(pid: u32) -> Vec<u64> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let inode = |file: fs::DirEntry| {
        let target = fs::read_link(file.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    files.filter_map(inode).collect()
}

/// An open connection in the kernel's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Socket {
    inode: u64,
    own: IpAddr,
}

/// Parses the open connections of a table; lines of another form are left out.
fn established(table: &str) -> Vec<Socket> {
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, own, _, ESTABLISHED, _, _, _, _, _, inode, ..] = words[..] else { return None };
        let (own, _) = own.split_once(':')?;
        Some(Socket { inode: inode.parse().ok()?, own: address(own)? })
    };
    table.lines().filter_map(socket).collect()
}

/// Parses an address in 8 or 32 hex digits: words of 32 bits in this machine's order. An IPv4
/// address within IPv6 is an IPv4 address.
fn address(text: &str) -> Option<IpAddr> {
    let word =
        |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let octets: [u8; 16] = words.as_flattened().try_into().ok()?;
            Some(IpAddr::V6(Ipv6Addr::from(octets)).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn gather(ssh: Option<&str>, variables: &[(&str, &str)]) -> LauncherConnection {
        LauncherConnection::gather(ssh, |name| {
            let of = variables.iter().find(|(variable, _)| *variable == name);
            of.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn launchers_say_where_they_are() {
        let none = gather(None, &[]);
        let check = |ssh, variables: &[(&str, &str)], own: &[&str], far: &[&str]| {
            let told = gather(ssh, variables);
            let parse = |all: &[&str]| -> BTreeSet<IpAddr> {
                all.iter().map(|one| one.parse().expect("an address")).collect()
            };
            let expected: BTreeSet<IpAddr> = none.own.iter().copied().chain(parse(own)).collect();
            assert_eq!(told.own, expected, "{ssh:?} {variables:?}");
            assert_eq!(told.far, parse(far), "{ssh:?} {variables:?}");
        };
        check(Some("192.0.2.9 50000 192.0.2.7 22"), &[], &["192.0.2.7"], &[]);
        check(Some("2001:db8::9 50000 2001:db8::7 22"), &[], &["2001:db8::7"], &[]);
        check(Some("fe80::9%eth0 50000 fe80::7%eth0 22"), &[], &["fe80::7"], &[]);
        check(Some(""), &[], &[], &[]);
        check(None, &[("SLURM_SRUN_COMM_HOST", "198.18.40.1")], &[], &["198.18.40.1"]);
        check(None, &[("SLURM_LAUNCH_NODE_IPADDR", "198.18.40.1")], &[], &["198.18.40.1"]);
        check(None, &[("SLURM_SRUN_COMM_HOST", "login"), ("SLURM_JOBID", "7")], &[], &[]);
        check(None, &[("SLURM_SRUN_COMM_HOST", "127.0.0.1")], &[], &[]);
    }

    #[test]
    fn the_kernels_tables_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
                     uid  timeout inode\n   0: 0100007F:0016 00000000:0000 0A 00000000:00000000 \
                     00:00000000 00000000     0        0 4711 1 0000 100 0 0 10 0\n   1: \
                     0100007F:0016 0200007F:C350 01 00000000:00000000 00:00000000 00000000     0 \
                     0 4712 1 0000 100 0 0 10 0\n   2: nothing\n";
        // As a machine whose least octet is first writes it.
        if cfg!(target_endian = "little") {
            let own = IpAddr::from([127, 0, 0, 1]);
            assert_eq!(established(table), [Socket { inode: 4712, own }]);
            assert_eq!(address("0000000000000000FFFF00000100007F"), Some(own));
            let six = address("B80D0120000000000000000001000000");
            assert_eq!(six, "2001:db8::1".parse().ok());
        }
        assert_eq!(address("01"), None);
        assert_eq!(address("0100007é"), None);
        assert_eq!(parent_of("17 (a) b) S 42 17 17 0"), Some(42));
        assert_eq!(parent_of("17"), None);
    }

    #[test]
    fn own_connections_are_in_the_table() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let _stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let inodes = sockets_of(std::process::id());
        let table = fs::read_to_string(SOCKETS[0]).expect("a table");
        let own = established(&table).into_iter().find(|socket| inodes.contains(&socket.inode));
        assert_eq!(own.map(|socket| socket.own), Some([127, 0, 0, 1].into()));
        assert!(!ancestors().contains(&1));
    }
}
