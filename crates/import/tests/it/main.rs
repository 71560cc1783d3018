//! Other tools' output, read from files and from the tools themselves over loopback, each on a port
//! of its own. No figure's size is asserted, so all run beside each other.

mod any_output;
mod fixtures;
mod garbled;
mod kinds;
mod long_log;
mod outputs;
mod real_tools;
mod replaced;
