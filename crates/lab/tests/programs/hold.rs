//! Holds a lab open until its standard input closes: `lab-hold bridge 4`. The tests kill it to see what
//! is left, and run it as an ordinary user to see that a lab needs no root.
//!
//! Prints one line when the lab is up: the right it was built by, then the inode of each node's
//! namespace. Never leaves anything behind.

use std::io::{self, Read};
use std::net::UdpSocket;
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
    let name = arguments.next().unwrap_or_default();
    let named = LabDevice::ALL.into_iter().find(|device| device.as_str() == name);
    let device = named.unwrap_or(LabDevice::Bridge);
    let hosts = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(2);
    if privilege() == Privilege::None {
        enter_user_namespace()?;
    }
    let rate = Some("1Gbit".parse().expect("a rate"));
    let lab = Lab::build(&LabSpec { hosts, rate, ..LabSpec::new(device) })?;
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
    // The far end of the pipe closes when whoever started us is done, or dead.
    let _ = io::stdin().read(&mut [0]);
    Ok(())
}

/// The first host sends the second a datagram across the device.
fn greet(lab: &Lab) -> Result<(), LabError> {
    let [h1, h2] = [0, 1].map(|i| lab.plan().hosts[i].ports[0].address);
    let open = |node, address| lab.inside(node, move || UdpSocket::bind((address, 0)));
    let (from, to) = (open("h1", h1)?.expect("bind"), open("h2", h2)?.expect("bind"));
    to.set_read_timeout(Some(Duration::from_secs(5))).expect("timeout");
    from.send_to(b"hello", to.local_addr().expect("bound")).expect("send");
    to.recv(&mut [0; 8]).expect("receive across the device");
    Ok(())
}
