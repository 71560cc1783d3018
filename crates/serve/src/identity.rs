//! Identity of the server in TLS: a certificate, its key, and the protocols that are spoken with
//! them.
//!
//! Owns the reading of both as PEM. Never opens a file, never asks for a client's certificate, and
//! never prints a key.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{Error, ServerConfig};

use crate::validity::Validity;

/// A certificate and its key.
#[derive(Clone)]
pub struct Identity {
    config: Arc<ServerConfig>,
    validity: Validity,
}

/// Two texts are no such pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoIdentity {
    /// The first text has none.
    #[error("there is no certificate in it")]
    NoCertificate,
    /// The first text has one, or what should be one.
    #[error("a certificate in it cannot be read")]
    Certificate,
    /// The second text has none.
    #[error("there is no private key in it")]
    NoKey,
    /// A passphrase is needed.
    #[error("the private key in it is encrypted")]
    Encrypted,
    /// The key is of an unsupported kind, or too short.
    #[error("the private key in it cannot be used")]
    Key,
    /// The key belongs to another certificate.
    #[error("the private key in it does not belong to the certificate")]
    Mismatch,
}

impl NoIdentity {
    /// True if the second text is at fault, false if the first is.
    pub const fn is_of_key(self) -> bool {
        !matches!(self, Self::NoCertificate | Self::Certificate)
    }

    /// Advice on how to fix it.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::NoCertificate => {
                "name a PEM file with the server's certificate first (`-----BEGIN CERTIFICATE-----`); \
                 openssl x509 -inform der -in FILE makes one of DER"
            }
            Self::Certificate => {
                "look at it by openssl x509 -in FILE -noout -text; it has to be an X.509 certificate \
                 of version 3"
            }
            Self::NoKey => {
                "name a PEM file with the certificate's private key (`-----BEGIN PRIVATE KEY-----`)"
            }
            Self::Encrypted => {
                "nobody is asked for a passphrase: openssl pkey -in FILE -out PLAIN writes it without \
                 one; chmod 600 PLAIN"
            }
            Self::Key => "make one by ECDSA (P-256, P-384), Ed25519, or RSA of 2048 to 4096 bits",
            Self::Mismatch => {
                "name the key that the certificate was made for; the server's own certificate comes \
                 first, those of its issuers after it"
            }
        }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("validity", &self.validity).finish_non_exhaustive()
    }
}

impl Identity {
    /// Reads a certificate, which its issuers' may follow, and its key.
    pub fn from_pem(certificates: &str, key: &str) -> Result<Self, NoIdentity> {
        let all: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(certificates.as_bytes()).collect();
        let chain: Vec<CertificateDer<'static>> = all.map_err(|_| NoIdentity::Certificate)?;
        let times: Option<Vec<_>> =
            chain.iter().map(|one| Validity::from_certificate(one)).collect();
        let times = times.ok_or(NoIdentity::Certificate)?;
        let validity = times.into_iter().reduce(Validity::and).ok_or(NoIdentity::NoCertificate)?;
        let config = config(chain, read_key(key)?).map_err(|error| match error {
            Error::InconsistentKeys(_) => NoIdentity::Mismatch,
            Error::InvalidCertificate(_) => NoIdentity::Certificate,
            _ => NoIdentity::Key,
        })?;
        Ok(Self { config: Arc::new(config), validity })
    }

    /// Time in which all its certificates are valid.
    pub const fn validity(&self) -> Validity {
        self.validity
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

fn read_key(text: &str) -> Result<PrivateKeyDer<'static>, NoIdentity> {
    // PKCS #8 says so in its first line, older forms in a header (RFC 1421 §4.6.1.1).
    let is_encrypted = |line: &str| {
        line.starts_with("-----BEGIN ENCRYPTED ")
            || line.starts_with("Proc-Type:") && line.contains("ENCRYPTED")
    };
    if text.lines().any(is_encrypted) {
        return Err(NoIdentity::Encrypted);
    }
    let found = PrivateKeyDer::from_pem_slice(text.as_bytes());
    let is_there = text.contains("PRIVATE KEY-----");
    found.map_err(|_| if is_there { NoIdentity::Key } else { NoIdentity::NoKey })
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let spoken =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = spoken?.with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};

    use super::*;

    fn certificate(key: &KeyPair) -> String {
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.self_signed(key).unwrap().pem()
    }

    #[test]
    fn a_certificate_and_its_key_are_taken_and_nothing_else_is() {
        let [own, other, third] = [
            KeyPair::generate().unwrap(),
            KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap(),
            KeyPair::generate_for(&PKCS_ED25519).unwrap(),
        ];
        for key in [&own, &other, &third] {
            let identity = Identity::from_pem(&certificate(key), &key.serialize_pem()).unwrap();
            assert!(!format!("{identity:?}").contains("key"));
        }
        let (own, its, other) = (certificate(&own), own.serialize_pem(), other.serialize_pem());
        let chain = [own.as_str(), &certificate(&third)].concat();
        assert!(Identity::from_pem(&chain, &its).is_ok(), "its issuer's may follow");
        let both = [own.as_str(), &its].concat();
        assert!(Identity::from_pem(&both, &both).is_ok(), "both may be in one file");
        let broken = own.replacen("MII", "AAA", 1);
        let encrypted = its.replace("BEGIN PRIVATE", "BEGIN ENCRYPTED PRIVATE");
        let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        let short = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for (certificate, key, expect) in [
            (own.as_str(), other.as_str(), NoIdentity::Mismatch),
            ("", &its, NoIdentity::NoCertificate),
            (&its, &its, NoIdentity::NoCertificate),
            (&broken, &its, NoIdentity::Certificate),
            (&own, "", NoIdentity::NoKey),
            (&own, &own, NoIdentity::NoKey),
            (&own, &encrypted, NoIdentity::Encrypted),
            (&own, old, NoIdentity::Encrypted),
            (&own, short, NoIdentity::Key),
        ] {
            let found = Identity::from_pem(certificate, key).map(|_| ());
            assert_eq!(found, Err(expect), "{certificate}{key}");
        }
        for wrong in [NoIdentity::Mismatch, NoIdentity::NoKey, NoIdentity::Encrypted] {
            assert!(wrong.is_of_key() && !wrong.hint().is_empty());
        }
    }
}
