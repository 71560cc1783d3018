//! Implementations that the calling program passes to a lab, because this crate may depend on no
//! other.
//!
//! Owns the three interfaces: the emulator of virtual machines, forwarding by XDP, and the ports of
//! an emulated device. Never calls any by itself.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use measure::Nanos;

use crate::vm::Emulator;

/// Optional implementations for some devices and variants, which are unavailable without them.
#[derive(Debug, Clone, Default)]
pub struct Equipment {
    /// Emulator for virtual machines.
    pub emulator: Option<Emulator>,
    /// Forwarder for the variant `xdp` of routers, and for frames that are redirected into a
    /// device.
    pub forwarder: Option<Arc<dyn XdpForwarder>>,
    /// Switchboard for emulated devices.
    pub switchboard: Option<Arc<dyn Switchboard>>,
}

/// Guard whose drop undoes the change.
pub type Guard = Box<dyn Any + Send>;
/// Cause of a failure, as the implementation reports it.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Forwards frames between a router's ports before its kernel's stack sees them. Called only as
/// root: a user namespace does not grant the necessary rights.
pub trait XdpForwarder: fmt::Debug + Send + Sync {
    /// Forwards among these interfaces until the guard is dropped. Called on a thread in the
    /// router's namespace.
    fn forward(&self, interfaces: &[String]) -> Result<Guard, Cause>;

    /// Lets this interface accept frames that the far end of its cable redirects to it, until the
    /// guard is dropped. Called on a thread in the interface's namespace.
    fn accept(&self, interface: &str) -> Result<Guard, Cause>;
}

/// Opens the ports by which real frames enter and leave an emulated device.
pub trait Switchboard: fmt::Debug + Send + Sync {
    /// Opens the port at an interface, for frames of up to `largest` octets without FCS. `ports` is
    /// the total number of ports to open. Called on a thread in the interface's namespace.
    fn open(
        &self,
        interface: &str,
        largest: usize,
        ports: usize,
    ) -> Result<Box<dyn FramePort>, Cause>;

    /// Reads the clock of the ports' time stamps.
    fn now(&self) -> Nanos;
}

/// One port. Frames are complete, from the Ethernet header on, without FCS.
pub trait FramePort: fmt::Debug + Send {
    /// Passes at most `most` received frames to `take`, each with its receive time stamp of the
    /// kernel. Returns their number. Never waits.
    fn receive(&mut self, most: usize, take: &mut dyn FnMut(&[u8], Nanos)) -> usize;

    /// Sends frames in order, as many as fit into one call, and returns the number sent. An error
    /// applies to the first frame, which is lost. Never waits.
    fn send(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) -> io::Result<usize>;

    /// Frames lost since the port was opened, because they were not read in time.
    fn overflow(&mut self) -> u64;

    /// Descriptor that is readable while a frame waits. It reports an error after the interface
    /// went down, until [`Self::calm`].
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Clears that error.
    fn calm(&self);
}
