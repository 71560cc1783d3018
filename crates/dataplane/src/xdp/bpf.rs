//! Direct use of bpf(2): maps, programs, links that end with their descriptor, and runs of live
//! frames.
//!
//! Owns descriptors only. Their objects live in the kernel and end with the last descriptor,
//! however the process ends. Never pins anything, and never replaces another program.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP: i32 = 1;
const MAP_UPDATE: i32 = 2;
const MAP_DELETE: i32 = 3;
const PROG_LOAD: i32 = 5;
const TEST_RUN: i32 = 10;
const RAW_TRACEPOINT_OPEN: i32 = 17;
const MAP_FREEZE: i32 = 22;
const LINK_CREATE: i32 = 28;

const ATTACH_XDP: u32 = 37;
const TEST_LIVE_FRAMES: u32 = 2;
/// Size of the verifier's log, in octets. It is requested only after a failed load, because it
/// costs time.
const LOG_OCTETS: usize = 1 << 20;
const NAME_OCTETS: usize = 15;

/// Kinds of maps (`linux/bpf.h`).
pub(crate) mod kind {
    pub const ARRAY: u32 = 2;
    pub const PER_CPU_ARRAY: u32 = 6;
    pub const AF_XDP_SOCKETS: u32 = 17;
}

/// Flags of maps.
pub(super) mod flag {
    /// The program only reads it; once frozen, the verifier knows the contents.
    pub const READ_ONLY_PROGRAM: u32 = 1 << 7;
    /// Map that can be mapped into memory.
    pub const MEMORY: u32 = 1 << 10;
    /// Map whose length may differ from others in one array of maps.
    pub const INNER: u32 = 1 << 12;
}

/// Shape of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MapShape {
    pub kind: u32,
    pub key_octets: u32,
    pub value_octets: u32,
    pub entries: u32,
    pub flags: u32,
}

/// Kind of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    /// Receives frames before the stack does; `fragments` admits those longer than a page.
    Xdp { fragments: bool },
    /// Is called on an event inside the kernel.
    RawTracepoint,
}

/// Attachment mode of an XDP program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// In the driver, before memory is allocated for the frame.
    Native,
    /// In the stack, for drivers without XDP support.
    Generic,
}

/// Arguments of one call: the kernel's union, filled by offset.
struct Arguments([u64; 16]);

impl Arguments {
    fn new() -> Self {
        Self([0; 16])
    }

    fn octets(&mut self, at: usize, octets: &[u8]) -> &mut Self {
        let mut all: Vec<u8> = self.0.iter().flat_map(|word| word.to_ne_bytes()).collect();
        all[at..at + octets.len()].copy_from_slice(octets);
        for (word, octets) in self.0.iter_mut().zip(all.chunks_exact(8)) {
            *word = u64::from_ne_bytes(octets.try_into().expect("eight octets"));
        }
        self
    }

    fn word(&mut self, at: usize, value: u32) -> &mut Self {
        self.octets(at, &value.to_ne_bytes())
    }

    fn descriptor(&mut self, at: usize, value: impl AsFd) -> &mut Self {
        self.word(at, value.as_fd().as_raw_fd() as u32)
    }

    /// Sets an address of `memory`, which has to outlive the call.
    fn memory<T>(&mut self, at: usize, memory: *const T) -> &mut Self {
        self.octets(at, &(memory as u64).to_ne_bytes())
    }

