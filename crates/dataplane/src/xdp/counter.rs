//! Receiver inside the kernel: a program on the interface counts every frame of the flow by its
//! sequence number, and drops it.
//!
//! Owns the flow's numbers, orders and tallies. Frames that belong to no flow of ours pass to the
//! stack. Those that then reach the flow's own socket are foreign, and are counted here too. UDP
//! checksums are not checked, because the kernel leaves them incomplete in frames that never leave
//! the host.

use std::fmt::{self, Write as _};
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::thread;
use std::time::Duration;

use measure::Nanos;
use measure::reading::Rejected;
use measure::sequence::{Conversation, Order, Orders, SequenceCounts};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{MsgFlags, recv};
use std::sync::atomic::AtomicU64;
use trial::record::{Clocks, DatagramsRecord, Delays};
use trial::topology::AddressBlock;
use wire::Probe;

use super::attached::{self, Attached, Flow, OrderMemory, Own};
use super::bpf::Mode;
use super::buckets;
use super::memory::Mapped;
use super::placed::Placed;
use super::programs::refusal;
use super::tally::Tally;
use crate::datagram::Traffic;
use crate::unfit::Unfit;
use crate::{End, FlowError, Halt, Identity, Window, affinity, clock};

/// Value by which the program marks an untagged frame.
const NO_VLAN: u32 = 0xffff;
/// Wait after refusing further frames, until those being counted on other processors are done.
const SETTLING: Duration = Duration::from_millis(2);
/// Maximum number of datagrams fetched from the flow's own socket at the end.
const MOST_STRAYS: usize = 100_000;

/// Flow that is being counted.
pub(crate) struct Counter {
    attached: Arc<Attached>,
    place: u32,
    own: Own,
    numbers: Mapped<AtomicU64>,
    orders: Mapped<OrderMemory>,
    reserved: UdpSocket,
    identity: Identity,
    tells_apart: bool,
    cpu: Option<usize>,
    /// Released before the program, whose pollers these are.
    _placed: Option<Placed>,
}

impl Counter {
    /// Allocates all memory and attaches the program, or joins ours if it is attached. `reserved`
    /// is the socket whose port frames go to: it reserves the port and shows what was not counted.
    pub fn bind(spec: &End<Traffic>, reserved: &UdpSocket) -> Result<(Self, String), Unfit> {
        let (index, name) = interface_of(spec.local)?;
        let words = u32::try_from(spec.flow.limit.div_ceil(64)).map_err(|_| {
            Unfit::NotHere(format!("{} frames are too many to number", spec.flow.limit))
        })?;
        let conversations = Orders::kept(spec.flow.spread().conversations());
        let make = || -> std::io::Result<_> {
            let own = Own::new(words, conversations)?;
            let numbers =
                Mapped::new(&own.numbers, words.max(1) as usize * size_of::<AtomicU64>())?;
            let orders =
                Mapped::new(&own.orders, conversations as usize * size_of::<OrderMemory>())?;
            Ok((own, numbers, orders, reserved.try_clone()?))
        };
        let (own, numbers, orders, reserved) =
            make().map_err(|e| refusal("making the memory of an xdp program", &e))?;
        let attached = attached::on(index, &name)?;
        let place =
            attached.settle(spec.identity, &own, |flow| describe(flow, spec, conversations))?;
        let mut how = match attached.mode {
            Mode::Native => format!("a program in the driver of {name} counts every frame"),
            Mode::Generic => format!(
                "a program in the stack of {name} counts every frame (its driver takes none)"
            ),
        };
        let placed = match spec.flow.cpu.filter(|_| spec.flow.relieves_sender) {
            Some(cpu) => match Placed::new(&name, index, cpu) {
                Ok(placed) => {
                    write!(how, ", where processor {cpu} takes them in").ok();
                    Some(placed)
                }
                Err(why) => {
                    write!(how, "; {why}").ok();
                    None
                }
            },
            None => None,
        };
        let counter = Self {
            _placed: placed,
            attached,
            place,
            own,
            numbers,
            orders,
            reserved,
            identity: spec.identity,
            tells_apart: spec.flow.asked.conversations,
            cpu: spec.flow.cpu,
        };
        Ok((counter, how))
    }

    /// Waits until the window closes or a halt is requested, and reports the counts at that time.
    pub fn run(self, window: Window, halt: &Halt) -> Result<DatagramsRecord, FlowError> {
        affinity::pin(self.cpu)?;
        clock::rest_until(window.closed, || halt.is_requested());
        self.attached.silence(self.place);
        thread::sleep(SETTLING);
        self.report(window.closed)
    }

    /// Returns the program's verdict on a frame without an origin (`XDP_DROP` is 1, `XDP_PASS` 2).
    #[cfg(test)]
    pub(super) fn judge(&self, frame: &[u8]) -> std::io::Result<u32> {
        super::bpf::run_once(&self.attached.program, frame)
    }

