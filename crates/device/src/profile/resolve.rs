//! Conversion of a file's contents to devices, or to an error with its location.
//!
//! Owns every check of one device. Never corrects a value silently: a value out of range is
//! refused.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use measure::{ByteCount, Nanos, Rate, name};
use toml::Spanned;

use super::data::{
    self, Broken, Buffer, Damaged, Device, Group, HostCable, Kind, MacTable, Mode, Policer,
    SessionLimits, Stalls,
};
use super::{ProfileError, file, ranges};

/// Maximum number of ports: numbers of ports and edges must leave room for "none" and "all".
pub(super) const MOST_PORTS: u16 = 16_384;
/// Longest delay of a cable: some 2,000,000 km.
const MOST_DELAY: Nanos = Nanos::from_secs(10);
const FRAMES: RangeInclusive<u32> = 64..=65_535;
/// Range of alpha: outside it, a queue takes the whole buffer, or almost nothing.
const ALPHA: RangeInclusive<f64> = 1.0 / 128.0..=128.0;

/// Checks a name for use in port names and lists.
pub(super) fn check_name(name: &Spanned<String>) -> Result<(), ProfileError> {
    if name::is_name(name.get_ref()) {
        return Ok(());
    }
    fault(name.span(), format!("`{}` cannot be a name", name.get_ref()), name::RULE)
}

/// Builds one device. `whole` is the location shown for a missing key.
pub(super) fn device(table: &file::Sheet, whole: &Range<usize>) -> Result<Device, ProfileError> {
    let name = needed(table.name.as_ref(), whole, "name", "\"sw1\"")?;
    check_name(name)?;
    let ports = needed(table.ports.as_ref(), whole, "ports", "48")?;
    let rate = needed(table.rate.as_ref(), whole, "rate", "\"1Gbit\"")?;
    within(ports, &(1..=MOST_PORTS), "the number of ports")?;
    above_zero(rate, "a port with a rate of 0 sends nothing")?;
    let mut device = Device::plain(name.get_ref(), *ports.get_ref(), *rate.get_ref());
    if let Some(delay) = &table.link_delay {
        device.link_delay = checked_delay(delay, "link_delay")?;
    }
    if let Some(forwarding) = &table.forwarding {
        forward(&mut device, forwarding.get_ref())?;
    }
    if let Some(groups) = &table.groups {
        device.groups = port_groups(groups.get_ref(), device.ports)?;
    }
    if let Some(cables) = &table.cables {
        device.cables = host_cables(cables.get_ref(), device.ports)?;
    }
    if let Some(mac_table) = &table.mac_table {
        device.mac_table = stations(mac_table.get_ref())?;
    }
    if let Some(longest) = &table.max_frame {
        within(longest, &FRAMES, "max_frame")?;
        device.max_frame = *longest.get_ref();
    }
    device.pps_limit = table.pps_limit.as_ref().map_or(0, |limit| *limit.get_ref());
    if let Some(queue) = &table.pps_queue {
        within(queue, &(1..=u32::MAX), "pps_queue")?;
        device.pps_queue = *queue.get_ref();
    }
    if let Some(policer) = &table.policer {
        let sheet = policer.get_ref();
        within(&sheet.pps, &(1..=u64::MAX), "a policer's rate")?;
        if let Some(burst) = &sheet.burst {
            within(burst, &(1..=u32::MAX), "a policer's burst")?;
        }
        device.policer = Some(Policer {
            pps: *sheet.pps.get_ref(),
            burst: sheet.burst.as_ref().map_or(1, |burst| *burst.get_ref()),
            only_groups: matches!(sheet.only, Some(file::Policed::Broadcast)),
        });
    }
    if let Some(sessions) = &table.sessions {
        device.sessions = Some(checked_sessions(sessions.get_ref())?);
    }
    device.pause = table.pause.as_ref().is_some_and(|pause| *pause.get_ref());
    if let Some(loss) = &table.loss {
        within(loss, &(0.0..=1.0), "loss")?;
        device.loss = *loss.get_ref();
    }
    if let Some(stalls) = &table.stalls {
        device.stalls = Some(checked_stalls(stalls.get_ref())?);
    }
    let buffer =
        needed(table.buffer.as_ref(), whole, "buffer", "{ total = \"2MiB\", alpha = 1.0 }")?;
    device.buffer = checked_buffer(buffer, &device)?;
    Ok(device)
}

