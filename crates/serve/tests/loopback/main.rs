//! The server as strangers find it: by raw sockets, on loopback and on a socket in a scratch
//! folder. Every test has a server of its own, on a port that the kernel chose.

mod any_request;
mod doors;
mod live;
mod pages;
mod strangers;
mod talk;
