//! Real kernels as devices: Debian's, booted under qemu between two namespaces.
//!
//! Downloads the kernels once, by `apt-get download`, into the target folder; without root, qemu or a
//! way to Debian each test says that it was skipped, and why. `SWITCHMARK_TESTS=full` adds the
//! standard and the PREEMPT_RT kernel to the small cloud one. Asserts no time.

#![allow(clippy::disallowed_methods, reason = "tells how long a boot took; asserts nothing of it")]

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use lab::vm::{Acceleration, Emulator, Image, Machine};
use lab::{LabDevice, LabSpec, Namespace, NodePlan, Privilege, privilege};
use netlink::{Netlink, NetlinkError, NextHop};

const ROUND_TRIPS: u32 = 200;
const LARGE: usize = 8972;

/// Two hosts and a machine between them, as a lab would join them.
struct Rig {
    hosts: [Namespace; 2],
    plans: [NodePlan; 2],
    machine: Option<Machine>,
}

fn emulator() -> Emulator {
    Emulator {
        program: env!("CARGO_BIN_EXE_lab-machine").into(),
        open_tap: dataplane::tap::open,
        acceleration: Acceleration::Auto,
    }
}

impl Rig {
    fn boot(image: &Image, device: LabDevice) -> Self {
        let spec = LabSpec { bypass: false, ..LabSpec::new(device) };
        let plan = spec.plan().unwrap();
        let [h1, h2, device] = plan.nodes.try_into().unwrap();
        let emulator = emulator();
        let hosts = ["h1", "h2"].map(|name| Namespace::create(name).unwrap());
        let taps = hosts.iter().map(|host| emulator.make_tap(host, "eth1").unwrap()).collect();
        let plans = [h1, h2];
        for (host, plan) in hosts.iter().zip(&plans) {
            host.enter_with(|| furnish(plan, spec.mtu)).unwrap().unwrap();
        }
        let machine = Machine::start(&emulator, image, &device, spec.mtu, taps).unwrap();
        Self { hosts, plans, machine: Some(machine) }
    }

    fn machine(&self) -> &Machine {
        self.machine.as_ref().unwrap()
    }

    /// Datagrams of `octets` there and back again, all of them.
    fn echo(&self, rounds: u32, octets: usize) {
        let addresses = self.plans.each_ref().map(|plan| plan.interfaces[0].address.unwrap().0);
        let open = |i: usize| {
            let bound = self.hosts[i].enter_with(|| UdpSocket::bind((addresses[i], 0)));
            let socket = bound.unwrap().unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            socket
        };
        let (near, far) = (open(0), open(1));
        let to = far.local_addr().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut frame = vec![0; 10_000];
                for _ in 0..rounds {
                    let (length, from) = far.recv_from(&mut frame).expect("through the machine");
                    far.send_to(&frame[..length], from).unwrap();
                }
            });
            let mut answer = vec![0; 10_000];
            for round in 0..rounds {
                let mut question = vec![0x5a; octets];
                question[..4].copy_from_slice(&round.to_be_bytes());
                near.send_to(&question, to).unwrap();
                let length = near.recv(&mut answer).expect("back through the machine");
                assert!(answer[..length] == question, "round {round}");
            }
        });
    }

    /// Frames that port `name` received and sent, by the machine's own count.
    fn counted(&self, name: &str) -> [u64; 2] {
        let text = self.machine().ask("interfaces").unwrap();
        let line = text.split(';').find_map(|line| line.trim().strip_prefix(&format!("{name}:")));
        let fields: Vec<u64> = line
            .unwrap_or_else(|| panic!("no {name}: {text}"))
            .split_whitespace()
            .map(|f| f.parse().unwrap())
            .collect();
        [fields[1], fields[9]]
    }

    /// Ends the machine and looks whether anything of it is left.
    fn end(&mut self) {
        let pid = self.machine().pid();
        let process = PathBuf::from(format!("/proc/{pid}"));
        assert!(process.exists());
        self.machine = None;
        assert!(!process.exists(), "process {pid} is left");
        for host in &self.hosts {
            let links = host.enter_with(|| Netlink::open().unwrap().links().unwrap()).unwrap();
            assert!(links.iter().all(|link| link.name == "lo"), "left in {host}: {links:?}");
        }
    }
}

/// What a lab does for its hosts.
fn furnish(plan: &NodePlan, mtu: u32) -> Result<(), NetlinkError> {
    let mut kernel = Netlink::open()?;
    for interface in &plan.interfaces {
        let index = kernel.link(&interface.name)?.index;
        kernel.set_mtu(index, mtu)?;
        kernel.set_mac(index, interface.mac)?;
        let (ip, prefix) = interface.address.unwrap();
        kernel.add_address(index, ip.into(), prefix)?;
        kernel.set_up(index)?;
        for (ip, mac) in &interface.neighbours {
            kernel.add_permanent_neighbour(index, (*ip).into(), *mac)?;
        }
    }
    for route in &plan.routes {
        let (via, name) = &route.next_hops[0];
        let hop = NextHop { via: Some((*via).into()), index: kernel.link(name)?.index };
        kernel.replace_route(route.destination.0.into(), route.destination.1, &[hop], None)?;
    }
    Ok(())
}

