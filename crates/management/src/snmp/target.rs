//! A device's address and credentials.
//!
//! Owns the secrets: they are passed in as text and never shown. Never reads a file or an
//! environment variable.

use std::fmt;
use std::time::Duration;

pub use async_snmp::{AuthProtocol, PrivProtocol as Cipher};

/// A device with its credentials and time-outs.
#[derive(Debug, Clone)]
pub struct Target {
    /// Host, or `host:port`; the default port is 161. An IPv6 address with a port is in brackets.
    pub address: String,
    /// Credentials.
    pub access: Access,
    /// Time-out for one answer.
    pub timeout: Duration,
    /// Number of retries of a request.
    pub retries: u32,
}

/// Credentials for a device.
#[derive(Debug, Clone)]
pub enum Access {
    /// SNMPv2c (RFC 1901): the community is sent in clear text.
    V2c {
        /// Name of the read community.
        community: Secret,
    },
    /// SNMPv3 by the User-based Security Model (RFC 3414).
    V3 {
        /// Name of the user.
        user: String,
        /// Authentication: HMAC-MD5-96 or HMAC-SHA-96 (RFC 3414), or HMAC-SHA-2 (RFC 7860).
        auth: Option<(AuthProtocol, Secret)>,
        /// Encryption: AES (RFC 3826) or DES (RFC 3414 §8). Only with `auth`.
        privacy: Option<(Cipher, Secret)>,
    },
}

/// A community or a password. Neither `Debug` nor `Display` shows any of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps text from a file or an environment variable, unchanged.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    pub(super) fn octets(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Secret(..)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("(secret)")
    }
}

impl Target {
    /// Address with a port.
    pub(super) fn socket_address(&self) -> String {
        // RFC 3417 §3.2: agents listen on 161.
        let address = &self.address;
        let bare_ipv6 = address.matches(':').count() > 1 && !address.starts_with('[');
        if bare_ipv6 {
            format!("[{address}]:161")
        } else if address.contains("]:") || (address.contains(':') && !address.starts_with('[')) {
            address.clone()
        } else {
            format!("{address}:161")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_161_unless_said() {
        for (address, with_port) in [
            ("sw1", "sw1:161"),
            ("sw1:1161", "sw1:1161"),
            ("192.0.2.1", "192.0.2.1:161"),
            ("2001:db8::1", "[2001:db8::1]:161"),
            ("[2001:db8::1]", "[2001:db8::1]:161"),
            ("[2001:db8::1]:1161", "[2001:db8::1]:1161"),
        ] {
            let community = Secret::new(String::new());
            let target = Target {
                address: address.to_owned(),
                access: Access::V2c { community },
                timeout: Duration::from_secs(1),
                retries: 0,
            };
            assert_eq!(target.socket_address(), with_port);
        }
    }

    #[test]
    fn a_secret_is_shown_by_nothing() {
        let secret = Secret::new("sesame".to_owned());
        let access = Access::V3 {
            user: "reader".to_owned(),
            auth: Some((AuthProtocol::Sha1, secret.clone())),
            privacy: Some((Cipher::Aes128, secret.clone())),
        };
        let shown = format!("{secret} {secret:?} {access:?} {access:#?}");
        assert!(!shown.contains("sesame"), "{shown}");
    }
}
