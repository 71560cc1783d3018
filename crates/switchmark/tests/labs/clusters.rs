//! Hosts that a cluster's own launcher reaches: Debian's Slurm with two nodes in namespaces, and
//! Open MPI on this host.
//!
//! Needs root, iproute2, munge and Slurm's daemons, or Open MPI. Slurm's key, configuration, state
//! and sockets are the test's own; its daemons end with it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::harness::spaces::{Spaces, agents, cable, ip, processes, space};
use crate::harness::{
    Scratch, alone, find, short_latency, switchmark, told_a_round_trip, wait_for,
};

const NODES: [&str; 2] = ["node17", "node18"];

/// A console, where Slurm's controller runs and `srun` is called, and two nodes with a cable
/// between them.
struct Cluster {
    scratch: Scratch,
    daemons: Vec<Child>,
    /// Removed after its daemons have ended.
    _spaces: Spaces,
}

impl Cluster {
    /// None where slurmd ends by itself, with what it said printed: it wants control groups.
    fn new() -> Option<Self> {
        let spaces = Spaces::new(&[&["console"][..], &NODES].concat());
        let scratch = Scratch::new("slurm");
        let mut this = Self { scratch, daemons: Vec::new(), _spaces: spaces };
        let console = &space("console");
        ip(&["-n", console, "link", "add", "mgmt", "type", "bridge"]);
        ip(&["-n", console, "address", "add", "198.18.40.1/24", "dev", "mgmt"]);
        ip(&["-n", console, "link", "set", "mgmt", "up"]);
        for node in NODES {
            let (far, address) = (&space(node), format!("198.18.40.{}/24", &node[4..]));
            let peer = ["type", "veth", "peer", "name", "mgmt", "netns", far];
            ip(&[&["-n", console, "link", "add", node][..], &peer].concat());
            ip(&["-n", console, "link", "set", node, "master", "mgmt", "up"]);
            ip(&["-n", far, "address", "add", &address, "dev", "mgmt"]);
            ip(&["-n", far, "link", "set", "mgmt", "up"]);
        }
        cable((NODES[0], "eth1", "198.18.7.1/24"), (NODES[1], "eth1", "198.18.7.2/24"));
        this.munge();
        this.configure();
        let file = this.path("slurm.conf");
        this.daemon("console", "slurmctld", &["-D", "-f", &file]);
        for node in NODES {
            this.daemon(node, "slurmd", &["-D", "-N", node, "-f", &file]);
        }
        let mut ended = false;
        wait_for("two idle nodes", || {
            ended = this.daemons.iter_mut().any(|daemon| !matches!(daemon.try_wait(), Ok(None)));
            let output = this.at_console("sinfo").args(["-h", "-o", "%D %T"]).output();
            ended || output.is_ok_and(|output| output.stdout.trim_ascii() == b"2 idle")
        });
        if ended {
            let said = fs::read_to_string(this.path("log-node17-slurmd")).unwrap_or_default();
            eprintln!("skipped: Slurm does not start here: {said}");
        }
        (!ended).then_some(this)
    }

    fn path(&self, name: &str) -> String {
        self.scratch.path(name).to_str().expect("a plain path").to_owned()
    }

    /// What tells Slurm's parts that they belong together.
    fn munge(&mut self) {
        let key = self.path("munge.key");
        fs::write(&key, [0x5a; 128]).expect("writes");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("its own");
        let options = ["socket", "key-file", "pid-file", "seed-file", "log-file"].map(|option| {
            let file = if option == "key-file" { "munge.key" } else { option };
            format!("--{option}={}", self.path(file))
        });
        let mut all = vec!["--foreground", "--force", "--num-threads=1"];
        all.extend(options.iter().map(String::as_str));
        self.daemon("console", "munged", &all);
        let socket = self.scratch.path("socket");
        wait_for("munge's socket", || socket.exists());
    }

    fn configure(&self) {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let (name, folder) = (name.trim(), self.scratch.folder().display());
        let text = format!(
            "ClusterName=test\nSlurmctldHost={name}(198.18.40.1)\nSlurmUser=root\n\
             AuthInfo=socket={folder}/socket\nStateSaveLocation={folder}/state\n\
             SlurmdSpoolDir={folder}/spool.%n\nSlurmctldPidFile={folder}/slurmctld.pid\n\
             SlurmdPidFile={folder}/slurmd.%n.pid\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nMailProg=/bin/true\nReturnToService=2\n\
             PartitionName=all Nodes=ALL Default=YES State=UP\n"
        );
        let nodes = NODES.map(|node| {
            let number = &node[4..];
            format!(
                "NodeName={node} NodeHostname={name} NodeAddr=198.18.40.{number} Port=170{number} CPUs=1\n"
            )
        });
        for folder in ["state", "spool.node17", "spool.node18"] {
            fs::create_dir(self.path(folder)).expect("a folder");
        }
        fs::write(self.path("slurm.conf"), text + &nodes.concat()).expect("writes");
    }

