//! Counting program on an interface, shared by all flows of this process that end there.
//!
//! Owns the registry of attached programs, so that the second flow finds the first one's, and the
//! 64 places for flows of each. The last flow to end detaches it; the kernel does if the process
//! dies. Never attaches if another program is there.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::bpf::{self, MapShape, Mode, ProgramKind, flag, kind};
use super::image::SIZES;
use super::memory::{Mapped, Shared};
use super::programs::{Programs, refusal};
use super::tally::TALLY_OCTETS;
use crate::Identity;
use crate::unfit::Unfit;

static OBJECT: &[u8] = include_bytes!("../../bpf/counter.bpf.o");

/// Maximum flows per interface, and maximum distance of a flow from its hash.
const PLACES: usize = 64;
const PROBES: u32 = 8;

/// `struct flow` of `counter.bpf.c`.
#[repr(C)]
pub(super) struct Flow {
    active: AtomicU64,
    token: AtomicU32,
    number: AtomicU32,
    pub version: AtomicU32,
    pub vlan: AtomicU32,
    pub peer_high: AtomicU64,
    pub peer_low: AtomicU64,
    pub peers: AtomicU64,
    pub limit: AtomicU64,
    pub conversations: AtomicU64,
    pub sizes: AtomicU32,
    pub delays: AtomicU32,
    pub octets: [AtomicU32; SIZES],
    /// Order of the only conversation, if there is just one.
    pub order: OrderMemory,
    pub first: AtomicU64,
    pub last: AtomicU64,
}

/// `flows` of `counter.bpf.c`.
#[repr(C)]
struct Flows([Flow; PLACES]);

#[expect(unsafe_code, reason = "the program's memory")]
// SAFETY: `repr(C)`, and every field of every flow is an atomic integer, an array of them or an
// `OrderMemory`.
unsafe impl Shared for Flows {}

/// `struct order` of `counter.bpf.c`.
#[repr(C)]
pub(super) struct OrderMemory {
    pub next_expected: AtomicU64,
    pub reordered: AtomicU64,
    pub duplicated: AtomicU64,
}

#[expect(unsafe_code, reason = "the program's memory")]
// SAFETY: `repr(C)`, and every field is an atomic integer.
unsafe impl Shared for OrderMemory {}

/// Counting program on an interface.
#[derive(Debug)]
pub(super) struct Attached {
    pub mode: Mode,
    pub interface: String,
    programs: Programs,
    flows: Mapped<Flows>,
    /// Bit mask of the places in use.
    taken: Mutex<u64>,
    /// Program itself, for judging single frames.
    #[cfg(test)]
    pub program: OwnedFd,
    _link: OwnedFd,
}

/// A network namespace and an interface in it.
type Where = (u64, u64, u32);

