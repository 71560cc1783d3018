//! What the user's own commands can do to a device: put it into a variant, reset it, disturb it.
//!
//! Data only: the controller executes it. A command is a line for `sh -c`, taken from the testbed
//! file as it stands; nothing is ever put into it.

use std::collections::BTreeMap;

use measure::Nanos;

/// By device name; devices without any are absent.
pub type Hooks = BTreeMap<String, DeviceHooks>;

/// The commands for one device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceHooks {
    /// By variant name.
    pub variants: BTreeMap<String, VariantHook>,
    /// Resets it (RFC 6201); returns when the reset was begun.
    pub reset: Option<String>,
    /// What may be done to it while a load runs, by the deed's name.
    pub deeds: BTreeMap<String, DeedHook>,
}

/// How something is done to a device, and undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeedHook {
    /// Does it; exit status 0 means that it is done.
    pub run: String,
    /// Takes it back. It may be run where nothing was done, or twice.
    pub undo: Option<String>,
    /// For so long either may run.
    pub timeout: Nanos,
    /// What tells that the device is as it was.
    pub ready: Option<Ready>,
    /// For so long it is left alone after the trial.
    pub settle: Nanos,
}

/// How a device gets into a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantHook {
    /// Puts it there; exit status 0 means that it will come up.
    pub apply: String,
    /// For so long it may run; then it counts as hanging.
    pub timeout: Nanos,
    /// What tells that it is up; without it, the end of `apply` does.
    pub ready: Option<Ready>,
    /// Its output is recorded with every trial of the variant: `uname -r`.
    pub probe: Option<String>,
}

/// What tells that a device is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// How it is asked.
    pub by: ReadyBy,
    /// After this the variant counts as failed.
    pub timeout: Nanos,
}

/// How a device is asked whether it is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadyBy {
    /// A TCP connection to `host:port` is accepted.
    Tcp(String),
    /// The command exits with status 0.
    Command(String),
}
