//! Labs named on the command line: `lab:bridge+router,rate=100Mbit,queue=64KiB,hosts=4,mtu=9000`.
//!
//! Owns the lab's defaults and limits, also for the `[lab]` table of a file. Reads the profiles of
//! emulated devices, and nothing else.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use device::profile::Parameter;
use lab::vm::Acceleration;
use lab::{BridgesSpec, EmulatedSpec, LabDevice, LabSpec, MAX_GROUPS, VmRole, VmSpec};
use measure::{ByteCount, Rate};

use super::resolved::{Source, Testbed};
use super::source::{Fault, Word};
use super::{lab_ports, profile, suggest};

/// Prefix of a lab's name.
pub const PREFIX: &str = "lab:";
const OPTIONS: [&str; 11] = [
    "rate",
    "queue",
    "hosts",
    "mtu",
    "bypass",
    "groups",
    "uplink",
    "kernel",
    "modules",
    "name",
    "acceleration",
];
/// Options of emulated devices only, besides their profiles' parameters.
const OF_MODELS: [&str; 2] = ["scale", "seed"];
/// Name of emulated devices, which their profile follows.
const EMULATED: &str = "emulated";
/// A device of a millionth or a million times the speed is another device.
const SCALE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
/// Accelerators for a virtual machine's instructions.
const ACCELERATIONS: [&str; 3] = ["auto", "kvm", "tcg"];
/// Prefix of a virtual machine's way of forwarding.
const MACHINE: &str = "vm-";

/// Range of hosts: every host and device costs processes and links of this machine.
const HOSTS: Range<u64> = 2..65;
/// Range of groups: each is a bridge, and an address has room for no more.
const GROUPS: Range<u64> = 2..MAX_GROUPS as u64 + 1;
/// Range of MTUs: from IPv4's least to that of a 9,018-octet frame.
const MTU: Range<u64> = 576..9001;

/// Resolves a whole name, `lab:` included; profiles' paths are relative to `base`. Spans are
/// offsets into `text`. The testbed's own name has the paths as they are from the working
/// directory.
pub fn resolve(text: &str, base: &Path) -> Result<Testbed, Fault> {
    let spec = parse(text, base)?;
    let (devices, options) = text.split_once(',').unwrap_or((text, ""));
    let devices = devices.strip_prefix(PREFIX).unwrap_or(devices).split('+');
    let renamed: Vec<String> = devices
        .map(|device| match profile_of(device) {
            Some(path) => format!("{EMULATED}={}", profile::from_here(path, base).display()),
            None => device.to_owned(),
        })
        .collect();
    let comma = if options.is_empty() { "" } else { "," };
    let name = format!("{PREFIX}{}{comma}{options}", renamed.join("+"));
    Ok(Testbed::new(name, Source::Lab(spec)))
}

fn parse(text: &str, base: &Path) -> Result<LabSpec, Fault> {
    let body = text.strip_prefix(PREFIX).unwrap_or(text);
    let mut at = text.len() - body.len();
    let mut config = None;
    let mut scale = None;
    let mut seen: Vec<&str> = Vec::new();
    for part in body.split(',') {
        let span = at..at + part.len();
        at = span.end + 1;
        match &mut config {
            None => config = Some(LabSpec::with_devices(devices(part, span.start, base)?)),
            Some(config) => {
                let (key, value) = option(part, span, &options())?;
                if seen.contains(&key.text) {
                    return Err(Fault::new(
                        key.span,
                        format!("option `{}` is given twice", key.text),
                        "keep one of the two",
                    ));
                }
                seen.push(key.text);
                match key.text {
                    "scale" => scale = Some((key.span, scale_of(&value)?)),
                    _ => set(config, &key, &value)?,
                }
            }
        }
    }
    let mut config =
        config.ok_or_else(|| Fault::new(0..text.len(), "a lab needs a device", NAMES))?;
    // Comes last, whatever the order: options apply to the device as it is, not to its scaled copy.
    if let Some((span, by)) = scale {
        set_models(&mut config, "scale", &span, |model| {
            model.profile = Arc::new(model.profile.scaled(by));
            Ok(())
        })?;
    }
    finish(config, &(0..text.len()))
}

const NAMES: &str = "labs are `lab:cable`, `lab:bridge`, `lab:bridges`, `lab:router`, \
                     `lab:routers`, `lab:vm-router,kernel=PATH`, `lab:emulated=PROFILE.toml`, and several side \
                     by side: `lab:bridge+router`";

