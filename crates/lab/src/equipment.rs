//! What a lab is handed by the program that builds it, because it may know of no other crate.
//!
//! Owns the three seams: what virtual machines are started with, who forwards by XDP, and by what
//! an emulated device's frames come and go. Never calls any by itself.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use measure::Nanos;

use crate::vm::Emulator;

/// What some devices and variants take. A lab without it has neither.
#[derive(Debug, Clone, Default)]
pub struct Equipment {
    /// For virtual machines.
    pub emulator: Option<Emulator>,
    /// For the variant `xdp` of routers, and for frames that are redirected into a device.
    pub forwarder: Option<Arc<dyn XdpForwarder>>,
    /// For emulated devices.
    pub switchboard: Option<Arc<dyn Switchboard>>,
}

/// Whatever it is, dropping it undoes it.
pub type Guard = Box<dyn Any + Send>;
/// Why something could not be done, in the words of whoever tried.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Forwards frames between a router's ports before its kernel's stack sees them. Only called with
/// the rights of root: a user namespace has not those that it takes.
pub trait XdpForwarder: fmt::Debug + Send + Sync {
    /// Begins to forward among these interfaces, until the guard is dropped. Called on a thread
    /// that stands in the router's namespace.
    fn forward(&self, interfaces: &[String]) -> Result<Guard, Cause>;

    /// Lets this interface take frames that the far end of its cable redirects to it, until the
    /// guard is dropped. Called on a thread that stands in its namespace.
    fn accept(&self, interface: &str) -> Result<Guard, Cause>;
}

/// Opens the ports by which real frames reach an emulated device and leave it.
pub trait Switchboard: fmt::Debug + Send + Sync {
    /// Opens the port at an interface, for frames of up to `largest` octets without FCS; `ports`
    /// are opened in all. Called on a thread that stands in the interface's namespace.
    fn open(
        &self,
        interface: &str,
        largest: usize,
        ports: usize,
    ) -> Result<Box<dyn FramePort>, Cause>;

    /// A reading of the clock by which ports stamp frames.
    fn now(&self) -> Nanos;
}

/// One port. Frames are whole, from their Ethernet header on, without FCS.
pub trait FramePort: fmt::Debug + Send {
    /// Hands over at most `most` frames that have come, each with the time at which the kernel had
    /// it: how many. Never waits.
    fn receive(&mut self, most: usize, take: &mut dyn FnMut(&[u8], Nanos)) -> usize;

    /// Sends frames in their order, as many as go with one call: how many were taken, the first
    /// ones. An error is about the first one, which is lost. Never waits.
    fn send(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) -> io::Result<usize>;

    /// Frames that found no room since the port was opened, because nobody read in time.
    fn overflow(&mut self) -> u64;

    /// Readable while a frame waits; in error when the interface went down, until [`Self::calm`].
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Takes note of such an error.
    fn calm(&self);
}
