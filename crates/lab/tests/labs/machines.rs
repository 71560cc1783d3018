//! Virtual machines as devices of a lab, next to a namespace.
//!
//! Uses the kernel that the tests of `vm` fetched; without it, root or qemu the test reports that
//! it was skipped, and why. Asserts no time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lab::vm::{Acceleration, Emulator};
use lab::{Equipment, Lab, LabDevice, LabSpec, Privilege, VmRole, VmSpec, privilege};

use crate::ends::{Pair, echo, machine, promised_pairs};

fn kernel() -> Result<PathBuf, String> {
    if privilege() != Privilege::Root {
        return Err("making TAP devices needs root".to_owned());
    }
    let qemu = Command::new("qemu-system-x86_64").arg("-version").output();
    qemu.map_err(|e| format!("qemu-system-x86_64: {e}"))?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels/cloud-amd64/boot");
    let files = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files = files.flatten().map(|entry| entry.path());
    let image = files.find(|path| path.to_string_lossy().contains("vmlinuz-"));
    image.ok_or_else(|| "no image in the package".to_owned())
}

fn emulator() -> Emulator {
    Emulator {
        program: env!("CARGO_BIN_EXE_lab-machine").into(),
        open_tap: dataplane::tap::open,
        acceleration: Acceleration::Auto,
    }
}

#[test]
fn machines_stand_beside_a_namespace() {
    let Some(_machine) = machine() else { return };
    let kernel = match kernel() {
        Ok(kernel) => kernel,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let vm = |name: Option<&str>, role| {
        LabDevice::Vm(VmSpec {
            name: name.map(str::to_owned),
            role,
            kernel: kernel.clone(),
            modules: None,
            acceleration: Acceleration::Auto,
        })
    };
    let devices =
        vec![vm(None, VmRole::Bridge), LabDevice::Bridge, vm(Some("debian"), VmRole::Router)];
    let spec = LabSpec::with_devices(devices);
    let without = Lab::build(&spec).unwrap_err().to_string();
    assert_eq!(without, "start machine vm: this program has no emulator to start it with");
    let equipment = Equipment { emulator: Some(emulator()), ..Equipment::default() };
    let lab = Lab::build_with(&spec, equipment).unwrap();
    let nodes: Vec<&str> = lab.nodes().collect();
    assert_eq!(nodes, ["h1", "h2", "bridge"]);
    assert_eq!(lab.variants("debian"), [] as [&str; 0]);
    let facts = lab.machine("debian").unwrap().facts();
    eprintln!("{facts:?}");

    for pair in promised_pairs(&lab) {
        let before = counted(&lab);
        for octets in [64, 8952] {
            echo(&lab, &pair, octets);
        }
        check_who_counted(&pair, before, counted(&lab));
    }
    for device in ["vm", "debian"] {
        lab.reset(device, Duration::ZERO).unwrap();
        for pair in promised_pairs(&lab) {
            echo(&lab, &pair, 64);
        }
    }
    let pids: Vec<u32> = ["vm", "debian"].map(|name| lab.machine(name).unwrap().pid()).into();
    drop(lab);
    for pid in pids {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "process {pid} is left");
    }
}

/// Frames that each machine's two ports sent, by its own count.
fn counted(lab: &Lab) -> [u64; 2] {
    ["vm", "debian"].map(|name| {
        let text = lab.machine(name).unwrap().ask("interfaces").unwrap();
        let sent = |port: &str| {
            let line = text.split(';').find_map(|line| line.trim().strip_prefix(port)).unwrap();
            line.split_whitespace().nth(9).unwrap().parse::<u64>().unwrap()
        };
        sent("p1:") + sent("p2:")
    })
}

/// Checks that the intended machine counted four frames and the other none. A bridge that has not
/// learned yet has only two ports: it cannot flood further.
fn check_who_counted(pair: &Pair, before: [u64; 2], after: [u64; 2]) {
    let expected = match pair.subject.as_deref() {
        Some("vm") => [4, 0],
        Some("debian") => [0, 4],
        _ => [0, 0],
    };
    let sent = [after[0] - before[0], after[1] - before[1]];
    assert_eq!(sent, expected, "{:?} to {:?}", pair.asking, pair.answering);
}
