//! Background load on the path: its request, its flow and its names.
//!
//! Owns the conditions that a load sets, and its names in tables and plots. Never measures one.

use measure::{FrameRate, FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::tcp::TcpDirection;
use crate::{PacedFrames, SpecProblem, Streams, burst, problem};
use page::{Condition, Conditions, Key, Unit, numbers, phrase, words};
use trial::topology::Pair;
use trial::{Bulk, FlowKind, Protocol, Schedule};

/// Background traffic on the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// No background traffic.
    Idle,
    /// Paced UDP frames in the requests' direction.
    Datagrams {
        /// Size of the frames.
        frame_size: FrameSize,
        /// Frames a second.
        rate: FrameRate,
    },
    /// TCP streams at full rate, in the directions of the request.
    Bulk {
        /// Number of connections.
        streams: Streams,
        /// Congestion control: `cubic`.
        congestion_control: String,
    },
}

impl Load {
    /// True without background traffic.
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// True for TCP.
    pub(super) const fn is_bulk(&self) -> bool {
        matches!(self, Self::Bulk { .. })
    }

    /// Protocol of the load's flow.
    pub(super) const fn protocol(&self) -> Option<Protocol> {
        match self {
            Self::Idle => None,
            Self::Datagrams { .. } => Some(Protocol::Udp),
            Self::Bulk { .. } => Some(Protocol::Tcp),
        }
    }

    /// Refuses a load that no link carries, or without any frames.
    pub(super) fn check(&self, link: Option<Rate>) -> Result<(), SpecProblem> {
        match self {
            Self::Datagrams { frame_size, rate } => {
                problem::rate("the load's rate", *rate, *frame_size, link)
            }
            Self::Idle | Self::Bulk { .. } => Ok(()),
        }
    }

    /// Frames of the load, if it has even gaps; otherwise `None`.
    pub const fn frames(&self) -> Option<PacedFrames> {
        match self {
            Self::Datagrams { frame_size, rate } => {
                Some(PacedFrames { size: *frame_size, rate: *rate })
            }
            Self::Idle | Self::Bulk { .. } => None,
        }
    }

    /// Flow of the load, in a trial of this length.
    pub(super) fn flow(&self, duration: Nanos) -> Option<FlowKind> {
        match self {
            Self::Idle => None,
            Self::Datagrams { frame_size, rate } => {
                Some(burst::plain(*frame_size, Schedule::Paced(*rate)))
            }
            Self::Bulk { streams, congestion_control } => Some(FlowKind::Bulk(Bulk {
                streams: streams.get(),
                congestion_control: congestion_control.clone(),
                interval: (duration / 10).clamp(Nanos::from_millis(10), Nanos::from_millis(100)),
            })),
        }
    }

    /// Conditions of rows measured under the load.
    pub(super) fn conditions(&self) -> Conditions {
        match self {
            Self::Idle => Conditions::from([(Key::Load, "idle".into())]),
            Self::Datagrams { frame_size, rate } => Conditions::from([
                (Key::Load, "udp".into()),
                (Key::BackgroundRate, Condition::from_number(rate.0)),
                (Key::BackgroundFrameSize, u64::from(frame_size.octets()).into()),
            ]),
            Self::Bulk { streams, congestion_control } => Conditions::from([
                (Key::Load, "tcp".into()),
                (Key::Streams, u64::from(streams.get()).into()),
                (Key::CongestionControl, congestion_control.clone().into()),
            ]),
        }
    }

    /// Name in labels: `idle`, `udp 50000 frames/s of 1518`, `tcp 1 stream cubic`.
    pub(super) fn describe(&self) -> String {
        phrase::condition(&self.conditions(), &Key::Load).unwrap_or_default()
    }

    /// Name for a table: `idle`, `tcp x4`, `udp 50 k/s`, with a suffix `@512` if the frames are not
    /// the smallest.
    pub(super) fn abbreviate(&self) -> String {
        match self {
            Self::Idle => "idle".to_owned(),
            Self::Datagrams { frame_size, rate } => {
                let size = Some(frame_size).filter(|size| **size != FrameSize::MIN);
                let size = size.map_or_else(String::new, |size| format!("@{size}"));
                format!("udp {}/s{size}", numbers::short(rate.0))
            }
            Self::Bulk { streams, congestion_control } if congestion_control == "cubic" => {
                format!("tcp x{streams}")
            }
            Self::Bulk { streams, congestion_control } => {
                format!("tcp x{streams} {congestion_control}")
            }
        }
    }

    /// Name for a plot: `idle`, `under load of 50,000 frames/s of 512 octets`.
    pub(super) fn caption(&self) -> String {
        match self {
            Self::Idle => "idle".to_owned(),
            Self::Datagrams { frame_size, rate } => format!(
                "under load of {} of {frame_size} octets",
                words::value(Unit::FramesPerSecond, rate.0)
            ),
            Self::Bulk { streams, congestion_control } => {
                let streams = words::streams(usize::from(streams.get()));
                format!("under load of {streams} ({congestion_control})")
            }
        }
    }
}

