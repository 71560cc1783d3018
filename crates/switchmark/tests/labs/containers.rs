//! Containers as hosts: podman's own, and the clients of Docker and Kubernetes by programs that
//! stand for them and hand their words to podman.
//!
//! Needs root, podman, runc and a static busybox, of which the image is made. Nothing is pulled.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::harness::spaces::space;
use crate::harness::{Scratch, alone, json, short_latency, switchmark, told_a_round_trip};
use crate::tunnels;

const IMAGE: &str = "localhost/switchmark-labs:1";
/// In this order: the program is put in, there is no place for it, it is put in.
const KINDS: [(&str, &[&str]); 3] =
    [("writable", &[]), ("sealed", &["--read-only", "--read-only-tmpfs=false"]), ("pod", &[])];

/// Docker's client and podman's take the same words.
const DOCKER: &str = "#!/bin/sh\nexec podman \"$@\"\n";
/// `kubectl exec -i --namespace lab POD -- WORD…`, as its manual has it.
const KUBECTL: &str = "#!/bin/sh\n\
    test \"$1 $2 $3 $4 $6\" = 'exec -i --namespace lab --' || { echo \"error: $*\" >&2; exit 1; }\n\
    pod=$5; shift 6; exec podman exec -i \"$pod\" \"$@\"\n";

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn podman(words: &[&str]) -> String {
    done(Command::new("podman").args(words))
}

/// Containers that run until it is dropped, and the clients that lead to them.
struct Containers {
    scratch: Scratch,
    names: Vec<String>,
}

impl Containers {
    fn new() -> Self {
        let scratch = Scratch::new("containers");
        let script = "mkdir -p bin tmp proc sys dev etc && cp \"$(command -v busybox)\" bin && \
                      for word in sh uname cat mkdir chmod mv rm rmdir sha256sum sleep; do \
                      ln -sf busybox bin/$word; done && tar -cf image.tar bin tmp proc sys dev etc";
        done(Command::new("sh").args(["-c", script]).current_dir(scratch.folder()));
        podman(&["import", "--quiet", &scratch.path("image.tar").display().to_string(), IMAGE]);
        for (program, text) in [("docker", DOCKER), ("kubectl", KUBECTL)] {
            let file = scratch.path(program);
            std::fs::write(&file, text).expect("writes");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(file, mode).expect("may be run");
        }
        Self { scratch, names: Vec::new() }
    }

    /// Starts a container in this network and returns its process.
    fn start(&mut self, kind: &str, network: &str, options: &[&str]) -> String {
        let name = name(kind);
        let network = format!("--network={network}");
        // Limits of its own: this test's may be lower than what is usual.
        let usual = ["run", "--detach", "--runtime=runc", &network, "--ulimit=nofile=1024:1024"];
        let more = ["--ulimit=nproc=1024:1024", "--cap-add=NET_ADMIN,NET_RAW", "--name", &name];
        podman(&[&usual[..], &more, options, &[IMAGE, "/bin/sleep", "120"]].concat());
        let pid = podman(&["inspect", "--format", "{{.State.Pid}}", &name]);
        self.names.push(name);
        pid
    }

    /// Containers cabled one after the other.
    fn cabled() -> Self {
        let mut this = Self::new();
        let [writable, sealed, pod] =
            KINDS.map(|(kind, options)| this.start(kind, "none", options));
        let cables =
            [(&writable, "eth1", "8.1", &sealed, "8.2"), (&writable, "eth2", "9.1", &pod, "9.2")];
        for (near, port, own, far, other) in cables {
            done_ip(&format!("link add {port} netns {near} type veth peer name eth1 netns {far}"));
            for (pid, port, address) in [(near, port, own), (far, "eth1", other)] {
                give_address(pid, port, address);
            }
        }
        this
    }

    /// The program, to which the clients are those of this test.
    fn program(&self) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(switchmark());
        command.env("PATH", format!("{}:{path}", self.scratch.folder().display()));
        command
    }

    fn testbed(&self, hosts: [(&str, &str, &str); 2]) -> PathBuf {
        let file = self.scratch.path("testbed.toml");
        let [one, two] = hosts;
        let host = |name, (reach, port, address): (&str, &str, &str), far, far_port| {
            format!(
                "[[host]]\nname = \"{name}\"\nreach = \"{reach}\"\n[[host.port]]\nname = \"{port}\"\n\
                 address = \"198.18.{address}/24\"\ncable = \"{far}/{far_port}\"\n"
            )
        };
        let text = host("h1", one, "h2", two.1) + &host("h2", two, "h1", one.1);
        std::fs::write(&file, text).expect("writes");
        file
    }

    fn latency(&self, hosts: [(&str, &str, &str); 2]) -> Output {
        short_latency(&mut self.program(), &self.testbed(hosts), &self.scratch.path("journal.db"))
    }
}

