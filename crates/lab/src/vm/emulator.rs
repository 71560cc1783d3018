//! The emulator: which one, how fast, and with what arguments.
//!
//! Owns the machine's make: one processor, two serial ports and network cards, nothing else. Never
//! starts it.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::{InterfacePlan, LabError};

const PROGRAM: &str = "qemu-system-x86_64";
/// The most ports: each is a card of its own on the machine's first bus, which has room for 32
/// devices and has some.
pub const MAX_PORTS: usize = 24;
/// What a distribution's kernel takes for itself, in MiB: Debian's three boot and forward with it.
const MEMORY_MIB: usize = 192;
/// `quiet`, because each letter on the console is an emulated device's work; `panic=0`, so that a
/// kernel that gave up stays where it is and its words are the last; `no_timer_check`, because an
/// emulated timer on a busy machine is late enough for the kernel to take it for broken, and to
/// panic (under KVM a kernel leaves the check out by itself).
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=0 no_timer_check rdinit=/init";

/// How the machine's instructions are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acceleration {
    /// By the processor where it can, else by the emulator.
    #[default]
    Auto,
    /// By the processor: KVM.
    Kvm,
    /// By the emulator, many times slower: TCG.
    Tcg,
}

impl Acceleration {
    /// What `Auto` comes to on this machine: KVM where the processor has the instructions for it
    /// and the kernel lets us. A `/dev/kvm` without those instructions exists (kernels that
    /// virtualise inside virtual machines); ordinary kernels do not boot on it.
    #[must_use]
    pub fn resolved(self) -> Self {
        if self != Self::Auto {
            return self;
        }
        let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let able = flags.split_whitespace().any(|flag| flag == "vmx" || flag == "svm");
        let open = || std::fs::File::options().read(true).write(true).open("/dev/kvm");
        if able && open().is_ok() { Self::Kvm } else { Self::Tcg }
    }

    /// `kvm` or `tcg`; `auto` before it is resolved.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }
}

/// What a machine is started with.
#[derive(Debug, Clone)]
pub struct Emulator {
    /// switchmark's own program, statically linked. Started as [`super::EMULATOR_NAME`] it calls
    /// [`super::become_emulator`]; in the machine it is the first process and obeys
    /// [`super::Orders`].
    pub program: PathBuf,
    /// Makes a TAP device of this name in the calling thread's namespace.
    pub open_tap: fn(&str) -> io::Result<OwnedFd>,
    /// By what means.
    pub acceleration: Acceleration,
}

impl Emulator {
    /// Where qemu is.
    pub(super) fn find() -> Result<PathBuf, LabError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .map(|folder| folder.join(PROGRAM))
            .find(|file| file.is_file())
            .ok_or_else(|| {
                LabError::new(format!("find {PROGRAM} in PATH"))
                    .hinted("install qemu: on Debian `apt install qemu-system-x86`")
            })
    }

    /// The arguments of qemu. Descriptor 0 is the control socket, 1 the monitor, 2 the console;
    /// `{0}` is the kernel, `{1}` the file system of `archive_octets`, `{2}` and on the ports'
    /// TAPs. No text of a user's goes in.
    pub(super) fn arguments(
        &self,
        ports: &[InterfacePlan],
        archive_octets: usize,
    ) -> Vec<OsString> {
        let acceleration = self.acceleration.resolved();
        // The archive is there twice while the kernel unpacks it.
        let memory = MEMORY_MIB + 2 * archive_octets.div_ceil(1024 * 1024);
        let mut arguments: Vec<String> = [
            "-nodefaults -no-user-config -display none -machine q35 -smp 1",
            "-chardev file,id=console,path=/dev/fd/2 -serial chardev:console",
            "-chardev socket,id=control,fd=0 -serial chardev:control",
            "-chardev socket,id=monitor,fd=1 -mon chardev=monitor,mode=control",
            "-kernel /dev/fd/{0} -initrd /dev/fd/{1}",
        ]
        .iter()
        .flat_map(|group| group.split(' '))
        .map(str::to_owned)
        .collect();
        let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        add("-m", memory.to_string());
        add("-accel", acceleration.as_str().to_owned());
        if acceleration == Acceleration::Kvm {
            add("-cpu", "host".to_owned());
        }
        add("-append", KERNEL_ARGUMENTS.to_owned());
        for (number, port) in ports.iter().enumerate() {
            let mac = port.mac.map(|octet| format!("{octet:02x}")).join(":");
            let descriptor = number + 2;
            add("-netdev", format!("tap,id=cable{number},fd={{{descriptor}}},vhost=off"));
            // Without a ROM nothing tries to boot from the network.
            add("-device", format!("virtio-net-pci,netdev=cable{number},mac={mac},romfile="));
        }
        arguments.into_iter().map(Into::into).collect()
    }
}

/// The words that a kernel is started with, for the record.
pub(super) const fn kernel_arguments() -> &'static str {
    KERNEL_ARGUMENTS
}

/// Whether the file can be the machine's first process at all: it must be there.
pub(super) fn read_program(program: &Path) -> Result<Vec<u8>, LabError> {
    std::fs::read(program).map_err(|e| LabError::file("read", program.display(), e))
}
