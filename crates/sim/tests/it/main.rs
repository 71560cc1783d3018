//! Trials and studies in virtual time. Nothing here is sent and no clock is read, so all run beside
//! each other.

mod aa;
mod acceptance;
mod addresses;
mod buffer_depth;
mod buffer_faults;
mod buffer_sharing;
mod buffer_twins;
mod bufferbloat;
mod cables;
mod collectives;
mod datagrams;
mod determinism;
mod fabric_faults;
mod fabric_groups;
mod fabric_nonblocking;
mod fabric_slow;
mod fat_tree;
mod goodput;
mod messages;
mod no_control;
mod one_nic;
mod rates;
mod round_trips;
mod sessions;
mod storage;
mod streams;
mod studies;
mod sustained;
mod switching;
mod tcp;
mod trials;
