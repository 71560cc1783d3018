//! The image: read by skopeo, unpacked by umoci, run by podman, as root and as a user without
//! rights.
//!
//! Owns what a container is granted for each test. No daemon runs. Never looks into the image's
//! files itself.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::{Made, Place, smoke, smoke_of_labs};
use crate::dist;
use crate::steps::{capture_output, run};

/// Words that run a container. crun refuses to start where a kernel has both generations of control
/// groups, and a process may not raise its limits everywhere.
const RUN: [&str; 6] = [
    "run",
    "--rm",
    "--runtime=runc",
    "--network=none",
    "--ulimit=nofile=1024:1024",
    "--ulimit=nproc=1024:1024",
];
/// Least rights: nothing is granted, and nothing may be written except in the image's data folder.
const LEAST: [&str; 2] = ["--cap-drop=all", "--read-only"];
/// Grant for a lab, which sets up its own namespaces' networks.
const UNMASKED: &str = "--security-opt=unmask=/proc/sys";
/// Profile that forbids the call that makes a user namespace, as Docker's own does.
const SECCOMP: &str = r#"{"defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [{"names": ["unshare"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]}"#;
/// Profile of an old kernel, which lacks newer system calls.
const OLD: &str = r#"{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"action": "SCMP_ACT_ERRNO", "errnoRet": 38,
    "names": ["bpf", "clone3", "close_range", "openat2", "pidfd_open", "statx", "faccessat2"]}]}"#;
/// Two ports that every container has.
const TESTBED: &str = r#"
[[host]]
name = "h1"
reach = "local"
port = [{ name = "lo", address = "127.0.0.1/8", cable = "h2/lo" }]
[[host]]
name = "h2"
reach = "local"
port = [{ name = "lo", address = "127.0.0.2/8", cable = "h1/lo" }]
"#;
/// User to whom no file belongs.
const NOBODY: u32 = 65534;

/// Checks all of it.
pub(super) fn check(made: &Made, scratch: &Path) -> Result<()> {
    let archive = made.file(&format!("{}.oci.tar", dist::named(&made.version, made.own)));
    read(made, &archive, scratch)?;
    let image = format!("localhost/switchmark:{}", made.version);
    let root = Podman { start: vec!["podman".into()], image: image.clone(), is_nobody: false };
    root.with(&archive, |begun| {
        smoke(made, &root.container(&LEAST), begun)?;
        smoke_of_labs(&root.container(&["--privileged"]))?;
        smoke_of_labs(&root.container(&[UNMASKED]))?;
        refusals(&root, scratch)?;
        old_kernel(&root, scratch)
    })?;
    let nobody = Podman::of_nobody(image, &scratch.join("user"))?;
    eprintln!("without root:");
    nobody.with(&archive, |begun| {
        smoke(made, &nobody.container(&LEAST), begun)?;
        smoke_of_labs(&nobody.container(&[UNMASKED]))
    })
}

/// Reads the image with programs that do not run it.
fn read(made: &Made, archive: &Path, scratch: &Path) -> Result<()> {
    let source = format!("oci-archive:{}", archive.display());
    let asked = "{{.Digest}} {{.Os}} {{.Architecture}}";
    let about =
        capture_output(Command::new("skopeo").args(["inspect", "--format", asked, &source]))
            .context(
                "read the image (hint: install Debian's packages skopeo, umoci, podman, runc)",
            )?;
    eprintln!("{about}");
    ensure!(about.ends_with(&format!("linux {}", made.own.short)), "the image is of {about}");
    let (layout, bundle) = (scratch.join("layout"), scratch.join("bundle"));
    fs::create_dir_all(&layout)?;
    run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&layout))?;
    let tagged = format!("{}:switchmark:{}", layout.display(), made.version);
    run(Command::new("umoci").args(["unpack", "--image", &tagged]).arg(&bundle))?;
    ensure!(bundle.join("rootfs/usr/bin/switchmark").is_file(), "no program in the image");
    Ok(())
}

/// Command that starts podman as some user, with the image.
struct Podman {
    start: Vec<OsString>,
    image: String,
    is_nobody: bool,
}