/// The unpacked package behind Debian's `linux-image-KIND`, from the cache or from Debian; else why not.
fn debian(kind: &str) -> Result<PathBuf, String> {
    if privilege() != Privilege::Root {
        return Err("making TAP devices and namespaces needs root".to_owned());
    }
    let run = |program: &str, arguments: &[&str], folder: &Path| {
        let output = Command::new(program).args(arguments).current_dir(folder).output();
        let output = output.map_err(|e| format!("{program}: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(text) } else { Err(format!("{program}: {errors}")) }
    };
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let done = cache.join(kind);
    if !done.is_dir() {
        let work = cache.join(format!("{kind}.part-{}", std::process::id()));
        fs::create_dir_all(&work).map_err(|e| e.to_string())?;
        let meta = format!("linux-image-{kind}");
        let depends = run("apt-cache", &["depends", &meta], &work)?;
        let package = depends
            .lines()
            .find_map(|line| line.trim().strip_prefix("Depends: linux-image-"))
            .ok_or_else(|| format!("{meta} is no package here"))?;
        run("apt-get", &["download", &format!("linux-image-{package}")], &work)?;
        let file = fs::read_dir(&work).map_err(|e| e.to_string())?.flatten().next();
        let file = file.ok_or("apt-get left no file")?.path();
        run("dpkg", &["-x", file.to_str().unwrap(), "."], &work)?;
        fs::remove_file(file).map_err(|e| e.to_string())?;
        // Another test may have been faster.
        if fs::rename(&work, &done).is_err() {
            fs::remove_dir_all(&work).map_err(|e| e.to_string())?;
        }
    }
    let images = fs::read_dir(done.join("boot")).map_err(|e| e.to_string())?.flatten();
    let mut images = images.map(|entry| entry.path());
    let image = images.find(|path| path.to_string_lossy().contains("vmlinuz-"));
    image.ok_or_else(|| "no image in the package".to_owned())
}

/// The image, or a word that the test was skipped.
fn image(kind: &str) -> Option<Image> {
    let path = match Command::new("qemu-system-x86_64").arg("-version").output() {
        Ok(_) => debian(kind),
        Err(e) => Err(format!("qemu-system-x86_64: {e}")),
    };
    path.map_err(|why| eprintln!("skipped: {why}"))
        .ok()
        .map(|path| Image::open(&path, None).unwrap())
}

/// Boots, forwards, counts, and leaves nothing.
fn forwards(kind: &str, device: &LabDevice) {
    let Some(image) = image(kind) else { return };
    let before = Instant::now();
    let mut rig = Rig::boot(&image, device.clone());
    rig.machine().wait_until_ready().unwrap();
    let facts = rig.machine().facts();
    eprintln!("{kind} {}: {facts:?}, ready after {:?}", device.as_str(), before.elapsed());
    assert_eq!(rig.machine().ask("release").unwrap(), facts.release);
    let realtime = rig.machine().ask("realtime").is_ok_and(|text| text == "1");
    assert_eq!(realtime, kind == "rt-amd64");
    let earlier = ["p1", "p2"].map(|port| rig.counted(port));
    rig.echo(ROUND_TRIPS, 64);
    let later = ["p1", "p2"].map(|port| rig.counted(port));
    for (now, then) in later.iter().flatten().zip(earlier.iter().flatten()) {
        assert_eq!(now - then, u64::from(ROUND_TRIPS), "{earlier:?} {later:?}");
    }
    // The largest packet of the lab's links, whole.
    rig.echo(3, LARGE);
    let refusal = rig.machine().ask("nonsense").unwrap_err().to_string();
    assert!(refusal.contains("no such request"), "{refusal}");
    rig.end();
}

#[test]
fn a_bridge_of_another_kernel_forwards() {
    forwards("cloud-amd64", &LabDevice::Bridge);
}

#[test]
fn a_router_of_another_kernel_forwards() {
    forwards("cloud-amd64", &LabDevice::Router);
}

#[test]
fn a_reset_machine_comes_back() {
    let Some(image) = image("cloud-amd64") else { return };
    let rig = Rig::boot(&image, LabDevice::Bridge);
    rig.machine().wait_until_ready().unwrap();
    rig.echo(3, 64);
    let pid = rig.machine().pid();
    rig.machine().reset().unwrap();
    rig.machine().wait_until_ready().unwrap();
    rig.echo(3, 64);
    assert_eq!(rig.machine().pid(), pid);
}

#[test]
fn the_standard_and_the_real_time_kernel_forward() {
    if std::env::var_os("SWITCHMARK_TESTS").is_none_or(|profile| profile != "full") {
        eprintln!("skipped: two more kernels take a minute; set SWITCHMARK_TESTS=full");
        return;
    }
    for kind in ["amd64", "rt-amd64"] {
        forwards(kind, &LabDevice::Bridge);
        forwards(kind, &LabDevice::Router);
    }
}
