//! `[study.forwarding]`: the table's typed form, and the study that it asks for.
//!
//! Owns its keys. Never decides a default: what is absent here is the profile's.

use measure::FrameMix;
use method::search::GoalName;
use method::{ForwardingTest, SearchKind, SpecProblem, StudySpec};
use serde::Deserialize;
use toml::Spanned;
use trial::{Backend, Headers, IpVersion, Reception, Spread};

use super::values::{self, ProfileFile, Sizes, placed};
use crate::config::fit;
use crate::config::forwarding::ForwardingAsk;
use crate::config::resolved::Testbed;
use crate::config::source::Fault;
use crate::config::typed::Text;

/// The most ports or addresses that one flow goes round through.
pub const MOST_SPREAD: u16 = 4096;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ForwardingFile {
    profile: Option<ProfileFile>,
    #[serde(default)]
    tests: Vec<TestFile>,
    #[serde(default)]
    search: Vec<GoalName>,
    method: Option<SearchKind>,
    #[serde(default)]
    sizes: Vec<Spanned<i64>>,
    #[serde(default)]
    ip_lengths: Vec<Spanned<i64>>,
    #[serde(default)]
    payloads: Vec<Spanned<i64>>,
    #[serde(default)]
    mixes: Vec<Text>,
    backend: Option<Spanned<Backend>>,
    receiver: Option<Spanned<Reception>>,
    senders: Option<Spanned<i64>>,
    #[serde(default)]
    ipv6: Option<Spanned<bool>>,
    vlan: Option<Spanned<i64>>,
    source_ports: Option<Spanned<i64>>,
    destination_ports: Option<Spanned<i64>>,
    addresses: Option<Spanned<i64>>,
    #[serde(default)]
    bidirectional: bool,
    #[serde(default)]
    devices: Vec<Text>,
    #[serde(default)]
    variants: Vec<Text>,
    duration: Option<Text>,
    final_duration: Option<Text>,
    latency_duration: Option<Text>,
    burst_duration: Option<Text>,
    overload_duration: Option<Text>,
    reset_duration: Option<Text>,
    blocks: Option<Spanned<i64>>,
    #[serde(default)]
    latency_percents: Vec<Spanned<i64>>,
    latency_repeats: Option<Spanned<i64>>,
    burst_repeats: Option<Spanned<i64>>,
    loss_verification: Option<Spanned<i64>>,
    precision: Option<Spanned<f64>>,
}

/// A test's name, or that of RFC 2544's six.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TestFile {
    Rfc2544,
    Flood,
    Throughput,
    Latency,
    LossCurve,
    BackToBack,
    Recovery,
    Reset,
}

impl TestFile {
    fn tests(self) -> Vec<ForwardingTest> {
        match self {
            Self::Rfc2544 => ForwardingTest::RFC2544.to_vec(),
            Self::Flood => vec![ForwardingTest::Flood],
            Self::Throughput => vec![ForwardingTest::Throughput],
            Self::Latency => vec![ForwardingTest::Latency],
            Self::LossCurve => vec![ForwardingTest::LossCurve],
            Self::BackToBack => vec![ForwardingTest::BackToBack],
            Self::Recovery => vec![ForwardingTest::Recovery],
            Self::Reset => vec![ForwardingTest::Reset],
        }
    }
}

impl ForwardingFile {
    pub(super) fn resolve(&self, testbed: &Testbed) -> Result<StudySpec, Fault> {
        let headers = self.headers(testbed)?;
        self.means_fit(testbed)?;
        let mut tests: Vec<ForwardingTest> = Vec::new();
        for test in self.tests.iter().flat_map(|test| test.tests()) {
            if !tests.contains(&test) {
                tests.push(test);
            }
        }
        let duration = |text: &Option<Text>| text.as_ref().map(values::duration).transpose();
        let ask = ForwardingAsk {
            profile: self.profile.map(Into::into),
            tests,
            frames: self.frames(headers, testbed)?,
            goals: self.search.clone(),
            search: self.method,
            subjects: values::subjects(&self.devices, &self.variants, testbed)?,
            bidirectional: self.bidirectional,
            backend: self.backend.as_ref().map(|backend| *backend.get_ref()),
            receiver: self.receiver.as_ref().map(|receiver| *receiver.get_ref()),
            senders: self.senders.as_ref().map(senders).transpose()?,
            headers,
            duration: duration(&self.duration)?,
            final_duration: duration(&self.final_duration)?,
            latency_duration: duration(&self.latency_duration)?,
            burst_duration: duration(&self.burst_duration)?,
            overload_duration: duration(&self.overload_duration)?,
            reset_duration: duration(&self.reset_duration)?,
            blocks: self.blocks.as_ref().map(values::blocks).transpose()?,
            latency_percents: self
                .latency_percents
                .iter()
                .map(percent)
                .collect::<Result<_, _>>()?,
            latency_repeats: repeats(self.latency_repeats.as_ref(), 1)?,
            burst_repeats: repeats(self.burst_repeats.as_ref(), 1)?,
            loss_verification: repeats(self.loss_verification.as_ref(), 0)?,
            precision: self.precision.as_ref().map(precision).transpose()?,
        };
        let study = ask.resolve(fit::link_rate(testbed));
        if let (Some(backend), Some(test)) = (&self.backend, paced(&study)) {
            let problem = SpecProblem::Bursts { backend: backend.get_ref().as_str(), test };
            return Err(placed(backend.span(), (problem.to_string(), problem.hint())));
        }
        Ok(study)
    }

