//! Device models as a driver calls them, with time passed in. Nothing here reads a clock but the
//! benchmarks of `speed`, which run only when asked for; so all run beside each other.

mod buffers;
mod cables;
mod conservation;
mod networks;
mod profiles;
mod rates;
mod rig;
mod speed;
mod tables;
