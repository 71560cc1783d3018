//! Links: listing them with their counters, and making, moving and naming them.
//!
//! Owns the translation of RTM_*LINK. Never touches addresses or queues.

use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    BridgePortState, BridgeStpState, InfoBridge, InfoBridgePort, InfoData, InfoKind, InfoPortData,
    InfoVeth, InfoVxlan, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage, State,
    Stats64,
};

use crate::conversation::Context;
use crate::{Netlink, NetlinkError};

/// Kinds of link that carry Ethernet frames inside IP packets.
const OVERLAYS: [&str; 5] = ["vxlan", "geneve", "gretap", "ip6gretap", "erspan"];

/// One link as the kernel lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The kernel's number of the link, unique in its namespace.
    pub index: u32,
    /// Name, such as `eth1`.
    pub name: String,
    /// Ethernet address; `None` if the link has none.
    pub mac: Option<[u8; 6]>,
    /// True if packets on the link begin with an Ethernet header. Those of TUN, WireGuard, PPP, GRE
    /// and IP-in-IP devices begin with the IP header.
    pub ethernet: bool,
    /// Index of the link below a tunnel or VLAN, if it is in this namespace and known.
    pub lower: Option<u32>,
    /// The largest IP packet in octets: without Ethernet header and FCS.
    pub mtu: u32,
    /// True if the link is administratively up.
    pub up: bool,
    /// True if the link has a carrier.
    pub carrier: bool,
    /// True if frames pass: the link is up, has its carrier, and the kernel has processed that. The
    /// kernel notes a carrier after a short delay; until then frames are lost without a counter.
    pub running: bool,
    /// For a bridge's port: true if the bridge forwards to it; `None` for any other link.
    pub forwarding: Option<bool>,
    /// The kernel's name for a virtual link's kind (`veth`, `bridge`); `None` for hardware.
    pub kind: Option<String>,
    /// Index of the bridge or other link that it is a port of; `None` if it is no port.
    pub master: Option<u32>,
    /// Number of carrier changes; an increase during a trial reveals a link that flapped.
    pub carrier_changes: Option<u32>,
    /// Counters since the link was made.
    pub stats: LinkStats,
}

macro_rules! link_stats {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// The kernel's `rtnl_link_stats64`, counted since the link was made. The exact meaning of
        /// a field depends on the driver; see the kernel's
        /// `Documentation/networking/statistics.rst`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct LinkStats { $($(#[$doc])* pub $field: u64,)* }

        impl LinkStats {
            /// Iterates over the counters with their names, in the kernel's order.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field),)*].into_iter()
            }

            /// Returns the increase since `earlier`; a counter that decreased counts as zero.
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
    /// Transmit errors.
    tx_errors,
    /// Frames received, then dropped for lack of buffers or of a receiver.
    rx_dropped,
    /// Dropped before sending.
    tx_dropped,
    /// Multicast frames received.
    multicast,
    /// Collisions.
    collisions,
    /// Frames of a wrong length.
    rx_length_errors,
    /// Receive ring overflows.
    rx_over_errors,
    /// Frames with a wrong FCS.
    rx_crc_errors,
    /// Frames with a bad alignment.
    rx_frame_errors,
    /// Receive FIFO overruns.
    rx_fifo_errors,
    /// Frames lost because the host had no buffer.
    rx_missed_errors,
    /// Aborted transmissions.
    tx_aborted_errors,
    /// Transmit errors due to a lost carrier.
    tx_carrier_errors,
    /// Transmit FIFO underruns.
    tx_fifo_errors,
    /// Heartbeat errors.
    tx_heartbeat_errors,
    /// Late collisions.
    tx_window_errors,
    /// Compressed frames received.
    rx_compressed,
    /// Compressed frames sent.
    tx_compressed,
    /// Frames dropped because nothing handles the protocol, or the link is an inactive slave.
    rx_nohandler,
    /// Frames dropped because they were addressed to another host (Linux 6.0).
    rx_otherhost_dropped,
}

