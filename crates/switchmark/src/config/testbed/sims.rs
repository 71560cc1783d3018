//! The file's `[sim]` table: a profile, its hosts, and what is to be otherwise than the profile has
//! it.
//!
//! Owns the shape of the table. Its options are those of a simulated testbed's name.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use crate::config::profile;
use crate::config::resolved::VirtualConfig;
use crate::config::sim_name::Making;
use crate::config::source::{Fault, Word};
use crate::config::typed::Text;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SimFile {
    profile: Text,
    hosts: Option<Spanned<u64>>,
    mtu: Option<Spanned<u64>>,
    sends: Option<Text>,
    turnaround: Option<Text>,
    queue: Option<Text>,
    window: Option<Text>,
    cabling: Option<Text>,
    delay: Option<Text>,
    rate: Option<Text>,
    buffer: Option<Text>,
    alpha: Option<Spanned<f64>>,
    uplink: Option<Text>,
    pps_limit: Option<Spanned<u64>>,
}

impl SimFile {
    /// The profile's path is relative to `base`.
    pub(super) fn resolve(&self, base: &Path) -> Result<VirtualConfig, Fault> {
        let span = self.profile.span();
        let mut making = Making::new(profile::named(self.profile.get_ref(), span.clone(), base)?);
        let counts = [("hosts", &self.hosts), ("mtu", &self.mtu), ("pps_limit", &self.pps_limit)];
        let texts = [
            ("sends", &self.sends),
            ("turnaround", &self.turnaround),
            ("queue", &self.queue),
            ("window", &self.window),
            ("cabling", &self.cabling),
            ("delay", &self.delay),
            ("rate", &self.rate),
            ("buffer", &self.buffer),
            ("uplink", &self.uplink),
        ];
        let counts =
            counts.into_iter().filter_map(|(key, value)| Some((key, written(value.as_ref())?)));
        let texts =
            texts.into_iter().filter_map(|(key, value)| Some((key, written(value.as_ref())?)));
        let alpha = written(self.alpha.as_ref()).map(|value| ("alpha", value));
        for (key, (text, span)) in counts.chain(texts).chain(alpha) {
            let key = Word { text: key, span: span.clone() };
            making.set(&key, &Word { text: &text, span })?;
        }
        making.finish(&span)
    }
}

fn written<T: ToString>(value: Option<&Spanned<T>>) -> Option<(String, std::ops::Range<usize>)> {
    value.map(|value| (value.get_ref().to_string(), value.span()))
}