impl Podman {
    /// Starts podman as a user without rights, who has a folder. Its name is short: below a long
    /// one, conmon cannot make its sockets, and each container waits 20 s for it.
    fn of_nobody(image: String, home: &Path) -> Result<Self> {
        let runtime = home.join("run");
        fs::create_dir_all(&runtime)?;
        for folder in [home, &runtime] {
            chown(folder, Some(NOBODY), Some(NOBODY))?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        }
        let user = format!("--reuid={NOBODY}");
        let group = format!("--regid={NOBODY}");
        let words = ["setpriv", &user, &group, "--clear-groups", "env", "--chdir"];
        let mut start: Vec<OsString> = words.map(Into::into).to_vec();
        start.push(home.into());
        start.push(format!("HOME={}", home.display()).into());
        start.push(format!("XDG_RUNTIME_DIR={}", runtime.display()).into());
        start.extend(["podman", "--log-level=error"].map(Into::into));
        Ok(Self { start, image, is_nobody: true })
    }

    /// Does the work while the image is loaded; nothing is left behind.
    fn with(&self, archive: &Path, work: impl FnOnce(Instant) -> Result<()>) -> Result<()> {
        let podman = Place { start: self.start.clone(), journal: None };
        let begun = Instant::now();
        // A user without rights reads it through a pipe.
        let archive = fs::File::open(archive)?;
        run(podman.start(&["load", "--quiet"]).stdin(archive))?;
        let ended = work(begun);
        run(&mut podman.start(&["rmi", &self.image]))?;
        if self.is_nobody {
            // It ends the process that holds the user's namespace.
            run(&mut podman.start(&["system", "migrate"]))?;
        }
        ended
    }

    /// A container with these options; its journal is where the image has it.
    fn container(&self, options: &[&str]) -> Place {
        let mut start = self.start.clone();
        start.extend(RUN.iter().chain(options).map(Into::into));
        start.push(self.image.clone().into());
        Place { start, journal: None }
    }
}

/// Containers that may too little: one error each, with the line that grants it.
fn refusals(podman: &Podman, scratch: &Path) -> Result<()> {
    let (seccomp, testbed) = (scratch.join("seccomp.json"), scratch.join("testbed.toml"));
    fs::write(&seccomp, SECCOMP)?;
    fs::write(&testbed, TESTBED)?;
    let seccomp = format!("--security-opt=seccomp={}", seccomp.display());
    let testbed = format!("--volume={}:/testbed.toml:ro", testbed.display());
    let no_place = ["--read-only", "--read-only-tmpfs=false", "--image-volume=ignore"];
    let refused: [(&[&str], &str, &str); 5] = [
        (&no_place, "sim:x450a-48t", "--journal FILE"),
        (&[&testbed], "/testbed.toml", "--cap-add=NET_ADMIN"),
        (&[], "lab:bridge", "--security-opt unmask=/proc/sys"),
        (&[&seccomp, UNMASKED], "lab:bridge", "--security-opt seccomp=unconfined"),
        (&["--cap-drop=all", UNMASKED], "lab:bridge", "--cap-add=SETFCAP"),
    ];
    for (options, testbed, grants) in refused {
        let mut study = podman.container(options).start(&["latency", "--testbed", testbed]);
        let output = study.output().with_context(|| format!("start {study:?}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(2), "{study:?} ended with {}: {said}", output.status);
        ensure!(said.contains(grants), "{study:?} does not name `{grants}`: {said}");
        ensure!(said.matches("error:").count() == 1, "{study:?}: not one error: {said}");
    }
    eprintln!("{} containers that may too little: each names what would grant it", refused.len());
    Ok(())
}

/// Checks that without bpf(2) a flood uses another backend, and that xdp-live by name is refused.
fn old_kernel(podman: &Podman, scratch: &Path) -> Result<()> {
    let filter = scratch.join("old.json");
    fs::write(&filter, OLD)?;
    let filter = format!("--security-opt=seccomp={}", filter.display());
    let flood = |more: &[&str]| {
        let words = "forwarding --testbed lab:bridge --flood --size 64 -t 0.2 --blocks 2";
        let words: Vec<&str> = words.split(' ').chain(more.iter().copied()).collect();
        let mut study = podman.container(&["--privileged", &filter]).start(&words);
        study.output().with_context(|| format!("start {study:?}"))
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let found = flood(&[])?;
    ensure!(found.status.success(), "an old kernel's flood ended with {}", said(&found));
    let named = flood(&["--backend", "xdp-live"])?;
    let error = said(&named);
    ensure!(
        !named.status.success() && error.contains("is not in this kernel"),
        "not told: {error}"
    );
    eprintln!("a kernel without bpf(2): a flood goes another way; xdp-live by name is refused");
    Ok(())
}
