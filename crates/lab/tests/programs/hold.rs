//! Holds a lab open until its standard input closes: `lab-hold bridge+router 4`. The tests kill it
//! to see what is left, and run it as an ordinary user to see that a lab needs no root. Every
//! device is greeted across and, last of all, left in its last variant.
//!
//! Prints one line when the lab is up: the right it was built by, then the inode of each node's
//! namespace. Never leaves anything behind.

use std::io::{self, Read};
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use lab::{Lab, LabDevice, LabError, LabSpec, Privilege, enter_user_namespace, privilege};

fn main() {
    if let Err(error) = hold() {
        eprintln!("error: {error}");
        let mut cause = std::error::Error::source(&error);
        while let Some(under) = cause {
            eprintln!("  {under}");
            cause = under.source();
        }
        if let Some(hint) = error.hint() {
            eprintln!("hint: {hint}");
        }
        std::process::exit(1);
    }
}

fn hold() -> Result<(), LabError> {
    let mut arguments = std::env::args().skip(1);
    let names = arguments.next().unwrap_or_default();
    let named = |name| LabDevice::ALL.into_iter().find(|device| device.as_str() == name);
    let devices = names.split('+').map(|name| named(name).expect("a device")).collect();
    let hosts = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(2);
    if privilege() == Privilege::None {
        enter_user_namespace()?;
    }
    let rate = Some("1Gbit".parse().expect("a rate"));
    let lab = Lab::build(&LabSpec { hosts, rate, ..LabSpec::with_devices(devices) })?;
    greet(&lab)?;
    for subject in &lab.plan().subjects {
        for variant in lab.variants(&subject.name) {
            lab.apply(&subject.name, Some(&variant))?;
        }
    }
    greet(&lab)?;
    let inodes: Result<Vec<String>, LabError> = lab
        .nodes()
        .map(|node| {
            let status =
                nix::sys::stat::fstat(lab.namespace(node)?.as_fd()).expect("our descriptor");
            Ok(status.st_ino.to_string())
        })
        .collect();
    println!("{:?} {}", privilege(), inodes?.join(" "));
    // The far end of the pipe closes when the process that started us is done, or dead.
    let _ = io::stdin().read(&mut [0]);
    Ok(())
}

/// The first host sends the second a datagram from each port to the same, by IPv4 and by IPv6.
fn greet(lab: &Lab) -> Result<(), LabError> {
    let [h1, h2] = [0, 1].map(|i| &lab.plan().hosts[i].ports);
    for (a, b) in h1.iter().zip(h2) {
        let v4: [IpAddr; 2] = [a.address.into(), b.address.into()];
        let v6 = lab.plan().ipv6.then(|| [a, b].map(|port| lab::twin(port.address).into()));
        for [from, to] in [Some(v4), v6].into_iter().flatten() {
            let open = |node, ip: IpAddr| lab.inside(node, move || UdpSocket::bind((ip, 0)));
            let (from, to) = (open("h1", from)?.expect("bind"), open("h2", to)?.expect("bind"));
            to.set_read_timeout(Some(Duration::from_secs(5))).expect("timeout");
            from.send_to(b"hello", to.local_addr().expect("bound")).expect("send");
            to.recv(&mut [0; 8]).expect("receive across the device");
        }
    }
    Ok(())
}