/// Devices side by side, joined by `+`.
fn devices(text: &str, start: usize, base: &Path) -> Result<Vec<LabDevice>, Fault> {
    let mut at = start;
    let mut all = Vec::new();
    for name in text.split('+') {
        all.push(device(name, at..at + name.len(), base)?);
        at += name.len() + 1;
    }
    Ok(all)
}

/// The path in `emulated=PATH`.
fn profile_of(device: &str) -> Option<&str> {
    device.strip_prefix(EMULATED)?.strip_prefix('=')
}

/// A device that is a model, of the profile at `path`, relative to `base`.
pub fn emulated(path: &str, span: Range<usize>, base: &Path) -> Result<LabDevice, Fault> {
    Ok(LabDevice::Emulated(EmulatedSpec::new(profile::named(path, span, base)?)))
}

/// The device of that name; a profile's path is relative to `base`.
pub fn device(name: &str, span: Range<usize>, base: &Path) -> Result<LabDevice, Fault> {
    if let Some(device) = LabDevice::ALL.into_iter().find(|d| d.as_str() == name) {
        return Ok(device);
    }
    if let Some(path) = profile_of(name) {
        return emulated(path, span.end - path.len()..span.end, base);
    }
    if name == EMULATED {
        return Err(Fault::new(
            span,
            "an emulated device needs a profile",
            "name its file: lab:emulated=profiles/s400-48t.toml",
        ));
    }
    if let Some(role) = name.strip_prefix(MACHINE) {
        return Ok(LabDevice::Vm(machine(role_of(role, span)?)));
    }
    let plain = LabDevice::ALL.map(|device| device.as_str());
    let known = [&plain[..], &["vm-bridge", "vm-router", EMULATED]].concat();
    Err(Fault::new(span, format!("unknown lab device `{name}`"), suggest::hint(name, &known)))
}

/// A machine whose kernel is not yet stated.
pub const fn machine(role: VmRole) -> VmSpec {
    let kernel = PathBuf::new();
    VmSpec { name: None, role, kernel, modules: None, acceleration: Acceleration::Auto }
}

/// `bridge` or `router`: how a machine forwards.
pub fn role_of(text: &str, span: Range<usize>) -> Result<VmRole, Fault> {
    match text {
        "bridge" => Ok(VmRole::Bridge),
        "router" => Ok(VmRole::Router),
        other => Err(Fault::new(
            span,
            format!("a virtual machine cannot forward as `{other}`"),
            suggest::hint(other, &["bridge", "router"]),
        )),
    }
}

/// `auto`, `kvm` or `tcg`.
pub fn acceleration(value: &Word<'_>) -> Result<Acceleration, Fault> {
    match value.text {
        "auto" => Ok(Acceleration::Auto),
        "kvm" => Ok(Acceleration::Kvm),
        "tcg" => Ok(Acceleration::Tcg),
        other => Err(Fault::new(
            value.span.clone(),
            format!("unknown acceleration `{other}`"),
            suggest::hint(other, &ACCELERATIONS),
        )),
    }
}

/// Sets an option of machines, on every machine of the lab.
fn set_machines(
    config: &mut LabSpec,
    key: &Word<'_>,
    mut change: impl FnMut(&mut VmSpec),
) -> Result<(), Fault> {
    let mut machines = 0;
    for device in &mut config.devices {
        if let LabDevice::Vm(machine) = device {
            change(machine);
            machines += 1;
        }
    }
    match (machines, key.text) {
        (0, _) => Err(Fault::new(
            key.span.clone(),
            format!("option `{}` is for virtual machines, and this lab has none", key.text),
            "name one: lab:vm-router,kernel=PATH",
        )),
        (2.., "name") => Err(Fault::new(
            key.span.clone(),
            "one name for several virtual machines",
            "leave it out, or write the lab as a testbed file",
        )),
        _ => Ok(()),
    }
}

/// Sets an option of bridges that share out the hosts, on all of them; false if the lab has none.
pub fn set_bridges(config: &mut LabSpec, mut change: impl FnMut(&mut BridgesSpec)) -> bool {
    let mut any = false;
    for device in &mut config.devices {
        if let LabDevice::Bridges(bridges) = device {
            change(bridges);
            any = true;
        }
    }
    any
}

/// Checks the number of bridges that share out the hosts.
pub fn groups(value: u64, span: Range<usize>) -> Result<u16, Fault> {
    in_range(value, &GROUPS, "groups", span).map(|groups| groups as u16)
}

/// Refuses an option for bridges that share out the hosts, in a lab without any.
pub fn no_bridges(option: &str, span: Range<usize>) -> Fault {
    Fault::new(
        span,
        format!("option `{option}` is for bridges in groups, and this lab has none"),
        "name them: lab:bridges",
    )
}