impl Drop for Containers {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("podman").args(["rm", "-f", "-t", "0", name]).output();
        }
        let _ = Command::new("podman").args(["rmi", "-f", IMAGE]).output();
    }
}

fn done_ip(words: &str) {
    done(Command::new("ip").args(words.split(' ')));
}

/// Gives a port of a process' network its address, and sets it up.
fn give_address(pid: &str, port: &str, address: &str) {
    let line = format!("ip address add 198.18.{address}/24 dev {port} && ip link set {port} up");
    done(Command::new("nsenter").args(["--target", pid, "--net", "sh", "-c", &line]));
}

fn name(kind: &str) -> String {
    format!("switchmark-{}-{kind}", std::process::id())
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn containers_and_pods_are_hosts() {
    let needed = ["podman", "runc", "busybox", "ip", "nsenter", "tar"];
    let Some(_alone) = alone("containers_and_pods_are_hosts", &needed) else { return };
    let containers = Containers::cabled();
    let [writable, sealed, pod] = ["writable", "sealed", "pod"].map(name);
    let reach = |keeper: &str, name: &str| format!("{keeper}:{name}");
    for (one, two, port, ends) in [
        (reach("podman", &writable), reach("podman", &sealed), "eth1", ["8.1", "8.2"]),
        (
            reach("docker", &writable),
            reach("kubectl", &format!("lab/{pod}")),
            "eth2",
            ["9.1", "9.2"],
        ),
    ] {
        let output = containers.latency([(&one, port, ends[0]), (&two, "eth1", ends[1])]);
        assert_eq!(output.status.code(), Some(0), "{one}, {two}: {}", told(&output));
        told_a_round_trip(&output);
    }
    for (one, two, says) in [
        (
            reach("podman", "nobody-has-this"),
            reach("podman", &pod),
            "`podman ps` lists those that run",
        ),
        (reach("podman", &writable), reach("kubectl", &format!("lab/{sealed}")), "emptyDir"),
    ] {
        let output = containers.latency([(&one, "eth1", "8.1"), (&two, "eth1", "8.2")]);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(says), "{}", told(&output));
    }
}

/// Pods at an overlay (VXLAN between two nodes), and pods in the nodes' own network beside them:
/// one command says what the overlay costs.
#[test]
fn an_overlay_of_pods_is_measured_beside_the_nodes() {
    let needed = ["podman", "runc", "busybox", "ip", "nsenter", "tar"];
    let Some(_alone) = alone("an_overlay_of_pods", &needed) else { return };
    let _spaces = tunnels::vxlan();
    let mut containers = Containers::new();
    for (number, node) in [(1, "left"), (2, "right")] {
        let at = space(node);
        let pod = containers.start(&format!("pod{number}"), "none", &[]);
        done_ip(&format!("-n {at} address flush dev tun0"));
        done_ip(&format!("-n {at} link add cni0 type bridge"));
        done_ip(&format!("-n {at} link add pod type veth peer name eth0 netns {pod}"));
        for port in ["tun0", "pod"] {
            done_ip(&format!("-n {at} link set {port} mtu 1450 master cni0 up"));
        }
        done_ip(&format!("-n {at} link set cni0 up"));
        give_address(&pod, "eth0", &format!("1.{number}"));
        done(
            Command::new("nsenter")
                .args(["-t", &pod, "-n", "ip", "link", "set", "eth0", "mtu", "1450"]),
        );
        containers.start(&format!("node{number}"), &format!("ns:/run/netns/{at}"), &[]);
    }
    let end = |kind: &str, port: &str, address: &str| {
        format!("kubectl:lab/{}:{port}@198.18.{address}/24", name(kind))
    };
    let hosts = format!(
        "{},{},{}={}",
        end("pod1", "eth0", "1.1"),
        end("pod2", "eth0", "1.2"),
        end("node1", "eth1", "2.1"),
        end("node2", "eth1", "2.2"),
    );
    let mut command = containers.program();
    command.args(["tcp", "-t", "0.5", "-O", "0.2", "--blocks", "2", "--json", "--hosts", &hosts]);
    let output = command.arg("--store").arg(containers.scratch.path("pods.db")).output();
    let output = output.expect("switchmark starts");
    println!("{}", told(&output));
    assert!(!told(&output).contains("warning:"));
    let document = json(&output);
    let figures = document["figures"].as_array().expect("figures");
    for device in ["dut", "cable"] {
        let is_it =
            |figure: &&Value| figure["metric"] == "goodput" && figure["where"]["device"] == device;
        assert!(figures.iter().filter(is_it).any(|figure| figure["value"].is_f64()), "{device}");
    }
}
