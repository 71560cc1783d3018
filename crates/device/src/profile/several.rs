//! Several devices and the cables among them, from a file's contents.
//!
//! Owns the names and the cables. Never checks one device alone: [`super::resolve`] does.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use measure::Nanos;
use toml::Spanned;

use super::data::{Device, Kind, Link, PortAt};
use super::resolve::{MOST_PORTS, above_zero, check_name, checked_delay, device, fault, needed};
use super::{Load, Profile, ProfileError, file};

pub(super) fn network(
    file: &file::Sheet,
    whole: &Range<usize>,
    load: Load<'_>,
) -> Result<Profile, ProfileError> {
    only_a_frame(file)?;
    let name = needed(file.name.as_ref(), whole, "name", "\"two-switches\"")?;
    let mut devices = Vec::new();
    let mut numbers = BTreeMap::new();
    for table in &file.device {
        let device = one_device(table, load)?;
        if numbers.insert(device.name.clone(), devices.len() as u16).is_some() {
            let message = format!("two devices are called `{}`", device.name);
            return fault(name_of(table), message, "give each device a name of its own");
        }
        if device.kind == Kind::Router && file.device.len() > 1 {
            let message = format!("`{}` is a router among other devices", device.name);
            let hint = "a router's profile is of one device, with a host at each port";
            return fault(name_of(table), message, hint);
        }
        devices.push(device);
    }
    let ports: usize = devices.iter().map(|device| usize::from(device.ports)).sum();
    if ports > usize::from(MOST_PORTS) {
        let message = format!("{ports} ports are more than {MOST_PORTS}");
        return fault(whole.clone(), message, "take devices out");
    }
    let mut taken = BTreeSet::new();
    let mut links = Vec::new();
    for table in &file.link {
        links.push(one_link(table, &devices, &numbers, &mut taken)?);
    }
    all_reached(&devices, &links, file)?;
    if taken.len() == ports {
        let hint = "leave ports without a [[link]]: hosts are attached there";
        return fault(whole.clone(), "no port is left for a host", hint);
    }
    check_name(name)?;
    Ok(Profile::of_network(name.get_ref(), devices, links))
}

/// Location shown for a device that does not fit the others.
fn name_of(table: &Spanned<file::Sheet>) -> Range<usize> {
    table.get_ref().name.as_ref().map_or(table.span(), Spanned::span)
}

/// Checks that a file with several devices has only its own name and scale besides them and their
/// cables.
fn only_a_frame(file: &file::Sheet) -> Result<(), ProfileError> {
    let profile = file.profile.as_ref().map(|profile| ("profile", profile.span()));
    match profile.or_else(|| file.first_of_device()) {
        None => Ok(()),
        Some((key, span)) => fault(
            span,
            format!("`{key}` of no device: the file has several"),
            "move it into a [[device]]",
        ),
    }
}

/// Builds one device: from its own keys, or from the file that it names.
fn one_device(table: &Spanned<file::Sheet>, load: Load<'_>) -> Result<Device, ProfileError> {
    let (keys, whole) = (table.get_ref(), table.span());
    let name = needed(keys.name.as_ref(), &whole, "name", "\"sw1\"")?;
    check_name(name)?;
    alone(keys, &whole)?;
    let Some(other) = &keys.profile else { return device(keys, &name.span()) };
    if let Some((key, span)) = keys.first_of_device() {
        let hint = "take `profile` out and write the device here, or leave only its name";
        return fault(span, format!("`{key}` of a device that comes from a file"), hint);
    }
    let put = |message: String, hint: String| {
        let message = format!("{}: {message}", other.get_ref());
        ProfileError::new(other.span(), message, hint)
    };
    let text = load(other.get_ref())
        .map_err(|why| put(why, "the name is relative to this file".to_owned()))?;
    let within = |error: ProfileError| {
        let line = text.get(..error.span.start).map_or(1, |before| before.lines().count().max(1));
        put(format!("line {line}: {}", error.message), error.hint)
    };
    let inner = file::read(&text).map_err(within)?;
    alone(&inner, &(0..0)).map_err(within)?;
    let mut device = device(&inner, &(0..0)).map_err(within)?;
    device.name.clone_from(name.get_ref());
    Ok(device)
}