    fn report(&self, closed: Nanos) -> Result<DatagramsRecord, FlowError> {
        let tally = Tally::read(&self.own.tallies).map_err(|e| {
            FlowError::kernel("read what was counted at", &self.attached.interface, e)
        })?;
        let flow = self.attached.flow(self.place);
        let (first, last) = (Nanos(flow.first.load(Relaxed)), Nanos(flow.last.load(Relaxed)));
        let orders = self.orders();
        let in_order = orders.counts();
        let mut rejected = Rejected { malformed: tally.malformed, foreign: tally.foreign };
        rejected.merge(&self.strays());
        let histogram = buckets::histogram(&tally.delays);
        Ok(DatagramsRecord {
            receiver: "xdp".to_owned(),
            delays: Some(Delays { clocks: Clocks::Same, histogram }),
            received: SequenceCounts {
                unique: tally.unique,
                beyond_limit: tally.beyond_limit,
                last_missing: in_order
                    .highest
                    .and_then(|h| last_missing(self.numbers.all(), h, tally.unique)),
                ..in_order
            },
            conversations: self.conversations(&orders),
            rejected,
            receiving: last.saturating_sub(first),
            quiet: (tally.unique > 0).then(|| closed.saturating_sub(last)),
            arrivals: buckets::histogram(&tally.arrivals),
            ..DatagramsRecord::default()
        })
    }

    fn orders(&self) -> Orders {
        let several = self.orders.all();
        let only = std::slice::from_ref(&self.attached.flow(self.place).order);
        let each = if several.len() > 1 { several } else { only };
        let each = each.iter().map(|order| Order {
            next_expected: order.next_expected.load(Acquire),
            reordered: order.reordered.load(Relaxed),
            duplicated: order.duplicated.load(Relaxed),
        });
        each.collect()
    }

    fn conversations(&self, orders: &Orders) -> Vec<Conversation> {
        if !self.tells_apart {
            return Vec::new();
        }
        let numbers = self.numbers.all();
        Conversation::each(orders, |number| {
            let word = numbers.get((number / 64) as usize);
            word.is_some_and(|word| word.load(Relaxed) & (1 << (number % 64)) != 0)
        })
    }

    /// Counts datagrams that passed the program and reached the flow's own socket.
    fn strays(&self) -> Rejected {
        let mut rejected = Rejected::default();
        let mut head = [0; Probe::LEN];
        for _ in 0..MOST_STRAYS {
            let Ok(octets) = recv(self.reserved.as_raw_fd(), &mut head, MsgFlags::MSG_DONTWAIT)
            else {
                break;
            };
            match Probe::parse(&head[..octets]) {
                Err(_) => rejected.malformed += 1,
                Ok(probe)
                    if probe.token == self.identity.token && probe.flow == self.identity.flow => {}
                Ok(_) => rejected.foreign += 1,
            }
        }
        rejected
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.attached.leave(self.place);
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counter").field("at", &self.attached.interface).finish_non_exhaustive()
    }
}

/// Searches from the highest number seen backwards for the first clear bit.
fn last_missing(numbers: &[AtomicU64], highest: u64, unique: u64) -> Option<u64> {
    if unique > highest {
        return None;
    }
    let mut word = (highest / 64) as usize;
    // Numbers above the highest are not missing.
    let above = if highest % 64 == 63 { 0 } else { u64::MAX << (highest % 64 + 1) };
    let mut missing = !(numbers.get(word)?.load(Relaxed) | above);
    while missing == 0 {
        word = word.checked_sub(1)?;
        missing = !numbers[word].load(Relaxed);
    }
    Some(word as u64 * 64 + 63 - u64::from(missing.leading_zeros()))
}

/// Writes the flow's acceptance criteria for the program.
fn describe(flow: &Flow, spec: &End<Traffic>, conversations: u32) {
    // A NAT that translates replaces every source.
    let sources = spec.flow.spread().sources.filter(|_| spec.opening.translated.is_none());
    let AddressBlock { first, count } = sources.unwrap_or(AddressBlock::single(spec.seen_peer()));
    let (version, high, low) = match first {
        IpAddr::V4(address) => (4, 0, u64::from(address.to_bits())),
        IpAddr::V6(address) => (6, (address.to_bits() >> 64) as u64, address.to_bits() as u64),
    };
    flow.version.store(version, Relaxed);
    flow.peer_high.store(high, Relaxed);
    flow.peer_low.store(low, Relaxed);
    flow.peers.store(u64::from(count.max(1)), Relaxed);
    flow.vlan.store(spec.flow.vlan().map_or(NO_VLAN, u32::from), Relaxed);
    flow.limit.store(spec.flow.limit, Relaxed);
    flow.conversations.store(conversations.into(), Relaxed);
    flow.delays.store(1, Relaxed);
    let pattern = spec.flow.asked.frames.pattern();
    flow.sizes.store(pattern.len() as u32, Relaxed);
    for (place, size) in flow.octets.iter().zip(pattern) {
        place.store(size.octets_without_fcs(), Relaxed);
    }
}

/// Finds the interface of this namespace that has an address.
fn interface_of(address: IpAddr) -> Result<(u32, String), Unfit> {
    let unknown = |e: nix::errno::Errno| {
        Unfit::NotHere(format!("the interface of {address} cannot be told ({})", e.desc()))
    };
    let found = getifaddrs().map_err(unknown)?.find(|interface| {
        let Some(own) = &interface.address else { return false };
        match address {
            IpAddr::V4(v4) => own.as_sockaddr_in().is_some_and(|own| own.ip() == v4),
            IpAddr::V6(v6) => own.as_sockaddr_in6().is_some_and(|own| own.ip() == v6),
        }
    });
    let Some(interface) = found else {
        return Err(Unfit::NotHere(format!("no interface has the address {address}")));
    };
    if address.is_loopback() {
        return Err(Unfit::NotHere("the loopback has no wire to count at".to_owned()));
    }
    let name = interface.interface_name;
    Ok((if_nametoindex(name.as_str()).map_err(unknown)?, name))
}
