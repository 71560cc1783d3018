//! Request for a sessions study, by flags.
//!
//! Owns its options. Anything left open follows from the profile.

use serde::Deserialize;
use trial::{PortRef, Transport};

use super::spec::{MostConnections, OpeningRate, SessionsSpec, SessionsTest};
use crate::request::given::{Given, RefusedAt, choice, ranged_values, set, value};
use crate::request::values::Duration;
use crate::request::{StudyRequest, strict, subjects};
use crate::{Between, Blocks, Outline, Precision, Profile, StudySpec};

choice! { SessionsTest:
    Rate "rate" "New connections a second, each with one message answered";
    Concurrent "concurrent" "Connections at once, each of which still answers at the end";
    Handshake "handshake" "Time of a handshake, and what the device adds to it";
    Idle "idle" "Longest silence after which the far end's packets are still let in";
}

choice! { Transport:
    Tcp "tcp" "TCP connections";
    Udp "udp" "UDP flows";
}

ranged_values! { MostConnections OpeningRate }

/// Flags of `sessions`, keys of `[study.sessions]`.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// Protocol of the connections [default: tcp]
    #[arg(short, long)]
    pub protocol: Option<Given<Transport>>,
    /// Tests to carry out [default: rate,concurrent,handshake; udp: idle too]
    #[arg(long = "test", value_name = "LIST", value_delimiter = ',')]
    pub tests: Vec<Given<SessionsTest>>,
    /// Most connections at once to try [default: 100000]
    #[arg(long, value_name = "N")]
    pub most: Option<Given<MostConnections>>,
    /// Rate at which connections to be held are opened, a second [default: half of the rate found,
    /// else 1000]
    #[arg(long, value_name = "RATE")]
    pub opening: Option<Given<OpeningRate>>,
    /// Trials on the way of the search for a rate, in seconds [default: 1; strict 10]
    #[arg(short = 't', long = "time", value_name = "S")]
    pub duration: Option<Given<Duration>>,
    /// Trials that decide a rate [default: 2; strict 60]
    #[arg(long = "final-time", value_name = "S")]
    pub final_duration: Option<Given<Duration>>,
    /// Time for which all connections are held at once [default: 0.5; strict 10]
    #[arg(long, value_name = "S")]
    pub hold: Option<Given<Duration>>,
    /// Longest silence that the test idle tries [default: 150]
    #[arg(long, value_name = "S")]
    pub idle: Option<Given<Duration>>,
    /// Time between the first and the last message of the test idle's connections [default: one
    /// message each way]
    #[arg(long, value_name = "S")]
    pub active: Option<Given<Duration>>,
    /// Time in which the device forgets UDP flows [default: as the test idle finds it, else 31]
    #[arg(long, value_name = "S")]
    pub rest: Option<Given<Duration>>,
    /// Time after which a handshake or an answer counts as timed out [default: 0.9]
    #[arg(long, value_name = "S")]
    pub timeout: Option<Given<Duration>>,
    /// Width of a search's last bracket [default: 0.02; strict 0.005]
    #[arg(long, value_name = "X")]
    pub precision: Option<Given<Precision>>,
    /// Port at the end that opens [default: the first host]
    #[arg(long, value_name = "HOST/PORT")]
    pub from: Option<Given<PortRef>>,
    /// Port at the end that accepts [default: the next host]
    #[arg(long, value_name = "HOST/PORT")]
    pub to: Option<Given<PortRef>>,
    /// Repetitions of the handshakes' trials [default: 10]
    #[arg(long, value_name = "N")]
    pub blocks: Option<Given<Blocks>>,
    /// Devices under test, each NAME or NAME:VARIANT [default: the first, as it is found]
    #[arg(long = "device", value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<Given<String>>,
    /// Variants of the devices; as-found is an unchanged device [default: as each is found]
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<Given<String>>,
    /// Length of the phases around each trial [default: quick]
    #[arg(long)]
    pub profile: Option<Given<Profile>>,
}

impl StudyRequest for Sessions {
    const FIRST: &'static [&'static str] = &["test", "most", "time"];

    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let strict = strict(&self.profile);
        let mut spec = if strict { SessionsSpec::strict() } else { SessionsSpec::quick() };
        spec.subjects = subjects::resolve(&self.devices, &self.variants, testbed)?;
        spec.between = Between::one_pair(value(&self.from), value(&self.to));
        set(&mut spec.transport, &self.protocol);
        spec.tests = SessionsTest::defaults(spec.transport);
        if !self.tests.is_empty() {
            spec.tests = self.tests.iter().map(|given| given.value).collect();
        }
        set(&mut spec.most, &self.most);
        spec.opening = value(&self.opening);
        set(&mut spec.duration, &self.duration);
        set(&mut spec.final_duration, &self.final_duration);
        spec.final_duration = spec.final_duration.max(spec.duration);
        set(&mut spec.hold, &self.hold);
        set(&mut spec.idle, &self.idle);
        spec.active = value(&self.active);
        set(&mut spec.rest, &self.rest);
        set(&mut spec.timeout, &self.timeout);
        set(&mut spec.precision, &self.precision);
        set(&mut spec.blocks, &self.blocks);
        Ok(StudySpec::Sessions(spec))
    }
}
