//! A device's counters by SNMP, versions 2c and 3.
//!
//! Owns the reading of IF-MIB (RFC 2863), EtherLike-MIB (RFC 3635), ENTITY-MIB (RFC 6933) and
//! LLDP-MIB, the handling of refusals and misleading answers, and every wait. The protocol, from
//! messages to USM, is async-snmp's client over a socket of ours; its runtime is one per device, on
//! the calling thread. Never writes to a device, never shows a secret, and never takes a missing
//! value for 0.
//!
//! `rx_packets` and `tx_packets` are the sums of unicast, multicast and broadcast packets, which
//! RFC 2863 counts apart. `rx_bytes` and `tx_bytes` count octets *with* framing, for Ethernet with
//! header and FCS (RFC 3635). net-snmp is an exception: it reports the Linux kernel's count,
//! without FCS. Discards and errors have 32 bits in every device.
//!
//! Devices answer from cached values. net-snmp 5.9.3 reads interfaces every 3 s and EtherLike-MIB
//! every 60 s. A burst was in ifHCOutUcastPkts after 0.9 to 2.8 s (20 bursts on loopback, polled
//! every 100 ms, 25 November 2026). With its nsCacheTimeout set to 1 that became 0.1 to 1.0 s, with
//! 0 at most 0.04 s; it is writable, but has no option in snmpd.conf. Until net-snmp has read
//! interfaces twice, it reports 0 received unicast packets. If a port has octets and no packets,
//! the packets are left out.

mod counters;
mod error;
mod facts;
mod line;
mod message;
mod neighbours;
mod objects;
mod ports;
mod reader;
mod session;
mod target;

pub use error::{Defect, Refusal, SnmpError, Suspect};
pub use message::{Answer, read_community, read_scoped, read_unsigned};
pub use neighbours::Neighbour;
pub use reader::{Extra, Reader};
pub use target::{Access, AuthProtocol, Cipher, Secret, Target};
