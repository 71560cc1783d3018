//! Each judgement, with facts that hold and facts that are broken on purpose.

use agents::protocol::{Examination, IdleState, Interrupt, Link, PortExamination, Setting};
use netlink::{Coalescing, Nic, Pause, Rings};
use trial::topology::{CableEnd, HostPort};

use super::{Checked, Finding, State, hosts, page, ports};

fn port() -> HostPort {
    HostPort {
        rate: Some("1Gbit".parse().unwrap()),
        ..HostPort::plain(
            "eth1",
            "198.18.0.1".parse().unwrap(),
            CableEnd::Host("h2/eth1".parse().unwrap()),
        )
    }
}

/// A host's check, given what was found there.
fn host(check: &str, known: &Examination, state: State, fix: &str) -> Vec<Setting> {
    finding(hosts::of_host("h1", known), check, state, fix)
}

/// A port's check, given what was found of a port that is up.
fn nic(check: &str, known: PortExamination, state: State, fix: &str) -> Vec<Setting> {
    let link = known.link.clone().or(Some(link(true, true)));
    finding(
        ports::of_port("h1/eth1", &port(), &PortExamination { link, ..known }),
        check,
        state,
        fix,
    )
}

fn link(up: bool, carrier: bool) -> Link {
    Link { up, carrier, mtu: 1500, ..Link::default() }
}

fn card(nic: Nic) -> PortExamination {
    PortExamination { nic, ..PortExamination::default() }
}

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

/// The check's settings, all of which an agent may make.
fn finding(all: Vec<Finding>, check: &str, state: State, fix: &str) -> Vec<Setting> {
    let one = all.into_iter().find(|finding| finding.check == check).expect("it is checked");
    assert_eq!(one.state, state, "{one:?}");
    if state > State::Unknown {
        assert_eq!(one.fix.as_deref().unwrap_or_default(), fix, "{}", one.found);
    }
    assert!(one.settings.iter().all(|setting| setting.check().is_ok()), "{:?}", one.settings);
    one.settings
}

#[test]
fn processors_and_clocks() {
    let nothing = Examination::default();
    let governors = |all: &[&str]| Examination {
        governors: names(all),
        cpus: Some(2),
        ..Examination::default()
    };
    host("processor governor", &nothing, State::Unknown, "");
    host("processor governor", &governors(&["performance"]), State::Good, "");
    let command = "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    let two = governors(&["performance", "powersave"]);
    assert_eq!(host("processor governor", &two, State::Doubtful, command).len(), 2);

    let idle = |waking: &[u64]| {
        let state = |(at, wake_us): (usize, &u64)| IdleState {
            name: format!("state{at}"),
            wake_us: *wake_us,
        };
        let idle_states = waking.iter().enumerate().map(state).collect();
        Examination { idle_states, cpus: Some(4), ..Examination::default() }
    };
    host("idle states", &nothing, State::Unknown, "");
    host("idle states", &idle(&[0, 2]), State::Good, "");
    let command = "echo 1 | tee /sys/devices/system/cpu/cpu*/cpuidle/{state2,state3}/disable";
    assert_eq!(host("idle states", &idle(&[0, 2, 33, 133]), State::Doubtful, command).len(), 8);

    let clock = |now: &str, offered: &[&str]| Examination {
        clock_source: Some(now.to_owned()),
        clock_sources: names(offered),
        ..Examination::default()
    };
    host("clock source", &clock("tsc", &[]), State::Good, "");
    host("clock source", &clock("hpet", &["hpet"]), State::Bad, "");
    let command = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource";
    host("clock source", &clock("hpet", &["hpet", "tsc", "acpi_pm"]), State::Bad, command);
}

#[test]
fn memory_and_load() {
    let buffers = |octets, capabilities| Examination {
        rmem_max: Some(octets),
        capabilities,
        ..Examination::default()
    };
    host("receive buffers", &buffers(16_777_216, 0), State::Good, "");
    host("receive buffers", &buffers(212_992, 0x3000), State::Good, "");
    let command = "sysctl -w net.core.rmem_max=8388608";
    let plain = buffers(212_992, 0);
    assert_eq!(host("receive buffers", &plain, State::Doubtful, command).len(), 1);
    let locked = |octets, capabilities| Examination {
        memlock: Some(octets),
        capabilities,
        ..Examination::default()
    };
    host("locked memory", &locked(u64::MAX, 0), State::Good, "");
    host("locked memory", &locked(65_536, 0), State::Doubtful, "ulimit -l unlimited");
    host("locked memory", &locked(65_536, 0x4000), State::Good, "");
    let load = |busy, stolen| Examination { busy, stolen, ..Examination::default() };
    let who = "top -b -n 1 | head -20";
    host("other load", &load(0.02, 0.0), State::Good, "");
    host("other load", &load(0.45, 0.0), State::Doubtful, who);
    host("other load", &load(0.02, 0.2), State::Doubtful, who);
}

