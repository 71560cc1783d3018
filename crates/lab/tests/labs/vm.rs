//! Real kernels as devices: Debian's, booted under qemu between two namespaces.
//!
//! Downloads the kernels once, by `apt-get download`, into the target folder; without root, qemu or
//! a way to Debian each test says that it was skipped, and why. `SWITCHMARK_TESTS=full` adds the
//! standard and the PREEMPT_RT kernel to the small cloud one. Asserts no time.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::ends;
use lab::vm::{Acceleration, Emulator, Image};
use lab::{Equipment, Lab, LabDevice, LabSpec, Privilege, VmRole, VmSpec, privilege};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lab-machine");
const ROUND_TRIPS: u32 = 200;
const LARGE: usize = 8952;
const OVERLOAD: u64 = 50_000;

fn build(kernel: &Path, role: VmRole) -> Lab {
    let machine = VmSpec {
        name: None,
        role,
        kernel: kernel.to_owned(),
        modules: None,
        acceleration: Acceleration::Auto,
    };
    let emulator = Emulator {
        program: PROGRAM.into(),
        open_tap: dataplane::tap::open,
        acceleration: Acceleration::Auto,
    };
    let spec = LabSpec { bypass: false, ..LabSpec::new(LabDevice::Vm(machine)) };
    Lab::build_with(&spec, Equipment { emulator: Some(emulator), ..Equipment::default() }).unwrap()
}

/// Datagrams of `octets` from the first host to the second and back again, all of them.
fn echo(lab: &Lab, rounds: u32, octets: usize) {
    let open = |i: usize| {
        let host = &lab.plan().hosts[i];
        let bound = lab.inside(&host.name, || UdpSocket::bind((host.ports[0].address, 0)));
        let socket = bound.unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
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

/// Frames that each port received and sent, by the machine's own count.
fn counted(lab: &Lab) -> [u64; 4] {
    let text = lab.machine("vm").unwrap().ask("interfaces").unwrap();
    let fields = |name: &str| -> Vec<u64> {
        let line = text.split(';').find_map(|line| line.trim().strip_prefix(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
        line.split_whitespace().map(|field| field.parse().unwrap()).collect()
    };
    let (p1, p2) = (fields("p1:"), fields("p2:"));
    [p1[1], p1[9], p2[1], p2[9]]
}

/// Finds the unpacked package behind Debian's `linux-image-KIND`, from the cache or from Debian;
/// otherwise returns the reason.
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

/// Opens the image, or reports that the test was skipped.
fn image(kind: &str) -> Option<PathBuf> {
    let path = match Command::new("qemu-system-x86_64").arg("-version").output() {
        Ok(_) => debian(kind),
        Err(e) => Err(format!("qemu-system-x86_64: {e}")),
    };
    path.map_err(|why| eprintln!("skipped: {why}")).ok()
}

/// Sends more frames than an emulated machine can process: each is counted either by it or by its
/// cable, and none was refused to the sender.
fn overload(lab: &Lab) {
    let machine = lab.machine("vm").unwrap();
    let lost = || machine.losses().unwrap()["p1"].to_machine;
    let (received, missed) = (counted(lab)[0], lost());
    let host = &lab.plan().hosts[0];
    let socket = lab.inside(&host.name, || UdpSocket::bind((host.ports[0].address, 0)));
    let socket = socket.unwrap().unwrap();
    let to = (lab.plan().hosts[1].ports[0].address, 9);
    for _ in 0..OVERLOAD {
        socket.send_to(&[0; 18], to).unwrap();
    }
    let mut books = (0, 0);
    for _ in 0..1000 {
        books = (counted(lab)[0] - received, lost() - missed);
        if books.0 + books.1 >= OVERLOAD {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    eprintln!("of {OVERLOAD} frames the machine took {} and its cable lost {}", books.0, books.1);
    assert_eq!(books.0 + books.1, OVERLOAD);
}

/// Boots, forwards, counts, and leaves no trace.
fn forwards(kind: &str, role: VmRole) {
    let Some(_alone) = ends::machine() else { return };
    let Some(kernel) = image(kind) else { return };
    let before = Instant::now();
    let lab = build(&kernel, role);
    let machine = lab.machine("vm").unwrap();
    eprintln!("{kind} {role:?}: {:?}, there after {:?}", machine.facts(), before.elapsed());
    assert_eq!(machine.ask("release").unwrap(), Image::open(&kernel, None).unwrap().release());
    let realtime = machine.ask("realtime").is_ok_and(|text| text == "1");
    assert_eq!(realtime, kind == "rt-amd64");
    let earlier = counted(&lab);
    echo(&lab, ROUND_TRIPS, 64);
    let later = counted(&lab);
    for (now, then) in later.iter().zip(&earlier) {
        assert_eq!(now - then, u64::from(ROUND_TRIPS), "{earlier:?} {later:?}");
    }
    // The largest packet of the lab's links, whole.
    echo(&lab, 3, LARGE);
    overload(&lab);
    let refusal = machine.ask("nonsense").unwrap_err().to_string();
    assert!(refusal.contains("no such request"), "{refusal}");

    let process = PathBuf::from(format!("/proc/{}", machine.pid()));
    assert!(process.exists());
    drop(lab);
    assert!(!process.exists(), "{} is left", process.display());
}

#[test]
fn a_bridge_of_another_kernel_forwards() {
    forwards("cloud-amd64", VmRole::Bridge);
}

#[test]
fn a_router_of_another_kernel_forwards() {
    forwards("cloud-amd64", VmRole::Router);
}

#[test]
fn a_machine_dies_with_its_killed_holder() {
    let Some(kernel) = image("cloud-amd64") else { return };
    let mut command = Command::new(PROGRAM);
    let mut holder = command
        .arg("hold")
        .arg(kernel)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let process = PathBuf::from(format!("/proc/{}", line.trim()));
    let command_line = fs::read_to_string(process.join("cmdline")).unwrap();
    assert!(command_line.contains("qemu"), "{command_line}");
    // SIGKILL: no destructor of ours runs.
    holder.kill().unwrap();
    holder.wait().unwrap();
    // The kernel takes a moment to free a large process's memory; a minute is too long.
    for _ in 0..6000 {
        if !process.exists() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{} is left", process.display());
}

#[test]
fn modules_are_looked_for_where_the_user_says() {
    let Some(kernel) = image("cloud-amd64") else { return };
    let image = Image::open(&kernel, None).unwrap();
    let folder = image.modules().unwrap();
    for given in [folder, folder.parent().unwrap()] {
        assert_eq!(Image::open(&kernel, Some(given)).unwrap().modules(), Some(folder));
    }
    let wrong = Image::open(&kernel, Some(Path::new("/proc"))).unwrap_err();
    assert!(wrong.to_string().starts_with("find the modules of kernel 6."), "{wrong}");
    assert!(wrong.hint().unwrap().contains("dpkg -x"));
    let no_kernel = Image::open(Path::new("/proc/self/exe"), None).unwrap_err();
    assert_eq!(no_kernel.to_string(), "read kernel image /proc/self/exe: not a Linux bzImage");
}

#[test]
fn the_standard_and_the_real_time_kernel_forward() {
    if std::env::var_os("SWITCHMARK_TESTS").is_none_or(|profile| profile != "full") {
        eprintln!("skipped: two more kernels take a minute; set SWITCHMARK_TESTS=full");
        return;
    }
    for kind in ["amd64", "rt-amd64"] {
        forwards(kind, VmRole::Bridge);
        forwards(kind, VmRole::Router);
    }
}
