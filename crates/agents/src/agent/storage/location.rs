//! Location of a job's storage: behind the network, or attached to this host.
//!
//! Owns the criteria: the engine, the file system, and its block device as sysfs shows it. Anything
//! that matches neither is unknown. Never asks another host.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::sys::stat::{major, minor};
use trial::Storage;
use trial::record::StorageLocation::{self, Local, Remote, Unknown};

use super::target;

/// File systems whose files are all on another host.
const NETWORK_FILE_SYSTEMS: [&str; 19] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ceph",
    "afs",
    "lustre",
    "beegfs",
    "gpfs",
    "pvfs2",
    "glusterfs",
    "coda",
    "ncpfs",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.ceph-fuse",
    "fuse.ceph",
    "fuse.s3fs",
];
/// File systems in this host's memory.
const MEMORY_FILE_SYSTEMS: [&str; 4] = ["tmpfs", "ramfs", "hugetlbfs", "devtmpfs"];
/// Block devices whose blocks are on another host, by the start of their names.
const NETWORK_DEVICES: [&str; 4] = ["nbd", "rbd", "drbd", "etherd"];
/// Block devices of this host without an identifying bus: memory, flash, and a hypervisor's disks,
/// which use no network port of the guest.
const OWN_DEVICES: [&str; 7] = ["ram", "zram", "pmem", "mmcblk", "vd", "xvd", "fd"];
/// Maximum depth of stacked devices to follow.
const DEEPEST: u32 = 8;

/// Determines the location of a job's storage; `file` is the one that was laid out for it.
pub(super) fn locate(job: &Storage, file: Option<&File>) -> StorageLocation {
    if job.server.is_some() {
        return Remote;
    }
    match job.ioengine.as_str() {
        "null" => Local,
        "nbd" => of_uri(&job.filename),
        _ if target::is_path(job) => System::this().of_path(Path::new(&job.filename), file, 0),
        _ => Remote,
    }
}

/// Determines the location from `nbd://host/export`. A server at a socket or on this host may use
/// any storage.
fn of_uri(uri: &str) -> StorageLocation {
    let Some((scheme, rest)) = uri.split_once("://") else { return Unknown };
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let here = host.is_empty()
        || host.starts_with("localhost")
        || host.starts_with("127.")
        || host.starts_with("[::1]");
    if scheme.contains("unix") || here { Unknown } else { Remote }
}

/// The kernel's information about file systems and block devices.
struct System {
    /// Root of sysfs, `/sys`.
    sys: PathBuf,
    /// Content of `/proc/self/mountinfo`.
    mounts: String,
}

