//! XDP program that steers a flow's frames to the AF_XDP socket of the queue they arrived on.
//!
//! Owns its instructions, the map of sockets and the link that attaches it to an interface. It
//! stamps each frame of the flow with CLOCK_MONOTONIC, in eight octets before the frame if the
//! driver has room there. All other frames pass to the kernel's stack unchanged.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use crate::packet_ring::Selection;
use crate::unfit::Unfit;
use crate::xdp::bpf::{self, MapShape, Mode, ProgramKind, kind};

/// Octets of the stamp before a frame, in the byte order of this machine.
pub(super) const STAMP: usize = 8;

/// Program attached to an interface; detached when this value is dropped.
#[derive(Debug)]
pub(super) struct Steering {
    _link: OwnedFd,
    _sockets: OwnedFd,
    /// Attachment mode, for the reason shown to the user.
    pub how: &'static str,
}

/// Attaches the program for `selection` to the interface with number `index`. The index of each
/// socket in `sockets` is its queue. Attaches in the driver if possible, otherwise in the stack;
/// never together with or in place of another program.
pub(super) fn steer(
    index: u32,
    name: &str,
    selection: &Selection,
    sockets: &[BorrowedFd<'_>],
) -> Result<Steering, Unfit> {
    let refused = |deed: &str, e: &io::Error| {
        Unfit::NotHere(match e.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                "bpf programs are not permitted (CAP_BPF and CAP_NET_ADMIN in the host's own user \
                 namespace are needed)"
                    .to_owned()
            }
            _ => format!("{deed} ({e})"),
        })
    };
    let shape = MapShape {
        kind: kind::AF_XDP_SOCKETS,
        key_octets: 4,
        value_octets: 4,
        entries: sockets.len() as u32,
        flags: 0,
    };
    let map = bpf::create_map("switchmark", shape, None)
        .map_err(|e| refused("the kernel makes no map of af_xdp sockets", &e))?;
    for (queue, socket) in sockets.iter().enumerate() {
        let socket = socket.as_raw_fd() as u32;
        bpf::update(&map, queue as u32, &socket.to_ne_bytes())
            .map_err(|e| refused("the map of af_xdp sockets takes none", &e))?;
    }
    let code = instructions(selection, map.as_raw_fd());
    let program = bpf::load_program("switchmark", ProgramKind::Xdp { fragments: true }, &code)
        .map_err(|e| refused("the kernel does not load the xdp program", &e))?;
    let (link, how) = match bpf::attach(&program, index, Mode::Native) {
        Ok(link) => (link, "in its driver"),
        Err(e) if is_foreign(&e) => return Err(foreign(name)),
        Err(in_driver) => match bpf::attach(&program, index, Mode::Generic) {
            Ok(link) => (link, "in the kernel's stack, because its driver takes none"),
            Err(e) if is_foreign(&e) => return Err(foreign(name)),
            Err(_) => {
                let deed = format!("{name} takes no xdp program");
                return Err(refused(&deed, &in_driver));
            }
        },
    };
    Ok(Steering { _link: link, _sockets: map, how })
}

/// True if another program is attached, in the same mode or in the other.
fn is_foreign(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
}

fn foreign(name: &str) -> Unfit {
    Unfit::NotHere(format!("{name} carries another xdp program, which is left alone"))
}

/// XDP_PASS: the frame goes on to the stack.
const PASS: i32 = 2;
/// A jump to the end, which passes the frame.
const TO_PASS: i16 = i16::MAX;

/// Register: context, preserved across helper calls.
const CONTEXT: u8 = 6;
/// Register: cursor, the program's position in the frame.
const AT: u8 = 2;
/// Register: end of the frame.
const END: u8 = 3;
/// Register: end of the octets about to be read; also an argument of helper calls.
const WANTED: u8 = 4;
/// Register: value just read.
const VALUE: u8 = 5;
/// Register: position of the stamp, and of the frame's start once there is room for the stamp.
const STAMP_AT: u8 = 7;
const DATA: u8 = 8;

/// Offsets in the context (`struct xdp_md`).
const CONTEXT_DATA: i16 = 0;
const CONTEXT_END: i16 = 4;
const CONTEXT_META: i16 = 8;
const CONTEXT_QUEUE: i16 = 16;

/// Helpers of the kernel (`linux/bpf.h`).
const KTIME_GET_NS: i32 = 5;
const REDIRECT_MAP: i32 = 51;
const ADJUST_META: i32 = 54;

const UDP: i32 = 17;

