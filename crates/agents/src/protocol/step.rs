//! Streams of the agents of one job step, over one pair of pipes.
//!
//! A launcher such as srun passes what it reads to every task, and mixes what the tasks write.
//! Towards the agents each message therefore comes behind the name of its node, and all of them are
//! compressed together (zlib, RFC 1950), because every node receives them and they are much alike.
//! From the agents each line has a piece of one node's output, short enough to be passed on whole
//! (srun: 1,024 octets). Other lines, which a node's own start-up files may print, are skipped.

use std::io::{self, BufRead, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::{FrameError, frame};

/// Mark of a line that is ours.
const MARK: &str = "@switchmark";
/// Octets of a node's output per line: 800 once encoded.
pub const PIECE_BYTES: usize = 600;
/// Maximum octets of a node's name, which is a host's.
pub const NAME_LIMIT: usize = 64;
/// Maximum octets of a line that is ours.
const LINE_LIMIT: usize = 1000;

/// Piece of what one node sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Octets of the agent's standard output.
    Output(Vec<u8>),
    /// Octets of its standard error.
    Words(Vec<u8>),
    /// The agent ended, with this status of wait(2).
    Ended(i32),
    /// The node is alive.
    Alive,
}

/// Message for one node, or for all if the name is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addressed {
    /// Name of the node.
    pub node: Vec<u8>,
    /// Content of the message; empty to close the agent's standard input.
    pub message: Vec<u8>,
}

/// Writer of messages, compressed; what is written arrives with the next flush.
pub fn writer<W: Write>(to: W) -> ZlibEncoder<W> {
    ZlibEncoder::new(to, Compression::fast())
}

/// Reader of messages.
pub fn reader<R: Read>(from: R) -> ZlibDecoder<R> {
    ZlibDecoder::new(from)
}

/// Writes `message` for one node, or for all if the name is empty. An empty message closes the
/// agent's standard input.
pub fn write_to(to: &mut impl Write, node: &str, message: &[u8]) -> Result<(), FrameError> {
    let length = u8::try_from(node.len()).ok().filter(|length| usize::from(*length) <= NAME_LIMIT);
    let pipe = |cause| FrameError::Pipe { deed: "write", cause };
    let length = length.ok_or_else(|| pipe(io::ErrorKind::InvalidInput.into()))?;
    to.write_all(&[length]).and_then(|()| to.write_all(node.as_bytes())).map_err(pipe)?;
    frame::write_unflushed(to, message)
}

/// Reads the next message; `None` where the stream ends between messages.
pub fn read_from(from: &mut impl Read) -> Result<Option<Addressed>, FrameError> {
    let mut length = [0];
    if frame::fill(from, &mut length)? == 0 {
        return Ok(None);
    }
    let mut name = vec![0; usize::from(length[0])];
    let have = frame::fill(from, &mut name)?;
    let truncated = FrameError::Truncated { have, want: name.len() };
    if have < name.len() {
        return Err(truncated);
    }
    frame::read(from)?.map_or(Err(truncated), |message| Ok(Some(Addressed { node: name, message })))
}

/// Formats a line.
pub fn line(node: &str, piece: &Piece) -> String {
    let (kind, value) = match piece {
        Piece::Output(octets) => ('o', STANDARD_NO_PAD.encode(octets)),
        Piece::Words(octets) => ('e', STANDARD_NO_PAD.encode(octets)),
        Piece::Ended(status) => ('s', status.to_string()),
        Piece::Alive => ('a', String::new()),
    };
    format!("{MARK} {node} {kind}{value}\n")
}

/// Reads a line without its end; `None` if it is not ours.
fn parse(line: &[u8]) -> Option<(&str, Piece)> {
    let (node, value) =
        std::str::from_utf8(line).ok()?.strip_prefix(MARK)?.strip_prefix(' ')?.split_once(' ')?;
    let octets = |value| STANDARD_NO_PAD.decode(value).ok();
    let piece = match value.split_at_checked(1)? {
        ("o", value) => Piece::Output(octets(value)?),
        ("e", value) => Piece::Words(octets(value)?),
        ("s", value) => Piece::Ended(value.parse().ok()?),
        ("a", "") => Piece::Alive,
        _ => return None,
    };
    Some((node, piece))
}

