//! Debian's frr in a router's namespace: zebra, bfdd and ospfd, each run directly.
//!
//! Owns their configuration, their sockets and where their process identifiers stand, in a folder a
//! router. Never touches the machine's own frr, and ends what it started by its identifier.

use std::fmt::Write as _;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::super::harness::spaces::{call, space};
use super::super::harness::{find, wait_for};

/// Where Debian has them.
const FOLDER: &str = "/usr/lib/frr";
/// In the order in which each needs the one before it.
const DAEMONS: [&str; 3] = ["zebra", "bfdd", "ospfd"];
/// OSPF over all paths, with BFD.
#[derive(Debug, Clone, Copy)]
pub struct Ospf {
    /// Between two packets of BFD; three that are missed are a failure.
    pub interval_ms: u32,
    /// Whether all paths carry traffic; else the first one while it is there.
    pub equal_cost: bool,
}

/// The daemons of one router.
#[derive(Debug)]
pub struct Frr {
    router: &'static str,
    folder: PathBuf,
}

/// Whether they are on this machine; else says why a test is skipped.
pub fn installed(test: &str) -> bool {
    let missing = DAEMONS.iter().find(|name| !Path::new(FOLDER).join(name).is_file());
    if let Some(name) = missing {
        eprintln!("skipped: {test} needs {FOLDER}/{name} of the package `frr`");
    }
    missing.is_none()
}

/// Who `frr` is: its daemons give up root's rights for its.
fn owner() -> (u32, u32) {
    let users = std::fs::read_to_string("/etc/passwd").expect("a list of users");
    let line = users.lines().find(|line| line.starts_with("frr:")).expect("the package's user");
    let mut ids = line.split(':').skip(2).filter_map(|id| id.parse().ok());
    (ids.next().expect("a number"), ids.next().expect("a number"))
}

impl Frr {
    /// Starts them in the namespace of `router`, the `number`th, with so many paths `p1`, `p2`… to
    /// the other one.
    pub fn start(folder: PathBuf, router: &'static str, number: u8, paths: u8, how: Ospf) -> Self {
        let (user, group) = owner();
        for folder in [folder.clone(), folder.join("own/frr")] {
            std::fs::create_dir_all(&folder).expect("a folder");
            chown(&folder, Some(user), Some(group)).expect("root may");
        }
        let this = Self { router, folder };
        let bfd = format!(
            "bfd\n profile fast\n  detect-multiplier 3\n  transmit-interval {0}\n  receive-interval {0}\n",
            how.interval_ms
        );
        // By the kernel's objects for next hops, frr 8.4 leaves a path out of use that was away
        // once: it takes the object for unchanged.
        let zebra = format!("hostname {router}\nno zebra nexthop kernel enable\n");
        let texts = [zebra, bfd, ospf(number, paths, how)];
        for (name, text) in DAEMONS.iter().zip(texts) {
            std::fs::write(this.at(&format!("{name}.conf")), text).expect("writes");
            std::fs::write(this.at(&format!("{name}.start")), this.script(name)).expect("writes");
            call("sh", &["-c", &this.starting(name)]);
        }
        this
    }

    fn at(&self, file: &str) -> String {
        self.folder.join(file).to_str().expect("text").to_owned()
    }

    /// What starts one of them, unless it runs. What it keeps of itself for the case of a crash or
    /// a restart, it keeps in folders of the whole machine's, for which its own stand here: in the
    /// namespace of mounts that `ip netns exec` makes.
    fn script(&self, name: &str) -> String {
        let folder = self.folder.to_str().expect("text");
        let control =
            if name == "bfdd" { format!(" --bfdctl {folder}/bfdd.sock") } else { String::new() };
        format!(
            "here=$(readlink /proc/$(cat {folder}/{name}.pid 2>/dev/null)/exe)\n\
             [ \"$here\" = {FOLDER}/{name} ] && exit 0\n\
             mount --bind {folder}/own /var/tmp && mount --bind {folder}/own /run &&\n\
             exec {FOLDER}/{name} -d -u frr -g frr -A 127.0.0.1 -P 0 -z {folder}/zserv.api \\\n\
             --vty_socket {folder} -i {folder}/{name}.pid -f {folder}/{name}.conf \\\n\
             --log file:{folder}/{name}.log{control} >>{folder}/started.log 2>&1\n",
        )
    }

    /// The line that starts one of them, unless it runs.
    pub fn starting(&self, name: &str) -> String {
        let script = self.at(&format!("{name}.start"));
        format!("ip netns exec {} sh {script}", space(self.router))
    }

    /// The line that kills one of them, so that it has no time to tell anybody.
    pub fn killing(&self, name: &str) -> String {
        let file = self.at(&format!("{name}.pid"));
        format!("kill -KILL $(cat {file})")
    }

    fn pid(&self, name: &str) -> Option<Pid> {
        let text = std::fs::read_to_string(self.at(&format!("{name}.pid"))).ok()?;
        text.trim().parse().ok().map(Pid::from_raw)
    }

    /// How many of its neighbours BFD sees.
    pub fn sees(&self) -> usize {
        let mut command = Command::new(find("vtysh").expect("it comes with frr"));
        command.arg("--vty_socket").arg(&self.folder).args([
            "-d",
            "bfdd",
            "-c",
            "show bfd peers json",
        ]);
        let output = command.stdin(Stdio::null()).output().expect("starts");
        let peers: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let up = |peer: &&serde_json::Value| peer["status"] == "up";
        peers.as_array().map_or(0, |peers| peers.iter().filter(up).count())
    }
}

fn ospf(number: u8, paths: u8, how: Ospf) -> String {
    let mut text = String::new();
    for path in 1..=paths {
        let cost = if how.equal_cost || path == 1 { 10 } else { 20 };
        let _ = write!(
            text,
            "interface p{path}\n ip ospf network point-to-point\n ip ospf hello-interval 1\n \
             ip ospf dead-interval 40\n ip ospf cost {cost}\n ip ospf bfd\n ip ospf bfd profile fast\nexit\n"
        );
    }
    text + &format!(
        "interface lan\n ip ospf passive\nexit\nrouter ospf\n ospf router-id 198.18.0.{number}\n \
         timers throttle spf 0 50 5000\n timers throttle lsa all 0\n \
         timers lsa min-arrival 0\n network 198.18.0.0/15 area 0\nexit\n"
    )
}

impl Drop for Frr {
    fn drop(&mut self) {
        // The last one started first: each tells the one before it that it goes.
        for name in DAEMONS.iter().rev() {
            let Some(pid) = self.pid(name) else { continue };
            let program = format!("/proc/{pid}/exe");
            // A deed may have killed it, and its identifier may be another's by now.
            let ours = |program: &str| {
                std::fs::read_link(program).is_ok_and(|at| at == Path::new(FOLDER).join(name))
            };
            if ours(&program) {
                let _ = kill(pid, Signal::SIGTERM);
                wait_for("a daemon to end", || !ours(&program));
            }
        }
    }
}
