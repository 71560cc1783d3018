//! What a lab is handed by the program that builds it, because it may know of no other crate.
//!
//! Owns the two seams: what virtual machines are started with, and who forwards by XDP. Never calls
//! either by itself.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::vm::Emulator;

/// What some devices and variants take. A lab without it has neither.
#[derive(Debug, Clone, Default)]
pub struct Equipment {
    /// For virtual machines.
    pub emulator: Option<Emulator>,
    /// For the variant `xdp` of routers, and for frames that are redirected into a device.
    pub forwarder: Option<Arc<dyn XdpForwarder>>,
}

/// Whatever it is, dropping it undoes it.
pub type Guard = Box<dyn Any + Send>;
/// Why something could not be done, in the words of whoever tried.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Forwards frames between a router's ports before its kernel's stack sees them. Only called with
/// the rights of root: a user namespace has not those that it takes.
pub trait XdpForwarder: fmt::Debug + Send + Sync {
    /// Begins to forward among these interfaces, until the guard is dropped. Called on a thread that
    /// stands in the router's namespace.
    fn forward(&self, interfaces: &[String]) -> Result<Guard, Cause>;

    /// Lets this interface take frames that the far end of its cable redirects to it, until the guard
    /// is dropped. Called on a thread that stands in its namespace.
    fn accept(&self, interface: &str) -> Result<Guard, Cause>;
}