    fn daemon(&mut self, name: &str, program: &str, args: &[&str]) {
        let log = fs::File::create(self.path(&format!("log-{name}-{program}"))).expect("a file");
        let daemon = self
            .at(name, find(program).expect("looked for before").to_str().expect("a plain path"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.daemons.push(daemon.expect("it starts"));
    }

    /// `ip netns exec` would hide the control groups, which slurmd looks for.
    fn at(&self, name: &str, program: &str) -> Command {
        let mut command = Command::new(find("nsenter").expect("looked for before"));
        command.arg(format!("--net=/run/netns/{}", space(name))).arg(program);
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    fn at_console(&self, program: &str) -> Command {
        self.at("console", program)
    }

    fn testbed(&self) -> String {
        let host = |number: usize| {
            format!(
                "[[host]]\nname = \"h{number}\"\nreach = \"srun:{}\"\n[[host.port]]\nname = \"eth1\"\n\
                 address = \"198.18.7.{number}/24\"\ncable = \"h{}/eth1\"\n",
                NODES[number - 1],
                3 - number
            )
        };
        let file = self.path("testbed.toml");
        fs::write(&file, host(1) + &host(2)).expect("writes");
        file
    }

    /// Nothing of ours is left on a node, and no job in Slurm's list.
    fn is_clean(&self) -> bool {
        let jobs = self.at_console("squeue").arg("-h").output().expect("squeue starts");
        NODES.iter().all(|node| agents(node).is_empty()) && jobs.stdout.is_empty()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Runs a study there, after what `command` says already.
fn latency(command: &mut Command, testbed: &str, store: &str) -> Output {
    short_latency(command, Path::new(testbed), Path::new(store))
}

/// That it told a round trip.
fn answered(output: &Output) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    told_a_round_trip(output);
}

#[test]
fn nodes_by_slurm() {
    let needed = ["ip", "nsenter", "munged", "slurmctld", "slurmd", "srun"];
    let Some(_alone) = alone("nodes_by_slurm", &needed) else { return };
    let Some(cluster) = Cluster::new() else { return };
    let (testbed, store) = (cluster.testbed(), cluster.path("journal.db"));
    let program = switchmark().to_str().expect("a plain path");
    // Each agent is a job; a step of a job that has the nodes already; and one beside the step that
    // the controller itself is.
    answered(&latency(&mut cluster.at_console(program), &testbed, &store));
    wait_for("a node without agents", || cluster.is_clean());
    let within = ["--quiet", "--nodes=2"];
    answered(&latency(cluster.at_console("salloc").args(within).arg(program), &testbed, &store));
    wait_for("a node without agents", || cluster.is_clean());
    let step = ["srun", "--quiet", "--nodes=1", "--ntasks=1", program];
    let mut step_of_job = cluster.at_console("salloc");
    answered(&latency(step_of_job.args(within).args(step), &testbed, &store));
    wait_for("a node without agents", || cluster.is_clean());

    // The port by which srun reaches a node is left out, whether the nodes are named or the
    // allocation's.
    let new = ["testbed", "new", "--quiet"];
    let named = cluster.at_console(program).args(new).arg("srun:node[17-18]").output();
    wait_for("a node without agents", || cluster.is_clean());
    let mut allocation = cluster.at_console("salloc");
    let allocated = allocation.args(within).arg(program).args(new).arg("--slurm").output();
    wait_for("a node without agents", || cluster.is_clean());
    for looked in [named, allocated].map(|output| output.expect("it starts")) {
        let told = String::from_utf8_lossy(&looked.stderr);
        assert!(looked.status.success(), "{told}");
        let file = String::from_utf8_lossy(&looked.stdout);
        let left = "# mgmt: left alone: this host is reached by it";
        assert_eq!(file.matches(left).count(), NODES.len(), "{file}");
        assert!(file.contains("cable = \"node18/eth1\""), "{file}");
    }

    // A node that is another's is said to be busy; nobody waits for its end.
    let mut other = cluster.at_console("srun");
    let other = other.args(["--quiet", "--nodelist", NODES[1], "sleep", "60"]);
    let mut other = other.stdin(Stdio::null()).spawn().expect("srun starts");
    wait_for("the node to be taken", || {
        let output = cluster.at_console("sinfo").args(["-h", "-n", NODES[1], "-o", "%T"]).output();
        output.is_ok_and(|output| output.stdout.trim_ascii() == b"allocated")
    });
    let output = latency(&mut cluster.at_console(program), &testbed, &store);
    let told = String::from_utf8_lossy(&output.stderr);
    let cancelled = cluster.at_console("scancel").arg("--name=sleep").status();
    assert!(cancelled.expect("scancel starts").success());
    let _ = other.wait();
    println!("{told}");
    wait_for("nodes with nothing but their daemons", || {
        cluster.is_clean() && NODES.iter().all(|node| processes(node).len() == 1)
    });
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("h2") && told.contains("busy"), "{told}");
}

#[test]
fn this_host_by_open_mpi() {
    let Some(_alone) = alone("this_host_by_open_mpi", &["mpirun"]) else { return };
    let scratch = Scratch::new("mpirun");
    let host = |number: u8| {
        format!(
            "[[host]]\nname = \"h{number}\"\nreach = \"mpirun:localhost\"\n[[host.port]]\nname = \"lo\"\n\
             address = \"127.0.0.{number}/8\"\ncable = \"h{}/lo\"\n",
            3 - number
        )
    };
    let file = scratch.path("testbed.toml");
    fs::write(&file, host(1) + &host(2)).expect("writes");
    let mut command = Command::new(switchmark());
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let [file, store] = [file, scratch.path("journal.db")].map(|f| f.display().to_string());
    answered(&latency(&mut command, &file, &store));
}
