//! Programs that give an interface a role: a cable end that accepts redirected frames, or a port of
//! a router that forwards inside the driver.
//!
//! Owns the attached programs while the values live; the kernel detaches them however the process
//! ends. Never replaces a program that is there.

use std::os::fd::OwnedFd;

use netlink::{Netdev, Netlink, NetlinkError};

use super::bpf::{self, Mode, ProgramKind};
use super::programs::Programs;
use crate::FlowError;
use crate::unfit::Unfit;

static PASS: &[u8] = include_bytes!("../../bpf/pass.bpf.o");
static FORWARD: &[u8] = include_bytes!("../../bpf/forward.bpf.o");

/// End of a virtual cable that accepts frames redirected to its other end.
#[derive(Debug)]
pub struct Accepting {
    _link: OwnedFd,
}

/// Interfaces of a router, between which frames are forwarded inside the driver.
#[derive(Debug)]
pub struct Forwarding {
    _links: Vec<OwnedFd>,
}

/// Lets an interface of the calling thread's namespace accept frames redirected out of its cable's
/// other end; they then go on to the stack like any other. Without this, a counter, or GRO, a veth
/// refuses them all.
///
/// It has a cost: ordinary frames are copied on their way past the program, and about a third fewer
/// reach the stack than without it. GRO costs them nothing, but merges many frames into one.
pub fn accept_frames(interface: &str) -> Result<Accepting, FlowError> {
    let link = attach("switchmark_pass", PASS, &[interface])?.pop();
    link.map(|link| Accepting { _link: link }).ok_or_else(|| unsuitable("accept", interface, ""))
}

/// True if frames redirected out of an interface of the calling thread's namespace are accepted
/// now.
pub fn takes_frames(interface: &str) -> Result<bool, FlowError> {
    let ask = || -> Result<bool, NetlinkError> {
        let index = Netlink::open()?.link(interface)?.index;
        Ok(Netdev::open()?.xdp_features(index)?.transmits())
    };
    ask().map_err(|e| unsuitable("ask for the xdp features of", interface, &words(&e)))
}

/// Makes a router's interfaces forward between them inside the driver, by the kernel's own routes
/// and neighbours. Other frames go through the stack as before, so the namespace has to be a router
/// already. The far ends of its cables have to accept redirected frames: see [`accept_frames`].
pub fn forward(interfaces: &[&str]) -> Result<Forwarding, FlowError> {
    attach("switchmark_fwd", FORWARD, interfaces).map(|links| Forwarding { _links: links })
}

/// Loads one program and attaches it to each interface, in the driver.
fn attach(
    name: &'static str,
    object: &'static [u8],
    interfaces: &[&str],
) -> Result<Vec<OwnedFd>, FlowError> {
    let load = || {
        let programs = Programs::new(name, object, &[], &[])?;
        programs.load("xdp", ProgramKind::Xdp { fragments: true })
    };
    let program = load().map_err(|unfit| match unfit {
        Unfit::Failed(error) => error,
        Unfit::NotHere(why) => unsuitable("attach a program to", &interfaces.join(", "), &why),
    })?;
    let mut kernel =
        Netlink::open().map_err(|e| unsuitable("look up", &interfaces.join(", "), &words(&e)))?;
    let mut links = Vec::new();
    for interface in interfaces {
        let link =
            kernel.link(interface).map_err(|e| unsuitable("look up", interface, &words(&e)))?;
        let link = bpf::attach(&program, link.index, Mode::Native)
            .map_err(|e| FlowError::kernel("attach a program to the driver of", interface, e))?;
        links.push(link);
    }
    Ok(links)
}

fn words(error: &NetlinkError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn unsuitable(deed: &str, object: &str, why: &str) -> FlowError {
    FlowError::Unsuitable(format!("{deed} {object}: {why}"))
}
