//! Messages of an iperf3 test's control connection: states, parameters, results.
//!
//! Owns the encoding, and the plausibility checks of a server's results. Never does I/O.

use std::io::Read as _;
use std::net::SocketAddr;
use std::ops::Range;

use measure::{ByteCount, Nanos};
use serde::{Deserialize, Serialize};
use trial::Bulk;
use trial::record::FarEndRecord;

use super::fault::ServerFault;
use super::load::Stream;
use crate::FlowError;

/// Octets of the cookie that identifies a test's connections: 36 letters and a zero.
pub(super) const COOKIE: usize = 37;
/// Maximum size of a JSON text, in octets: ten times a server's results of 256 streams.
pub(super) const LARGEST_JSON: usize = 1 << 20;
/// Largest count that a double represents exactly.
const EXACT: f64 = (1_u64 << 53) as f64;
/// Longest plausible test, in seconds.
const LONGEST_SECONDS: f64 = 7.0 * 86_400.0;
/// Octets of one write of a sender, and of one read of a receiver.
const BLOCK: u32 = 128 << 10;

/// States of a test, and the messages that end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum State {
    /// All connections are open.
    TestStart = 1,
    /// The load may begin.
    TestRunning = 2,
    /// The load is over; sent by the client.
    TestEnd = 4,
    /// The client should send its parameters.
    ParamExchange = 9,
    /// The client should open its connections.
    CreateStreams = 10,
    /// The server's user ended the test.
    ServerTerminate = 11,
    /// The client's user ended the test.
    ClientTerminate = 12,
    /// Exchange of both ends' results, the client's first.
    ExchangeResults = 13,
    /// The results have been exchanged.
    DisplayResults = 14,
    /// The server waits for a test.
    IperfStart = 15,
    /// The client closes the test.
    IperfDone = 16,
    /// The server is running another test.
    AccessDenied = -1,
    /// The server failed; two numbers follow.
    ServerError = -2,
}

impl State {
    const ALL: [Self; 13] = [
        Self::TestStart,
        Self::TestRunning,
        Self::TestEnd,
        Self::ParamExchange,
        Self::CreateStreams,
        Self::ServerTerminate,
        Self::ClientTerminate,
        Self::ExchangeResults,
        Self::DisplayResults,
        Self::IperfStart,
        Self::IperfDone,
        Self::AccessDenied,
        Self::ServerError,
    ];

    /// Converts a received octet; `None` if there is no such state.
    pub fn from_octet(octet: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.octet() == octet)
    }

    /// Octet as sent.
    pub const fn octet(self) -> u8 {
        self as i8 as u8
    }
}

/// Draws a cookie from the kernel's random source: anyone who knows it could add a connection to
/// the test.
pub(super) fn cookie() -> Result<[u8; COOKIE], FlowError> {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut cookie = [0; COOKIE];
    let (letters, _zero) = cookie.split_at_mut(COOKIE - 1);
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(letters))
        .map_err(|e| FlowError::kernel("draw the cookie of", "an iperf3 test", e))?;
    for letter in letters {
        *letter = LETTERS[usize::from(*letter) % LETTERS.len()];
    }
    Ok(cookie)
}

/// Parameters of a test.
#[derive(Debug, Default, Serialize)]
pub(super) struct Parameters<'a> {
    #[serde(skip_serializing_if = "is_false")]
    tcp: bool,
    #[serde(skip_serializing_if = "is_false")]
    udp: bool,
    omit: u32,
    /// Duration, in seconds; zero, because the end is signalled.
    time: u32,
    num: u32,
    blockcount: u32,
    parallel: u16,
    #[serde(skip_serializing_if = "is_false")]
    reverse: bool,
    #[serde(skip_serializing_if = "is_false")]
    bidirectional: bool,
    len: u32,
    /// Payload rate, in bits per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth: Option<u64>,
    pacing_timer: u32,
    /// Congestion control for a sending server; it fails if it cannot set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    udp_counters_64bit: Option<u8>,
    client_version: &'static str,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl<'a> Parameters<'a> {
    /// Parameters of TCP streams, towards the server and from it.
    pub(super) fn tcp([forward, backward]: [Option<(u16, &'a Bulk)>; 2]) -> Self {
        let streams = forward.or(backward).map_or(1, |(_, bulk)| bulk.streams);
        Self {
            tcp: true,
            parallel: streams,
            reverse: forward.is_none(),
            bidirectional: forward.is_some() && backward.is_some(),
            len: BLOCK,
            congestion: backward.map(|(_, bulk)| bulk.preferred_control()),
            ..Self::any()
        }
    }

    /// Parameters of datagrams in one direction.
    pub(super) fn udp(load: &Stream, reverse: bool) -> Self {
        Self {
            udp: true,
            parallel: 1,
            reverse,
            len: load.payload,
            bandwidth: Some(load.bits_per_second()),
            udp_counters_64bit: load.is_wide().then_some(1),
            ..Self::any()
        }
    }

    fn any() -> Self {
        let client_version = concat!("switchmark ", env!("CARGO_PKG_VERSION"));
        Self { pacing_timer: 1000, client_version, ..Self::default() }
    }
}

/// Number that iperf3 assigns to a test's stream, counted from 0: 1, 3, 4, 5…
pub const fn stream_number(at: usize) -> u64 {
    if at == 0 { 1 } else { at as u64 + 2 }
}

/// Counts of this end, for the server's own output.
#[derive(Debug, Serialize)]
pub(super) struct Own {
    cpu_util_total: f64,
    cpu_util_user: f64,
    cpu_util_system: f64,
    sender_has_retransmits: i8,
    streams: Vec<OwnStream>,
    #[serde(skip)]
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct OwnStream {
    id: u64,
    bytes: u64,
    retransmits: i64,
    jitter: f64,
    errors: u64,
    omitted_errors: u64,
    packets: u64,
    omitted_packets: u64,
    start_time: f64,
    end_time: f64,
}

impl Own {
    pub(super) fn new(elapsed: Nanos) -> Self {
        Self {
            cpu_util_total: 0.0,
            cpu_util_user: 0.0,
            cpu_util_system: 0.0,
            sender_has_retransmits: -1,
            streams: Vec::new(),
            seconds: elapsed.as_secs_f64(),
        }
    }

    /// Adds the next stream, sent by this end.
    pub(super) fn sent(&mut self, octets: ByteCount, retransmits: u64) {
        self.sender_has_retransmits = 1;
        self.add(octets, i64::try_from(retransmits).unwrap_or(i64::MAX));
    }

    /// Adds the next stream, sent by the server.
    pub(super) fn received(&mut self, octets: ByteCount) {
        self.add(octets, -1);
    }

    /// Adds the one stream of datagrams, for either sender.
    pub(super) fn datagrams(&mut self, octets: ByteCount, counted: Counted) {
        self.add(octets, -1);
        if let Some(stream) = self.streams.last_mut() {
            (stream.packets, stream.errors) = (counted.packets, counted.errors);
        }
    }

    fn add(&mut self, octets: ByteCount, retransmits: i64) {
        self.streams.push(OwnStream {
            id: stream_number(self.streams.len()),
            bytes: octets.0,
            retransmits,
            jitter: 0.0,
            errors: 0,
            omitted_errors: 0,
            packets: 0,
            omitted_packets: 0,
            start_time: 0.0,
            end_time: self.seconds,
        });
    }
}

/// Counts of a server. Numbers are doubles on the wire; implausible counts are refused.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Results {
    #[serde(default)]
    sender_has_retransmits: f64,
    #[serde(default)]
    congestion_used: Option<String>,
    streams: Vec<StreamResults>,
}

/// Counts of one stream.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct StreamResults {
    id: f64,
    bytes: f64,
    #[serde(default)]
    retransmits: f64,
    #[serde(default)]
    errors: f64,
    #[serde(default)]
    packets: f64,
    #[serde(default)]
    start_time: f64,
    end_time: f64,
}

