//! Packages that the tests need beyond cargo, and the installing of them.
//!
//! Installs only as root and only what is missing, and says so first. Without root a missing
//! program is named and its tests say that they are skipped.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::steps::root;

/// A program the tests call, and Debian's package that holds it.
const NEEDED: &[(&str, &str)] = &[
    ("busybox", "busybox-static"),
    ("chromium", "chromium"),
    ("ethtool", "ethtool"),
    ("fio", "fio"),
    ("flent", "flent"),
    ("ip", "iproute2"),
    ("iperf", "iperf"),
    ("iperf3", "iperf3"),
    ("irtt", "irtt"),
    ("lldpd", "lldpd"),
    ("mpirun", "openmpi-bin"),
    ("munged", "munge"),
    ("nbdkit", "nbdkit"),
    ("nft", "nftables"),
    ("ovs-vswitchd", "openvswitch-switch"),
    ("ping", "iputils-ping"),
    ("podman", "podman"),
    ("prometheus", "prometheus"),
    ("promtool", "prometheus"),
    ("qperf", "qperf"),
    ("runc", "runc"),
    ("runuser", "util-linux"),
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("srun", "slurm-client"),
    ("shellcheck", "shellcheck"),
    ("snmpd", "snmpd"),
    ("sshd", "openssh-server"),
    ("sockperf", "sockperf"),
    ("tcpdump", "tcpdump"),
    ("trafgen", "netsniff-ng"),
    ("tshark", "tshark"),
    ("vtysh", "frr"),
];

/// A file that only the benchmark beside ns-3 needs, and Debian's package that holds it. Too large
/// to be installed for the tests.
const FOR_NS3: &[(&str, &str)] =
    &[("/usr/bin/g++", "g++"), ("/usr/include/ns3/core-module.h", "libns3-dev")];

/// Makes every needed program available, or says which are missing.
pub fn ensure() -> Result<()> {
    let missing = NEEDED.iter().filter(|(program, _)| !on_path(program));
    let mut missing: Vec<_> = missing.map(|(_, package)| *package).collect();
    missing.dedup();
    install(&missing)?;
    ensure_axe(&root())
}

/// The checker of accessibility that a test runs in a browser, of npm.
const AXE: &str = "axe-core@4.14.1";

/// Fetches it where there is npm: its test is skipped elsewhere.
fn ensure_axe(root: &Path) -> Result<()> {
    let place = root.join("target/axe");
    if place.join("package/axe.min.js").exists() || !on_path("npm") {
        return Ok(());
    }
    fs::create_dir_all(&place).with_context(|| format!("make {}", place.display()))?;
    let npm = ["pack", "--silent", AXE];
    let fetched =
        Command::new("npm").args(npm).current_dir(&place).output().context("start npm")?;
    let archive = String::from_utf8_lossy(&fetched.stdout).trim().to_owned();
    if !fetched.status.success() {
        eprintln!("missing: {AXE}, which npm could not fetch; its test is skipped now");
        return Ok(());
    }
    let unpacked = Command::new("tar").args(["-xzf", &archive]).current_dir(&place).status();
    if !unpacked.context("start tar")?.success() {
        bail!("tar could not unpack {archive}");
    }
    Ok(())
}

/// Makes available what the benchmark beside ns-3 needs, or says what is missing.
pub fn ensure_ns3() -> Result<()> {
    let missing = FOR_NS3.iter().filter(|(file, _)| !Path::new(file).exists());
    install(&missing.map(|(_, package)| *package).collect::<Vec<_>>())
}

fn install(missing: &[&str]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() || !on_path("apt-get") {
        eprintln!("missing: {}", missing.join(" "));
        eprintln!(
            "hint: as root, `apt-get install {}`; their tests are skipped now",
            missing.join(" ")
        );
        return Ok(());
    }
    eprintln!("installing what the tests need: {}", missing.join(" "));
    apt(&["update", "-qq"])?;
    let _quiet = NoServices::new()?;
    let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
    install.extend(missing);
    apt(&install)
}

/// Keeps a package's services from starting, by Debian's own means: its scripts ask for this while
/// it is installed, and this removes it afterwards. If a machine has its own policy, that one
/// decides.
struct NoServices(bool);

const POLICY: &str = "/usr/sbin/policy-rc.d";

impl NoServices {
    fn new() -> Result<Self> {
        match OpenOptions::new().write(true).create_new(true).mode(0o755).open(POLICY) {
            Ok(mut file) => {
                let this = Self(true);
                file.write_all(b"#!/bin/sh\nexit 101\n")
                    .with_context(|| format!("write {POLICY}"))?;
                Ok(this)
            }
            Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => Ok(Self(false)),
            Err(cause) => Err(cause).with_context(|| format!("write {POLICY}")),
        }
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.0 {
            let _ = fs::remove_file(POLICY);
        }
    }
}

fn apt(args: &[&str]) -> Result<()> {
    let output = Command::new("apt-get")
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output()
        .context("start apt-get")?;
    if !output.status.success() {
        bail!("apt-get {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|folder| folder.join(program).is_file())
}

fn is_root() -> bool {
    let uid = Command::new("id").arg("-u").output();
    uid.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
