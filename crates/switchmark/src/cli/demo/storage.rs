//! The demo's storage: writes of 4 KiB to a simulated disk behind a cut-through switch.
//!
//! Owns the device, the job and the latency that the switch adds by its profile. Never sends a
//! packet.

use measure::{ByteCount, Nanos};
use sim::HostModel;
use study::StudySpec;
use study::request::given::Given;
use study::storage::Storage;
use trial::{Jobs, QueueDepth};

use super::simulated;
use crate::config::request;
use crate::config::resolved::Testbed;

/// The switch's name, and its testbed's.
const NAME: &str = "storage";
pub const TESTBED: &str = "sim:demo-storage";

/// Latency of the switch in each direction; a cut-through switch adds nothing else.
const LATENCY: Nanos = Nanos::from_micros(10);
/// Service time of the disk.
const DISK: Nanos = Nanos::from_micros(100);

/// Latency that the switch adds to each operation: a request and its answer pass it.
pub fn added() -> Nanos {
    LATENCY * 2
}

/// One write at a time.
pub fn run() -> (Testbed, Vec<StudySpec>) {
    let text = format!(
        "name = \"{NAME}\"\nports = 2\nrate = \"10Gbit\"\nlink_delay = \"0us\"\n\
         forwarding = {{ mode = \"cut-through\", latency = \"{LATENCY}\" }}\n\
         buffer = {{ per_port = \"1MiB\" }}\n"
    );
    let place = simulated(NAME, &text, HostModel { mtu: 9000, ..HostModel::ideal(2) });
    let asked = Storage {
        ramdisk: Some(Given::new((DISK, DISK))),
        rw: Some(Given::new("randwrite".to_owned())),
        bs: vec![Given::new(ByteCount(4096))],
        iodepth: vec![Given::new(QueueDepth::known(1))],
        numjobs: Some(Given::new(Jobs::known(1))),
        ..Storage::default()
    };
    let study = request::from_flags(&asked, &place).expect("a job that the model can run");
    (place, vec![study])
}