    /// Makes the call. Every address among the arguments has to be valid for the command's use of
    /// it.
    #[expect(unsafe_code, reason = "bpf(2) has no wrapper")]
    fn call(&mut self, command: i32) -> io::Result<i32> {
        // SAFETY: the argument block is larger than any command reads and zero where unused; the
        // callers in this file keep alive what the addresses in it point to, and state true
        // lengths.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                command,
                self.0.as_mut_ptr(),
                size_of_val(&self.0) as libc::c_uint,
            )
        };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as i32) }
    }

    #[expect(unsafe_code, reason = "a descriptor comes as a number")]
    fn call_for_descriptor(&mut self, command: i32) -> io::Result<OwnedFd> {
        let fd = self.call(command)?;
        // SAFETY: the kernel just made the descriptor for this call, and nobody else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

fn name(name: &str) -> &[u8] {
    &name.as_bytes()[..name.len().min(NAME_OCTETS)]
}

/// Creates a map; an array of maps needs a sample of the maps that it will hold.
pub(crate) fn create_map(
    called: &str,
    shape: MapShape,
    like: Option<BorrowedFd<'_>>,
) -> io::Result<OwnedFd> {
    let mut arguments = Arguments::new();
    arguments
        .word(0, shape.kind)
        .word(4, shape.key_octets)
        .word(8, shape.value_octets)
        .word(12, shape.entries)
        .word(16, shape.flags)
        .octets(28, name(called));
    if let Some(like) = like {
        arguments.descriptor(20, like);
    }
    arguments.call_for_descriptor(MAP_CREATE)
}

/// Sets element `key` of an array.
pub(crate) fn update(map: impl AsFd, key: u32, value: &[u8]) -> io::Result<()> {
    let mut arguments = Arguments::new();
    arguments.descriptor(0, map).memory(8, &raw const key).memory(16, value.as_ptr());
    arguments.call(MAP_UPDATE).map(drop)
}

/// Puts a map into place `key` of an array of maps.
pub(super) fn place(maps: impl AsFd, key: u32, map: impl AsFd) -> io::Result<()> {
    update(maps, key, &(map.as_fd().as_raw_fd() as u32).to_ne_bytes())
}

/// Empties place `key` of an array of maps.
pub(super) fn remove(maps: impl AsFd, key: u32) -> io::Result<()> {
    let mut arguments = Arguments::new();
    arguments.descriptor(0, maps).memory(8, &raw const key);
    arguments.call(MAP_DELETE).map(drop)
}

/// Reads element `key` of an array into `value`, which must be as long as the kernel's: for an
/// array per processor, each one's rounded up to eight octets.
pub(super) fn look_up(map: impl AsFd, key: u32, value: &mut [u8]) -> io::Result<()> {
    let mut arguments = Arguments::new();
    arguments.descriptor(0, map).memory(8, &raw const key).memory(16, value.as_mut_ptr());
    arguments.call(MAP_LOOKUP).map(drop)
}

/// Makes the map read-only from here on, so that the verifier may rely on its contents.
pub(super) fn freeze(map: impl AsFd) -> io::Result<()> {
    Arguments::new().descriptor(0, map).call(MAP_FREEZE).map(drop)
}

/// Loads a program. An error of the verifier carries the end of its log.
pub(crate) fn load_program(called: &str, kind: ProgramKind, code: &[u64]) -> io::Result<OwnedFd> {
    const XDP: u32 = 6;
    const RAW_TRACEPOINT: u32 = 17;
    const FRAGMENTS: u32 = 1 << 5;
    let (number, flags) = match kind {
        ProgramKind::Xdp { fragments } => (XDP, if fragments { FRAGMENTS } else { 0 }),
        ProgramKind::RawTracepoint => (RAW_TRACEPOINT, 0),
    };
    // The helpers used are open to programs under the GPL only, which ours may be.
    let licence = c"GPL";
    let mut arguments = Arguments::new();
    arguments
        .word(0, number)
        .word(4, code.len() as u32)
        .memory(8, code.as_ptr())
        .memory(16, licence.as_ptr())
        .word(44, flags)
        .octets(48, name(called));
    let refusal = match arguments.call_for_descriptor(PROG_LOAD) {
        Ok(program) => return Ok(program),
        Err(refusal) => refusal,
    };
    if matches!(refusal.raw_os_error(), Some(libc::EPERM)) {
        return Err(refusal);
    }
    let mut log = vec![0_u8; LOG_OCTETS];
    arguments.word(24, 1).word(28, log.len() as u32).memory(32, log.as_mut_ptr());
    let refusal = match arguments.call_for_descriptor(PROG_LOAD) {
        Ok(program) => return Ok(program),
        Err(refusal) => refusal,
    };
    let words = String::from_utf8_lossy(&log);
    Err(io::Error::new(refusal.kind(), format!("{refusal}; the verifier: {}", last_words(&words))))
}

/// Last lines of the verifier's log, which contain its objection, without its statistics.
fn last_words(log: &str) -> String {
    const LINES: usize = 3;
    let words = log.trim_end_matches('\0').lines();
    let lines: Vec<&str> = words.filter(|line| !line.starts_with("processed ")).collect();
    lines[lines.len().saturating_sub(LINES)..].join("; ")
}

/// Attaches a program to an interface until the descriptor is closed. EBUSY if another is attached.
pub(crate) fn attach(program: impl AsFd, interface: u32, mode: Mode) -> io::Result<OwnedFd> {
    let flags = match mode {
        Mode::Generic => 1 << 1,
        Mode::Native => 1 << 2,
    };
    let mut arguments = Arguments::new();
    arguments.descriptor(0, program).word(4, interface).word(8, ATTACH_XDP).word(12, flags);
    arguments.call_for_descriptor(LINK_CREATE)
}

/// Attaches a program to the named event until the descriptor is closed.
pub(super) fn attach_to_tracepoint(
    program: impl AsFd,
    event: &std::ffi::CStr,
) -> io::Result<OwnedFd> {
    let mut arguments = Arguments::new();
    arguments.memory(0, event.as_ptr()).descriptor(8, program);
    arguments.call_for_descriptor(RAW_TRACEPOINT_OPEN)
}

/// Makes the kernel run an XDP program on copies of `frame`, `repeat` times, `batch` at once, and
/// apply the program's verdict to each.
pub(super) fn run_live(
    program: impl AsFd,
    frame: &[u8],
    repeat: u32,
    batch: u32,
) -> io::Result<()> {
    let mut arguments = Arguments::new();
    arguments
        .descriptor(0, program)
        .word(8, frame.len() as u32)
        .memory(16, frame.as_ptr())
        .word(32, repeat)
        .word(64, TEST_LIVE_FRAMES)
        .word(72, batch);
    arguments.call(TEST_RUN).map(drop)
}

/// Runs an XDP program on one frame that is not sent; returns its verdict.
#[cfg(test)]
pub(super) fn run_once(program: impl AsFd, frame: &[u8]) -> io::Result<u32> {
    let mut arguments = Arguments::new();
    arguments
        .descriptor(0, program)
        .word(8, frame.len() as u32)
        .memory(16, frame.as_ptr())
        .word(32, 1);
    arguments.call(TEST_RUN)?;
    Ok((arguments.0[0] >> 32) as u32)
}