    fn means_fit(&self, testbed: &Testbed) -> Result<(), Fault> {
        if let Some(backend) = &self.backend {
            fit::backend_fits(*backend.get_ref(), Reception::Auto, testbed)
                .map_err(|misfit| placed(backend.span(), misfit))?;
        }
        if let Some(receiver) = &self.receiver {
            fit::backend_fits(Backend::Auto, *receiver.get_ref(), testbed)
                .map_err(|misfit| placed(receiver.span(), misfit))?;
        }
        Ok(())
    }

    fn headers(&self, testbed: &Testbed) -> Result<Headers, Fault> {
        let spread = |value: &Option<Spanned<i64>>, what| {
            let hint = "one is a single conversation; some hundreds spread over all queues";
            let most = 1..=i64::from(MOST_SPREAD);
            value.as_ref().map_or(Ok(1), |value| values::count(value, most, what, hint))
        };
        let vlan = self.vlan.as_ref().map(|value| {
            let hint = "give the tag's VLAN ID, which is also how the device's ports are set";
            values::count(value, 1..=4094, "VLAN IDs", hint)
        });
        let six = self.ipv6.as_ref().is_some_and(|six| *six.get_ref());
        let headers = Headers {
            version: if six { IpVersion::V6 } else { IpVersion::V4 },
            vlan: vlan.transpose()?,
            spread: Spread {
                source_ports: spread(&self.source_ports, "source ports")?,
                destination_ports: spread(&self.destination_ports, "destination ports")?,
                addresses: spread(&self.addresses, "addresses")?,
            },
        };
        let place = self.addresses.as_ref().map(Spanned::span);
        let place = place.or(self.ipv6.as_ref().map(Spanned::span)).unwrap_or(0..0);
        fit::addresses_fit(headers, testbed).map_err(|misfit| placed(place, misfit))?;
        Ok(headers)
    }

    fn frames(&self, headers: Headers, testbed: &Testbed) -> Result<Vec<FrameMix>, Fault> {
        let sizes =
            Sizes { frames: &self.sizes, ip_lengths: &self.ip_lengths, payloads: &self.payloads };
        let sizes = sizes.resolve(headers, testbed)?;
        let mut frames: Vec<FrameMix> = sizes.into_iter().map(FrameMix::of).collect();
        for text in &self.mixes {
            let mix: FrameMix = text.get_ref().parse().map_err(|e: measure::UnitError| {
                let like = "write \"imix\", or each size with its share: \"64*7,594*4,1518\"";
                Fault::new(text.span(), e.to_string(), like)
            })?;
            fit::size_fits(mix.largest(), testbed).map_err(|misfit| placed(text.span(), misfit))?;
            if !frames.contains(&mix) {
                frames.push(mix);
            }
        }
        Ok(frames)
    }
}

/// The first test that a backend which only makes bursts can't do, where such a one is asked for.
fn paced(study: &StudySpec) -> Option<&'static str> {
    let StudySpec::Forwarding(spec) = study else { return None };
    let paced = spec.tests.iter().find(|test| **test != ForwardingTest::Flood);
    paced.filter(|_| spec.backend == Backend::UdpGso).map(|test| test.as_str())
}

fn repeats(value: Option<&Spanned<i64>>, least: i64) -> Result<Option<u32>, Fault> {
    let hint = "RFC 2544 repeats latency 20 times and bursts 50 times";
    value.map(|value| values::count(value, least..=1000, "repeats", hint)).transpose()
}

fn senders(value: &Spanned<i64>) -> Result<u16, Fault> {
    let hint = "each is a thread, with a queue of its own where the port has several";
    values::count(value, 1..=64, "senders", hint)
}

fn percent(value: &Spanned<i64>) -> Result<u32, Fault> {
    let hint = "100 is the throughput itself (RFC 2544), 50 the half of it";
    values::count(value, 1..=100, "percent of the throughput", hint)
}

fn precision(value: &Spanned<f64>) -> Result<f64, Fault> {
    let share = *value.get_ref();
    if (0.0001..=0.5).contains(&share) {
        return Ok(share);
    }
    let message = format!("{share} is outside the range of a precision, 0.0001…0.5");
    Err(Fault::new(value.span(), message, "0.005 ends a search within half a percent"))
}
