//! Deliberate drops at a bridge by nftables: at random, and beyond a rate.
//!
//! Owns the text of the rules, and the one call of `nft`. The rules live in the device's namespace
//! and go with it. Never drops ARP, which hosts need to find each other.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use measure::FrameRate;

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::spec::{Drops, Policer, RandomLoss};

impl Drops {
    /// Builds the rules that `nft -f` reads. Frames are matched once the bridge has chosen the
    /// egress port; each port has a policer of its own, as it has a token bucket of its own.
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

    /// Installs the drops in the node's namespace, at these ports of its bridge.
    pub(crate) fn install<'a>(
        self,
        node: &str,
        namespace: &Namespace,
        ports: impl Iterator<Item = &'a str>,
    ) -> Result<(), LabError> {
        let failed = |cause: io::Error| {
            let hint = match cause.kind() {
                io::ErrorKind::NotFound => "apt install nftables",
                _ => {
                    "the kernel needs nf_tables of bridges, with limit and numgen \
                     (CONFIG_NF_TABLES_BRIDGE, NFT_LIMIT, NFT_NUMGEN): load its modules as root; \
                     where nft itself is old, apt install nftables"
                }
            };
            LabError::because(format!("set up the drop rules of {node} by nft"), cause).hinted(hint)
        };
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

    /// Checks that this machine supports such drops, in a temporary namespace.
    pub fn try_here() -> Result<(), LabError> {
        let both = Self {
            loss: RandomLoss::of_share(RandomLoss::MOST),
            police: Policer::of_rate(FrameRate(Policer::MOST)),
        };
        let namespace = Namespace::create("a trial of nftables")?;
        both.install("a bridge", &namespace, ["p1"].into_iter())
    }
}

/// Finds the program nft. For users other than root it is often not in PATH.
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
