//! Files and names on the command line: typed as written, then resolved into values without doubt.
//!
//! Owns the testbed and plan files, `lab:bridge,…` names, and errors that show the line they speak of.
//! Never opens a socket or starts anything.

pub mod resolved;
