//! Compression of trials and records: deflate (RFC 1951) with a dictionary per run.
//!
//! A run's trials are alike: the same ports, the same counters, similar flows. The dictionary holds
//! what they share and precedes each text. Owns this format and its limits. Never reads what it
//! packs.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Size of the dictionary in octets: the distance that deflate can refer back to.
const WINDOW: usize = 32_000;
/// Largest size of a trial with its record: a mesh of 255 ports has 64,770 flows of 1.5 kB each.
pub(super) const LONGEST: usize = 128 << 20;
/// Size that any trial may unpack to; the limit for larger ones depends on their packed size.
const ALWAYS: usize = 16 << 20;
/// Largest ratio of unpacked to packed size for large trials; a mesh packs to a fifth.
const PART: usize = 16;
/// Octets before the stream: dictionary flag and both lengths.
const HEAD: usize = 9;
const STEP: usize = 64 << 10;

/// Error: octets that are not packed data, or broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the packed octets are damaged")]
pub(super) struct Damaged;

/// Builds the dictionary of a run from one of its trials.
pub(super) fn dictionary(trial: &str, record: &str) -> String {
    let text = [record, trial].concat();
    text[text.ceil_char_boundary(text.len().saturating_sub(WINDOW))..].to_owned()
}

/// Packs both texts, one after the other; an empty dictionary counts as none.
pub(super) fn pack(trial: &str, record: &str, dictionary: &str) -> Vec<u8> {
    let text = [trial, record].concat();
    let mut out = vec![u8::from(!dictionary.is_empty())];
    for length in [trial.len(), text.len()] {
        out.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    }
    let mut stream = Compress::new(Compression::default(), false);
    if !dictionary.is_empty() {
        // The output for the dictionary is known to the reader.
        deflate(&mut stream, dictionary.as_bytes(), &mut Vec::new(), FlushCompress::Sync);
    }
    deflate(&mut stream, text.as_bytes(), &mut out, FlushCompress::Finish);
    out
}

fn deflate(stream: &mut Compress, mut input: &[u8], out: &mut Vec<u8>, flush: FlushCompress) {
    loop {
        out.reserve(STEP);
        let (before, room) = (stream.total_in(), out.capacity() - out.len());
        let (filled, written) = (out.len(), stream.total_out());
        let status = stream.compress_vec(input, out, flush);
        input = &input[(stream.total_in() - before) as usize..];
        let full = (stream.total_out() - written) as usize == room;
        debug_assert_eq!(out.len() - filled, (stream.total_out() - written) as usize);
        match status {
            Ok(Status::Ok) if full || !input.is_empty() => {}
            Ok(Status::Ok) if flush == FlushCompress::Finish => {}
            // Writing to memory cannot fail.
            _ => return,
        }
    }
}

/// Largest unpacked size of a trial with its record, by its packed size.
pub(super) const fn most(packed: usize) -> usize {
    let most = ALWAYS.saturating_add(packed.saturating_mul(PART));
    if most < LONGEST { most } else { LONGEST }
}

/// Unpacks the trial and the record.
pub(super) fn unpack(packed: &[u8], dictionary: &str) -> Result<(String, String), Damaged> {
    let (head, body) = packed.split_at_checked(HEAD).ok_or(Damaged)?;
    let length = |at: usize| {
        let octets = head[at..at + 4].try_into().map_err(|_| Damaged)?;
        Ok(u32::from_le_bytes(octets) as usize)
    };
    let (trial, whole) = (length(1)?, length(5)?);
    if whole > most(packed.len()) || trial > whole {
        return Err(Damaged);
    }
    let mut stream = Decompress::new(false);
    match head[0] {
        0 => {}
        1 if !dictionary.is_empty() => {
            let mut stored = vec![0];
            let length = u16::try_from(dictionary.len()).map_err(|_| Damaged)?;
            stored.extend(length.to_le_bytes());
            stored.extend((!length).to_le_bytes());
            stored.extend_from_slice(dictionary.as_bytes());
            inflate(&mut stream, &stored, dictionary.len())?;
        }
        _ => return Err(Damaged),
    }
    let mut text = inflate(&mut stream, body, whole)?;
    let record = text.split_off(trial);
    let read = |octets| String::from_utf8(octets).map_err(|_| Damaged);
    Ok((read(text)?, read(record)?))
}

fn inflate(stream: &mut Decompress, mut input: &[u8], length: usize) -> Result<Vec<u8>, Damaged> {
    let mut out = Vec::new();
    while out.len() < length {
        out.reserve(STEP.min(length - out.len()));
        let before = (stream.total_in(), out.len());
        stream.decompress_vec(input, &mut out, FlushDecompress::None).map_err(|_| Damaged)?;
        let read = (stream.total_in() - before.0) as usize;
        input = &input[read..];
        if read == 0 && out.len() == before.1 {
            return Err(Damaged);
        }
    }
    if out.len() == length { Ok(out) } else { Err(Damaged) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back_and_what_is_damaged_is_refused() {
        let parts: Vec<String> = (0..5_000).map(|n| format!("{{\"rx_packets\":{n}}}")).collect();
        let record = parts.concat();
        let own = dictionary("{\"label\":\"one\"}", &record);
        assert!(own.len() <= WINDOW && own.ends_with("one\"}"));
        for dictionary in ["", own.as_str()] {
            for (trial, record) in [("", ""), ("{\"label\":\"two\"}", record.as_str()), ("µ", "x")]
            {
                let packed = pack(trial, record, dictionary);
                let (a, b) = unpack(&packed, dictionary).expect("as it was packed");
                assert_eq!((a.as_str(), b.as_str()), (trial, record));
                for cut in [0, 1, HEAD - 1] {
                    assert!(unpack(&packed[..cut], dictionary).is_err(), "{cut}");
                }
            }
        }
        let bomb = pack("", &"x".repeat(ALWAYS + (8 << 20)), "");
        assert_eq!(unpack(&bomb, ""), Err(Damaged), "{} octets", bomb.len());
        let last = &record[record.len() - 9_000..];
        let with = pack("{\"label\":\"two\"}", last, &own);
        let alone = pack("{\"label\":\"two\"}", last, "");
        assert!(with.len() * 3 < alone.len(), "{} against {}", with.len(), alone.len());
        assert_eq!(unpack(&with, ""), Err(Damaged), "its dictionary is not there");
        assert_eq!(unpack(&with[..with.len() / 2], &own), Err(Damaged), "half is missing");
    }
}
