//! Behaviour of `wire` on octets, through its public interface. Every module is a table or a
//! property; none uses the kernel, so all run in parallel.

mod any_octets;
mod references;
mod round_trips;
