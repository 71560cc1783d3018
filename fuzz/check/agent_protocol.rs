//! What must hold of any bytes on an agent's pipe: reading ends, never panics, and whatever was
//! read can be said again and is understood.

use agents::protocol;

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
}
