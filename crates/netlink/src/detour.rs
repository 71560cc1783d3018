//! Redirection of arriving frames: through a link of the kind ifb, whose queue may delay them,
//! before the host receives them.
//!
//! Owns the ingress queue with its one filter, and netem. Never takes over an existing ingress
//! queue: the kernel refuses, and that error is returned. Programs at a link's XDP hook and packet
//! sockets see frames before the redirection, and undelayed.

use measure::Nanos;
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, Nla as _};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcActionAttribute, TcActionMirrorOption, TcActionOption, TcAttribute, TcFilterU32Option,
    TcHandle, TcMessage, TcOption,
};

use crate::conversation::Context;
use crate::{Netlink, NetlinkError};

/// A queue that delays each frame by the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Netem {
    /// Delay, rounded down to steps of 64 ns; below 274 s.
    pub delay: Nanos,
    /// Maximum number of waiting frames; the next one is dropped.
    pub limit: u32,
}

/// Path of the frames that arrive at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// The link has no ingress queue.
    Direct,
    /// Redirected through this link only, as [`Netlink::lead_arrivals`] sets up.
    Through(u32),
    /// Any other ingress queue, not set up by [`Netlink::lead_arrivals`].
    Otherwise,
}

impl Netlink {
    /// Redirects every frame that arrives at `index` through the link `to`, of the kind ifb. The
    /// frame then comes back as if it had just arrived. Fails if the link already has an ingress
    /// queue; removes the queue again if the filter fails.
    pub fn lead_arrivals(&mut self, index: u32, to: u32) -> Result<(), NetlinkError> {
        let context = Context { deed: "add ingress queue to", object: &index };
        let request = RouteNetlinkMessage::NewQueueDiscipline(ingress(index));
        self.route.ask(context, request, NLM_F_CREATE | NLM_F_EXCL)?;
        let context = Context { deed: "redirect what arrives at", object: &index };
        let request = RouteNetlinkMessage::NewTrafficFilter(redirection(index, to));
        let led = self.route.ask(context, request, NLM_F_CREATE | NLM_F_EXCL).map(drop);
        if led.is_err() {
            // The first error is the one to report.
            let _ = self.restore_arrivals(index);
        }
        led
    }

    /// Removes the ingress queue and its filter: frames arrive directly again.
    pub fn restore_arrivals(&mut self, index: u32) -> Result<(), NetlinkError> {
        let context = Context { deed: "remove ingress queue of", object: &index };
        let request = RouteNetlinkMessage::DelQueueDiscipline(ingress(index));
        self.route.ask(context, request, 0).map(drop)
    }

    /// Path of the frames that arrive at a link.
    pub fn arrivals(&mut self, index: u32) -> Result<Arrivals, NetlinkError> {
        if !self.leads_arrivals(index)? {
            return Ok(Arrivals::Direct);
        }
        let context = Context { deed: "list filters of", object: &index };
        let mut message = TcMessage::with_index(index as i32);
        message.header.parent = AT_INGRESS;
        let answers = self.route.dump(context, &RouteNetlinkMessage::GetTrafficFilter(message))?;
        let mut through = Vec::new();
        for answer in &answers {
            let RouteNetlinkMessage::NewTrafficFilter(filter) = answer else { continue };
            if !filter.attributes.contains(&TcAttribute::Kind(U32.to_owned())) {
                return Ok(Arrivals::Otherwise);
            }
            // A filter of this kind is listed with its hash tables, which select nothing.
            if options(filter).any(|option| matches!(option, TcFilterU32Option::Selector(_))) {
                through.push(redirected_to(filter));
            }
        }
        Ok(match through.as_slice() {
            [Some(link)] => Arrivals::Through(*link),
            _ => Arrivals::Otherwise,
        })
    }

    /// True if a link has an ingress queue.
    pub fn leads_arrivals(&mut self, index: u32) -> Result<bool, NetlinkError> {
        let all = self.qdiscs()?;
        Ok(all.iter().any(|queue| queue.index == index && queue.kind == INGRESS))
    }

