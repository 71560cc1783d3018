//! A scenario file: a device, what is sent through it, and how far two worlds may differ.
//!
//! Data and its reading. Never runs anything.

use std::path::{Path, PathBuf};

use device::Profile;
use measure::{ByteCount, Nanos, Rate};
use serde::Deserialize;
use trial::Protocol;

/// A file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is about, for the table.
    pub about: String,
    /// The device, as a profile's text.
    pub device: String,
    /// The slowest rate on the way, which loads are told by.
    pub limit: Rate,
    /// The largest IP packet of the hosts, octets.
    #[serde(default = "habitual")]
    pub mtu: u32,
    /// Where Linux can be such a device.
    pub kernel: Option<Kernel>,
    /// What is done.
    pub trial: Vec<Case>,
}

const fn habitual() -> u32 {
    1500
}

const fn yes() -> bool {
    true
}

/// A bridge whose ports have a token bucket.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Its rate is such that frames of this size pass as often as at `limit`: a bucket counts
    /// neither FCS nor preamble nor gap.
    pub size: u32,
    /// What may wait at a port.
    pub queue: ByteCount,
}

impl Kernel {
    /// The bucket's rate.
    pub fn rate(&self, limit: Rate) -> Rate {
        let share = f64::from(self.size - 4) / f64::from(self.size + 20);
        Rate((limit.bits_per_second() * share).round() as u64)
    }
}

/// One trial from the first host to the second.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// For the table.
    pub name: String,
    /// What is sent.
    pub send: Load,
    /// For how long.
    pub lasts: Nanos,
    /// Also where the kernel is the device; false where it is another kind of device in just this,
    /// and the file says why.
    #[serde(default = "yes")]
    pub kernel: bool,
    /// Left out of the quick profile.
    #[serde(default)]
    pub full: bool,
    /// What is compared.
    pub agree: Bounds,
}

/// What is sent.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Load {
    /// Paced, at a share of the limit's frame rate.
    Datagrams {
        /// Octets with FCS.
        size: u32,
        /// 1 is the limit.
        share: f64,
    },
    /// So many frames back to back.
    Burst {
        /// Octets with FCS.
        size: u32,
        /// How many.
        frames: u64,
    },
    /// Round trips, one after another.
    Echo {
        /// Octets with FCS.
        size: u32,
        /// Over what.
        over: Protocol,
    },
    /// TCP as fast as it goes.
    Tcp {
        /// `cubic`
        congestion_control: String,
    },
}

/// How far each figure may be from the simulator's; what is not named is not compared.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Frames received a second: relative.
    pub throughput: Option<f64>,
    /// Lost by sent: absolute.
    pub loss: Option<f64>,
    /// Frames received of a burst: absolute.
    pub frames: Option<f64>,
    /// Median round trip: absolute.
    pub round_trip: Option<Nanos>,
    /// TCP payload a second: relative.
    pub goodput: Option<f64>,
}

impl Scenario {
    /// The profile in it.
    pub fn profile(&self) -> Profile {
        let nothing = |name: &str| Err(format!("there is no `{name}` here"));
        Profile::parse(&self.device, &nothing)
            .unwrap_or_else(|error| panic!("{}: {error}: {}", self.about, error.hint))
    }
}

/// Every scenario, in the order of the files' names.
pub fn all() -> Vec<(String, Scenario)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/labs/conformance");
    let entries = std::fs::read_dir(folder).expect("the scenarios' folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|suffix| suffix == "toml"));
    files.sort();
    let read = |file: PathBuf| {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).expect("a scenario");
        let scenario = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, scenario)
    };
    files.into_iter().map(read).collect()
}