/// Sets an option of models, on every model of the lab.
fn set_models(
    config: &mut LabSpec,
    option: &str,
    span: &Range<usize>,
    mut change: impl FnMut(&mut EmulatedSpec) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut models = 0;
    for device in &mut config.devices {
        if let LabDevice::Emulated(model) = device {
            change(model)?;
            models += 1;
        }
    }
    if models > 0 {
        return Ok(());
    }
    Err(Fault::new(
        span.clone(),
        format!("option `{option}` is for emulated devices, and this lab has none"),
        "name one: lab:emulated=PROFILE.toml",
    ))
}

/// A number to multiply every rate and buffer of a profile with.
pub fn scale_of(value: &Word<'_>) -> Result<f64, Fault> {
    let scale = value.text.parse().ok().filter(|scale| SCALE.contains(scale));
    scale.ok_or_else(|| {
        let (low, high) = (SCALE.start(), SCALE.end());
        Fault::new(
            value.span.clone(),
            format!("`{}` is outside the range of a scale, {low}…{high}", value.text),
            "write a number such as 0.01: a hundredth of every rate and buffer",
        )
    })
}

/// Every option's name.
fn options() -> Vec<&'static str> {
    let of_models = OF_MODELS.into_iter().chain(Parameter::ALL.map(Parameter::as_str));
    let of_models = of_models.filter(|name| !OPTIONS.contains(name));
    OPTIONS.into_iter().chain(lab_ports::OPTIONS).chain(of_models).collect()
}

/// Splits `option=value`; `known` are the options that a person might have meant.
pub(super) fn option<'a>(
    part: &'a str,
    span: Range<usize>,
    known: &[&str],
) -> Result<(Word<'a>, Word<'a>), Fault> {
    let Some((key, value)) = part.split_once('=') else {
        return Err(Fault::new(
            span,
            format!("`{part}` is not of the form option=value"),
            format!("options are {}", suggest::list(known)),
        ));
    };
    let middle = span.start + key.len();
    Ok((
        Word { text: key, span: span.start..middle },
        Word { text: value, span: middle + 1..span.end },
    ))
}

fn set(config: &mut LabSpec, key: &Word<'_>, value: &Word<'_>) -> Result<(), Fault> {
    let is_model = |device: &LabDevice| matches!(device, LabDevice::Emulated(_));
    let only_models = config.devices.iter().all(is_model);
    match key.text {
        // The kernel's ports, if there are any.
        "rate" if !only_models => config.rate = Some(rate(value)?),
        "queue" => config.queue = Some(queue(value)?),
        "hosts" => config.hosts = hosts(number(value)?, value.span.clone())?,
        "mtu" => config.mtu = mtu(number(value)?, value.span.clone())?,
        "bypass" => config.bypass = yes_no(value)?,
        "groups" => {
            let count = groups(number(value)?, value.span.clone())?;
            if !set_bridges(config, |bridges| bridges.groups = count) {
                return Err(no_bridges("groups", key.span.clone()));
            }
        }
        // The kernel's bridges, if there are any; else a profile's.
        "uplink" if set_bridges(config, |_| ()) => {
            let uplink = rate(value)?;
            set_bridges(config, |bridges| bridges.uplink = Some(uplink));
        }
        "kernel" => set_machines(config, key, |vm| vm.kernel = value.text.into())?,
        "modules" => set_machines(config, key, |vm| vm.modules = Some(value.text.into()))?,
        "name" => set_machines(config, key, |vm| vm.name = Some(value.text.to_owned()))?,
        "acceleration" => {
            let by = acceleration(value)?;
            set_machines(config, key, |vm| vm.acceleration = by)?;
        }
        "seed" => {
            let seed = number(value)?;
            set_models(config, key.text, &key.span, |model| {
                model.seed = seed;
                Ok(())
            })?;
        }
        other if lab_ports::set(config, other, value)? => {}
        other => {
            let parameter = Parameter::named(other).ok_or_else(|| {
                let hint = suggest::hint(other, &options());
                Fault::new(key.span.clone(), format!("unknown lab option `{other}`"), hint)
            })?;
            set_models(config, key.text, &key.span, |model| {
                let set = Arc::make_mut(&mut model.profile).set(parameter, value.text);
                set.map_err(|unfit| Fault::new(value.span.clone(), unfit.message, unfit.hint))
            })?;
        }
    }
    Ok(())
}

