//! Flows over loopback and in namespaces of their own, one at a time: each has threads that are to
//! wake when its load begins, and some fill a processor.

#![allow(clippy::disallowed_methods, reason = "these tests face the kernel")]

mod any_results;
mod bulk;
mod collective;
mod counters;
mod datagram;
mod echo;
mod echo_away;
mod exchange;
mod iperf3;
mod sessions;
