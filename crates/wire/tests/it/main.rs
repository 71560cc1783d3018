//! What `wire` does with octets, as its users call it. Every module is a table or a property;
//! nothing here faces the kernel, so all run beside each other.

mod any_octets;
mod references;
mod round_trips;
