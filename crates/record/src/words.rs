//! Numbers for people.
