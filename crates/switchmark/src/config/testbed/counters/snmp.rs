//! The file's `counters` by SNMP: which device, as whom, which further columns.
//!
//! Owns every check on them. Never reads a secret: only where it is.

use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use management::snmp::{AuthProtocol, Cipher};
use measure::{Nanos, name};
use toml::Spanned;

use super::file::{CredentialsFile, SourceFile};
use crate::config::accounts::{AccountSource, Credentials, SnmpAccess, SnmpSource};
use crate::config::source::Fault;
use crate::config::typed::Text;

/// Time limit of one answer, if the file states none.
const ANSWERED_WITHIN: Nanos = Nanos::from_secs(2);

const COMMUNITY: &str = "add credentials = { env = \"SW1_COMMUNITY\" }: the variable that holds it";

/// Checks it. `given` is the device's address, `timeout` the file's value, in bounds.
pub fn source(
    file: &SourceFile,
    given: &Text,
    timeout: Option<Nanos>,
    folder: &Path,
) -> Result<AccountSource, Fault> {
    let address = given.get_ref().trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-:[]%".contains(c);
    if address.is_empty() || !address.chars().all(plain) {
        let message = format!("`{address}` is no name or address");
        return Err(Fault::new(given.span(), message, "write it like sw1 or 192.0.2.1:161"));
    }
    let access = match file.version.as_ref().map(|version| version.get_ref().as_str()) {
        None | Some("2c") => community(file, given, folder)?,
        Some("3") => user(file, given, folder)?,
        Some(other) => {
            let message = format!("there is no version `{other}` of SNMP here");
            let span = file.version.as_ref().map_or(given.span(), Spanned::span);
            return Err(Fault::new(span, message, "write \"2c\" or \"3\""));
        }
    };
    let oids = file.oids.iter().map(|(counter, oid)| {
        if !name::is_name(counter) {
            let message = format!("`{counter}` cannot be the name of a counter");
            return Err(Fault::new(oid.span(), message, name::RULE));
        }
        Ok((counter.clone(), column(oid)?))
    });
    Ok(AccountSource::Snmp(SnmpSource {
        address: address.to_owned(),
        access,
        oids: oids.collect::<Result<_, _>>()?,
        timeout: timeout.unwrap_or(ANSWERED_WITHIN),
    }))
}

fn community(file: &SourceFile, given: &Text, folder: &Path) -> Result<SnmpAccess, Fault> {
    for (key, key_given) in [("user", &file.user), ("auth", &file.auth), ("privacy", &file.privacy)]
    {
        if let Some(key_given) = key_given {
            let message = format!("version 2c has no `{key}`");
            return Err(Fault::new(key_given.span(), message, "add version = \"3\", or remove it"));
        }
    }
    let Some(credentials) = &file.credentials else {
        let message = "nothing says where the community is";
        return Err(Fault::new(given.span(), message, COMMUNITY));
    };
    where_it_is(credentials, folder).map(SnmpAccess::Community)
}

fn user(file: &SourceFile, given: &Text, folder: &Path) -> Result<SnmpAccess, Fault> {
    let Some(user) = &file.user else {
        let message = "version 3 asks as a user";
        return Err(Fault::new(given.span(), message, "add user = \"…\""));
    };
    let own = file.credentials.as_ref().map(|own| where_it_is(own, folder)).transpose()?;
    let other = file.privacy_credentials.as_ref().map(|own| where_it_is(own, folder));
    // Most devices are given one passphrase for both.
    let other = other.transpose()?.or_else(|| own.clone());
    let auth = file.auth.as_ref().map(|auth| {
        let protocol = protocol::<AuthProtocol>(auth, "\"sha256\", \"sha\" or \"md5\"")?;
        Ok((protocol, secret(own.clone(), auth.span())?))
    });
    let privacy = file.privacy.as_ref().map(|privacy| {
        let cipher = protocol::<Cipher>(privacy, "\"aes\" or \"des\"")?;
        Ok((cipher, secret(other.clone(), privacy.span())?))
    });
    let (auth, privacy) = (auth.transpose()?, privacy.transpose()?);
    if let (None, Some(privacy)) = (&auth, &file.privacy) {
        let message = "there is no privacy without authentication";
        return Err(Fault::new(privacy.span(), message, "add auth = \"sha256\" (RFC 3414)"));
    }
    Ok(SnmpAccess::User { name: user.get_ref().clone(), auth, privacy })
}

fn protocol<T: FromStr>(text: &Text, known: &str) -> Result<T, Fault> {
    text.get_ref().parse().map_err(|_| {
        let message = format!("unknown value `{}`", text.get_ref());
        Fault::new(text.span(), message, format!("write {known}"))
    })
}

fn secret(credentials: Option<Credentials>, span: Range<usize>) -> Result<Credentials, Fault> {
    credentials.ok_or_else(|| {
        let message = "nothing says where the passphrase is";
        Fault::new(span, message, "add credentials = { env = \"SW1_PASSPHRASE\" }")
    })
}

fn where_it_is(
    credentials: &Spanned<CredentialsFile>,
    folder: &Path,
) -> Result<Credentials, Fault> {
    let CredentialsFile { env, file } = credentials.get_ref();
    match (env, file) {
        (Some(env), None) if !env.is_empty() && !env.contains(['=', '\0']) => {
            Ok(Credentials::Env(env.clone()))
        }
        (None, Some(file)) if !file.is_empty() => Ok(Credentials::File(folder.join(file))),
        _ => Err(Fault::new(
            credentials.span(),
            "credentials are in a variable of the environment, or in a file",
            "write { env = \"NAME\" } or { file = \"…\" }; the secret itself never stands here",
        )),
    }
}

/// `1.3.6.1.2.1.2.2.1.13`: a column of a table; the port's index comes behind it.
fn column(text: &Text) -> Result<Vec<u32>, Fault> {
    let numbers = text.get_ref().trim_start_matches('.').split('.');
    let numbers: Option<Vec<u32>> = numbers.map(|number| number.parse().ok()).collect();
    numbers.filter(|numbers| (2..128).contains(&numbers.len())).ok_or_else(|| {
        let message = format!("`{}` is no object identifier", text.get_ref());
        let hint = "write a column's numbers, 1.3.6.1.2.1.2.2.1.13, without a port's index";
        Fault::new(text.span(), message, hint)
    })
}