/// Background load in its direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DirectedLoad {
    pub(super) load: Load,
    /// Direction of TCP relative to the requests; `Forward` of any other load.
    pub(super) direction: TcpDirection,
}

impl DirectedLoad {
    /// Load in each of the directions; one without TCP in the requests' direction only.
    pub(super) fn in_each(load: &Load, directions: &[TcpDirection]) -> Vec<Self> {
        let forward = [TcpDirection::Forward];
        let directions = if load.is_bulk() { directions } else { &forward };
        directions.iter().map(|&direction| Self { load: load.clone(), direction }).collect()
    }

    /// Ports of each flow of the load, in its direction.
    pub(super) fn pairs(&self, pair: &Pair) -> Vec<Pair> {
        match self.direction {
            TcpDirection::Forward => vec![pair.clone()],
            TcpDirection::Reverse => vec![pair.back()],
            TcpDirection::Bidirectional => vec![pair.clone(), pair.back()],
        }
    }

    /// Conditions of rows measured under the load.
    pub(super) fn conditions(&self) -> Conditions {
        let mut conditions = self.load.conditions();
        if self.direction != TcpDirection::Forward {
            conditions.insert(Key::LoadDirection, self.direction.as_str().into());
        }
        conditions
    }

    /// Name in labels: `idle`, `tcp 1 stream cubic`, `tcp 1 stream cubic reverse`.
    pub(super) fn describe(&self) -> String {
        self.join_direction(self.load.describe(), " ", TcpDirection::as_str)
    }

    /// Name for a table: `idle`, `tcp x4`, `tcp x4 the other way`.
    pub(super) fn abbreviate(&self) -> String {
        self.join_direction(self.load.abbreviate(), " ", Self::way)
    }

    /// Name for a plot: `idle`, `under load of 1 TCP stream (cubic), the other way`.
    pub(super) fn caption(&self) -> String {
        self.join_direction(self.load.caption(), ", ", Self::way)
    }

    const fn way(direction: TcpDirection) -> &'static str {
        match direction {
            TcpDirection::Forward => "",
            TcpDirection::Reverse => "the other way",
            TcpDirection::Bidirectional => "both ways",
        }
    }

    fn join_direction(
        &self,
        load: String,
        between: &str,
        name: fn(TcpDirection) -> &'static str,
    ) -> String {
        if self.direction == TcpDirection::Forward {
            return load;
        }
        load + between + name(self.direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_is_named_where_it_is_not_the_requests() {
        let load =
            Load::Bulk { streams: Streams::known(1), congestion_control: "cubic".to_owned() };
        let all = DirectedLoad::in_each(&load, &TcpDirection::ALL);
        let names: Vec<String> = all.iter().map(DirectedLoad::describe).collect();
        let plain = "tcp 1 stream cubic";
        let expected = [plain, "tcp 1 stream cubic reverse", "tcp 1 stream cubic bidirectional"];
        assert_eq!(names, expected);
        let short: Vec<String> = all.iter().map(DirectedLoad::abbreviate).collect();
        assert_eq!(short, ["tcp x1", "tcp x1 the other way", "tcp x1 both ways"]);
        assert_eq!(all[0].conditions(), load.conditions(), "as in earlier journals");
        assert_eq!(DirectedLoad::in_each(&Load::Idle, &TcpDirection::ALL).len(), 1);
    }

    #[test]
    fn a_load_has_a_name_for_rows_tables_and_plots() {
        let check = |load: Load, describe: &str, abbreviate: &str, caption: &str| {
            let names = (load.describe(), load.abbreviate(), load.caption());
            assert_eq!(names, (describe.to_owned(), abbreviate.to_owned(), caption.to_owned()));
        };
        let datagrams = |octets, rate| Load::Datagrams {
            frame_size: FrameSize::new(octets).expect("legal"),
            rate: FrameRate(rate),
        };
        let bulk =
            |streams, control: &str| Load::Bulk { streams, congestion_control: control.to_owned() };
        check(Load::Idle, "idle", "idle", "idle");
        check(
            datagrams(64, 5e4),
            "udp 50000 frames/s of 64",
            "udp 50 k/s",
            "under load of 50,000\u{a0}frames/s of 64 octets",
        );
        check(
            datagrams(512, 12_500.0),
            "udp 12500 frames/s of 512",
            "udp 12.5 k/s@512",
            "under load of 12,500\u{a0}frames/s of 512 octets",
        );
        check(
            bulk(Streams::known(1), "cubic"),
            "tcp 1 stream cubic",
            "tcp x1",
            "under load of 1 TCP stream (cubic)",
        );
        check(
            bulk(Streams::known(4), "reno"),
            "tcp 4 streams reno",
            "tcp x4 reno",
            "under load of 4 TCP streams (reno)",
        );
    }
}
