//! The netdev family of generic netlink: XDP features of an interface, and the pollers (NAPI) that
//! receive frames for it.
//!
//! Owns the bytes of NETDEV_CMD_DEV_GET and NETDEV_CMD_NAPI_*. Needs Linux 6.3, and 6.17 to give
//! one poller a thread. Never chooses a processor.

use netlink_packet_core::{DecodeError, NlasIterator};

use crate::NetlinkError;
use crate::conversation::Context;
use crate::generic::{Family, GenericMessage, attribute};

const DEV_GET: u8 = 1;
const NAPI_GET: u8 = 11;
const NAPI_SET: u8 = 14;
const DEV_IFINDEX: u16 = 1;
const DEV_XDP_FEATURES: u16 = 3;
const NAPI_IFINDEX: u16 = 1;
const NAPI_ID: u16 = 2;
const NAPI_PID: u16 = 4;
const NAPI_THREADED: u16 = 8;

/// XDP features of an interface (`NETDEV_XDP_ACT_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct XdpFeatures(pub u64);

impl XdpFeatures {
    /// True if XDP programs can run in the driver.
    pub const fn native(self) -> bool {
        self.0 & 1 != 0
    }

    /// True if the driver sends frames that are redirected to it. A veth does while its peer polls.
    pub const fn transmits(self) -> bool {
        self.0 & 4 != 0
    }

    /// True if AF_XDP sockets on the interface can work without copying.
    pub const fn zero_copy(self) -> bool {
        self.0 & 8 != 0
    }
}

/// Poller that receives frames for a queue of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Napi {
    /// The kernel's number of the poller.
    pub id: u32,
    /// Kernel thread that the poller runs in; `None` if it has none.
    pub thread: Option<u32>,
}

/// An open connection to the netdev family about one network namespace.
#[derive(Debug)]
pub struct Netdev(Family);

impl Netdev {
    /// Opens the connection in the calling thread's namespace.
    pub fn open() -> Result<Self, NetlinkError> {
        Family::open("netdev").map(Self)
    }

    /// Returns the interface's current XDP features.
    pub fn xdp_features(&mut self, index: u32) -> Result<XdpFeatures, NetlinkError> {
        let context = Context { deed: "read xdp features of link", object: &index };
        let request = self.0.message(DEV_GET, &[attribute(DEV_IFINDEX, &index.to_ne_bytes())])?;
        let answers = self.0.conversation.ask(context, request, 0)?;
        let features = answers.iter().find_map(|answer| {
            let octets = value(answer, DEV_XDP_FEATURES).ok()??;
            Some(XdpFeatures(u64::from_ne_bytes(octets.try_into().ok()?)))
        });
        features.ok_or_else(|| context.unreadable("no features in the answer".to_owned().into()))
    }

    /// Lists the pollers of an interface that is up.
    pub fn napis(&mut self, index: u32) -> Result<Vec<Napi>, NetlinkError> {
        let context = Context { deed: "list the pollers of link", object: &index };
        let request = self.0.message(NAPI_GET, &[attribute(NAPI_IFINDEX, &index.to_ne_bytes())])?;
        let answers = self.0.conversation.dump(context, &request)?;
        let number = |answer: &GenericMessage, kind| -> Result<Option<u32>, DecodeError> {
            let octets = value(answer, kind)?.and_then(|octets| octets.try_into().ok());
            Ok(octets.map(u32::from_ne_bytes))
        };
        let mut napis = Vec::new();
        for answer in &answers {
            let read = || -> Result<Option<Napi>, DecodeError> {
                let Some(id) = number(answer, NAPI_ID)? else { return Ok(None) };
                Ok(Some(Napi { id, thread: number(answer, NAPI_PID)? }))
            };
            napis.extend(read().map_err(|e| context.unreadable(e))?);
        }
        Ok(napis)
    }

    /// Moves a poller into a thread of its own, or out of it again. The setting ends with the
    /// poller.
    pub fn set_napi_threaded(&mut self, id: u32, threaded: bool) -> Result<(), NetlinkError> {
        let context = Context { deed: "set the thread of poller", object: &id };
        let request = [
            attribute(NAPI_ID, &id.to_ne_bytes()),
            attribute(NAPI_THREADED, &u32::from(threaded).to_ne_bytes()),
        ];
        let request = self.0.message(NAPI_SET, &request)?;
        self.0.conversation.ask(context, request, 0).map(drop)
    }
}

/// Value of the first attribute of this kind; `None` if there is none.
fn value(answer: &GenericMessage, kind: u16) -> Result<Option<Vec<u8>>, DecodeError> {
    for attribute in NlasIterator::new(&answer.attributes) {
        let attribute = attribute?;
        if attribute.kind() == kind {
            return Ok(Some(attribute.value().to_vec()));
        }
    }
    Ok(None)
}