impl System {
    fn this() -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Self { sys: "/sys".into(), mounts }
    }

    fn of_path(&self, path: &Path, file: Option<&File>, depth: u32) -> StorageLocation {
        // Opened by path only: opening a device may have effects.
        let looked_at;
        let file = if let Some(file) = file {
            file
        } else {
            let flags = OFlag::O_PATH.bits();
            let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else {
                return Unknown;
            };
            looked_at = file;
            &looked_at
        };
        let Ok(found) = file.metadata() else { return Unknown };
        if found.file_type().is_block_device() {
            return self.of_device(major(found.rdev()), minor(found.rdev()), depth);
        }
        let told = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()));
        let told = told.unwrap_or_default();
        let mount = told.lines().find_map(|line| line.strip_prefix("mnt_id:"));
        mount.map_or(Unknown, |mount| self.of_mount(mount.trim(), depth))
    }

    /// Determines the location of a mount from its line (proc_pid_mountinfo(5)):
    /// `36 35 98:0 /root /mount options - type source options`.
    fn of_mount(&self, id: &str, depth: u32) -> StorageLocation {
        let mut lines = self.mounts.lines();
        let Some(line) = lines.find(|line| line.split(' ').next() == Some(id)) else {
            return Unknown;
        };
        let (Some(device), Some((_, rest))) = (line.split(' ').nth(2), line.split_once(" - "))
        else {
            return Unknown;
        };
        let mut rest = rest.split(' ');
        let [kind, source, options] = [(); 3].map(|()| rest.next().unwrap_or_default());
        let option = |name: &str| {
            options.split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
        };
        if NETWORK_FILE_SYSTEMS.contains(&kind) {
            // A share that this host serves to itself may be stored anywhere.
            let own = |address: &str| address.starts_with("127.") || address == "::1";
            return if option("addr").is_some_and(own) { Unknown } else { Remote };
        }
        if MEMORY_FILE_SYSTEMS.contains(&kind) {
            return Local;
        }
        if ["9p", "virtiofs"].contains(&kind) {
            return match option("trans") {
                Some("tcp" | "rdma") => Remote,
                Some("virtio") => Local,
                _ if kind == "virtiofs" => Local,
                _ => Unknown,
            };
        }
        if !source.starts_with("/dev/") {
            return Unknown;
        }
        let number = |text: &str| text.parse::<u64>().ok();
        match device.split_once(':').and_then(|(a, b)| Some((number(a)?, number(b)?))) {
            Some((major, minor)) if major > 0 => self.of_device(major, minor, depth),
            // btrfs has numbers of its own for its subvolumes.
            _ => match fs::metadata(source) {
                Ok(of) => self.of_device(major(of.rdev()), minor(of.rdev()), depth),
                Err(_) => Unknown,
            },
        }
    }

    fn of_device(&self, major: u64, minor: u64, depth: u32) -> StorageLocation {
        let link = self.sys.join(format!("dev/block/{major}:{minor}"));
        let Ok(mut device) = fs::canonicalize(link) else { return Unknown };
        if device.join("partition").exists() {
            device.pop();
        }
        self.of_disk(&device, depth)
    }

    /// Determines the location of a whole disk, by its folder in sysfs.
    fn of_disk(&self, device: &Path, depth: u32) -> StorageLocation {
        let name = device.file_name().unwrap_or_default().to_string_lossy();
        let begins = |with: &[&str]| with.iter().any(|with| name.starts_with(with));
        if depth > DEEPEST {
            return Unknown;
        }
        if begins(&NETWORK_DEVICES) {
            return Remote;
        }
        let below: Vec<StorageLocation> = children(&device.join("slaves"))
            .filter_map(|slave| fs::canonicalize(slave).ok())
            .map(|slave| if slave.join("partition").exists() { parent(&slave) } else { slave })
            .map(|slave| self.of_disk(&slave, depth + 1))
            .collect();
        if !below.is_empty() {
            return all_of(&below);
        }
        if let Ok(file) = fs::read_to_string(device.join("loop/backing_file")) {
            return self.of_path(Path::new(file.trim()), None, depth + 1);
        }
        if name.starts_with("nvme") {
            return of_nvme(&device.join("device"));
        }
        if begins(&OWN_DEVICES) {
            return Local;
        }
        of_scsi(device)
    }
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).to_owned()
}

