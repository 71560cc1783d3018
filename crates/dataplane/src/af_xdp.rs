//! AF_XDP: sending and receiving through rings shared with the kernel, past the kernel's stack.
//!
//! Owns the sockets, their frame memory and rings, and the XDP program that steers a flow's frames
//! to them. Whole frames only, from the Ethernet header on and without FCS. Never replaces a
//! program that is already on an interface, and leaves none there: the program ends with its
//! descriptor.

pub mod receive;
pub mod transmit;

mod program;
mod ring;
mod socket;

#[cfg(test)]
pub(crate) mod cable;
#[cfg(test)]
mod tests;

/// Sizes of chunks of the frame memory; the kernel takes none beyond a page.
const CHUNKS: [u32; 2] = [2048, 4096];

/// Maximum queues of an interface; those with more are left to another receiver.
const QUEUES_MOST: u32 = 64;

/// Returns the smallest chunk size that holds `octets`.
fn chunk_for(octets: usize) -> Option<u32> {
    CHUNKS.into_iter().find(|&chunk| octets <= chunk as usize)
}