    /// Makes netem a link's root queue, replacing the existing one.
    pub fn set_netem(&mut self, index: u32, netem: &Netem) -> Result<(), NetlinkError> {
        let context = Context { deed: "set netem on", object: &index };
        let Some(parameters) = netem.parameters() else {
            return Err(context.unsuitable(format!("a delay of {} is too long", netem.delay)));
        };
        let mut message = TcMessage::with_index(index as i32);
        message.header.parent = TcHandle::ROOT;
        message.header.handle = TcHandle { major: 1, minor: 0 };
        // The parameters of netem are the options themselves, without an enclosing attribute.
        let options = DefaultNla::new(OPTIONS, parameters.to_vec());
        message.attributes = vec![TcAttribute::Kind(NETEM.to_owned()), TcAttribute::Other(options)];
        let request = RouteNetlinkMessage::NewQueueDiscipline(message);
        self.route.ask(context, request, NLM_F_CREATE | NLM_F_REPLACE).map(drop)
    }

    /// Root queue of a link as the kernel reports it; `None` if it is not netem.
    pub fn netem(&mut self, index: u32) -> Result<Option<Netem>, NetlinkError> {
        let context = Context { deed: "list", object: &"queues" };
        let request = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
        let answers = self.route.dump(context, &request)?;
        Ok(answers.iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewQueueDiscipline(queue)
                if queue.header.index == index as i32 && queue.header.parent == TcHandle::ROOT =>
            {
                as_netem(queue)
            }
            _ => None,
        }))
    }
}

const NETEM: &str = "netem";
const U32: &str = "u32";
/// Parent handle of an ingress queue's filters.
const AT_INGRESS: TcHandle = TcHandle { major: u16::MAX, minor: TcHandle::MIN_INGRESS };
const INGRESS: &str = "ingress";
/// `TCA_OPTIONS`
const OPTIONS: u16 = 2;
/// Length of a packet scheduler tick in nanoseconds, from `PSCHED_SHIFT`.
const TICK_NS: u64 = 64;
/// Size of `struct tc_netem_qopt`: latency, limit, loss, gap, duplicate, jitter.
const PARAMETERS_BYTES: usize = 24;

impl Netem {
    /// Encodes the struct; `None` if the delay does not fit in 32 bits of ticks.
    fn parameters(&self) -> Option<[u8; PARAMETERS_BYTES]> {
        let ticks = u32::try_from(self.delay.0 / TICK_NS).ok()?;
        let mut octets = [0; PARAMETERS_BYTES];
        octets[..4].copy_from_slice(&ticks.to_ne_bytes());
        octets[4..8].copy_from_slice(&self.limit.to_ne_bytes());
        Some(octets)
    }

    /// Reads delay and limit from the struct; ignores other netem settings.
    fn from_parameters(octets: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(octets.get(at..at + 4)?.try_into().ok()?));
        Some(Self { delay: Nanos(u64::from(word(0)?) * TICK_NS), limit: word(4)? })
    }
}

fn as_netem(queue: &TcMessage) -> Option<Netem> {
    let is_netem = |one: &TcAttribute| matches!(one, TcAttribute::Kind(kind) if kind == NETEM);
    if !queue.attributes.iter().any(is_netem) {
        return None;
    }
    queue.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Options(options) => options.iter().find_map(|option| match option {
            TcOption::Other(raw) => {
                let mut octets = vec![0; raw.value_len()];
                raw.emit_value(&mut octets);
                Netem::from_parameters(&octets)
            }
            _ => None,
        }),
        _ => None,
    })
}

/// Options of a filter of the kind u32.
fn options(filter: &TcMessage) -> impl Iterator<Item = &TcFilterU32Option> {
    let options = filter.attributes.iter().flat_map(|attribute| match attribute {
        TcAttribute::Options(options) => options.as_slice(),
        _ => &[],
    });
    options.filter_map(|option| match option {
        TcOption::U32(option) => Some(option),
        _ => None,
    })
}

/// Target link of a filter whose only action redirects frames; `None` for any other action.
fn redirected_to(filter: &TcMessage) -> Option<u32> {
    let mut actions = options(filter).flat_map(|option| match option {
        TcFilterU32Option::Action(actions) => actions.as_slice(),
        _ => &[],
    });
    let (Some(action), None) = (actions.next(), actions.next()) else { return None };
    action.attributes.iter().find_map(|attribute| {
        let TcActionAttribute::Options(options) = attribute else { return None };
        options.iter().find_map(|option| match option {
            TcActionOption::Mirror(TcActionMirrorOption::Parms(mirror)) => Some(mirror.ifindex),
            _ => None,
        })
    })
}

fn ingress(index: u32) -> TcMessage {
    let mut message = TcMessage::with_index(index as i32);
    message.header.parent = TcHandle::INGRESS;
    message.header.handle = TcHandle { major: u16::MAX, minor: 0 };
    message.attributes = vec![TcAttribute::Kind(INGRESS.to_owned())];
    message
}

