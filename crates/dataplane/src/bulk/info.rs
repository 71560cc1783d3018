//! One reading of a TCP sender: the kernel's tcp_info, as a [`StreamPoint`].
//!
//! Owns the layout, because libc's stops before the fields that show what limited the sender. A
//! kernel that returns a shorter structure leaves the rest zero. Never interprets.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use measure::reading::StreamPoint;
use measure::{ByteCount, Nanos, Rate};

/// Octets written to a stream's socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    /// Greeting octets, written before the load.
    pub(super) greeting: u64,
    /// Payload octets of the load.
    pub(super) payload: u64,
}

/// `struct tcp_info` of `linux/tcp.h` up to `tcpi_sndbuf_limited` (Linux 4.10). Times are in
/// microseconds unless stated otherwise; the bit fields are kept whole.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TcpInfo {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    window_scales: u8,
    app_limited: u8,
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent_ms: u32,
    last_ack_sent_ms: u32,
    last_data_recv_ms: u32,
    last_ack_recv_ms: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
}

/// The kernel's offset of `tcpi_sndbuf_limited` plus its length.
const _: () = assert!(size_of::<TcpInfo>() == 192);

impl TcpInfo {
    /// Reads the tcp_info of a socket.
    #[expect(unsafe_code, reason = "TCP_INFO is a structure that nix has no option for")]
    pub(super) fn read(socket: impl AsFd) -> io::Result<Self> {
        let mut info = Self::default();
        let mut length = size_of::<Self>() as libc::socklen_t;
        // SAFETY: `info` is plain integers, valid for writing `length` octets; the kernel writes no
        // more than that, and less where it knows fewer fields.
        let answer = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut length,
            )
        };
        if answer == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
    }

    /// Returns the acknowledged payload of what was `sent`. The kernel also counts the greeting,
    /// and one octet each for SYN and FIN.
    pub(super) fn acked(&self, sent: Sent) -> ByteCount {
        const SYN: u64 = 1;
        ByteCount(self.bytes_acked.saturating_sub(SYN + sent.greeting).min(sent.payload))
    }

    /// Converts to a point of the series, `at` after the load's start. An unknown round-trip time
    /// is zero.
    pub(super) fn point(&self, at: Nanos, sent: Sent) -> StreamPoint {
        let micros = |value: u64| Nanos(value.saturating_mul(1_000));
        let min_rtt = if self.min_rtt == u32::MAX { 0 } else { self.min_rtt };
        StreamPoint {
            at,
            acked: self.acked(sent),
            retransmits: self.total_retrans.into(),
            cwnd: ByteCount(u64::from(self.snd_cwnd) * u64::from(self.snd_mss)),
            srtt: micros(self.rtt.into()),
            min_rtt: micros(min_rtt.into()),
            delivery_rate: Rate(self.delivery_rate.saturating_mul(8)),
            busy: micros(self.busy_time),
            rwnd_limited: micros(self.rwnd_limited),
            sndbuf_limited: micros(self.sndbuf_limited),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_has_our_units() {
        let info = TcpInfo {
            bytes_acked: 1_013,
            snd_cwnd: 10,
            snd_mss: 1_448,
            rtt: 250,
            min_rtt: u32::MAX,
            delivery_rate: 125,
            busy_time: 7,
            ..TcpInfo::default()
        };
        let sent = |payload| Sent { greeting: 12, payload };
        let point = info.point(Nanos(5), sent(2_000));
        assert_eq!(point.acked, ByteCount(1_000));
        assert_eq!(info.acked(sent(999)), ByteCount(999), "neither FIN nor more than was written");
        assert_eq!(point.cwnd, ByteCount(14_480));
        assert_eq!((point.srtt, point.min_rtt), (Nanos(250_000), Nanos::ZERO));
        assert_eq!(point.delivery_rate, Rate(1_000));
        assert_eq!(point.busy, Nanos(7_000));
    }
}