fn forward(device: &mut Device, sheet: &file::Forwarding) -> Result<(), ProfileError> {
    device.kind = match sheet.kind {
        None | Some(file::Kind::Switch) => Kind::Switch,
        Some(file::Kind::Router) => Kind::Router,
    };
    device.mode = match sheet.mode {
        None | Some(file::Mode::StoreAndForward) => Mode::StoreAndForward,
        Some(file::Mode::CutThrough) => Mode::CutThrough,
    };
    if let Some(latency) = &sheet.latency {
        device.latency = checked_delay(latency, "latency")?;
    }
    Ok(())
}

/// Builds the named groups, and one without a limit for the remaining ports.
fn port_groups(sheets: &[file::PortGroup], ports: u16) -> Result<Vec<Group>, ProfileError> {
    let mut owner = vec![None; usize::from(ports)];
    let mut groups = Vec::new();
    for (number, sheet) in sheets.iter().enumerate() {
        let span = sheet.ports.span();
        let listed = parse_ports(&sheet.ports, ports)?;
        for port in &listed {
            if let Some(before) = owner[usize::from(*port)].replace(number) {
                return fault(
                    span,
                    format!("port {} is in groups {} and {}", port + 1, before + 1, number + 1),
                    "a port is on one chip: list it once",
                );
            }
        }
        if let Some(uplink) = &sheet.uplink {
            above_zero(uplink, "an uplink of 0 carries nothing")?;
        }
        groups.push(Group { ports: listed, uplink: sheet.uplink.as_ref().map(|u| *u.get_ref()) });
    }
    let left: Vec<u16> = (0..ports).filter(|port| owner[usize::from(*port)].is_none()).collect();
    if !left.is_empty() {
        groups.push(Group { ports: left, uplink: None });
    }
    Ok(groups)
}

fn parse_ports(written: &Spanned<String>, ports: u16) -> Result<Vec<u16>, ProfileError> {
    ranges::ports(written.get_ref(), ports).map_err(|message| {
        let hint = "write ports like \"1-12\" or \"1,5,9-12\"";
        ProfileError::new(written.span(), message, hint)
    })
}

fn host_cables(
    sheets: &[file::HostCable],
    ports: u16,
) -> Result<BTreeMap<u16, HostCable>, ProfileError> {
    let mut cables = BTreeMap::new();
    for sheet in sheets {
        let span = sheet.ports.span();
        let damaged = sheet.damaged.as_ref().map(damaged).transpose()?.flatten();
        let rates = [&sheet.rate, &sheet.shaped];
        if rates.iter().all(|rate| rate.is_none()) && sheet.broken.is_none() && damaged.is_none() {
            let hint = "give its `rate`, to which rate the device's port is `shaped`, which way it \
                        is `broken` (\"in\", \"out\", \"both\"), or what share of frames is \
                        `damaged`: { in = 0.01 }, { out = 0.01 }";
            return fault(span, "nothing is said of these cables", hint);
        }
        for rate in rates.into_iter().flatten() {
            above_zero(rate, "a cable with a rate of 0 carries nothing")?;
        }
        let broken = sheet.broken.map(|broken| match broken {
            file::Broken::In => Broken::In,
            file::Broken::Out => Broken::Out,
            file::Broken::Both => Broken::Both,
        });
        let [rate, shaped] = rates.map(|rate| rate.as_ref().map(|rate| *rate.get_ref()));
        let cable = HostCable { rate, shaped, broken, damaged: damaged.unwrap_or_default() };
        for port in parse_ports(&sheet.ports, ports)? {
            if cables.insert(port, cable).is_some() {
                let message = format!("the cable of port {} is listed twice", port + 1);
                return fault(span, message, "say all of it in one place");
            }
        }
    }
    Ok(cables)
}

