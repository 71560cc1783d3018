//! Hosts that a cluster's own launcher reaches: Debian's Slurm with nodes in namespaces, two with a
//! cable between them or several at a switch, and Open MPI on this host.
//!
//! `SWITCHMARK_NODES` sets how many nodes are at the switch.
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

/// A console, where Slurm's controller runs and `srun` is called, and nodes of which each has a
/// port `eth1` in a namespace of its own.
struct Cluster {
    scratch: Scratch,
    nodes: Vec<String>,
    daemons: Vec<Child>,
    /// Removed after its daemons have ended.
    _spaces: Spaces,
}

impl Cluster {
    /// None where slurmd ends by itself, with what it said printed: it wants control groups.
    fn new(nodes: &[&str], cabled: impl FnOnce()) -> Option<Self> {
        let spaces = Spaces::new(&[&["console", "switch"][..], nodes].concat());
        let scratch = Scratch::new("slurm");
        let owned = nodes.iter().map(|node| (*node).to_owned()).collect();
        let mut this = Self { scratch, nodes: owned, daemons: Vec::new(), _spaces: spaces };
        let console = &space("console");
        ip(&["-n", console, "link", "add", "mgmt", "type", "bridge"]);
        ip(&["-n", console, "address", "add", "198.18.40.1/24", "dev", "mgmt"]);
        ip(&["-n", console, "link", "set", "mgmt", "up"]);
        for node in nodes {
            let (far, address) = (&space(node), format!("198.18.40.{}/24", &node[4..]));
            let peer = ["type", "veth", "peer", "name", "mgmt", "netns", far];
            ip(&[&["-n", console, "link", "add", node][..], &peer].concat());
            ip(&["-n", console, "link", "set", node, "master", "mgmt", "up"]);
            ip(&["-n", far, "address", "add", &address, "dev", "mgmt"]);
            ip(&["-n", far, "link", "set", "mgmt", "up"]);
        }
        cabled();
        this.munge();
        this.configure();
        let file = this.path("slurm.conf");
        this.daemon("console", "slurmctld", &["-D", "-f", &file]);
        for node in nodes {
            this.daemon(node, "slurmd", &["-D", "-N", node, "-f", &file]);
        }
        let mut ended = false;
        let idle = format!("{} idle", nodes.len());
        wait_for("idle nodes", || {
            ended = this.daemons.iter_mut().any(|daemon| !matches!(daemon.try_wait(), Ok(None)));
            let output = this.at_console("sinfo").args(["-h", "-o", "%D %T"]).output();
            ended || output.is_ok_and(|output| output.stdout.trim_ascii() == idle.as_bytes())
        });
        if ended {
            let log = this.path(&format!("log-{}-slurmd", nodes[0]));
            let said = fs::read_to_string(log).unwrap_or_default();
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
        let folder = |name: &str| fs::create_dir(self.path(name)).expect("a folder");
        let node = |node: &String| {
            folder(&format!("spool.{node}"));
            let number = &node[4..];
            format!(
                "NodeName={node} NodeHostname={name} NodeAddr=198.18.40.{number} Port=170{number} CPUs=1\n"
            )
        };
        let nodes: String = self.nodes.iter().map(node).collect();
        folder("state");
        fs::write(self.path("slurm.conf"), text + &nodes).expect("writes");
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
        self.nodes.iter().all(|node| agents(node).is_empty()) && jobs.stdout.is_empty()
    }

    /// Nodes with nothing but their daemons.
    fn is_bare(&self) -> bool {
        self.is_clean() && self.nodes.iter().all(|node| processes(node).len() == 1)
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
    let cabled = || cable((NODES[0], "eth1", "198.18.7.1/24"), (NODES[1], "eth1", "198.18.7.2/24"));
    let Some(cluster) = Cluster::new(&NODES, cabled) else { return };
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
    wait_for("nodes with nothing but their daemons", || cluster.is_bare());
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("h2") && told.contains("busy"), "{told}");
}

/// The nodes' ports at one bridge.
fn at_a_switch(nodes: &[&str]) {
    let switch = &space("switch");
    ip(&["-n", switch, "link", "add", "sw", "type", "bridge"]);
    ip(&["-n", switch, "link", "set", "sw", "up"]);
    for (number, node) in nodes.iter().enumerate() {
        let far = &space(node);
        let peer = ["type", "veth", "peer", "name", "eth1", "netns", far];
        ip(&[&["-n", switch, "link", "add", node][..], &peer].concat());
        ip(&["-n", switch, "link", "set", node, "master", "sw", "up"]);
        ip(&["-n", far, "address", "add", &format!("198.18.7.{}/24", number + 1), "dev", "eth1"]);
        ip(&["-n", far, "link", "set", "eth1", "up"]);
    }
}

/// An allocation's fabric in one command, as root and as any user; one job step holds all agents,
/// and a cancelled one leaves nothing.
#[test]
fn a_switch_of_nodes_by_one_step() {
    let needed = ["ip", "nsenter", "munged", "slurmctld", "slurmd", "srun"];
    let Some(_alone) = alone("a_switch_of_nodes_by_one_step", &needed) else { return };
    let count = std::env::var("SWITCHMARK_NODES").ok().and_then(|count| count.parse().ok());
    let nodes: Vec<String> = (17..17 + count.unwrap_or(6)).map(|n| format!("node{n}")).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let Some(cluster) = Cluster::new(&nodes, || at_a_switch(&nodes)) else { return };
    let program = switchmark().to_str().expect("a plain path");
    let folder = fs::Permissions::from_mode(0o777);
    fs::set_permissions(cluster.scratch.folder(), folder).expect("its own");
    let fabric = |user: &[&str], journal: &str| {
        let mut command = cluster.at_console(user[0]);
        command.args(&user[1..]).args(["--quiet", &format!("--nodes={}", nodes.len()), program]);
        command.args(["fabric", "--slurm=eth1", "--quick", "--blocks=2", "--journal"]);
        command.arg(cluster.path(journal));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let carried = |kind: &str| {
        let mut ip = Command::new(find("ip").expect("looked for before"));
        ip.args(["-j", "-s", "-n", &space(nodes[0]), "link", "show", "dev", kind]);
        let text = ip.output().expect("it starts").stdout;
        let links: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let octets = |way: &str| links[0]["stats64"][way]["bytes"].as_u64().expect("a count");
        octets("rx") + octets("tx")
    };
    let any_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "salloc"];
    for (user, journal) in [(&["salloc"][..], "root.db"), (&any_user, "user.db")] {
        let before = [carried("mgmt"), carried("eth1")];
        let began = std::time::Instant::now();
        let mut started = fabric(user, journal).spawn().expect("it starts");
        let mut steps = 0;
        while started.try_wait().expect("ours").is_none() {
            let squeue = cluster.at_console("squeue").args(["-h", "-s", "-o", "%i"]).output();
            let text = String::from_utf8_lossy(&squeue.expect("it starts").stdout).into_owned();
            // Beside it stands the step that salloc itself is, in newer releases of Slurm.
            let own = text.lines().filter(|step| !step.contains("extern")).count();
            steps = steps.max(own);
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let output = started.wait_with_output().expect("ours");
        let after = [carried("mgmt"), carried("eth1")];
        let told = String::from_utf8_lossy(&output.stderr);
        let answer = String::from_utf8_lossy(&output.stdout);
        println!("{answer}{told}");
        let [control, measured] = [0, 1].map(|port| after[port] - before[port]);
        println!("{:.1?}; {steps} steps; mgmt {control}, eth1 {measured} octets", began.elapsed());
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{told}");
        assert!(answer.contains("ports equally fast"), "{answer}");
        assert_eq!(steps, 1, "all agents in one step");
        assert!(control < measured / 10, "{control} octets beside {measured}");
        wait_for("nodes with nothing but their daemons", || cluster.is_bare());
    }

    let mut cancelled = fabric(&["salloc"], "cancelled.db").spawn().expect("it starts");
    wait_for("agents on every node", || nodes.iter().all(|node| !agents(node).is_empty()));
    let jobs = cluster.at_console("squeue").args(["-h", "-o", "%i"]).output().expect("it starts");
    let job = String::from_utf8_lossy(&jobs.stdout).trim().to_owned();
    assert!(cluster.at_console("scancel").arg(job).status().expect("it starts").success());
    wait_for("its end", || cancelled.try_wait().expect("ours").is_some());
    wait_for("nodes with nothing but their daemons", || cluster.is_bare());
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
