//! What must hold of any octets taken for a device's answer: they are refused in words or read, and
//! what was read can be shown.

use management::snmp::{Answer, Defect, read_community, read_scoped, read_unsigned};

/// Panics where a reader breaks its promise on `octets`.
pub fn snmp_answer(octets: &[u8]) {
    for read in [read_community, read_scoped, read_unsigned] {
        holds(octets, read);
    }
}

fn holds(octets: &[u8], read: fn(&[u8]) -> Result<Answer, Defect>) {
    match read(octets) {
        Ok(answer) => {
            // An object and a value are six octets at least.
            assert!(answer.bindings.len() <= octets.len() / 6, "more objects than octets");
            assert!(!format!("{answer:?}").is_empty());
            assert_eq!(read(octets), Ok(answer), "read twice, and not alike");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
