//! The server as strangers find it: by raw sockets, on loopback and on a socket in a scratch
//! folder. Every test has a server of its own, on a port that the kernel chose.

#![allow(clippy::disallowed_methods, reason = "these tests wait for a server")]

mod any_request;
mod doors;
mod live;
mod pages;
mod strangers;
mod talk;
mod tls;