/// Datagram counts of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Highest received number; number of sent datagrams if that end sent.
    pub packets: u64,
    /// Gaps in the numbers.
    pub errors: u64,
}

impl Results {
    /// Parses a server's results.
    pub fn parse(server: SocketAddr, text: &[u8]) -> Result<Self, ServerFault> {
        // Avoids serde's message, which quotes the server's text.
        serde_json::from_slice(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let why = format!("its results are none from line {line}, column {column} on");
            ServerFault::strange(server, why)
        })
    }

    /// Congestion control that the server reports.
    pub fn congestion_control(&self) -> Option<&str> {
        // Accepts names as kernels use them, up to their maximum length (TCP_CA_NAME_MAX).
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let named = |name: &&str| name.len() < 16 && name.chars().all(plain);
        self.congestion_used.as_deref().filter(named)
    }

    /// Returns the server's counts of these streams, numbered from 0 in order of their creation.
    pub fn far_end(
        &self,
        server: SocketAddr,
        streams: Range<usize>,
        sent: bool,
    ) -> Result<FarEndRecord, ServerFault> {
        let strange = |why: String| ServerFault::strange(server, why);
        let mut far = FarEndRecord { streams: Vec::new(), elapsed: Nanos::ZERO, retransmits: None };
        for number in streams.map(stream_number) {
            let mut named = self.streams.iter().filter(|it| count(it.id) == Some(number));
            let (Some(stream), None) = (named.next(), named.next()) else {
                return Err(strange(format!("its results tell stream {number} not once")));
            };
            let octets = count(stream.bytes)
                .ok_or_else(|| strange(format!("{} octets of stream {number}", stream.bytes)))?;
            let seconds = stream.end_time - stream.start_time;
            if !(seconds > 0.0 && seconds <= LONGEST_SECONDS) {
                return Err(strange(format!("stream {number} took {seconds} s")));
            }
            far.streams.push(ByteCount(octets));
            far.elapsed = far.elapsed.max(Nanos((seconds * 1e9) as u64));
            if sent && count(self.sender_has_retransmits) == Some(1) {
                let again = count(stream.retransmits);
                let again = again.ok_or_else(|| {
                    strange(format!("{} retransmits of stream {number}", stream.retransmits))
                })?;
                far.retransmits = Some(far.retransmits.unwrap_or(0) + again);
            }
        }
        Ok(far)
    }
}

impl Results {
    /// Returns the server's counts of the one stream of datagrams.
    pub fn datagrams(&self, server: SocketAddr) -> Result<(FarEndRecord, Counted), ServerFault> {
        let far = self.far_end(server, 0..1, false)?;
        let counted = self.streams.iter().find(|it| count(it.id) == Some(stream_number(0)));
        let counted = counted.and_then(|stream| {
            let (packets, errors) = (count(stream.packets)?, count(stream.errors)?);
            (errors <= packets).then_some(Counted { packets, errors })
        });
        let counted = counted.ok_or_else(|| {
            ServerFault::strange(server, "its results tell no count of datagrams that can be")
        })?;
        Ok((far, counted))
    }
}

/// Converts a double to a count; `None` if it is not a whole number in range.
fn count(value: f64) -> Option<u64> {
    ((0.0..=EXACT).contains(&value) && value.fract() == 0.0).then_some(value as u64)
}
