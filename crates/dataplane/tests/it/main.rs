//! Flows over loopback and in namespaces of their own. No count here depends on how busy the
//! machine is, so all run beside each other.

#![allow(clippy::disallowed_methods, reason = "these tests face the kernel")]

mod bulk;
mod counters;
mod datagram;
mod echo;
mod echo_away;
mod exchange;
