//! Commands of the user for a device: put it into a variant, reset it, disturb it.
//!
//! Data only: the controller executes them. A command is a line for `sh -c`, taken from the testbed
//! file as it stands; nothing is ever inserted.

use std::collections::BTreeMap;

use measure::Nanos;

/// Commands by device name; a device without any is absent.
pub type Hooks = BTreeMap<String, DeviceHooks>;

/// The commands for one device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceHooks {
    /// Commands by variant name.
    pub variants: BTreeMap<String, VariantHook>,
    /// Command that resets the device (RFC 6201); returns when the reset has started.
    pub reset: Option<String>,
    /// Disturbances under load, by name.
    pub deeds: BTreeMap<String, DeedHook>,
}

/// Commands that disturb a device and undo that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeedHook {
    /// Command that disturbs the device; exit status 0 means that it is done.
    pub run: String,
    /// Command that undoes it. It may be run without a disturbance, or twice.
    pub undo: Option<String>,
    /// Time-out of each command.
    pub timeout: Nanos,
    /// Check that the device has recovered.
    pub ready: Option<Ready>,
    /// Time after the trial during which the device is left alone.
    pub settle: Nanos,
}

/// Commands that put a device into a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantHook {
    /// Command that applies the variant; exit status 0 means that the device will come up.
    pub apply: String,
    /// Time-out of the command.
    pub timeout: Nanos,
    /// Check that the device is up; `None` to rely on the end of `apply`.
    pub ready: Option<Ready>,
    /// Command whose output is recorded with every trial of the variant: `uname -r`.
    pub probe: Option<String>,
}

/// Check that a device is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// Method of the check.
    pub by: ReadyBy,
    /// Time after which the variant counts as failed.
    pub timeout: Nanos,
}

/// Method to check that a device is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadyBy {
    /// A TCP connection to `host:port` is accepted.
    Tcp(String),
    /// The command exits with status 0.
    Command(String),
}