fn children(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Combines the devices below a device: if one is behind the network, operations cross it.
fn all_of(below: &[StorageLocation]) -> StorageLocation {
    match () {
        () if below.contains(&Remote) => Remote,
        () if below.iter().all(|one| *one == Local) => Local,
        () => Unknown,
    }
}

/// Determines the location from a controller's transport; a namespace with several paths is below a
/// subsystem of controllers.
fn of_nvme(device: &Path) -> StorageLocation {
    let transport = |folder: &Path| fs::read_to_string(folder.join("transport")).ok();
    let own = transport(device).into_iter();
    let of_paths = children(device).filter_map(|path| transport(&path));
    let all: Vec<StorageLocation> = own
        .chain(of_paths)
        .map(|transport| match transport.trim() {
            "pcie" => Local,
            "tcp" | "rdma" => Remote,
            _ => Unknown,
        })
        .collect();
    if all.is_empty() { Unknown } else { all_of(&all) }
}

/// Determines the location from the buses in the sysfs path. Fibre Channel is a network, but uses
/// none of this host's network ports: unknown.
fn of_scsi(device: &Path) -> StorageLocation {
    let on = |bus: &str| {
        device.components().any(|part| part.as_os_str().to_string_lossy().starts_with(bus))
    };
    match () {
        () if on("session") => Remote,
        () if on("rport-") => Unknown,
        () if on("pci") || on("ata") || on("usb") || on("virtio") => Local,
        () => Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &Path) -> PathBuf {
        fs::create_dir_all(path).unwrap();
        path.to_owned()
    }

    #[test]
    fn block_devices_as_sysfs_has_them() {
        let sys = std::env::temp_dir().join(format!("switchmark-sysfs-{}", std::process::id()));
        let system = System { sys: sys.clone(), mounts: String::new() };
        let disk = |path: &str| folder(&sys.join("devices").join(path));
        let slave = |of: &Path, disk: &Path| {
            let name = disk.file_name().unwrap();
            std::os::unix::fs::symlink(disk, folder(&of.join("slaves")).join(name)).unwrap();
        };
        let nvme = |name: &str, transport: &str| {
            let disk = disk(&format!("pci0/{name}"));
            fs::write(folder(&disk.join("device")).join("transport"), transport).unwrap();
            disk
        };
        let ata = disk("pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda");
        let iscsi = disk("platform/host2/session1/target2:0:0/2:0:0:0/block/sdb");
        let part = folder(&iscsi.join("sdb1"));
        fs::write(part.join("partition"), "1").unwrap();
        let (over_ata, over_both, empty) =
            (disk("virtual/block/dm-0"), disk("virtual/block/md0"), disk("virtual/block/dm-1"));
        slave(&over_ata, &ata);
        slave(&over_both, &over_ata);
        slave(&over_both, &part);
        for (disk, expected) in [
            (ata, Local),
            (iscsi, Remote),
            (over_ata, Local),
            (over_both, Remote),
            (empty, Unknown),
            (disk("pci0/host3/rport-3:0-1/target3:0:0/3:0:0:0/block/sdc"), Unknown),
            (disk("pci0/virtio1/block/vda"), Local),
            (disk("virtual/block/nbd3"), Remote),
            (disk("rbd/0/block/rbd0"), Remote),
            (disk("virtual/block/zram0"), Local),
            (nvme("nvme0n1", "pcie\n"), Local),
            (nvme("nvme1n1", "tcp\n"), Remote),
            (nvme("nvme2n1", "fc\n"), Unknown),
        ] {
            assert_eq!(system.of_disk(&disk, 0), expected, "{disk:?}");
        }
        let number = folder(&sys.join("dev/block"));
        std::os::unix::fs::symlink(&part, number.join("8:17")).unwrap();
        assert_eq!(system.of_device(8, 17, 0), Remote, "a partition is its disk's");
        assert_eq!(system.of_device(9, 9, 0), Unknown);
        fs::remove_dir_all(&sys).unwrap();
    }

    #[test]
    fn file_systems_as_mountinfo_has_them() {
        let mounts = "1 0 0:40 / /a rw - nfs4 nas:/a rw,vers=4.2,addr=192.0.2.1\n\
                      2 0 0:41 / /b rw - nfs4 localhost:/b rw,addr=127.0.0.1\n\
                      3 0 0:42 / /c rw shared:1 - tmpfs none rw\n\
                      4 0 0:43 / /d rw - fuse.unheard-of x rw\n\
                      5 0 0:44 / /e rw - ceph 192.0.2.1:6789:/ rw\n\
                      6 0 0:45 / /f rw - overlay overlay rw\n\
                      7 0 0:46 / /g rw - 9p host rw,trans=virtio\n\
                      8 0 0:47 / /h rw - cifs //nas/share rw,addr=192.0.2.1\n\
                      broken\n9 0\n";
        let system = System { sys: "/nowhere".into(), mounts: mounts.to_owned() };
        for (id, expected) in [
            ("1", Remote),
            ("2", Unknown),
            ("3", Local),
            ("4", Unknown),
            ("5", Remote),
            ("6", Unknown),
            ("7", Local),
            ("8", Remote),
            ("9", Unknown),
            ("99", Unknown),
        ] {
            assert_eq!(system.of_mount(id, 0), expected, "{id}");
        }
    }

    #[test]
    fn servers_by_their_uri() {
        for (uri, expected) in [
            ("nbd://nas/export", Remote),
            ("nbds://user@192.0.2.1:10809/e", Remote),
            ("nbd://localhost/e", Unknown),
            ("nbd://127.0.0.1:10809", Unknown),
            ("nbd://[::1]/e", Unknown),
            ("nbd+unix:///e?socket=/tmp/s", Unknown),
            ("nas", Unknown),
        ] {
            assert_eq!(of_uri(uri), expected, "{uri}");
        }
    }
}
