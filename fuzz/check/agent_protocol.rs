//! What must hold of any bytes on an agent's pipe: reading ends, never panics, and whatever was
//! read can be said again and is understood.

use std::io::BufReader;

use agents::protocol::{self, step};

/// Panics where the reader breaks its promise on `bytes`.
pub fn agent_protocol(bytes: &[u8]) {
    let mut pipe = bytes;
    // Every message takes at least its length's four bytes, so this ends.
    while let Ok(Some(message)) = protocol::read(&mut pipe) {
        let said = protocol::encode(&message).expect("what was read can be written");
        let heard = protocol::decode(&said).expect("what we say is understood");
        // Floats may lose their last digit in JSON, so the whole is not compared.
        assert_eq!(heard.name(), message.name());
    }
    // A job step's streams: each name takes at least its length's byte.
    let mut pipe = bytes;
    while let Ok(Some(_)) = step::read_from(&mut pipe) {}
    let mut compressed = BufReader::new(step::reader(bytes));
    while let Ok(Some(_)) = step::read_from(&mut compressed) {}
    let (mut pipe, mut lines) = (bytes, step::Lines::default());
    let understood = |node: &str, piece| {
        let line = step::line(node, &piece);
        let again = step::Lines::default().take(&mut line.as_bytes(), |_, same| {
            assert_eq!(same, piece);
        });
        assert!(again.expect("a line is readable"));
    };
    while lines.take(&mut pipe, understood).expect("memory is readable") {}
}
