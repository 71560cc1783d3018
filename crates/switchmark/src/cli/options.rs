//! Flags that several verbs share, and the reading of their values.
//!
//! Typed only: what a missing flag means is decided where it is resolved.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use measure::{FrameRate, FrameSize, Nanos, UnitError};
use method::Profile;
use trial::Subject;

use crate::config::resolved::Testbed;
use crate::config::subjects::{self, Word};
use crate::config::{ConfigError, frame_rate};

/// Of every verb that yields data.
#[derive(Debug, Clone, Args)]
pub struct Data {
    /// Print one JSON object on stdout, everything else on stderr
    #[arg(long)]
    pub json: bool,
    /// The journal [default: switchmark/journal.db in the user's data directory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// No progress; with --json, nothing on stderr but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Of every verb that measures.
#[derive(Debug, Clone, Args)]
pub struct Measuring {
    #[command(flatten)]
    pub data: Data,
    /// Seed of every random choice [default: drawn, and recorded]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Go on with an interrupted run; its own plan, testbed and seed are used
    #[arg(long, value_name = "RUN")]
    pub resume: Option<String>,
    /// Begin also what would take more than three days
    #[arg(long)]
    pub yes: bool,
    /// Write an HTML report
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// The three ways to state a frame's size.
#[derive(Debug, Clone, Args)]
pub struct Sizes {
    /// Frame sizes in octets, MAC address through FCS: 64…9018
    #[arg(long = "size", value_name = "OCTETS", value_delimiter = ',', value_parser = frame_size)]
    pub frames: Vec<FrameSize>,
    /// The same by IP packet length (frame size less 18)
    #[arg(long = "ip-length", value_name = "OCTETS", value_delimiter = ',', value_parser = ip_length)]
    pub ip_lengths: Vec<FrameSize>,
    /// The same by UDP payload (frame size less 46)
    #[arg(short = 'l', long = "payload", value_name = "OCTETS", value_delimiter = ',', value_parser = payload)]
    pub payloads: Vec<FrameSize>,
}

impl Sizes {
    /// All of them, each once.
    pub fn all(&self) -> Vec<FrameSize> {
        let mut all = Vec::new();
        for size in self.frames.iter().chain(&self.ip_lengths).chain(&self.payloads) {
            if !all.contains(size) {
                all.push(*size);
            }
        }
        all
    }
}

/// Which of a testbed's devices, in which state.
#[derive(Debug, Clone, Args)]
pub struct Under {
    /// The devices under test, each NAME or NAME:VARIANT [default: the first, as it is found]
    #[arg(long = "device", value_name = "LIST", value_delimiter = ',')]
    devices: Vec<String>,
    /// Their variants; as-found is a device that nothing was done to
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    variants: Vec<String>,
}

impl Under {
    /// All of them, known to the testbed.
    pub fn subjects(&self, testbed: &Testbed) -> Result<Vec<Subject>, ConfigError> {
        subjects::resolve(&self.devices, &self.variants, testbed).map_err(
            |(word, (message, hint))| {
                let flag = match word {
                    Word::Device(_) => "--device",
                    Word::Variant(_) => "--variant",
                };
                ConfigError::bare(format!("{flag}: {message}"), hint)
            },
        )
    }
}

/// How long the phases around a load are.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ProfileArg {
    /// Shortened, and every figure says so
    Quick,
    /// RFC 2544's: long trials, two seconds before and after, five to settle
    Strict,
}

impl From<ProfileArg> for Profile {
    fn from(profile: ProfileArg) -> Self {
        match profile {
            ProfileArg::Quick => Self::Quick,
            ProfileArg::Strict => Self::Strict,
        }
    }
}

/// How often, how long and with what around it.
#[derive(Debug, Clone, Copy, Args)]
pub struct Repeats {
    /// Length of each trial, in seconds or with a unit
    #[arg(short = 't', long, value_name = "S", value_parser = duration)]
    pub time: Option<Nanos>,
    /// Repeats of everything, in random order: 10, where nothing is said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub blocks: Option<u32>,
    /// Length of the phases around each trial
    #[arg(long)]
    profile: Option<ProfileArg>,
}

impl Repeats {
    /// What the phases around each trial were asked to be.
    pub fn profile(self) -> Option<Profile> {
        self.profile.map(Into::into)
    }
}

fn octets(text: &str) -> Result<u32, UnitError> {
    text.trim().parse().map_err(|_| UnitError::NoNumber { text: text.to_owned() })
}

/// Octets of a frame, MAC address through FCS.
pub fn frame_size(text: &str) -> Result<FrameSize, UnitError> {
    FrameSize::new(octets(text)?)
}

fn ip_length(text: &str) -> Result<FrameSize, UnitError> {
    FrameSize::from_ip_length(octets(text)?)
}

fn payload(text: &str) -> Result<FrameSize, UnitError> {
    FrameSize::from_udp_payload_v4(octets(text)?)
}

/// Frames a second with their unit.
pub fn rate(text: &str) -> Result<FrameRate, UnitError> {
    frame_rate::parse(text)
}

/// Seconds where no unit is given, as iperf3 and ping take them.
pub fn duration(text: &str) -> Result<Nanos, String> {
    let bare = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let text = if bare { format!("{text}s") } else { text.to_owned() };
    let duration: Nanos = text.parse().map_err(|e: UnitError| e.to_string())?;
    crate::config::plan::check_duration(duration).map_err(|(message, _)| message)?;
    Ok(duration)
}
