//! Links: what there is, its counters, and making, moving and naming them.
//!
//! Owns the translation of RTM_*LINK. Never touches addresses or queues.

use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    BridgePortState, BridgeStpState, InfoBridge, InfoBridgePort, InfoData, InfoKind, InfoPortData,
    InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, State, Stats64,
};

use crate::conversation::Context;
use crate::{Netlink, NetlinkError};

/// One link as the kernel lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The kernel's number for it, unique in its namespace.
    pub index: u32,
    /// Its name: `eth1`.
    pub name: String,
    /// Its Ethernet address, where it has one.
    pub mac: Option<[u8; 6]>,
    /// The largest IP packet in octets: without Ethernet header and FCS.
    pub mtu: u32,
    /// Whether it was taken up.
    pub up: bool,
    /// Whether the far end is there.
    pub carrier: bool,
    /// Whether it is up, has its carrier, and the kernel has taken note: frames pass. The kernel
    /// notes a carrier a little after it came; until then frames are lost without a counter.
    pub running: bool,
    /// For a bridge's port, whether the bridge forwards to it.
    pub forwarding: Option<bool>,
    /// The kernel's word for a virtual link (`veth`, `bridge`); none for hardware.
    pub kind: Option<String>,
    /// The bridge that it is a port of.
    pub master: Option<u32>,
    /// How often its carrier came or went; a link that flapped in a trial shows here.
    pub carrier_changes: Option<u32>,
    /// Counters since the link was made.
    pub stats: LinkStats,
}

macro_rules! link_stats {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// The kernel's `rtnl_link_stats64`, counted since the link was made. What a field means in
        /// detail is the driver's affair; see the kernel's
        /// `Documentation/networking/statistics.rst`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct LinkStats { $($(#[$doc])* pub $field: u64,)* }

        impl LinkStats {
            /// Each counter with its name, in the kernel's order.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field),)*].into_iter()
            }

            /// What was added since `earlier`; a counter that went back counts as zero.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self { $($field: self.$field.saturating_sub(earlier.$field),)* }
            }
        }

        impl From<&Stats64> for LinkStats {
            fn from(stats: &Stats64) -> Self {
                Self { $($field: stats.$field,)* }
            }
        }
    };
}

link_stats! {
    /// Good frames received.
    rx_packets,
    /// Frames sent.
    tx_packets,
    /// Good octets received, without FCS.
    rx_bytes,
    /// Octets sent, without FCS.
    tx_bytes,
    /// Bad frames received.
    rx_errors,
    /// Sending went wrong.
    tx_errors,
    /// Received, then dropped for want of room or interest.
    rx_dropped,
    /// Dropped before sending.
    tx_dropped,
    /// Multicast frames received.
    multicast,
    /// Collisions.
    collisions,
    /// Frames of a wrong length.
    rx_length_errors,
    /// The receiver's ring overflowed.
    rx_over_errors,
    /// Frames with a wrong FCS.
    rx_crc_errors,
    /// Frames with a bad alignment.
    rx_frame_errors,
    /// The receiver's FIFO overran.
    rx_fifo_errors,
    /// The host had no buffer for the frame.
    rx_missed_errors,
    /// Sending was aborted.
    tx_aborted_errors,
    /// The carrier was lost while sending.
    tx_carrier_errors,
    /// The sender's FIFO ran empty.
    tx_fifo_errors,
    /// Heartbeat errors.
    tx_heartbeat_errors,
    /// Late collisions.
    tx_window_errors,
    /// Compressed frames received.
    rx_compressed,
    /// Compressed frames sent.
    tx_compressed,
    /// Dropped because nothing handles the protocol, or the link is an inactive slave.
    rx_nohandler,
    /// Dropped because they were addressed to another host (Linux 6.0).
    rx_otherhost_dropped,
}