static ATTACHED: Mutex<BTreeMap<Where, Weak<Attached>>> = Mutex::new(BTreeMap::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the program on an interface of the calling thread's namespace; attaches it if needed.
pub(super) fn on(index: u32, name: &str) -> Result<Arc<Attached>, Unfit> {
    let namespace = std::fs::metadata("/proc/thread-self/ns/net")
        .map_err(|e| Unfit::NotHere(format!("the network namespace cannot be told ({e})")))?;
    let place = (namespace.dev(), namespace.ino(), index);
    let mut all = locked(&ATTACHED);
    all.retain(|_, attached| attached.strong_count() > 0);
    if let Some(attached) = all.get(&place).and_then(Weak::upgrade) {
        return Ok(attached);
    }
    let attached = Arc::new(Attached::new(index, name)?);
    all.insert(place, Arc::downgrade(&attached));
    Ok(attached)
}

/// Maps of each flow, by the program's names.
const OWN: [&str; 3] = ["numbers", "orders", "tallies"];

/// Maps owned by one flow.
#[derive(Debug)]
pub(super) struct Own {
    /// Number bits, 64 per word.
    pub numbers: OwnedFd,
    /// Order state, one per conversation.
    pub orders: OwnedFd,
    /// Tallies, one per processor.
    pub tallies: OwnedFd,
}

impl Own {
    /// Allocates all memory of a flow with the given words of numbers and conversations.
    pub fn new(words: u32, conversations: u32) -> io::Result<Self> {
        let shared = |value_octets, entries: u32| MapShape {
            kind: kind::ARRAY,
            key_octets: 4,
            value_octets,
            entries: entries.max(1),
            flags: flag::MEMORY | flag::INNER,
        };
        let tallies = MapShape {
            kind: kind::PER_CPU_ARRAY,
            key_octets: 4,
            value_octets: TALLY_OCTETS as u32,
            entries: 1,
            flags: 0,
        };
        let order = size_of::<OrderMemory>() as u32;
        let [numbers, orders, each] = OWN;
        Ok(Self {
            numbers: bpf::create_map(numbers, shared(8, words), None)?,
            orders: bpf::create_map(orders, shared(order, conversations), None)?,
            tallies: bpf::create_map(each, tallies, None)?,
        })
    }

    fn named(&self) -> [(&'static str, BorrowedFd<'_>); 3] {
        let [numbers, orders, tallies] = OWN;
        [
            (numbers, self.numbers.as_fd()),
            (orders, self.orders.as_fd()),
            (tallies, self.tallies.as_fd()),
        ]
    }
}

impl Attached {
    fn new(index: u32, name: &str) -> Result<Self, Unfit> {
        let like =
            Own::new(1, 1).map_err(|e| refusal("making the memory of an xdp program", &e))?;
        let programs = Programs::new("switchmark_recv", OBJECT, &[], &like.named())?;
        let program = programs.load("xdp", ProgramKind::Xdp { fragments: true })?;
        let (link, mode) = attach(&program, index, name)?;
        Ok(Self {
            mode,
            interface: name.to_owned(),
            flows: programs.memory("flows")?,
            programs,
            taken: Mutex::new(0),
            #[cfg(test)]
            program,
            _link: link,
        })
    }

    /// Finds a place for a flow and sets the fields of the place; `describe` sets the rest. The
    /// program reads it from then on.
    pub fn settle(
        &self,
        identity: Identity,
        own: &Own,
        describe: impl FnOnce(&Flow),
    ) -> Result<u32, Unfit> {
        let mut taken = locked(&self.taken);
        let home = identity.token ^ u32::from(identity.flow).wrapping_mul(0x9e37_79b1);
        let places = (0..PROBES).map(|probe| home.wrapping_add(probe) % PLACES as u32);
        let Some(place) = places.clone().find(|place| *taken >> place & 1 == 0) else {
            return Err(Unfit::NotHere(format!("{} has too many flows already", self.interface)));
        };
        let put = || -> io::Result<()> {
            own.named().into_iter().try_for_each(|(name, map)| {
                let maps = self.programs.map(name).map_err(|_| io::ErrorKind::NotFound)?;
                bpf::place(maps, place, map)
            })
        };
        put().map_err(|e| refusal("giving an xdp program its flow", &e))?;
        let flow = self.flow(place);
        flow.token.store(identity.token, Relaxed);
        flow.number.store(u32::from(identity.flow), Relaxed);
        let OrderMemory { next_expected, reordered, duplicated } = &flow.order;
        for fresh in [next_expected, reordered, duplicated, &flow.first, &flow.last] {
            fresh.store(0, Relaxed);
        }
        describe(flow);
        flow.active.store(1, Release);
        *taken |= 1 << place;
        Ok(place)
    }

    pub fn flow(&self, place: u32) -> &Flow {
        &self.flows.0[place as usize]
    }

    /// Stops counting for a flow; frames in flight may still be counted.
    pub fn silence(&self, place: u32) {
        self.flow(place).active.store(0, Release);
    }

    /// Releases a place.
    pub fn leave(&self, place: u32) {
        self.silence(place);
        let mut taken = locked(&self.taken);
        for map in OWN {
            if let Ok(map) = self.programs.map(map) {
                // Remaining contents are overwritten by the next flow.
                let _ = bpf::remove(map, place);
            }
        }
        *taken &= !(1 << place);
    }
}

/// Attaches in the driver if that works, otherwise in the stack.
pub(super) fn attach(program: &OwnedFd, index: u32, name: &str) -> Result<(OwnedFd, Mode), Unfit> {
    let native = match bpf::attach(program, index, Mode::Native) {
        Ok(link) => return Ok((link, Mode::Native)),
        Err(e) => e,
    };
    match native.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => {
            Err(Unfit::NotHere(format!("{name} has an xdp program of someone else, which stays")))
        }
        Some(libc::EPERM | libc::EACCES) => Err(refusal("attaching an xdp program", &native)),
        _ => match bpf::attach(program, index, Mode::Generic) {
            Ok(link) => Ok((link, Mode::Generic)),
            Err(e) if matches!(e.raw_os_error(), Some(libc::EBUSY | libc::EEXIST)) => Err(
                Unfit::NotHere(format!("{name} has an xdp program of someone else, which stays")),
            ),
            Err(e) => Err(Unfit::NotHere(format!(
                "attaching an xdp program to {name} failed (in the driver: {native}; in the stack: {e})"
            ))),
        },
    }
}