impl Link {
    fn from_message(message: &LinkMessage) -> Self {
        let flags = message.header.flags;
        let mut link = Self {
            index: message.header.index,
            name: String::new(),
            mac: None,
            // The loopback has the header, with zeros.
            ethernet: matches!(
                message.header.link_layer_type,
                LinkLayerType::Ether | LinkLayerType::Loopback
            ),
            lower: None,
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
        let mut elsewhere = false;
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Address(octets) if link.ethernet => {
                    link.mac = octets.as_slice().try_into().ok();
                }
                LinkAttribute::Link(index) if *index != 0 => link.lower = Some(*index),
                LinkAttribute::LinkNetNsId(_) => elsewhere = true,
                LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
                LinkAttribute::Controller(index) => link.master = Some(*index),
                LinkAttribute::CarrierChanges(count) => link.carrier_changes = Some(*count),
                LinkAttribute::Stats64(stats) => link.stats = stats.into(),
                LinkAttribute::OperState(state) => {
                    // Drivers that do not report their state say unknown: loopback, some tunnels.
                    link.running &= matches!(state, State::Up | State::Unknown);
                }
                LinkAttribute::LinkInfo(infos) => infos.iter().for_each(|info| link.take(info)),
                _ => {}
            }
        }
        // A link in another namespace has that one's number.
        link.lower = link.lower.filter(|_| !elsewhere);
        link
    }

    /// True if the link is a tunnel: packets without an Ethernet header, or frames inside IP.
    pub fn is_tunnel(&self) -> bool {
        !self.ethernet || self.kind.as_deref().is_some_and(|kind| OVERLAYS.contains(&kind))
    }

    fn take(&mut self, info: &LinkInfo) {
        match info {
            LinkInfo::Kind(kind) => self.kind = Some(kind.to_string()),
            // A VXLAN names the link below here only.
            LinkInfo::Data(InfoData::Vxlan(infos)) => {
                self.lower = infos.iter().find_map(|info| match info {
                    InfoVxlan::Link(index) if *index != 0 => Some(*index),
                    _ => None,
                });
            }
            LinkInfo::PortData(InfoPortData::BridgePort(port)) => {
                self.forwarding = port.iter().find_map(|attribute| match attribute {
                    InfoBridgePort::State(state) => Some(*state == BridgePortState::Forwarding),
                    _ => None,
                });
            }
            _ => {}
        }
    }

    /// True if the kernel has applied all changes to the link: frames pass if they should, and do
    /// not pass otherwise.
    pub fn is_settled(&self) -> bool {
        self.running == (self.up && self.carrier)
            && self.forwarding.is_none_or(|forwarding| forwarding == self.running)
    }
}

impl Netlink {
    /// Lists all links of the namespace, ordered by number.
    pub fn links(&mut self) -> Result<Vec<Link>, NetlinkError> {
        let context = Context { deed: "list", object: &"links" };
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let mut links: Vec<Link> =
            self.route.dump(context, &request)?.iter().filter_map(as_link).collect();
        links.sort_by_key(|link| link.index);
        Ok(links)
    }

    /// Returns the named link.
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

    /// Creates a virtual cable with the ends `a` and `b`, both in this namespace and down, with
    /// `queues` queues in each direction.
    pub fn create_veth(&mut self, a: &str, b: &str, queues: u32) -> Result<(), NetlinkError> {
        let context = Context { deed: "create veth", object: &a };
        check_name(context, a)?;
        check_name(context, b)?;
        let own = || [LinkAttribute::NumTxQueues(queues), LinkAttribute::NumRxQueues(queues)];
        let mut peer = LinkMessage::default();
        peer.attributes = vec![LinkAttribute::IfName(b.to_owned())];
        peer.attributes.extend(own());
        let data = InfoData::Veth(InfoVeth::Peer(peer));
        self.create_link(context, a, InfoKind::Veth, data, own().to_vec())
    }

    /// Creates a bridge that sends no frame of its own: no spanning tree, no multicast snooping.
    /// Learning and ageing are the kernel's defaults.
    pub fn create_bridge(&mut self, name: &str) -> Result<(), NetlinkError> {
        let context = Context { deed: "create bridge", object: &name };
        check_name(context, name)?;
        let data = InfoData::Bridge(vec![
            InfoBridge::StpState(BridgeStpState::Disabled),
            InfoBridge::MulticastSnooping(false),
        ]);
        self.create_link(context, name, InfoKind::Bridge, data, Vec::new())
    }

    /// Creates an ifb link, down: frames sent out of it pass its queue and then arrive again at the
    /// link that they came from. No frame uses its Ethernet address, which identifies it among
    /// links of the same name.
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

    /// Limits the number of addresses that a bridge learns (Linux 6.7); 0 is no limit. An older
    /// kernel ignores the limit without an error.
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
        kind: InfoKind,
        data: InfoData,
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

    /// Keeps a link from sending frames of its own. It sends no ARP or neighbour discovery requests
    /// and does not answer them. If it is silenced before it gets an address or forwards, it joins
    /// no multicast group that it would report. Its neighbours must be added by hand; see
    /// [`Self::add_permanent_neighbour`].
    pub fn set_silent(&mut self, index: u32) -> Result<(), NetlinkError> {
        let which = LinkFlags::Noarp | LinkFlags::Multicast;
        self.set_flags("silence link", index, which, LinkFlags::Noarp)
    }

    /// Sets the flags selected by `which` to their values in `flags`.
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

    /// Moves a link into the namespace behind the descriptor and renames it in the same step. The
    /// old name therefore never has to be free in the new namespace.
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

/// IFNAMSIZ is 16 with the terminating zero; for `/`, `:` and white space the kernel gives only a
/// bare EINVAL.
pub(crate) fn check_name(context: Context<'_>, name: &str) -> Result<(), NetlinkError> {
    let fits = (1..16).contains(&name.len())
        && name != "."
        && name != ".."
        && !name.contains(|c: char| c == '/' || c == ':' || c == '\0' || c.is_whitespace());
    if fits { Ok(()) } else { Err(context.unsuitable(format!("`{name}` is not a link name"))) }
}
