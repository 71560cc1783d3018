//! Sending by a connected UDP socket.
//!
//! Never fragments: what does not fit is an error before the first frame.

use super::SenderSpec;
use super::frames::Frames;
use super::output::Output;
use super::udp_socket::{check, connect};
use crate::unfit::Unfit;

/// Opens the UDP backend.
pub(super) fn open(spec: &SenderSpec) -> Result<Output, Unfit> {
    check(spec)?;
    Ok(Output::udp(connect(spec)?, Frames::payloads(spec)?))
}
