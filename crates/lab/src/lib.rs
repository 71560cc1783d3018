//! Hosts, cables and devices on this machine, built only from the kernel, an emulator and a model.
//!
//! Owns the namespaces, virtual cables, bridges, routers, virtual machines, emulated devices and
//! port limits of a lab, the variants and disturbances of its devices, and entering a namespace in
//! general. A lab is planned first, without touching anything, and then built. It lives in file
//! descriptors of this process: dropping the [`Lab`], or the death of the process by any signal,
//! removes all of it. Never writes a name under `/var/run/netns`, never changes a sysctl or link
//! outside its own namespaces, and knows nothing of studies.

mod build;
mod deeds;
mod drops;
mod emulated;
mod equipment;
mod error;
mod furnish;
mod limit;
mod namespace;
mod plan;
mod privilege;
mod router_ports;
mod spec;
mod subject_state;
pub mod sysctl;
mod unpoisoned;
mod variant;
pub mod vm;

pub use build::Lab;
pub use emulated::{EdgeReading, Emulation, EmulatorReading, HOST_QUEUE_FRAMES, LATE};
pub use equipment::{Cause, Equipment, FramePort, Guard, Switchboard, XdpForwarder};
pub use error::LabError;
pub use limit::{PortLimit, Shaper};
pub use namespace::Namespace;
pub use plan::{
    BLOCK_ADDRESSES, CablePlan, DeviceKind, DevicePlan, DevicePortPlan, FarEnd, HostPlan,
    HostPortPlan, InterfacePlan, LabPlan, NodePlan, RoutePlan, SubjectPlan, TWIN_PREFIX, twin,
};
pub use privilege::{Privilege, enter_user_namespace, privilege};
pub use spec::{
    BridgesSpec, DEFAULT_MTU, Drops, EmulatedSpec, LabDevice, LabSpec, MAX_DEVICES, MAX_GROUPS,
    MAX_HOSTS, Policer, RandomLoss, SpecError, VmRole, VmSpec,
};
pub use subject_state::PortDeed;
pub use variant::with_own_sysfs;
