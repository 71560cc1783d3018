//! Hosts on the far side of a real sshd: two named namespaces with throw-away keys, reached from a third.
//!
//! Needs root, iproute2 and Debian's openssh-server. No address outside the namespaces made here, no
//! file of the user's: ssh is told a configuration of its own by a program of that name on the path.

#![allow(missing_docs, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "it faces the kernel")]

mod harness;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use harness::{Scratch, alone, find, switchmark};

const HOSTS: [&str; 2] = ["h1", "h2"];

/// A console and two hosts: each host has a cable to the console, and one to the other host.
struct Rack {
    scratch: Scratch,
    servers: Vec<Child>,
}

/// `smt-PID-h1`
fn space(name: &str) -> String {
    format!("smt-{}-{name}", std::process::id())
}

fn call(program: &str, args: &[&str]) {
    let output = Command::new(find(program).expect("looked for before")).args(args).output();
    let output = output.expect("starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {}: {told}", args.join(" "));
}

fn cable(from: (&str, &str, &str), to: (&str, &str, &str)) {
    let (left, right) = (space(from.0), space(to.0));
    let peer = ["type", "veth", "peer", "name", to.1, "netns", &right];
    call("ip", &[&["link", "add", from.1, "netns", &left][..], &peer].concat());
    for ((_, port, address), space) in [(from, &left), (to, &right)] {
        call("ip", &["-n", space, "address", "add", address, "dev", port]);
        call("ip", &["-n", space, "link", "set", port, "up"]);
    }
}

impl Rack {
    fn new(name: &str) -> Self {
        for name in ["console", "h1", "h2"] {
            call("ip", &["netns", "add", &space(name)]);
        }
        // Before anything may fail: whoever drops it removes the namespaces.
        let mut this = Self { scratch: Scratch::new(name), servers: Vec::new() };
        cable(("console", "to-h1", "198.18.41.254/24"), ("h1", "mgmt", "198.18.41.1/24"));
        cable(("console", "to-h2", "198.18.42.254/24"), ("h2", "mgmt", "198.18.42.1/24"));
        cable(("h1", "eth1", "198.18.7.1/24"), ("h2", "eth1", "198.18.7.2/24"));
        for key in ["server", "user"] {
            let file = this.path(key);
            call("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", &file]);
        }
        fs::copy(this.path("user.pub"), this.path("authorized_keys")).expect("copies");
        fs::create_dir_all("/run/sshd").expect("sshd's own place");
        for host in HOSTS {
            this.serve(host);
        }
        this.client();
        this
    }

    fn path(&self, name: &str) -> String {
        self.scratch.path(name).to_str().expect("a plain path").to_owned()
    }

    /// An sshd in the host's namespace, whose sessions keep programs in a place of this test.
    fn serve(&mut self, host: &str) {
        let address = if host == "h1" { "198.18.41.1" } else { "198.18.42.1" };
        let config = format!(
            "ListenAddress {address}:2222\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             StrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\n\
             AllowUsers root\nPasswordAuthentication no\nSetEnv XDG_CACHE_HOME={}\n",
            self.path("server"),
            self.path("authorized_keys"),
            self.path(&format!("cache-{host}")),
        );
        let file = self.path(&format!("sshd-{host}"));
        fs::write(&file, config).expect("writes");
        let sshd = find("sshd").expect("looked for before");
        let server = Command::new(find("ip").expect("looked for before"))
            .args(["netns", "exec", &space(host)])
            .arg(sshd)
            .args(["-D", "-e", "-f", &file])
            .stdin(Stdio::null())
            .stderr(fs::File::create(self.path(&format!("log-{host}"))).expect("a file"))
            .spawn();
        self.servers.push(server.expect("sshd starts"));
    }

    /// `ssh` for the console.
    fn client(&self) {
        let key = fs::read_to_string(self.path("server.pub")).expect("a key");
        let key = key.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let known = ["[198.18.41.1]:2222", "[198.18.42.1]:2222"].map(|at| format!("{at} {key}\n"));
        fs::write(self.path("known_hosts"), known.concat()).expect("writes");
        let mut config = format!(
            "UserKnownHostsFile {}\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\n\
             IdentityFile {}\nIdentitiesOnly yes\nPort 2222\n",
            self.path("known_hosts"),
            self.path("user"),
        );
        for (host, address) in [("h1", "198.18.41.1"), ("h2", "198.18.42.1")] {
            let _ = writeln!(config, "Host {host}\n  HostName {address}");
        }
        fs::write(self.path("config"), config).expect("writes");
        let folder = PathBuf::from(self.path("bin"));
        fs::create_dir(&folder).expect("a folder");
        let ssh = find("ssh").expect("looked for before");
        let script =
            format!("#!/bin/sh\nexec {} -F {} \"$@\"\n", ssh.display(), self.path("config"));
        fs::write(folder.join("ssh"), script).expect("writes");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join("ssh"), mode).expect("may be run");
    }

    /// The testbed's file: both hosts, as root at a name that only the configuration knows.
    fn testbed(&self, second: &str) -> String {
        let host = |name: &str, reach: &str, address: &str, far: &str| {
            format!(
                "[[host]]\nname = \"{name}\"\nreach = \"{reach}\"\n[[host.port]]\nname = \"eth1\"\n\
                 address = \"{address}\"\ncable = \"{far}/eth1\"\n"
            )
        };
        let file = self.path("testbed.toml");
        let hosts = host("h1", "ssh://root@h1", "198.18.7.1/24", "h2")
            + &host("h2", second, "198.18.7.2/24", "h1");
        fs::write(&file, hosts).expect("writes");
        file
    }

    /// `switchmark latency`, run at the console.
    fn latency(&self, testbed: &str) -> Output {
        let path = std::env::var("PATH").unwrap_or_default();
        Command::new(find("ip").expect("looked for before"))
            .args(["netns", "exec", &space("console")])
            .arg(switchmark())
            .args(["latency", "--protocol", "udp", "--size", "128", "-t", "0.1", "--blocks", "2"])
            .args(["--json", "--quiet", "--testbed", testbed, "--store", &self.path("journal.db")])
            .env("PATH", format!("{}:{path}", self.path("bin")))
            .output()
            .expect("switchmark starts")
    }

    /// The programs that were sent to a host.
    fn sent(&self, host: &str) -> Vec<PathBuf> {
        let folder = self.scratch.path(&format!("cache-{host}")).join("switchmark");
        let found = fs::read_dir(folder).into_iter().flatten();
        found.filter_map(|entry| Some(entry.ok()?.path().join("switchmark"))).collect()
    }
}

