//! Frames: a big-endian u32 length, then that many bytes.
//!
//! Owns the limit. Never looks inside a frame, and never allocates memory for bytes that have not
//! come.

use std::io::{self, Read, Write};

/// Maximum bytes of a frame, 16 MiB: a trial's largest report is well below one.
pub const FRAME_LIMIT: usize = 16 << 20;

const LENGTH_BYTES: usize = 4;

/// Bytes that are no frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream ended inside a frame.
    #[error("read a frame: the stream ends after {have} of {want} bytes")]
    Truncated {
        /// Bytes received.
        have: usize,
        /// Bytes announced.
        want: usize,
    },
    /// The length exceeds the limit.
    #[error("read a frame: {announced} bytes announced, {FRAME_LIMIT} allowed")]
    Oversized {
        /// Bytes announced.
        announced: usize,
    },
    /// The pipe broke.
    #[error("{deed} a frame")]
    Pipe {
        /// `read` or `write`.
        deed: &'static str,
        /// Error of the kernel.
        #[source]
        cause: io::Error,
    },
}

/// Reads one frame's content; `None` where the stream ends between frames.
pub fn read(from: &mut impl Read) -> Result<Option<Vec<u8>>, FrameError> {
    let mut length = [0; LENGTH_BYTES];
    match fill(from, &mut length)? {
        0 => return Ok(None),
        LENGTH_BYTES => {}
        have => return Err(FrameError::Truncated { have, want: LENGTH_BYTES }),
    }
    let announced = u32::from_be_bytes(length) as usize;
    if announced > FRAME_LIMIT {
        return Err(FrameError::Oversized { announced });
    }
    // A length is only a claim: memory grows with the bytes received, not with it.
    let mut content = Vec::new();
    let have = from
        .by_ref()
        .take(announced as u64)
        .read_to_end(&mut content)
        .map_err(|cause| FrameError::Pipe { deed: "read", cause })?;
    if have < announced {
        return Err(FrameError::Truncated { have, want: announced });
    }
    Ok(Some(content))
}

/// Writes one frame and flushes it.
pub fn write(to: &mut impl Write, content: &[u8]) -> Result<(), FrameError> {
    write_unflushed(to, content)?;
    to.flush().map_err(|cause| FrameError::Pipe { deed: "write", cause })
}

/// Writes one frame.
pub fn write_unflushed(to: &mut impl Write, content: &[u8]) -> Result<(), FrameError> {
    if content.len() > FRAME_LIMIT {
        return Err(FrameError::Oversized { announced: content.len() });
    }
    let length = (content.len() as u32).to_be_bytes();
    to.write_all(&length)
        .and_then(|()| to.write_all(content))
        .map_err(|cause| FrameError::Pipe { deed: "write", cause })
}

/// Reads until `bytes` is full or the stream ends; returns the number of bytes read.
pub fn fill(from: &mut impl Read, bytes: &mut [u8]) -> Result<usize, FrameError> {
    let mut have = 0;
    while have < bytes.len() {
        match from.read(&mut bytes[have..]) {
            Ok(0) => break,
            Ok(more) => have += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(FrameError::Pipe { deed: "read", cause }),
        }
    }
    Ok(have)
}
