//! Frames that a bridge drops on purpose: at random, and beyond a rate. By nftables.
//!
//! Owns the rules' text, what each passes, and the one call of `nft`. The rules live in the
//! device's namespace and go with it. Never drops ARP, by which a host finds another.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use measure::FrameRate;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::namespace::Namespace;

/// What a bridge drops of the frames that it forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Drops {
    /// At random, whatever the load; before the policer sees them.
    pub loss: Option<RandomLoss>,
    /// Beyond a rate, of what leaves by each port.
    pub police: Option<Policer>,
}

/// Each frame is dropped with the same chance, whatever became of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomLoss {
    /// Of a million.
    pub frames_per_million: u32,
}

/// A rate beyond which frames are dropped at once: nothing waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policer {
    /// As asked.
    pub frames_per_second: u32,
    /// What may go at once after a pause.
    pub burst_frames: u32,
}

const MILLION: f64 = 1e6;
const NS: u64 = 1_000_000_000;
/// As long as bucket and queue of a [`crate::PortLimit`] together outlive a sender's pause.
const BURST_NS: u64 = 3_000_000;
/// nftables' own, where nothing is said.
const LEAST_BURST: u64 = 5;

impl RandomLoss {
    /// The largest share: a device that loses more is broken and no device.
    pub const MOST: f64 = 0.5;

    /// That share, to a millionth; none where it is out of range.
    pub fn of_share(share: f64) -> Option<Self> {
        let frames = (share * MILLION).round();
        let fits = (1.0..=Self::MOST * MILLION).contains(&frames);
        fits.then_some(Self { frames_per_million: frames as u32 })
    }

    /// The share that is dropped.
    pub fn share(self) -> f64 {
        f64::from(self.frames_per_million) / MILLION
    }
}

impl Policer {
    /// The highest rate: above it a frame's price in whole nanoseconds is no longer exact to 0.1 %.
    pub const MOST: f64 = 1e6;

    /// That rate in whole frames, and a burst of 3 ms, no less than five frames; none where the
    /// rate is out of range.
    pub fn of_rate(rate: FrameRate) -> Option<Self> {
        let frames = rate.0.round();
        (1.0..=Self::MOST).contains(&frames).then(|| {
            let burst = (frames as u64 * BURST_NS / NS).max(LEAST_BURST);
            Self { frames_per_second: frames as u32, burst_frames: burst as u32 }
        })
    }

    /// What it passes in the long run: the kernel prices a frame in whole nanoseconds.
    pub fn passes(self) -> FrameRate {
        FrameRate(NS as f64 / (NS / u64::from(self.frames_per_second)) as f64)
    }
}

impl Drops {
    /// Whether nothing is dropped.
    pub const fn is_none(self) -> bool {
        self.loss.is_none() && self.police.is_none()
    }

    /// As `nft -f` reads it. Frames are taken where the bridge has chosen their way out; each port
    /// has a policer of its own, as it has a bucket of its own.
    fn rules<'a>(self, ports: impl Iterator<Item = &'a str>) -> String {
        let mut text = String::from(
            "table bridge switchmark {\n chain forward {\n  \
             type filter hook forward priority 0; policy accept;\n",
        );
        if let Some(RandomLoss { frames_per_million }) = self.loss {
            let _ = writeln!(
                text,
                "  ether type != arp numgen random mod 1000000 < {frames_per_million} counter drop"
            );
        }
        if let Some(Policer { frames_per_second, burst_frames }) = self.police {
            for port in ports {
                let _ = writeln!(
                    text,
                    "  ether type != arp oifname \"{port}\" limit rate over \
                     {frames_per_second}/second burst {burst_frames} packets counter drop"
                );
            }
        }
        text + " }\n}\n"
    }

    /// Has the kernel drop them in the namespace of the node, at these ports of its bridge.
    pub(crate) fn install<'a>(
        self,
        (node, namespace): (&str, &Namespace),
        ports: impl Iterator<Item = &'a str>,
    ) -> Result<(), LabError> {
        let failed = |cause| LabError::Drops { node: node.to_owned(), cause };
        let mut command = Command::new(program().map_err(failed)?);
        command.args(["-f", "-"]).stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut nft = namespace.spawn(&mut command)?;
        let told = nft
            .stdin
            .take()
            .map_or(Ok(()), |mut pipe| pipe.write_all(self.rules(ports).as_bytes()));
        let ended = nft.wait_with_output().map_err(failed)?;
        if ended.status.success() {
            return told.map_err(failed);
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        let first = said.lines().next().unwrap_or("nft refused without a word");
        Err(failed(io::Error::other(first.to_owned())))
    }

    /// Whether this machine drops frames so, tried in a namespace that goes at once.
    pub fn try_here() -> Result<(), LabError> {
        let both = Self {
            loss: RandomLoss::of_share(RandomLoss::MOST),
            police: Policer::of_rate(FrameRate(Policer::MOST)),
        };
        let namespace = Namespace::create("a trial of nftables")?;
        both.install(("a bridge", &namespace), ["p1"].into_iter())
    }
}

/// Where nft is. Users other than root often have no path to it.
fn program() -> io::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let mut files = folders.map(|folder| folder.join("nft"));
    files.find(|file| file.is_file()).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, "the program nft is not on this machine")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policer_passes_what_the_kernel_prices() {
        let check = |asked: f64, burst, passes: f64| {
            let policer = Policer::of_rate(FrameRate(asked)).unwrap();
            assert_eq!(policer.burst_frames, burst, "{asked}");
            assert!((policer.passes().0 - passes).abs() < 0.01, "{asked}: {:?}", policer.passes());
        };
        check(1.0, 5, 1.0);
        check(1_000.0, 5, 1_000.0);
        check(10_000.0, 30, 10_000.0);
        // 3,333 ns a frame.
        check(300_000.0, 900, 300_030.0);
        assert_eq!(Policer::of_rate(FrameRate(1_000_001.0)), None);
        assert_eq!(Policer::of_rate(FrameRate(0.4)), None);
    }

    #[test]
    fn a_share_is_told_in_millionths() {
        let check = |share: f64, expect: Option<u32>| {
            let loss = RandomLoss::of_share(share).map(|loss| loss.frames_per_million);
            assert_eq!(loss, expect, "{share}");
        };
        check(0.001, Some(1000));
        check(1e-6, Some(1));
        check(1e-7, None);
        check(0.5, Some(500_000));
        check(0.51, None);
        check(f64::NAN, None);
    }

    #[test]
    fn each_port_has_a_policer_and_chance_comes_first() {
        let drops =
            Drops { loss: RandomLoss::of_share(0.25), police: Policer::of_rate(FrameRate(2000.0)) };
        let rules = drops.rules(["p1", "p2"].into_iter());
        let lines: Vec<&str> = rules.lines().map(str::trim).collect();
        assert!(lines[3].contains("numgen random mod 1000000 < 250000 counter drop"), "{rules}");
        assert!(lines[4].contains("\"p1\" limit rate over 2000/second burst 6 packets"), "{rules}");
        assert!(lines[5].contains("oifname \"p2\""), "{rules}");
        assert_eq!(lines.len(), 8, "{rules}");
    }
}