/// Reads the damage of a cable; `None` if neither direction is set.
fn damaged(sheet: &file::Damaged) -> Result<Option<Damaged>, ProfileError> {
    let (inward, outward) = (sheet.inward.as_ref(), sheet.outward.as_ref());
    let share = |written: Option<&Spanned<f64>>| -> Result<f64, ProfileError> {
        let Some(written) = written else { return Ok(0.0) };
        within(written, &(0.0..=1.0), "the share of damaged frames")?;
        Ok(*written.get_ref())
    };
    let damaged = Damaged { inward: share(inward)?, outward: share(outward)? };
    Ok((inward.is_some() || outward.is_some()).then_some(damaged))
}

fn stations(sheet: &file::MacTable) -> Result<MacTable, ProfileError> {
    let mut table = MacTable { entries: data::MAC_ENTRIES, learn_rate: 0, age: data::MAC_AGE };
    if let Some(entries) = &sheet.entries {
        within(entries, &(1..=u32::MAX), "the MAC table's size")?;
        table.entries = *entries.get_ref();
    }
    if let Some(rate) = &sheet.learn_rate {
        table.learn_rate = *rate.get_ref();
    }
    if let Some(age) = &sheet.age {
        if age.get_ref().0 == 0 {
            return fault(age.span(), "an age of 0 forgets at once", "write it like \"300s\"");
        }
        table.age = *age.get_ref();
    }
    Ok(table)
}

fn checked_sessions(sheet: &file::Sessions) -> Result<SessionLimits, ProfileError> {
    for limit in [&sheet.table, &sheet.per_second].into_iter().flatten() {
        within(limit, &(1..=u64::MAX), "a limit of sessions")?;
    }
    if let Some(burst) = &sheet.burst {
        within(burst, &(1..=u32::MAX), "a burst of sessions")?;
    }
    if let Some(idle) = &sheet.idle
        && idle.get_ref().0 == 0
    {
        return fault(idle.span(), "sessions forgotten at once are none", "write it like \"30s\"");
    }
    let number = |limit: &Option<Spanned<u64>>| limit.as_ref().map_or(0, |it| *it.get_ref());
    Ok(SessionLimits {
        table: number(&sheet.table),
        per_second: number(&sheet.per_second),
        burst: sheet.burst.as_ref().map_or(1, |burst| *burst.get_ref()),
        idle: sheet.idle.as_ref().map_or(Nanos::ZERO, |idle| *idle.get_ref()),
    })
}

fn checked_stalls(sheet: &file::Stalls) -> Result<Stalls, ProfileError> {
    within(&sheet.per_second, &(1e-6..=1e6), "stalls a second")?;
    let length = checked_delay(&sheet.length, "a stall's length")?;
    if length.0 == 0 {
        return fault(sheet.length.span(), "a stall of 0 is none", "leave `stalls` out");
    }
    Ok(Stalls { per_second: *sheet.per_second.get_ref(), length })
}

