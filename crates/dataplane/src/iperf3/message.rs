//! What is said on an iperf3 test's control connection: states, parameters, results.
//!
//! Owns the octets, and what of a server's results can be true. Never does I/O.

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

/// Octets of what tells a test's connections: 36 letters and a zero.
pub(super) const COOKIE: usize = 37;
/// A server's results of 256 streams are a tenth of that.
pub(super) const LARGEST_JSON: usize = 1 << 20;
/// Beyond that a double does not count single octets.
const EXACT: f64 = (1_u64 << 53) as f64;
/// No test is longer.
const LONGEST_SECONDS: f64 = 7.0 * 86_400.0;
/// One write of a sender, and one read of a receiver.
const BLOCK: u32 = 128 << 10;

/// The states of a test, and what ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum State {
    /// All connections are there.
    TestStart = 1,
    /// The load may begin.
    TestRunning = 2,
    /// The load is over; from the client.
    TestEnd = 4,
    /// The client is to send its parameters.
    ParamExchange = 9,
    /// The client is to make its connections.
    CreateStreams = 10,
    /// The server's user ended it.
    ServerTerminate = 11,
    /// The client's user ended it.
    ClientTerminate = 12,
    /// Both send their results, the client first.
    ExchangeResults = 13,
    /// The results are there.
    DisplayResults = 14,
    /// A server waits for a test.
    IperfStart = 15,
    /// The client goes.
    IperfDone = 16,
    /// The server runs another test.
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

    /// As received; none where there is no such state.
    pub fn from_octet(octet: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.octet() == octet)
    }

    /// As sent.
    pub const fn octet(self) -> u8 {
        self as i8 as u8
    }
}

/// Drawn from the kernel: whoever knows it could add a connection to the test.
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

/// What a test shall be.
#[derive(Debug, Default, Serialize)]
pub(super) struct Parameters<'a> {
    #[serde(skip_serializing_if = "is_false")]
    tcp: bool,
    #[serde(skip_serializing_if = "is_false")]
    udp: bool,
    omit: u32,
    /// Without a time of its own: its end is said.
    time: u32,
    num: u32,
    blockcount: u32,
    parallel: u16,
    #[serde(skip_serializing_if = "is_false")]
    reverse: bool,
    #[serde(skip_serializing_if = "is_false")]
    bidirectional: bool,
    len: u32,
    /// Of payload, in bits a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth: Option<u64>,
    pacing_timer: u32,
    /// Of a server that sends. One that can't set it fails.
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
    /// TCP streams, towards the server and from it.
    pub(super) fn tcp([forward, backward]: [Option<(u16, &'a Bulk)>; 2]) -> Self {
        let streams = forward.or(backward).map_or(1, |(_, bulk)| bulk.streams);
        Self {
            tcp: true,
            parallel: streams,
            reverse: forward.is_none(),
            bidirectional: forward.is_some() && backward.is_some(),
            len: BLOCK,
            congestion: backward.map(|(_, bulk)| bulk.congestion_control.as_str()),
            ..Self::any()
        }
    }

    /// Datagrams one way.
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

/// Which number iperf3 gives a test's stream, counted from 0: 1, 3, 4, 5…
pub const fn stream_number(at: usize) -> u64 {
    if at == 0 { 1 } else { at as u64 + 2 }
}

/// What this end counted, for the server's own output.
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

    /// The next stream, which this end sent.
    pub(super) fn sent(&mut self, octets: ByteCount, retransmits: u64) {
        self.sender_has_retransmits = 1;
        self.add(octets, i64::try_from(retransmits).unwrap_or(i64::MAX));
    }

    /// The next stream, which the server sent.
    pub(super) fn received(&mut self, octets: ByteCount) {
        self.add(octets, -1);
    }

    /// The one stream of datagrams, whoever sent them.
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

/// What a server counted. Numbers are doubles on the wire; what can't be a count is refused.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Results {
    #[serde(default)]
    sender_has_retransmits: f64,
    #[serde(default)]
    congestion_used: Option<String>,
    streams: Vec<StreamResults>,
}

/// One stream of it.
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

/// Datagrams, as an end counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// The highest number that came; where it sent, how many it sent.
    pub packets: u64,
    /// Of these, gaps in the numbers.
    pub errors: u64,
}

impl Results {
    /// Reads a server's text.
    pub fn parse(server: SocketAddr, text: &[u8]) -> Result<Self, ServerFault> {
        // Not in serde's words, which quote what the server said.
        serde_json::from_slice(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let why = format!("its results are none from line {line}, column {column} on");
            ServerFault::strange(server, why)
        })
    }

    /// The algorithm that it says it used.
    pub fn congestion_control(&self) -> Option<&str> {
        // As kernels name them, and no longer (TCP_CA_NAME_MAX).
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let named = |name: &&str| name.len() < 16 && name.chars().all(plain);
        self.congestion_used.as_deref().filter(named)
    }

    /// What it says of these streams, counted from 0 in the order in which they were made.
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
    /// What it says of the one stream of datagrams.
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

/// A double that counts something.
fn count(value: f64) -> Option<u64> {
    ((0.0..=EXACT).contains(&value) && value.fract() == 0.0).then_some(value as u64)
}