/// Builds the whole program. Two-octet values are compared in network order, so constants are
/// swapped to match.
fn instructions(selection: &Selection, map: i32) -> Vec<u64> {
    let network = |value: u16| i32::from(value.to_be());
    let v4 = [
        // IPv4 without options, UDP, no fragment, long enough for the token.
        &need(14 + 20 + 8 + 4)[..],
        &[
            load(BYTE, VALUE, AT, 14),
            unless_equal(0x45),
            load(BYTE, VALUE, AT, 14 + 9),
            unless_equal(UDP),
            load(HALF, VALUE, AT, 14 + 6),
            if_any_bit(network(0x3fff)),
            add(AT, 14 + 20),
        ],
    ]
    .concat();
    let v6 = [
        &need(14 + 40 + 8 + 4)[..],
        &[load(BYTE, VALUE, AT, 14 + 6), unless_equal(UDP), add(AT, 14 + 40)],
    ]
    .concat();
    let mut program = vec![
        copy(CONTEXT, 1),
        load(WORD, AT, CONTEXT, CONTEXT_DATA),
        load(WORD, END, CONTEXT, CONTEXT_END),
    ];
    program.extend(need(18));
    program.extend([
        load(HALF, VALUE, AT, 12),
        // One VLAN tag is stepped over.
        skip_unless_equal(network(0x8100), 2),
        load(HALF, VALUE, AT, 16),
        add(AT, 4),
        skip_unless_equal(network(0x0800), v4.len() as i16 + 1),
    ]);
    program.extend(v4);
    program.push(skip(v6.len() as i16 + 1));
    program.push(unless_equal(network(0x86dd)));
    program.extend(v6);
    program.extend(ours(selection));
    program.extend(stamp());
    program.extend([
        load(WORD, AT, CONTEXT, CONTEXT_QUEUE),
        instruction(0x18, 1, 1, 0, map),
        0,
        set(3, PASS),
        call(REDIRECT_MAP),
        EXIT,
    ]);
    let end = program.len();
    for (at, instruction) in program.iter_mut().enumerate() {
        if offset(*instruction) == TO_PASS {
            *instruction = with_offset(*instruction, (end - at - 1) as i16);
        }
    }
    program.extend([set(0, PASS), EXIT]);
    program
}

/// The cursor is at the UDP header: ports and token.
fn ours(selection: &Selection) -> [u64; 6] {
    [
        load(HALF, VALUE, AT, 2),
        // To this machine's byte order.
        instruction(0xdc, VALUE, 0, 0, 16),
        instruction(0xa5, VALUE, 0, TO_PASS, i32::from(*selection.ports.start())),
        instruction(0x25, VALUE, 0, TO_PASS, i32::from(*selection.ports.end())),
        load(WORD, VALUE, AT, 8),
        // Compared as 32 bits: a wider comparison would extend the constant's sign.
        instruction(0x56, VALUE, 0, TO_PASS, selection.token.to_be().cast_signed()),
    ]
}

/// Writes the time before the frame; continues without a stamp if there is no room.
fn stamp() -> [u64; 11] {
    [
        copy(1, CONTEXT),
        set(2, -(STAMP as i32)),
        call(ADJUST_META),
        instruction(0x55, 0, 0, 7, 0),
        load(WORD, STAMP_AT, CONTEXT, CONTEXT_META),
        load(WORD, DATA, CONTEXT, CONTEXT_DATA),
        call(KTIME_GET_NS),
        copy(WANTED, STAMP_AT),
        add(WANTED, STAMP as i32),
        instruction(0x2d, WANTED, DATA, 1, 0),
        instruction(0x7b, STAMP_AT, 0, 0, 0),
    ]
}

/// Passes the frame to the stack unless `octets` octets remain from the cursor on.
fn need(octets: i32) -> [u64; 3] {
    [copy(WANTED, AT), add(WANTED, octets), instruction(0x2d, WANTED, END, TO_PASS, 0)]
}

const BYTE: u8 = 0x71;
const HALF: u8 = 0x69;
const WORD: u8 = 0x61;
const EXIT: u64 = 0x95;

fn load(size: u8, into: u8, from: u8, at: i16) -> u64 {
    instruction(size, into, from, at, 0)
}

fn set(register: u8, value: i32) -> u64 {
    instruction(0xb7, register, 0, 0, value)
}

fn copy(into: u8, from: u8) -> u64 {
    instruction(0xbf, into, from, 0, 0)
}

fn add(register: u8, value: i32) -> u64 {
    instruction(0x07, register, 0, 0, value)
}

fn call(helper: i32) -> u64 {
    instruction(0x85, 0, 0, 0, helper)
}

fn skip(instructions: i16) -> u64 {
    instruction(0x05, 0, 0, instructions, 0)
}

fn skip_unless_equal(value: i32, instructions: i16) -> u64 {
    instruction(0x55, VALUE, 0, instructions, value)
}

fn unless_equal(value: i32) -> u64 {
    skip_unless_equal(value, TO_PASS)
}

fn if_any_bit(bits: i32) -> u64 {
    instruction(0x45, VALUE, 0, TO_PASS, bits)
}

/// Encodes an instruction as `struct bpf_insn` in memory, for either byte order of the machine.
fn instruction(code: u8, destination: u8, source: u8, offset: i16, value: i32) -> u64 {
    let registers = if cfg!(target_endian = "little") {
        destination | source << 4
    } else {
        source | destination << 4
    };
    let [o0, o1] = offset.to_ne_bytes();
    let [v0, v1, v2, v3] = value.to_ne_bytes();
    u64::from_ne_bytes([code, registers, o0, o1, v0, v1, v2, v3])
}

fn offset(instruction: u64) -> i16 {
    let octets = instruction.to_ne_bytes();
    i16::from_ne_bytes([octets[2], octets[3]])
}

fn with_offset(instruction: u64, offset: i16) -> u64 {
    let mut octets = instruction.to_ne_bytes();
    octets[2..4].copy_from_slice(&offset.to_ne_bytes());
    u64::from_ne_bytes(octets)
}
