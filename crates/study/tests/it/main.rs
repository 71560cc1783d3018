//! Studies and searches over modelled and scripted testbeds. Nothing here is sent and no clock is
//! read, so all run beside each other.

mod buffer;
mod busy_sender;
mod fabric;
mod fabric_structure;
mod failover;
mod forwarding;
mod forwarding_page;
mod futile;
mod goodput;
mod held;
mod judging;
mod latency;
mod latency_page;
mod model;
mod one_ended;
mod search_bar;
mod search_mlr;
mod subjects;
mod suite;
mod whose;
