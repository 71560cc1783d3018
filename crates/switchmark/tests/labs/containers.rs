//! Containers as hosts: podman's own, and the clients of Docker and Kubernetes by programs that
//! stand for them and hand their words to podman.
//!
//! Needs root, podman, runc and a static busybox, of which the image is made. Nothing is pulled.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::harness::{Scratch, alone, short_latency, switchmark, told_a_round_trip};

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

/// Containers that run until it is dropped, cabled one after the other.
struct Containers(Scratch);

impl Containers {
    fn new() -> Self {
        let this = Self(Scratch::new("containers"));
        let script = "mkdir -p bin tmp proc sys dev etc && cp \"$(command -v busybox)\" bin && \
                      for word in sh uname cat mkdir chmod mv rm rmdir sha256sum sleep; do \
                      ln -sf busybox bin/$word; done && tar -cf image.tar bin tmp proc sys dev etc";
        done(Command::new("sh").args(["-c", script]).current_dir(this.0.folder()));
        podman(&["import", "--quiet", &this.0.path("image.tar").display().to_string(), IMAGE]);
        for (kind, options) in KINDS {
            let name = name(kind);
            // Limits of its own: this test's may be lower than what is usual.
            let usual = [
                "run",
                "--detach",
                "--runtime=runc",
                "--network=none",
                "--ulimit=nofile=1024:1024",
            ];
            let more = ["--ulimit=nproc=1024:1024", "--cap-add=NET_ADMIN,NET_RAW", "--name", &name];
            podman(&[&usual[..], &more, options, &[IMAGE, "/bin/sleep", "120"]].concat());
        }
        let pid = |kind| podman(&["inspect", "--format", "{{.State.Pid}}", &name(kind)]);
        let [writable, sealed, pod] = ["writable", "sealed", "pod"].map(pid);
        let cables =
            [(&writable, "eth1", "8.1", &sealed, "8.2"), (&writable, "eth2", "9.1", &pod, "9.2")];
        for (near, port, own, far, other) in cables {
            let ip = |words: &str| done(Command::new("ip").args(words.split(' ')));
            ip(&format!("link add {port} netns {near} type veth peer name eth1 netns {far}"));
            for (pid, port, address) in [(near, port, own), (far, "eth1", other)] {
                let line = format!(
                    "ip address add 198.18.{address}/24 dev {port} && ip link set {port} up"
                );
                done(Command::new("nsenter").args(["--target", pid, "--net", "sh", "-c", &line]));
            }
        }
        for (program, text) in [("docker", DOCKER), ("kubectl", KUBECTL)] {
            let file = this.0.path(program);
            std::fs::write(&file, text).expect("writes");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(file, mode).expect("may be run");
        }
        this
    }

    fn testbed(&self, hosts: [(&str, &str, &str); 2]) -> PathBuf {
        let file = self.0.path("testbed.toml");
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
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(switchmark());
        command.env("PATH", format!("{}:{path}", self.0.folder().display()));
        short_latency(&mut command, &self.testbed(hosts), &self.0.path("journal.db"))
    }
}

impl Drop for Containers {
    fn drop(&mut self) {
        for (kind, _) in KINDS {
            let _ = Command::new("podman").args(["rm", "-f", "-t", "0", &name(kind)]).output();
        }
        let _ = Command::new("podman").args(["rmi", "-f", IMAGE]).output();
    }
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
    let containers = Containers::new();
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
