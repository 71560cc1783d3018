//! Flows over the virtual cables of a lab, frame for frame. They run one at a time: two processors
//! are few.

#![allow(clippy::disallowed_methods, reason = "these tests face the kernel")]

mod af_xdp_rates;
mod datagram_backends;
mod datagram_contents;
mod datagram_ends;
mod datagram_lab;
mod datagram_strangers;
mod exchange_datagrams;
