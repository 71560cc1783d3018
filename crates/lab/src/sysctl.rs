//! The kernel's network settings, as the calling thread's namespace sees them.
//!
//! `/proc/sys/net` shows the namespace of the thread that opens the file, so these are called on a
//! thread that has entered. Never called from a thread that has not.

use std::fs;
use std::io;

use crate::LabError;

/// Sets `net/…` to `value`.
pub(crate) fn set(name: &str, value: &str) -> Result<(), LabError> {
    write(name, value).map_err(|e| LabError::kernel("set", name, e))
}

/// Sets `net/…` where this kernel keeps it per namespace; elsewhere leaves it alone.
pub(crate) fn set_where_present(name: &str, value: &str) -> Result<(), LabError> {
    match write(name, value) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.map_err(|e| LabError::kernel("set", name, e)),
    }
}

fn write(name: &str, value: &str) -> io::Result<()> {
    // Never create: a name that this kernel lacks must fail as absent.
    let mut file = fs::OpenOptions::new().write(true).open(format!("/proc/sys/{name}"))?;
    io::Write::write_all(&mut file, value.as_bytes())
}