/// Checks the lab as a whole: a queue without a rate, an odd host, a cable between many.
pub fn finish(config: LabSpec, span: &Range<usize>) -> Result<LabSpec, Fault> {
    if let Some(queue) = config.queue {
        let least = u64::from(config.mtu) + 14;
        if config.rate.is_none() {
            return Err(Fault::new(
                span.clone(),
                "a queue limit needs a rate: an unlimited port never queues",
                "add the port's rate, such as rate=100Mbit",
            ));
        }
        if queue.0 < least {
            return Err(Fault::new(
                span.clone(),
                format!(
                    "a queue of {queue} cannot hold a frame of MTU {}: {least} octets",
                    config.mtu
                ),
                format!("give at least {least}B, or a smaller mtu"),
            ));
        }
    }
    if config.is_cable() && config.hosts % 2 == 1 {
        return Err(Fault::new(
            span.clone(),
            format!("{} hosts cannot be paired off by cables", config.hosts),
            "give an even number of hosts",
        ));
    }
    let without = |device: &LabDevice| matches!(device, LabDevice::Vm(machine) if machine.kernel.as_os_str().is_empty());
    if config.devices.iter().any(without) {
        return Err(Fault::new(
            span.clone(),
            "a virtual machine needs a kernel",
            "name its image: kernel=/boot/vmlinuz-…",
        ));
    }
    // Anything else that the lab itself would refuse, before anything is built.
    config.check().map_err(|problem| {
        Fault::new(span.clone(), problem.to_string(), "docs/lab.md has the limits of a lab")
    })?;
    Ok(config)
}

/// A port rate of at least 1 kbit.
pub fn rate(value: &Word<'_>) -> Result<Rate, Fault> {
    let fault = |message: String| {
        Fault::new(value.span.clone(), message, "write a rate with its unit, such as 100Mbit")
    };
    let rate: Rate = value.text.parse().map_err(|e: measure::UnitError| fault(e.to_string()))?;
    if rate.0 < 1_000 {
        return Err(fault(format!("a rate of {rate} is below the least, 1kbit")));
    }
    Ok(rate)
}

/// A queue that the kernel can count.
pub fn queue(value: &Word<'_>) -> Result<ByteCount, Fault> {
    let fault = |message: String| {
        Fault::new(value.span.clone(), message, "write a size with its unit, such as 64KiB")
    };
    let queue: ByteCount =
        value.text.parse().map_err(|e: measure::UnitError| fault(e.to_string()))?;
    if queue.0 == 0 || queue.0 > u64::from(u32::MAX) {
        return Err(fault(format!("a queue of {queue} is outside the range 1B…4GiB")));
    }
    Ok(queue)
}

/// A number of hosts in range.
pub fn hosts(value: u64, span: Range<usize>) -> Result<u16, Fault> {
    in_range(value, &HOSTS, "hosts", span).map(|hosts| hosts as u16)
}

/// An MTU in range.
pub fn mtu(value: u64, span: Range<usize>) -> Result<u32, Fault> {
    in_range(value, &MTU, "an MTU", span)
}

fn in_range(value: u64, range: &Range<u64>, what: &str, span: Range<usize>) -> Result<u32, Fault> {
    if range.contains(&value) {
        return Ok(value as u32);
    }
    let (low, high) = (range.start, range.end - 1);
    Err(Fault::new(
        span,
        format!("{value} is outside the range of {what}, {low}…{high}"),
        format!("give a number from {low} to {high}"),
    ))
}

/// A whole number.
pub fn number(value: &Word<'_>) -> Result<u64, Fault> {
    value.text.parse().map_err(|_| {
        Fault::new(
            value.span.clone(),
            format!("`{}` is not a whole number", value.text),
            "give digits only",
        )
    })
}