/// Refuses keys that one device among several cannot have.
fn alone(keys: &file::Sheet, whole: &Range<usize>) -> Result<(), ProfileError> {
    if let Some(scale) = &keys.scale {
        let hint = "put `scale` at the top of the file with the devices";
        return fault(scale.span(), "a scale of one device among several", hint);
    }
    if !keys.device.is_empty() || !keys.link.is_empty() {
        let hint = "list all devices and cables in one file";
        return fault(whole.clone(), "a device that is a network itself", hint);
    }
    Ok(())
}

fn one_link(
    table: &Spanned<file::Cable>,
    devices: &[Device],
    numbers: &BTreeMap<String, u16>,
    taken: &mut BTreeSet<PortAt>,
) -> Result<Link, ProfileError> {
    let keys = table.get_ref();
    let mut ends = [PortAt { device: 0, port: 0 }; 2];
    for (end, written) in ends.iter_mut().zip([&keys.a, &keys.b]) {
        *end = cable_end(written, devices, numbers)?;
        if !taken.insert(*end) {
            let message = format!("port `{}` has two cables", written.get_ref());
            return fault(written.span(), message, "a port takes one cable");
        }
        if devices[usize::from(end.device)].cables.contains_key(&end.port) {
            let message = format!("port `{}` has a host's cable in `cables`", written.get_ref());
            return fault(written.span(), message, "take the port out of that list");
        }
    }
    let [a, b] = ends;
    if a.device == b.device {
        let message = format!("`{}` is joined to itself", devices[usize::from(a.device)].name);
        return fault(keys.b.span(), message, "a [[link]] joins two devices");
    }
    let rate = match &keys.rate {
        Some(rate) => {
            above_zero(rate, "a cable with a rate of 0 carries nothing")?;
            *rate.get_ref()
        }
        None => devices[usize::from(a.device)].rate.min(devices[usize::from(b.device)].rate),
    };
    let delay = keys.delay.as_ref().map(|delay| checked_delay(delay, "delay")).transpose()?;
    Ok(Link { a, b, rate, delay: delay.unwrap_or(Nanos::ZERO) })
}

fn cable_end(
    written: &Spanned<String>,
    devices: &[Device],
    numbers: &BTreeMap<String, u16>,
) -> Result<PortAt, ProfileError> {
    let text = written.get_ref();
    let wrong = |message: String| {
        let first = devices.first().map_or("sw1", |device| &device.name);
        let hint = format!("write it as name/port, like \"{first}/1\"");
        ProfileError::new(written.span(), message, hint)
    };
    let (name, port) =
        text.rsplit_once('/').ok_or_else(|| wrong(format!("`{text}` names no port")))?;
    let device =
        *numbers.get(name).ok_or_else(|| wrong(format!("no device is called `{name}`")))?;
    let port: u16 = port.parse().map_err(|_| wrong(format!("`{port}` is no port's number")))?;
    let ports = devices[usize::from(device)].ports;
    if port == 0 || port > ports {
        return Err(wrong(format!("port {port} does not exist: `{name}` has 1-{ports}")));
    }
    Ok(PortAt { device, port: port - 1 })
}

fn all_reached(devices: &[Device], links: &[Link], file: &file::Sheet) -> Result<(), ProfileError> {
    let mut reached = BTreeSet::from([0]);
    let mut before = 0;
    while reached.len() > before {
        before = reached.len();
        for link in links {
            let ends = [link.a.device, link.b.device];
            if ends.iter().any(|end| reached.contains(end)) {
                reached.extend(ends);
            }
        }
    }
    match (0..devices.len() as u16).find(|number| !reached.contains(number)) {
        None => Ok(()),
        Some(number) => {
            let number = usize::from(number);
            let place = name_of(&file.device[number]);
            let (from, to) = (&devices[0].name, &devices[number].name);
            let message = format!("no cable leads from `{from}` to `{to}`");
            fault(place, message, "join them with a [[link]]")
        }
    }
}
