//! What is attached, and what is not: without a taker, beside another's program, without privilege,
//! and after a kill; and a router that forwards in the driver.

use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use lab::{LabDevice, LabSpec};
use measure::{FrameMix, FrameSize, Nanos};

use super::{Asked, cable, check_conserved, every, lab_of, receiver_spec, run, sender_spec};
use crate::clock;
use crate::datagram::Way;
use crate::unfit::Unfit;
use crate::xdp::counter::Counter;
use crate::xdp::live::LiveSender;
use crate::xdp::{accept_frames, forward, takes_frames};

#[test]
fn without_a_taker_the_sender_is_not_here() {
    let Some(cable) = cable() else { return };
    let asked = Asked::default();
    let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
    let spec = sender_spec(&asked, from, SocketAddr::new(to, 9));
    let near = cable.interface("h1");
    let takes = || cable.inside("h1", || takes_frames(&near)).expect("ask");
    assert!(!takes());
    match cable.inside("h1", || LiveSender::open(&spec, Way::find(&spec)?)) {
        Err(Unfit::NotHere(why)) => assert!(why.contains("takes no redirected frames"), "{why}"),
        other => panic!("{other:?}"),
    }
    let far = cable.interface("h2");
    let accepting = cable.inside("h2", || accept_frames(&far)).expect("accept");
    assert!(takes());
    // A counter cannot come where a program is, and takes nothing away.
    let reserved = cable.inside("h2", || UdpSocket::bind((to, 0))).expect("reserve");
    match cable.inside("h2", || Counter::bind(&receiver_spec(&asked, to, from), &reserved)) {
        Err(Unfit::NotHere(why)) => assert!(why.contains("someone else"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(takes());
    drop(accepting);
    assert!(!takes(), "the program went with its value");
}

#[test]
fn frames_longer_than_a_page_are_not_here() {
    let Some(cable) = cable() else { return };
    let asked = Asked::default();
    let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
    let mut spec = sender_spec(&asked, from, SocketAddr::new(to, 9));
    spec.flow.asked.frames = FrameMix::from_size(FrameSize::MAX);
    match cable.inside("h1", || LiveSender::open(&spec, Way::find(&spec)?)) {
        Err(Unfit::NotHere(why)) => assert!(why.contains("page"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
#[expect(unsafe_code, reason = "an identity of one thread alone")]
fn without_privilege_it_is_not_here() {
    let Some(cable) = cable() else { return };
    let asked = Asked::default();
    let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
    let refused = cable.inside("h2", || {
        let reserved = UdpSocket::bind((to, 0)).expect("reserve");
        // SAFETY: integers only; the raw call changes this thread and no other.
        unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
        Counter::bind(&receiver_spec(&asked, to, from), &reserved)
    });
    match refused {
        Err(Unfit::NotHere(why)) => assert!(why.contains("not permitted"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn killing_the_holder_detaches() {
    let Some(cable) = cable() else { return };
    let near = cable.interface("h1");
    let takes = || cable.inside("h1", || takes_frames(&near)).expect("ask");
    let mut holder = Command::new(std::env::current_exe().expect("a path"));
    holder.args([
        "--exact",
        "xdp::tests::attaching::holds_until_killed",
        "--ignored",
        "--nocapture",
    ]);
    holder.env("HELD_INTERFACE", cable.interface("h2")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut holder = cable.lab.spawn("h2", &mut holder).expect("start the holder");
    let until = |wanted: bool| {
        let given_up = clock::monotonic() + Nanos::from_secs(10);
        while takes() != wanted && clock::monotonic() < given_up {
            thread::sleep(Duration::from_millis(10));
        }
        takes()
    };
    let held = until(true);
    holder.kill().expect("kill the holder");
    holder.wait().expect("wait for the holder");
    assert!(held, "the holder held");
    assert!(!until(false), "and the kernel let go");
}

#[test]
#[ignore = "the process that `killing_the_holder_detaches` kills"]
fn holds_until_killed() {
    let Ok(interface) = std::env::var("HELD_INTERFACE") else { return };
    let _accepting = accept_frames(&interface).expect("accept");
    thread::sleep(Duration::from_secs(20));
}

#[test]
fn a_routers_driver_forwards_what_its_table_routes() {
    let Some(cable) = lab_of(&LabSpec::new(LabDevice::Router)) else { return };
    let router = cable.lab.plan().devices[0].clone();
    let ports: Vec<String> = router.ports.iter().map(|port| port.interface.clone()).collect();
    let names: Vec<&str> = ports.iter().map(String::as_str).collect();
    let near = cable.interface("h1");
    for version in [4, 6] {
        let _accepting = cable.inside("h1", || accept_frames(&near)).expect("accept");
        let forwarding = cable.inside(&router.name, || forward(&names)).expect("forward");
        let frames = FrameMix::from_size(FrameSize::new(128).expect("a size"));
        let schedule = every(1e5);
        let asked = Asked { frames, version, schedule, ..Asked::default() };
        let before = cable.inside(&router.name, forwarded);
        let ran = run(&cable, &asked);
        check_conserved(&ran);
        // The stack forwards nothing then but what taught the addresses.
        let by_stack = cable.inside(&router.name, forwarded) - before;
        assert!(by_stack < 10, "ipv{version}: the stack forwarded {by_stack} of {}", ran.sent.sent);
        drop(forwarding);
    }
}

#[test]
fn a_bridge_passes_live_frames_with_their_tags() {
    let Some(cable) = lab_of(&LabSpec::new(LabDevice::Bridge)) else { return };
    let bridge = cable.lab.plan().devices[0].clone();
    let accepting = cable.inside(&bridge.name, || {
        bridge
            .ports
            .iter()
            .map(|port| accept_frames(&port.interface))
            .collect::<Result<Vec<_>, _>>()
    });
    let accepting = accepting.expect("accept");
    for (version, vlan) in [(4, None), (4, Some(7)), (6, Some(7))] {
        let frames = FrameMix::from_size(FrameSize::new(128).expect("a size"));
        let ran =
            run(&cable, &Asked { frames, version, vlan, schedule: every(1e5), ..Asked::default() });
        check_conserved(&ran);
    }
    drop(accepting);
}

/// Packets that the stack of the calling thread's namespace has forwarded, of both versions.
fn forwarded() -> u64 {
    let v4 = std::fs::read_to_string("/proc/thread-self/net/snmp").expect("read counters");
    let v4 = v4.lines().nth(1).and_then(|line| line.split(' ').nth(6)?.parse::<u64>().ok());
    let v6 = std::fs::read_to_string("/proc/thread-self/net/snmp6").expect("read counters");
    let v6 = v6
        .lines()
        .find_map(|line| line.strip_prefix("Ip6OutForwDatagrams")?.trim().parse::<u64>().ok());
    v4.expect("a counter") + v6.expect("a counter")
}