fn yes_no(value: &Word<'_>) -> Result<bool, Fault> {
    match value.text {
        "yes" => Ok(true),
        "no" => Ok(false),
        other => Err(Fault::new(
            value.span.clone(),
            format!("`{other}` is neither yes nor no"),
            "write bypass=yes or bypass=no",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_no_place(text: &str) -> Result<LabSpec, Fault> {
        parse(text, Path::new(""))
    }

    #[test]
    fn a_bare_name_has_every_default() {
        assert_eq!(in_no_place("lab:bridge"), Ok(LabSpec::new(LabDevice::Bridge)));
    }

    #[test]
    fn devices_stand_side_by_side() {
        let lab = in_no_place("lab:bridge+router,rate=1Gbit").unwrap();
        assert_eq!(lab.devices, [LabDevice::Bridge, LabDevice::Router]);
        assert_eq!(lab.rate, Some(Rate(1_000_000_000)));
    }

    #[test]
    fn ports_shape_police_and_lose() {
        let text = "lab:bridge+router,rate=1Gbit,shaper=htb,loss=0.001,police=10kpps";
        let lab = in_no_place(text).unwrap();
        let loss = lab.drops.loss.map(|loss| loss.frames_per_million);
        let police = lab.drops.police.map(|it| (it.frames_per_second, it.burst_frames));
        assert_eq!((lab.shaper, loss), (lab::Shaper::Htb, Some(1000)));
        assert_eq!(police, Some((10_000, 30)));
        assert_eq!(in_no_place("lab:bridge,rate=1Gbit,shaper=tbf").unwrap().shaper.as_str(), "tbf");
    }

    #[test]
    fn bridges_share_out_the_hosts() {
        let text = "lab:bridges,uplink=40Mbit,hosts=12,groups=3,rate=20Mbit";
        let bridges = BridgesSpec { groups: 3, uplink: Some(Rate(40_000_000)) };
        let lab = in_no_place(text).unwrap();
        assert_eq!(lab.devices, [LabDevice::Bridges(bridges)]);
        assert_eq!((lab.hosts, lab.rate), (12, Some(Rate(20_000_000))));
        let plain = in_no_place("lab:bridges").unwrap();
        assert_eq!(plain.devices, [LabDevice::Bridges(BridgesSpec::DEFAULT)]);
    }

    #[test]
    fn machines_have_kernels() {
        let lab =
            in_no_place("lab:vm-router+bridge,kernel=/boot/vmlinuz,acceleration=tcg").unwrap();
        let [LabDevice::Vm(vm), LabDevice::Bridge] = &lab.devices[..] else { panic!("{lab:?}") };
        assert_eq!((vm.role, vm.acceleration), (VmRole::Router, Acceleration::Tcg));
        assert_eq!(vm.kernel, PathBuf::from("/boot/vmlinuz"));
        let check = |text: &str, words: &str| {
            let fault = in_no_place(text).expect_err(text);
            assert!(fault.message.contains(words), "{text}: {}", fault.message);
        };
        check("lab:vm-router", "needs a kernel");
        check("lab:vm-hub,kernel=x", "cannot forward as `hub`");
        check("lab:bridge,kernel=x", "has none");
        check("lab:vm-router+vm-bridge,kernel=x,name=y", "several");
        check("lab:vm-router,kernel=x,acceleration=xen", "`xen`");
    }

    #[test]
    fn options_are_read_in_any_order() {
        let lab = in_no_place("lab:router,rate=100Mbit,hosts=4,mtu=9000,bypass=no").unwrap();
        assert_eq!(lab.rate, Some(Rate(100_000_000)));
        assert_eq!(lab.queue, None);
        assert_eq!((lab.hosts, lab.mtu, lab.bypass), (4, 9000, false));
    }

    #[test]
    fn a_fault_points_at_the_word() {
        let cases = [
            ("lab:brigde", "brigde"),
            ("lab:bridge+rotuer,mtu=1500", "rotuer"),
            ("lab:bridge+", ""),
            ("lab:bridge,rat=1Gbit", "rat"),
            ("lab:bridge,rate=1Gb", "1Gb"),
            ("lab:bridge,hosts=1", "1"),
            ("lab:bridge,mtu=big", "big"),
            ("lab:bridge,bypass=maybe", "maybe"),
            ("lab:bridge,mtu", "mtu"),
            ("lab:emulated", "emulated"),
            ("lab:bridge+emulated=none.toml", "none.toml"),
            ("lab:emulated=,hosts=2", ""),
            ("lab:bridge,scale=0.1", "scale"),
            ("lab:bridge,buffer=1MiB", "buffer"),
            ("lab:bridge,groups=2", "groups"),
            ("lab:bridge,uplink=1Gbit", "uplink"),
            ("lab:bridge,rate=1Gbit,shaper=hbt", "hbt"),
            ("lab:bridge,shaper=htb", "lab:bridge,shaper=htb"),
            ("lab:bridge,loss=0.6", "0.6"),
            ("lab:bridge,loss=1e-7", "1e-7"),
            ("lab:bridge,police=1000", "1000"),
            ("lab:bridge,police=2Mpps", "2Mpps"),
            ("lab:router,police=1kpps", "lab:router,police=1kpps"),
            ("lab:bridges,hosts=12,groups=1", "1"),
            ("lab:bridges,hosts=12,uplink=1", "1"),
            ("lab:bridges,hosts=2,groups=3", "lab:bridges,hosts=2,groups=3"),
        ];
        for (text, word) in cases {
            let fault = in_no_place(text).expect_err(text);
            assert_eq!(&text[fault.span], word, "{text}: {}", fault.message);
        }
    }
}
