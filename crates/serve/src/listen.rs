//! Place at which the pages are served: an address of this machine, or a socket in its file system.
//!
//! Owns who may reach it without a token: this machine alone. Never accepts a connection.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use nix::sys::stat::{Mode, umask};

/// A place to listen at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A socket that only this user may open.
    Unix(PathBuf),
}

/// The port where none is named.
pub const PORT: u16 = 8377;

impl Default for Listen {
    fn default() -> Self {
        Self::Tcp(SocketAddr::from(([127, 0, 0, 1], PORT)))
    }
}

impl Listen {
    /// True if other machines can reach it.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Tcp(address) => !address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => false,
        }
    }
}

/// Place at which pages are served, by TLS or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Address or socket.
    pub listen: Listen,
    /// True if it speaks TLS.
    pub is_secure: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.listen {
            Listen::Tcp(address) if self.is_secure => write!(f, "https://{address}/"),
            Listen::Tcp(address) => write!(f, "http://{address}/"),
            Listen::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            if path.is_empty() {
                return Err("name a file behind `unix:`".to_owned());
            }
            return Ok(Self::Unix(path.into()));
        }
        let bare = text.trim_matches(['[', ']']).parse().map(|ip| SocketAddr::new(ip, PORT));
        let port = text.strip_prefix(':').unwrap_or(text).parse();
        let local = port.map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let address = text.parse().or(bare).ok().or(local.ok());
        address.map(Self::Tcp).ok_or_else(|| {
            format!("`{text}` is no address and port such as 127.0.0.1:{PORT}, and no unix:PATH")
        })
    }
}

/// A place that is listened at.
#[derive(Debug)]
pub(crate) enum Bound {
    Tcp(TcpListener),
    /// Socket with its file, which is removed before the socket closes.
    Unix(Own, UnixListener),
}

/// A socket's file, removed when it is no longer needed, if it is still that one.
#[derive(Debug)]
pub(crate) struct Own {
    path: PathBuf,
    /// Device and inode, which the kernel gives to no other file while the socket is open.
    identity: (u64, u64),
}

impl Own {
    fn new(path: &Path) -> io::Result<Self> {
        let of = std::fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), identity: (of.dev(), of.ino()) })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let found = std::fs::symlink_metadata(&self.path);
        if found.is_ok_and(|of| (of.dev(), of.ino()) == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Bound {
    pub(crate) fn to(listen: &Listen) -> io::Result<Self> {
        let bound = match listen {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Self::Tcp(listener)
            }
            Listen::Unix(path) => {
                let listener = in_the_file_system(path)?;
                listener.set_nonblocking(true)?;
                Self::Unix(Own::new(path)?, listener)
            }
        };
        Ok(bound)
    }

    /// Returns the place, with the port that the kernel chose if none was requested.
    pub(crate) fn listens_at(&self) -> io::Result<Listen> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Listen::Tcp),
            Self::Unix(own, _) => Ok(Listen::Unix(own.path.clone())),
        }
    }
}

/// Creates a socket file. Replaces a socket that nobody answers, left by a killed server, but no
/// other file.
fn in_the_file_system(path: &Path) -> io::Result<UnixListener> {
    if let Ok(found) = std::fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "the file is no socket"));
        }
        match UnixStream::connect(path) {
            Err(cause) if cause.kind() == ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path)?;
            }
            _ => return Err(ErrorKind::AddrInUse.into()),
        }
    }
    // While the file is created, nobody else may open it, not even for a moment.
    let before = umask(Mode::from_bits_truncate(0o177));
    let listener = UnixListener::bind(path);
    umask(before);
    listener
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_a_port_or_a_file() {
        for (text, shown, open) in [
            ("127.0.0.1:80", "http://127.0.0.1:80/", false),
            ("8000", "http://127.0.0.1:8000/", false),
            (":8000", "http://127.0.0.1:8000/", false),
            ("0.0.0.0", "http://0.0.0.0:8377/", true),
            ("[::1]:80", "http://[::1]:80/", false),
            ("[::]:80", "http://[::]:80/", true),
            ("[::ffff:127.0.0.1]:80", "http://[::ffff:127.0.0.1]:80/", false),
            ("192.0.2.1:80", "http://192.0.2.1:80/", true),
            ("unix:/run/s", "unix:/run/s", false),
        ] {
            let listen: Listen = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(listen.is_open(), open, "{text}");
            let place = Place { listen, is_secure: false };
            assert_eq!(place.to_string(), shown, "{text}");
            let place = Place { is_secure: true, ..place };
            assert_eq!(place.to_string(), shown.replace("http:", "https:"), "{text}");
        }
        for text in ["", "unix:", "localhost", "1.2.3:80", "a:b", "70000"] {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
    }
}