impl Link {
    fn from_message(message: &LinkMessage) -> Self {
        let flags = message.header.flags;
        let mut link = Self {
            index: message.header.index,
            name: String::new(),
            mac: None,
            mtu: 0,
            up: flags.contains(LinkFlags::Up),
            carrier: flags.contains(LinkFlags::LowerUp),
            running: flags.contains(LinkFlags::Up | LinkFlags::LowerUp | LinkFlags::Running),
            forwarding: None,
            kind: None,
            master: None,
            carrier_changes: None,
            stats: LinkStats::default(),
        };
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Address(octets) => link.mac = octets.as_slice().try_into().ok(),
                LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
                LinkAttribute::Controller(index) => link.master = Some(*index),
                LinkAttribute::CarrierChanges(count) => link.carrier_changes = Some(*count),
                LinkAttribute::Stats64(stats) => link.stats = stats.into(),
                LinkAttribute::OperState(state) => {
                    // A driver that does not report its state says unknown: loopback, some tunnels.
                    link.running &= matches!(state, State::Up | State::Unknown);
                }
                LinkAttribute::LinkInfo(infos) => infos.iter().for_each(|info| link.take(info)),
                _ => {}
            }
        }
        link
    }

    fn take(&mut self, info: &LinkInfo) {
        match info {
            LinkInfo::Kind(kind) => self.kind = Some(kind.to_string()),
            LinkInfo::PortData(InfoPortData::BridgePort(port)) => {
                self.forwarding = port.iter().find_map(|attribute| match attribute {
                    InfoBridgePort::State(state) => Some(*state == BridgePortState::Forwarding),
                    _ => None,
                });
            }
            _ => {}
        }
    }

    /// Whether the kernel has taken note of all that was done to it: frames pass where they should,
    /// and don't where they should not.
    pub fn is_settled(&self) -> bool {
        self.running == (self.up && self.carrier)
            && self.forwarding.is_none_or(|forwarding| forwarding == self.running)
    }
}

impl Netlink {
    /// Every link of the namespace, in the order of their numbers.
    pub fn links(&mut self) -> Result<Vec<Link>, NetlinkError> {
        let context = Context { deed: "list", object: &"links" };
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let mut links: Vec<Link> =
            self.route.dump(context, &request)?.iter().filter_map(as_link).collect();
        links.sort_by_key(|link| link.index);
        Ok(links)
    }

    /// The named link.
    pub fn link(&mut self, name: &str) -> Result<Link, NetlinkError> {
        let context = Context { deed: "look up link", object: &name };
        check_name(context, name)?;
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        let answers = self.route.ask(context, RouteNetlinkMessage::GetLink(message), 0)?;
        answers
            .iter()
            .find_map(as_link)
            .ok_or_else(|| context.unreadable("no link in the answer".to_owned().into()))
    }

    /// Makes a virtual cable with the ends `a` and `b`, both in this namespace and down, with so
    /// many queues each way.
    pub fn create_veth(&mut self, a: &str, b: &str, queues: u32) -> Result<(), NetlinkError> {
        let context = Context { deed: "create veth", object: &a };
        check_name(context, a)?;
        check_name(context, b)?;
        let own = || [LinkAttribute::NumTxQueues(queues), LinkAttribute::NumRxQueues(queues)];
        let mut peer = LinkMessage::default();
        peer.attributes = vec![LinkAttribute::IfName(b.to_owned())];
        peer.attributes.extend(own());
        let data = InfoData::Veth(InfoVeth::Peer(peer));
        self.create_link(context, a, (InfoKind::Veth, data), own().to_vec())
    }

    /// Makes a bridge that sends no frame of its own: no spanning tree, no multicast snooping.
    /// Learning and ageing are the kernel's defaults.
    pub fn create_bridge(&mut self, name: &str) -> Result<(), NetlinkError> {
        let context = Context { deed: "create bridge", object: &name };
        check_name(context, name)?;
        let data = InfoData::Bridge(vec![
            InfoBridge::StpState(BridgeStpState::Disabled),
            InfoBridge::MulticastSnooping(false),
        ]);
        self.create_link(context, name, (InfoKind::Bridge, data), Vec::new())
    }