#[test]
fn cards() {
    let set = Nic::default;
    nic("speed and duplex", card(set()), State::Unknown, "");
    let speed = |mbits, full| {
        card(Nic { speed_mbits: Some(mbits), full_duplex: Some(full), ..Nic::default() })
    };
    nic("speed and duplex", speed(1000, true), State::Good, "");
    let command = "ethtool -s eth1 speed 1000 duplex full autoneg on";
    nic("speed and duplex", speed(100, true), State::Bad, command);
    nic("speed and duplex", speed(1000, false), State::Bad, "ethtool -s eth1 autoneg on");
    let rings = |rx, rx_max, tx, tx_max| {
        card(Nic { rings: Some(Rings { rx, rx_max, tx, tx_max }), ..Nic::default() })
    };
    nic("rings", rings(4096, 4096, 4096, 4096), State::Good, "");
    let command = "ethtool -G eth1 rx 4096 tx 2048";
    nic("rings", rings(256, 4096, 256, 2048), State::Doubtful, command);
    let coalescing = |rx_us, adaptive| {
        card(Nic { coalescing: Some(Coalescing { rx_us, adaptive }), ..Nic::default() })
    };
    nic("coalescing", coalescing(0, false), State::Good, "");
    let command = "ethtool -C eth1 adaptive-rx off rx-usecs 0";
    nic("coalescing", coalescing(50, true), State::Doubtful, command);
    nic("coalescing", coalescing(8, false), State::Doubtful, command);
    let pause =
        |rx| card(Nic { pause: Some(Pause { negotiated: true, rx, tx: false }), ..Nic::default() });
    nic("flow control", pause(false), State::Good, "");
    nic("flow control", pause(true), State::Doubtful, "ethtool -A eth1 autoneg off rx off tx off");
    let stamping = card(Nic { stamping: names(&["software-receive"]), ..Nic::default() });
    nic("time stamps", stamping, State::Good, "");
    nic("time stamps", card(set()), State::Doubtful, "");
}

#[test]
fn where_a_card_stands() {
    let interrupts = |all: &[(u32, &str)]| {
        let one = |(number, on): &(u32, &str)| Interrupt {
            number: *number,
            processors: (*on).to_owned(),
        };
        let interrupts = all.iter().map(one).collect();
        PortExamination { interrupts, ..PortExamination::default() }
    };
    nic("interrupts", interrupts(&[]), State::Unknown, "");
    nic("interrupts", interrupts(&[(24, "0"), (25, "1")]), State::Good, "");
    let command = "echo 0 > /proc/irq/25/smp_affinity_list";
    nic("interrupts", interrupts(&[(24, "1"), (25, "0-3")]), State::Doubtful, command);
    let one_node =
        PortExamination { numa: Some((-1, String::new())), ..PortExamination::default() };
    nic("memory node", one_node, State::Good, "");
}

#[test]
fn links_and_addresses() {
    let with = |link| PortExamination { link, ..PortExamination::default() };
    nic("link", with(Some(link(true, true))), State::Good, "");
    nic("link", with(Some(link(true, false))), State::Bad, "ip link show dev eth1");
    let command = "ip link set dev eth1 up";
    nic("link", with(Some(link(false, false))), State::Bad, command);
    let absent = ports::of_port("h1/eth1", &port(), &PortExamination::default());
    finding(absent, "link", State::Bad, "ip link show");
    let addresses = |all: &[&str]| {
        let addresses = all.iter().map(|one| one.parse().unwrap()).collect();
        PortExamination { addresses, ..PortExamination::default() }
    };
    nic("address", addresses(&["10.0.0.1", "198.18.0.1"]), State::Good, "");
    let command = "ip address add 198.18.0.1/24 dev eth1";
    nic("address", addresses(&["198.18.0.11"]), State::Bad, command);
}

#[test]
fn a_racks_page_fits_a_screen_with_what_is_bad_first() {
    let finding = |number: usize| {
        let state = if number == 30 { State::Bad } else { State::Good };
        Finding::new(&format!("h{number}/eth1"), "link", state, "as it is")
    };
    let findings = (1..=60).map(finding).collect();
    let page = page("rack", &Checked { findings, differences: Vec::new() });
    let text = render::text(&page, render::Screen { columns: 80, coloured: false, full: false });
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() <= 25 && lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(lines[..8].iter().any(|line| line.contains("h30/eth1")), "{text}");
    let shown = lines.iter().filter(|line| line.contains("as it is")).count();
    assert!(text.contains(&format!("and {} more rows: --full has all", 60 - shown)), "{text}");
}
