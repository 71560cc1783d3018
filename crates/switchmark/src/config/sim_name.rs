//! Simulated testbeds named on the command line: `sim:trident2,hosts=8,mtu=9000` or
//! `sim:PROFILE.toml,buffer=64MiB`.
//!
//! Owns the names of the options, their defaults and limits, also for the `[sim]` table of a file.
//! Reads the profile; never builds a testbed.

use std::ops::Range;
use std::path::Path;

use device::profile::Parameter;
use measure::{ByteCount, FrameRate, Nanos, UnitError};
use sim::{Cabling, HostModel};

use super::MOST_HOSTS;
use super::lab_name::{self};
use super::resolved::{Source, Testbed, VirtualConfig};
use super::source::{Fault, Word};
use super::{profile, suggest};

/// Prefix of a simulated testbed's name.
pub const PREFIX: &str = "sim:";

/// Options of the hosts; all others are the device's.
pub const OF_HOSTS: [&str; 7] =
    ["hosts", "mtu", "sends", "turnaround", "queue", "window", "cabling"];
/// Values of `cabling`: where hosts' ports lead.
const CABLINGS: [(&str, Cabling); 3] =
    [("both", Cabling::Both), ("device", Cabling::Device), ("direct", Cabling::Direct)];

/// Resolves a whole name, `sim:` included; the profile's path is relative to `base`. Spans are
/// offsets into `text`. The testbed's own name has the path as it is from the working directory.
pub fn parse(text: &str, base: &Path) -> Result<Testbed, Fault> {
    let body = text.strip_prefix(PREFIX).unwrap_or(text);
    let begin = text.len() - body.len();
    let file = body.split(',').next().unwrap_or_default();
    let mut at = begin + file.len() + 1;
    let mut making = Making::new(profile::named(file, begin..begin + file.len(), base)?);
    for part in body.split(',').skip(1) {
        let (key, value) = lab_name::option(part, at..at + part.len(), &options())?;
        making.set(&key, &value)?;
        at += part.len() + 1;
    }
    let config = making.finish(&(begin..begin + file.len()))?;
    let name =
        format!("{PREFIX}{}{}", profile::from_here(file, base).display(), &body[file.len()..]);
    Ok(Testbed::new(name, Source::Virtual(Box::new(config))))
}

/// Every option's name.
pub fn options() -> Vec<&'static str> {
    OF_HOSTS.into_iter().chain(Parameter::ALL.map(Parameter::as_str)).collect()
}

/// Simulated testbed from the options read so far.
#[derive(Debug)]
pub struct Making {
    profile: device::Profile,
    hosts: HostModel,
    cabling: Cabling,
    count: Option<(u64, Range<usize>)>,
    seen: Vec<String>,
}

impl Making {
    /// Begins with the device alone.
    pub fn new(profile: device::Profile) -> Self {
        let hosts = HostModel::ideal(profile.edges());
        Self { profile, hosts, cabling: Cabling::Both, count: None, seen: Vec::new() }
    }

    /// Sets one option.
    pub fn set(&mut self, key: &Word<'_>, value: &Word<'_>) -> Result<(), Fault> {
        if self.seen.iter().any(|seen| seen == key.text) {
            let message = format!("option `{}` is given twice", key.text);
            return Err(Fault::new(key.span.clone(), message, "keep one of the two"));
        }
        self.seen.push(key.text.to_owned());
        match key.text {
            "hosts" => self.count = Some((lab_name::number(value)?, value.span.clone())),
            "mtu" => self.hosts.mtu = lab_name::mtu(lab_name::number(value)?, value.span.clone())?,
            "sends" => {
                self.hosts.sends_at_most =
                    Some(unit(value, str::parse::<FrameRate>, "such as 1.2Mpps or 50kpps")?);
            }
            "turnaround" => {
                self.hosts.turnaround = unit(value, str::parse::<Nanos>, "such as 10us")?;
            }
            "queue" => self.hosts.queue = octets(value)?,
            "window" => self.hosts.receive_window = octets(value)?,
            "cabling" => {
                let known = CABLINGS.iter().find(|(name, _)| *name == value.text);
                self.cabling = known.map(|(_, cabling)| *cabling).ok_or_else(|| {
                    let message = format!("`{}` is no cabling", value.text);
                    let hint = "write `both`, or with one port a host `device` or `direct`";
                    Fault::new(value.span.clone(), message, hint)
                })?;
            }
            name => {
                let parameter = Parameter::named(name).ok_or_else(|| {
                    let hint = suggest::hint(name, &options());
                    Fault::new(key.span.clone(), format!("unknown option `{name}`"), hint)
                })?;
                let set = self.profile.set(parameter, value.text);
                set.map_err(|problem| {
                    Fault::new(value.span.clone(), problem.message, problem.hint)
                })?;
            }
        }
        Ok(())
    }

    /// Returns the complete testbed; `span` is where the profile is named.
    pub fn finish(mut self, span: &Range<usize>) -> Result<VirtualConfig, Fault> {
        let edges = self.profile.edges();
        if edges < 2 {
            let message = format!("`{}` has room for {edges} hosts", self.profile.name);
            return Err(Fault::new(span.clone(), message, "a testbed needs at least two hosts"));
        }
        if let Some((count, span)) = self.count {
            let fits = u16::try_from(count).ok().filter(|count| (2..=edges).contains(count));
            self.hosts.count = fits.ok_or_else(|| {
                let name = &self.profile.name;
                Fault::new(
                    span,
                    format!("{count} hosts on `{name}`, which has room for 2…{edges}"),
                    format!("give a number from 2 to {edges}"),
                )
            })?;
        }
        if usize::from(self.hosts.count) > MOST_HOSTS {
            let message = format!("{} hosts; at most {MOST_HOSTS} take part", self.hosts.count);
            return Err(Fault::new(span.clone(), message, format!("add `hosts={MOST_HOSTS}`")));
        }
        Ok(VirtualConfig { profile: self.profile, hosts: self.hosts, cabling: self.cabling })
    }
}

fn octets(value: &Word<'_>) -> Result<ByteCount, Fault> {
    let octets = unit(value, str::parse::<ByteCount>, "such as 4MiB")?;
    if octets.0 > 0 {
        return Ok(octets);
    }
    let hint = "give a size, or leave the option out for the default";
    Err(Fault::new(value.span.clone(), "a size of 0 holds nothing", hint))
}

fn unit<T>(
    value: &Word<'_>,
    read: impl Fn(&str) -> Result<T, UnitError>,
    like: &str,
) -> Result<T, Fault> {
    let fault =
        |e: UnitError| Fault::new(value.span.clone(), e.to_string(), format!("write it {like}"));
    read(value.text).map_err(fault)
}
