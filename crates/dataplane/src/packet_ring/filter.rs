//! Socket filter that lets a flow's frames into the ring: classic BPF, run by the kernel.
//!
//! Owns the program's text. Never attaches it. VLAN tags that the kernel has removed are not in the
//! octets that a filter sees, so offsets are those of untagged frames.

use super::Selection;

/// Placeholder jump distance: a jump to the refusal.
const REFUSE: u8 = u8::MAX;

const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const UDP: u32 = 17;
/// Mask of more-fragments and fragment offset, in the word at offset 6 of an IPv4 header.
const FRAGMENT: u32 = 0x3fff;
/// Verdict that accepts the whole frame.
const WHOLE: u32 = u32::MAX;

const ETHER_TYPE: u32 = 12;
const V4_FRAGMENT: u32 = 20;
const V4_PROTOCOL: u32 = 23;
const V4_HEADER: u32 = 14;
const V6_PROTOCOL: u32 = 20;
const V6_PORT: u32 = 56;
/// Offsets in a UDP header: the destination port, and the start of the payload.
const PORT: u32 = 2;
const PAYLOAD: u32 = 8;

/// Program of one instruction that lets nothing in.
pub(super) const NOTHING: libc::sock_filter =
    libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };

/// Builds the program for `selection`.
pub(super) fn program(selection: &Selection) -> Vec<libc::sock_filter> {
    let (first, last) = (u32::from(*selection.ports.start()), u32::from(*selection.ports.end()));
    // Compares ports and token, for a load that begins `at` the UDP header.
    let ours = |load: fn(u32, u32) -> libc::sock_filter, at: u32| {
        [
            load(libc::BPF_H, at + PORT),
            jump(libc::BPF_JGE, first, 0, REFUSE),
            jump(libc::BPF_JGT, last, REFUSE, 0),
            load(libc::BPF_W, at + PAYLOAD),
            jump(libc::BPF_JEQ, selection.token, 0, REFUSE),
            answer(WHOLE),
        ]
    };
    let v6 = [
        vec![load(libc::BPF_B, V6_PROTOCOL), jump(libc::BPF_JEQ, UDP, 0, REFUSE)],
        ours(load, V6_PORT - PORT).to_vec(),
    ]
    .concat();
    let v4 = [
        vec![
            load(libc::BPF_B, V4_PROTOCOL),
            jump(libc::BPF_JEQ, UDP, 0, REFUSE),
            load(libc::BPF_H, V4_FRAGMENT),
            jump(libc::BPF_JSET, FRAGMENT, REFUSE, 0),
            // The index register becomes the length of the IPv4 header.
            statement(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, V4_HEADER),
        ],
        ours(load_after_index, V4_HEADER).to_vec(),
    ]
    .concat();
    let begin = vec![
        load(libc::BPF_H, ETHER_TYPE),
        jump(libc::BPF_JEQ, IPV4, 1, 0),
        jump(libc::BPF_JEQ, IPV6, v4.len() as u8, REFUSE),
    ];
    let mut program = [begin, v4, v6].concat();
    let end = program.len();
    for (at, instruction) in program.iter_mut().enumerate() {
        let to_refusal = (end - at - 1) as u8;
        for jump in [&mut instruction.jt, &mut instruction.jf] {
            if *jump == REFUSE {
                *jump = to_refusal;
            }
        }
    }
    program.push(NOTHING);
    program
}

fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn load(size: u32, at: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_ABS | size, at)
}

fn load_after_index(size: u32, at: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_IND | size, at)
}

fn jump(test: u32, k: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    let code = (libc::BPF_JMP | libc::BPF_K | test) as u16;
    libc::sock_filter { code, jt: then, jf: otherwise, k }
}

fn answer(octets: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, octets)
}
