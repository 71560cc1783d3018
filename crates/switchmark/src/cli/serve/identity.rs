//! The server's certificate and its key, as files, and the warning of a certificate that browsers
//! will refuse.
//!
//! Owns when they are read: once, at the start. Never asks for a passphrase.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jiff::Timestamp;
use serve::Identity;

use crate::cli::options::Tls;
use crate::config::ConfigError;
use crate::config::source::plain;
use crate::files;

impl Tls {
    /// Reads the identity from its files; `None` if none are named.
    pub fn identity(&self) -> Result<Option<Identity>, ConfigError> {
        let (Some(certificate), Some(key)) = (&self.tls_certificate, &self.tls_key) else {
            return Ok(None);
        };
        let certificates = files::text(certificate).map_err(|cause| {
            let hint = "name a PEM file with the server's certificate by --tls-certificate";
            failed("certificate", certificate, &plain(&cause), hint)
        })?;
        let pair = Identity::from_pem(&certificates, &secret(key)?);
        pair.map(Some).map_err(|why| {
            let (what, path) =
                if why.is_of_key() { ("TLS key", key) } else { ("certificate", certificate) };
            failed(what, path, &why.to_string(), why.hint())
        })
    }

    /// Warns of a certificate that browsers will refuse at that time; `None` if they will not.
    pub fn doubt(&self, identity: &Identity, now: Timestamp) -> Option<String> {
        let path = self.tls_certificate.as_ref()?.display();
        let validity = identity.validity();
        let moment = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M UTC");
        if now > validity.until {
            let until = moment(validity.until);
            return Some(format!(
                "warning: the certificate in {path} expired on {until}, and browsers will refuse it; put a new one there and start again\n"
            ));
        }
        let from = moment(validity.from);
        (now < validity.from).then(|| {
            format!(
                "warning: the certificate in {path} is valid from {from} on, and browsers will refuse it until then; look whether this machine's clock is right\n"
            )
        })
    }
}

/// Reads the key, which a group may read, as Debian's `ssl-cert` does.
fn secret(path: &Path) -> Result<String, ConfigError> {
    let hint = "name a PEM file with the certificate's private key by --tls-key";
    let unread = |cause: std::io::Error| failed("TLS key", path, &plain(&cause), hint);
    let mode = std::fs::metadata(path).map_err(unread)?.permissions().mode();
    if mode & 0o007 != 0 {
        let hint = format!("chmod o= {}", path.display());
        return Err(failed("TLS key", path, "any user of this machine may use it", &hint));
    }
    files::text(path).map_err(unread)
}

fn failed(what: &str, path: &Path, why: &str, hint: &str) -> ConfigError {
    ConfigError::bare(format!("read the {what} in {}: {why}", path.display()), hint)
}