fn checked_buffer(sheet: &Spanned<file::Buffer>, device: &Device) -> Result<Buffer, ProfileError> {
    let keys = sheet.get_ref();
    let cell = keys.cell.as_ref().map_or(1, |cell| *cell.get_ref());
    if let Some(written) = &keys.cell {
        within(written, &(1..=65_536), "a cell")?;
    }
    let longest = u64::from(device.max_frame.next_multiple_of(cell));
    let (written, share) = match (&keys.total, &keys.per_port) {
        (Some(total), None) => (total, true),
        (None, Some(each)) => (each, false),
        (None, None) => {
            let hint = "give `total`, or `per_port` where each queue has its own";
            return fault(sheet.span(), "a buffer without a size", hint);
        }
        (Some(_), Some(each)) => {
            let hint = "take one of the two out";
            return fault(each.span(), "`total` and `per_port` are two sizes for one buffer", hint);
        }
    };
    let size = written.get_ref().0;
    let Some(alpha) = &keys.alpha else {
        let queues = if share { device.queues() } else { 1 };
        if let Some(reserved) = &keys.reserved_per_port {
            let hint = "give `alpha` for the shared part, or leave `reserved_per_port` out";
            return fault(reserved.span(), "nothing is shared beside the reserve", hint);
        }
        holds_a_frame(written, size / queues, longest)?;
        let size = ByteCount(size / queues);
        return Ok(Buffer { size, reserved: ByteCount(0), alpha: None, cell });
    };
    within(alpha, &ALPHA, "alpha")?;
    if !share {
        let hint = "give `total`: alpha divides what is shared";
        return fault(alpha.span(), "queues with a buffer of their own share nothing", hint);
    }
    holds_a_frame(written, size, longest)?;
    let reserved = keys.reserved_per_port.as_ref().map_or(0, |reserved| reserved.get_ref().0);
    let sum = reserved.checked_mul(device.queues());
    let fits = sum.is_some_and(|sum| sum <= size);
    if let Some(place) = keys.reserved_per_port.as_ref().filter(|_| !fits) {
        let message = format!(
            "{} queues with {} each reserve {}, more than the total of {}",
            device.queues(),
            ByteCount(reserved),
            sum.map_or_else(|| "more than any memory".to_owned(), |sum| ByteCount(sum).to_string()),
            ByteCount(size)
        );
        let most = ByteCount(size / device.queues());
        let hint = format!("at most {most}; each port has a queue, each uplink two");
        return fault(place.span(), message, hint);
    }
    let (size, reserved) = (ByteCount(size), ByteCount(reserved));
    Ok(Buffer { size, reserved, alpha: Some(*alpha.get_ref()), cell })
}

fn holds_a_frame(place: &Spanned<ByteCount>, size: u64, longest: u64) -> Result<(), ProfileError> {
    if size >= longest {
        return Ok(());
    }
    let message =
        format!("{} for a queue cannot hold the longest frame: {longest}B", ByteCount(size));
    fault(place.span(), message, "give more, or a smaller `max_frame`")
}

pub(super) fn scale(written: Option<&Spanned<f64>>) -> Result<f64, ProfileError> {
    let Some(scale) = written else { return Ok(1.0) };
    if *scale.get_ref() > 0.0 && *scale.get_ref() <= 1.0 {
        return Ok(*scale.get_ref());
    }
    fault(scale.span(), "a scale is above 0 and at most 1", "write it like 0.01")
}

pub(super) fn checked_delay(written: &Spanned<Nanos>, what: &str) -> Result<Nanos, ProfileError> {
    let delay = *written.get_ref();
    if delay <= MOST_DELAY {
        return Ok(delay);
    }
    let message = format!("{what} of {delay} is more than {MOST_DELAY}");
    fault(written.span(), message, "write it like \"25ms\"")
}

pub(super) fn above_zero(rate: &Spanned<Rate>, message: &str) -> Result<(), ProfileError> {
    if rate.get_ref().0 > 0 {
        return Ok(());
    }
    fault(rate.span(), message, "write it like \"10Gbit\"")
}

fn within<T: PartialOrd + std::fmt::Display>(
    written: &Spanned<T>,
    range: &RangeInclusive<T>,
    what: &str,
) -> Result<(), ProfileError> {
    if range.contains(written.get_ref()) {
        return Ok(());
    }
    let (low, high) = (range.start(), range.end());
    let message = format!("{what} is {}, outside {low}…{high}", written.get_ref());
    fault(written.span(), message, format!("give one of {low}…{high}"))
}

pub(super) fn needed<'a, T>(
    value: Option<&'a Spanned<T>>,
    whole: &Range<usize>,
    key: &str,
    example: &str,
) -> Result<&'a Spanned<T>, ProfileError> {
    value.ok_or_else(|| {
        let hint = format!("add `{key} = {example}`");
        ProfileError::new(whole.clone(), format!("key `{key}` is missing"), hint)
    })
}

pub(super) fn fault<T>(
    span: Range<usize>,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Result<T, ProfileError> {
    Err(ProfileError::new(span, message, hint))
}