/// Reader of lines, which keeps what it has of one while the rest has not come.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
    /// The current line is too long to be ours.
    surplus: bool,
}

impl Lines {
    /// Takes what `from` has, and passes on each piece; returns false at the end of the stream.
    pub fn take(
        &mut self,
        from: &mut impl BufRead,
        mut each: impl FnMut(&str, Piece),
    ) -> io::Result<bool> {
        let some = from.fill_buf()?;
        if some.is_empty() {
            return Ok(false);
        }
        for part in some.split_inclusive(|octet| *octet == b'\n') {
            self.surplus |= self.begun.len() + part.len() > LINE_LIMIT;
            if !self.surplus {
                self.begun.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                let whole = self.begun.strip_suffix(b"\n").filter(|_| !self.surplus);
                if let Some((node, piece)) = whole.and_then(parse) {
                    each(node, piece);
                }
                self.begun.clear();
                self.surplus = false;
            }
        }
        let taken = some.len();
        from.consume(taken);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces() -> impl Strategy<Value = Vec<(String, Piece)>> {
        let octets = || proptest::collection::vec(any::<u8>(), 0..=PIECE_BYTES);
        let piece = prop_oneof![
            octets().prop_map(Piece::Output),
            octets().prop_map(Piece::Words),
            any::<i32>().prop_map(Piece::Ended),
            Just(Piece::Alive),
        ];
        proptest::collection::vec(("[a-z][a-z0-9.-]{0,63}", piece), 0..20)
    }

    /// What is read, in portions of so many octets.
    fn read_in(text: &[u8], portion: usize) -> Vec<(String, Piece)> {
        let mut from = io::BufReader::with_capacity(portion, text);
        let (mut lines, mut read) = (Lines::default(), Vec::new());
        while lines.take(&mut from, |node, piece| read.push((node.to_owned(), piece))).unwrap() {}
        read
    }

    proptest! {
        #[test]
        fn every_piece_arrives_between_other_lines_of_any_length(
            pieces in pieces(),
            portion in 1..5000_usize,
            other in "[^\n@]{0,3000}",
        ) {
            let lines = pieces.iter().map(|(node, piece)| line(node, piece));
            let text: String = lines.flat_map(|line| [format!("{other}\n"), line]).collect();
            prop_assert_eq!(read_in(text.as_bytes(), portion), pieces);
        }

        #[test]
        fn a_line_is_passed_on_whole(node in "[a-z]{1,64}", octets in proptest::collection::vec(any::<u8>(), PIECE_BYTES)) {
            let line = line(&node, &Piece::Output(octets));
            prop_assert!(line.len() <= LINE_LIMIT, "{}", line.len());
        }

        #[test]
        fn any_octets_are_survived(octets in proptest::collection::vec(any::<u8>(), 0..3000)) {
            let _ = read_in(&octets, 100);
            let mut from = &octets[..];
            while let Ok(Some(_)) = read_from(&mut from) {}
        }

        #[test]
        fn messages_arrive_behind_their_nodes_names(
            sent in proptest::collection::vec(("[a-z0-9]{0,64}", proptest::collection::vec(any::<u8>(), 0..300)), 0..9),
        ) {
            let (kept, pipe) = io::pipe().unwrap();
            let (mut to, mut from) = (writer(pipe), io::BufReader::new(reader(kept)));
            for (node, message) in &sent {
                write_to(&mut to, node, message).unwrap();
            }
            // They arrive while the stream goes on.
            to.flush().unwrap();
            for (node, message) in sent {
                prop_assert_eq!(read_from(&mut from).unwrap(), Some(Addressed { node: node.into_bytes(), message }));
            }
            drop(to);
            prop_assert!(read_from(&mut from).unwrap().is_none());
        }
    }

    #[test]
    fn a_name_longer_than_a_hosts_is_refused() {
        assert!(write_to(&mut Vec::new(), &"n".repeat(NAME_LIMIT + 1), b"x").is_err());
    }
}