impl Drop for Rack {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        for name in ["console", "h1", "h2"] {
            let ip = find("ip").expect("it was there before");
            let _ = Command::new(ip).args(["netns", "delete", &space(name)]).status();
        }
    }
}

/// The processes in a host's namespace; sshd itself is one while it serves.
fn processes(host: &str) -> usize {
    let ip = find("ip").expect("looked for before");
    let output = Command::new(ip).args(["netns", "pids", &space(host)]).output().expect("starts");
    String::from_utf8_lossy(&output.stdout).lines().count()
}

#[test]
fn two_hosts_by_ssh() {
    let needed = ["ip", "ssh", "sshd", "ssh-keygen"];
    let Some(_alone) = alone("two_hosts_by_ssh", &needed) else { return };
    let rack = Rack::new("ssh");
    let testbed = rack.testbed("ssh://root@h2:2222");
    let mut written = Vec::new();
    for _ in 0..2 {
        let output = rack.latency(&testbed);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{told}");
        let document: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("one object");
        let figures = document["figures"].as_array().expect("figures");
        let median = figures.iter().find(|f| f["metric"] == "rtt" && f["quantile"] == 0.5);
        let median = median.expect("a median");
        assert!(median["value"].as_f64().is_some_and(|v| v > 0.0), "{median}");
        for host in HOSTS {
            let sent = rack.sent(host);
            let [program] = &sent[..] else { panic!("{host}: {sent:?}") };
            let ours = fs::read(switchmark()).expect("reads");
            assert!(fs::read(program).expect("reads") == ours, "{host} has another program");
            let file = fs::metadata(program).expect("is there");
            assert_eq!(file.permissions().mode() & 0o777, 0o700, "{host}: nobody else's business");
            written.push(file.modified().expect("a time"));
        }
    }
    assert_eq!(written[..2], written[2..], "what is there is not sent again");
    // Each host has its sshd, and soon nothing else.
    let alone = || HOSTS.iter().all(|host| processes(host) == 1);
    let gone = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        alone()
    });
    assert!(gone, "something was left running on a host");
}

#[test]
fn a_damaged_copy_is_replaced_and_refusals_are_told() {
    let needed = ["ip", "ssh", "sshd", "ssh-keygen"];
    let Some(_alone) = alone("a_damaged_copy_is_replaced", &needed) else { return };
    let rack = Rack::new("ssh-faults");
    let good = rack.testbed("ssh://root@h2");
    assert_eq!(rack.latency(&good).status.code(), Some(0));
    let program = rack.sent("h1").remove(0);
    let mut octets = fs::read(&program).expect("reads");
    octets.truncate(octets.len() / 2);
    fs::write(&program, octets).expect("writes");
    let output = rack.latency(&good);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let sizes = [fs::metadata(&program), fs::metadata(switchmark())].map(|m| m.expect("is").len());
    assert_eq!(sizes[0], sizes[1], "a copy that was cut off is sent again");

    // A user without a key would be asked for a password: it is said, and nothing waits.
    let output = rack.latency(&rack.testbed("ssh://nobody@h2"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("ssh://nobody@h2") && told.contains("Permission denied"), "{told}");
    assert!(told.contains("hint: ") && output.stdout.is_empty(), "{told}");
}
