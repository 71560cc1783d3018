//! Files and names on the command line: typed as written, then resolved into values without doubt.
//!
//! Owns the testbed and plan files, `lab:bridge,…` names, and errors that show the line they speak
//! of. Never opens a socket or starts anything.

mod address;
pub mod bed;
pub mod claims;
pub mod fio_job;
pub mod host_file;
pub mod host_list;
pub mod hosts_name;
pub mod lab_name;
pub mod lab_ports;
pub mod listed_hosts;
pub mod models;
pub mod outline;
pub mod plan;
pub mod profile;
pub mod request;
pub mod resolved;
pub mod round_trip;
pub mod sim_name;
pub mod source;
pub mod sweep;
pub mod testbed;
pub(crate) mod typed;
pub mod way_back;
pub mod written;

pub use agents::hosts::{accounts, container, hooks};
pub use plan::Plan;
pub use resolved::Testbed;
pub use source::{ConfigError, Fault, SourceText};
pub(crate) use study::request::suggest;

/// Maximum hosts: one controller keeps an agent on each.
pub const MOST_HOSTS: usize = 4096;