    /// Makes a link that hands back whatever is sent out of it as arrived where it came from; down.
    /// Its queue stands between. Its Ethernet address, which no frame uses, tells it from another
    /// link of that name.
    pub fn create_ifb(&mut self, name: &str, mac: [u8; 6]) -> Result<(), NetlinkError> {
        let context = Context { deed: "create ifb", object: &name };
        check_name(context, name)?;
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Address(mac.to_vec()),
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Ifb)]),
        ];
        let request = RouteNetlinkMessage::NewLink(message);
        self.route.ask(context, request, NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    /// Removes a virtual link, with its queues.
    pub fn remove_link(&mut self, index: u32) -> Result<(), NetlinkError> {
        let context = Context { deed: "remove link", object: &index };
        let mut message = LinkMessage::default();
        message.header.index = index;
        self.route.ask(context, RouteNetlinkMessage::DelLink(message), 0).map(drop)
    }

    /// Lets a bridge learn at most so many addresses (Linux 6.7); 0 is no limit. An older kernel
    /// takes no notice, and says nothing.
    pub fn limit_learned(&mut self, bridge: u32, addresses: u32) -> Result<(), NetlinkError> {
        let context = Context { deed: "limit what is learned by bridge", object: &bridge };
        let data = InfoData::Bridge(vec![InfoBridge::FdbMaxLearned(addresses)]);
        let infos = vec![LinkInfo::Kind(InfoKind::Bridge), LinkInfo::Data(data)];
        let mut message = LinkMessage::default();
        message.header.index = bridge;
        message.attributes = vec![LinkAttribute::LinkInfo(infos)];
        self.route.ask(context, RouteNetlinkMessage::NewLink(message), 0).map(drop)
    }

    fn create_link(
        &mut self,
        context: Context<'_>,
        name: &str,
        (kind, data): (InfoKind, InfoData),
        more: Vec<LinkAttribute>,
    ) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        message.attributes.extend(more);
        let info = vec![LinkInfo::Kind(kind), LinkInfo::Data(data)];
        message.attributes.push(LinkAttribute::LinkInfo(info));
        let request = RouteNetlinkMessage::NewLink(message);
        self.route.ask(context, request, NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    /// Takes a link up.
    pub fn set_up(&mut self, index: u32) -> Result<(), NetlinkError> {
        self.set_flags("take up link", index, LinkFlags::Up, LinkFlags::Up)
    }

    /// Takes a link down; its far end loses its carrier.
    pub fn set_down(&mut self, index: u32) -> Result<(), NetlinkError> {
        self.set_flags("take down link", index, LinkFlags::Up, LinkFlags::empty())
    }

    /// Keeps a link from speaking of itself: it neither asks for Ethernet addresses nor answers
    /// those who ask (ARP, neighbour discovery), and, where it was silenced before it got an
    /// address or began to forward, it joins no multicast group that it would have to report. Whom
    /// it shall reach it must be told; see [`Self::add_permanent_neighbour`].
    pub fn set_silent(&mut self, index: u32) -> Result<(), NetlinkError> {
        let which = LinkFlags::Noarp | LinkFlags::Multicast;
        self.set_flags("silence link", index, which, LinkFlags::Noarp)
    }

    /// Gives the flags in `which` the values that they have in `flags`.
    fn set_flags(
        &mut self,
        deed: &'static str,
        index: u32,
        which: LinkFlags,
        flags: LinkFlags,
    ) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = flags;
        message.header.change_mask = which;
        let request = RouteNetlinkMessage::SetLink(message);
        self.route.ask(Context { deed, object: &index }, request, 0).map(drop)
    }

    /// Sets the largest IP packet of a link, in octets.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> Result<(), NetlinkError> {
        self.change("set mtu of link", index, vec![LinkAttribute::Mtu(mtu)])
    }

    /// Sets a link's Ethernet address.
    pub fn set_mac(&mut self, index: u32, mac: [u8; 6]) -> Result<(), NetlinkError> {
        self.change("set address of link", index, vec![LinkAttribute::Address(mac.to_vec())])
    }

    /// Makes a link a port of the bridge `master`.
    pub fn set_master(&mut self, index: u32, master: u32) -> Result<(), NetlinkError> {
        self.change("plug into bridge link", index, vec![LinkAttribute::Controller(master)])
    }

    /// Moves a link into the namespace behind the descriptor and names it there, in one step: its
    /// name here never has to be free there.
    pub fn rename_into_namespace(
        &mut self,
        index: u32,
        new_name: &str,
        namespace: impl AsFd,
    ) -> Result<(), NetlinkError> {
        let deed = "move into a namespace link";
        check_name(Context { deed, object: &index }, new_name)?;
        let attributes = vec![
            LinkAttribute::IfName(new_name.to_owned()),
            LinkAttribute::NetNsFd(namespace.as_fd().as_raw_fd()),
        ];
        self.change(deed, index, attributes)
    }

    fn change(
        &mut self,
        deed: &'static str,
        index: u32,
        attributes: Vec<LinkAttribute>,
    ) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes = attributes;
        let request = RouteNetlinkMessage::SetLink(message);
        self.route.ask(Context { deed, object: &index }, request, 0).map(drop)
    }
}

fn as_link(message: &RouteNetlinkMessage) -> Option<Link> {
    match message {
        RouteNetlinkMessage::NewLink(link) => Some(Link::from_message(link)),
        _ => None,
    }
}

/// IFNAMSIZ is 16 with the terminating zero; `/`, `:` and white space the kernel refuses with a
/// bare EINVAL.
pub(crate) fn check_name(context: Context<'_>, name: &str) -> Result<(), NetlinkError> {
    let fits = (1..16).contains(&name.len())
        && name != "."
        && name != ".."
        && !name.contains(|c: char| c == '/' || c == ':' || c == '\0' || c.is_whitespace());
    if fits { Ok(()) } else { Err(context.unsuitable(format!("`{name}` is not a link name"))) }
}
