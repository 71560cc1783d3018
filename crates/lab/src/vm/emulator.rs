//! The emulator: its program, its acceleration, and its arguments.
//!
//! Owns the hardware of the machine: one processor, two serial ports and network cards, nothing
//! else. Never starts it.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::{InterfacePlan, LabError};

const PROGRAM: &str = "qemu-system-x86_64";
/// Maximum number of ports: each is a card of its own on the machine's first bus, which has room
/// for 32 devices and has some.
pub const MAX_PORTS: usize = 24;
/// Memory for a distribution's kernel itself, in MiB: Debian's three boot and forward with it.
const MEMORY_MIB: usize = 192;
/// Kernel command line. `quiet`: each letter on the console costs emulation time. `panic=0`: a
/// kernel that panicked stops, so its message is the last output. `no_timer_check`: on a busy
/// machine an emulated timer is so late that the kernel takes it for broken and panics (under KVM a
/// kernel skips the check by itself).
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=0 no_timer_check rdinit=/init";

/// Acceleration of a machine's processor: the means of executing its instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acceleration {
    /// KVM if possible, otherwise TCG.
    #[default]
    Auto,
    /// KVM: the processor executes them.
    Kvm,
    /// TCG: the emulator executes them, many times slower.
    Tcg,
}

impl Acceleration {
    /// Resolves `Auto` for this machine: KVM if the processor has the instructions for it and the
    /// kernel permits it. A `/dev/kvm` without those instructions exists (kernels that virtualise
    /// inside virtual machines); ordinary kernels do not boot on it.
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

    /// Name: `kvm` or `tcg`; `auto` before it is resolved.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }
}

/// Settings for starting a machine.
#[derive(Debug, Clone)]
pub struct Emulator {
    /// Program of switchmark itself, statically linked. Started as [`super::EMULATOR_NAME`] it
    /// calls [`super::become_emulator`]; in the machine it is the first process and carries out
    /// [`super::Orders`].
    pub program: PathBuf,
    /// Function that creates a TAP device of this name in the calling thread's namespace.
    pub open_tap: fn(&str) -> io::Result<OwnedFd>,
    /// Acceleration of the machine's processor.
    pub acceleration: Acceleration,
}

impl Emulator {
    /// Finds qemu in PATH.
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

    /// Builds the arguments of qemu. Descriptor 0 is the control socket, 1 the monitor, 2 the
    /// console. `{0}` is the kernel, `{1}` the file system of `archive_octets`, `{2}` and on the
    /// ports' TAPs. Contains no text from a user.
    pub(super) fn arguments(
        &self,
        ports: &[InterfacePlan],
        archive_octets: usize,
    ) -> Vec<OsString> {
        let acceleration = self.acceleration.resolved();
        // The archive exists twice while the kernel unpacks it.
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

/// Kernel command line, for the record.
pub(super) const fn kernel_arguments() -> &'static str {
    KERNEL_ARGUMENTS
}

/// Reads the program for the machine's first process; fails if it is missing.
pub(super) fn read_program(program: &Path) -> Result<Vec<u8>, LabError> {
    std::fs::read(program).map_err(|e| LabError::file("read", program.display(), e))
}
