//! The kernel's network settings, as the calling thread's namespace sees them.
//!
//! `/proc/sys/net` shows the namespace of the thread that opens the file. Call these functions on a
//! thread that has entered a namespace; elsewhere they would change the machine. Names are written
//! with slashes: `net/ipv4/ip_forward`. Never creates a setting that the kernel lacks.

use std::fs;
use std::io;
use std::path::Path;

use crate::LabError;

/// True if this kernel supports IPv6.
pub fn has_ipv6() -> bool {
    Path::new("/proc/sys/net/ipv6").is_dir()
}

/// Reads `net/…`, without the line end.
pub fn read(name: &str) -> Result<String, LabError> {
    let text = fs::read_to_string(path(name)).map_err(|e| LabError::kernel("read", name, e))?;
    Ok(text.trim_end().to_owned())
}

/// Sets `net/…` to `value`.
pub fn set(name: &str, value: &str) -> Result<(), LabError> {
    write(name, value).map_err(|e| LabError::kernel("set", name, e))
}

/// Sets `net/…` if this kernel keeps it per namespace; otherwise does nothing.
pub fn set_where_present(name: &str, value: &str) -> Result<(), LabError> {
    match write(name, value) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.map_err(|e| LabError::kernel("set", name, e)),
    }
}

fn write(name: &str, value: &str) -> io::Result<()> {
    // Never create: a name that this kernel lacks must fail as absent.
    let mut file = fs::OpenOptions::new().write(true).open(path(name))?;
    io::Write::write_all(&mut file, value.as_bytes())
}

fn path(name: &str) -> String {
    format!("/proc/sys/{name}")
}