/// `ETH_P_ALL` in network byte order, in the low half: any protocol; no priority, so the kernel
/// assigns one.
const ANY_PROTOCOL: u32 = 0x0003_u16.to_be() as u32;

/// Filter of the kind u32 that matches every frame and only redirects it to `to`.
fn redirection(index: u32, to: u32) -> TcMessage {
    let mut message = TcMessage::with_index(index as i32);
    message.header.parent = AT_INGRESS;
    message.header.info = ANY_PROTOCOL;
    let options = DefaultNla::new(OPTIONS, redirection_options(to));
    message.attributes = vec![TcAttribute::Kind(U32.to_owned()), TcAttribute::Other(options)];
    message
}

/// `TCA_U32_*`: the actions, and the selector.
const U32_ACTIONS: u16 = 7;
const U32_SELECTOR: u16 = 5;
/// `TCA_ACT_KIND`; `TCA_ACT_OPTIONS`, a nest.
const ACTION_KIND: u16 = 1;
const ACTION_OPTIONS: u16 = 2 | 1 << 15;
/// `TCA_MIRRED_PARMS`, a `struct tc_mirred`.
const MIRRED_PARAMETERS: u16 = 2;
/// `TC_ACT_STOLEN`: the frame no longer belongs to the link.
const STOLEN: u32 = 4;
/// `TCA_EGRESS_REDIR`
const REDIRECT: u32 = 1;
/// `TC_U32_TERMINAL`, and one key that matches anything.
const TERMINAL: u8 = 1;
const KEYS: u8 = 1;

fn redirection_options(to: u32) -> Vec<u8> {
    // tc_mirred: index, capabilities, action, two counts, mirred action, link.
    let mirred = [0, 0, STOLEN, 0, 0, REDIRECT, to].map(u32::to_ne_bytes).concat();
    // tc_u32_sel: flags, shift, keys; offsets, hash; then one tc_u32_key. All zero matches all.
    let mut selector = vec![0; 16 + 16];
    (selector[0], selector[2]) = (TERMINAL, KEYS);
    let action = [
        attribute(ACTION_KIND, b"mirred\0"),
        attribute(ACTION_OPTIONS, &attribute(MIRRED_PARAMETERS, &mirred)),
    ];
    // Actions are numbered from 1.
    let actions = attribute(1, &action.concat());
    [attribute(U32_ACTIONS, &actions), attribute(U32_SELECTOR, &selector)].concat()
}

/// An attribute, padded to four octets.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut octets = [(length as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
    octets.extend_from_slice(value);
    octets.resize(length.next_multiple_of(4), 0);
    octets
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable;

    use super::*;

    fn octets(message: &TcMessage) -> Vec<u8> {
        let mut octets = vec![0; message.buffer_len()];
        message.emit(&mut octets);
        octets
    }

    /// Messages after the netlink header, as shown by `strace -e sendmsg -xx tc …` of iproute2 6.1.
    #[test]
    fn the_requests_are_those_of_tc() {
        // tc filter add dev lo ingress protocol all u32 match u32 0 0 action mirred egress redirect
        // dev lo
        let expected: &[u8] = b"\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xf2\xff\xff\xff\x00\x03\x00\x00\
            \x08\x00\x01\x00u32\x00\x60\x00\x02\x00\
            \x38\x00\x07\x00\x34\x00\x01\x00\x0b\x00\x01\x00mirred\x00\x00\x24\x00\x02\x80\x20\x00\x02\x00\
            \x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\
            \x24\x00\x05\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";
        assert_eq!(octets(&redirection(1, 1)), expected);
        // tc qdisc add dev lo ingress
        let expected: &[u8] =
            b"\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\xff\xff\xf1\xff\xff\xff\x00\x00\x00\x00\
            \x0c\x00\x01\x00ingress\x00";
        assert_eq!(octets(&ingress(1)), expected);
        // tc qdisc add dev lo root netem delay 12500us limit 123456
        let netem = Netem { delay: Nanos::from_micros(12_500), limit: 123_456 };
        let expected: &[u8] =
            b"\xf0\xfa\x02\x00\x40\xe2\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";
        assert_eq!(netem.parameters().unwrap(), expected);
        let read = Netem::from_parameters(expected).unwrap();
        assert_eq!(read, Netem { delay: Nanos(12_499_968), limit: 123_456 });
        assert_eq!(Netem { delay: Nanos::from_secs(275), limit: 1 }.parameters(), None);
    }
}
