//! A device's counters by SNMP, versions 2c and 3.
//!
//! Owns the reading of IF-MIB (RFC 2863), EtherLike-MIB (RFC 3635), ENTITY-MIB (RFC 6933) and
//! LLDP-MIB, each way that a device may refuse or mislead, and every wait. Messages and the
//! primitives of USM are async-snmp's, sockets are the standard library's: no runtime. Never writes
//! to a device, never shows a secret, and takes nothing that is missing for 0.
//!
//! `rx_packets` and `tx_packets` are the sums of unicast, multicast and broadcast packets, which
//! RFC 2863 counts apart; `rx_bytes` and `tx_bytes` count octets *with* framing, for Ethernet with
//! header and FCS (RFC 3635). Discards and errors have 32 bits in every device.

mod counters;
mod error;
mod facts;
mod message;
mod neighbours;
mod objects;
mod ports;
mod reader;
mod session;
mod target;
mod usm;

pub use error::{Defect, Refusal, SnmpError, Suspect};
pub use message::{Answer, read_community, read_scoped};
pub use neighbours::Neighbour;
pub use reader::{Extra, Reader};
pub use session::read_unsigned;
pub use target::{Access, AuthProtocol, Cipher, Secret, Target};
