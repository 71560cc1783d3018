//! The storage host's side of a flow: a server for the trial if one is requested, and the times of
//! its disk.
//!
//! Owns nbdkit's life: it listens on the flow's address only while the trial is prepared and runs,
//! and serves only clients with the trial's token. Serves only memory.

use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use dataplane::{End, FlowError, Halt, Identity, Side, Window, clock};
use measure::Nanos;
use trial::record::{ServerRecord, ServiceTimes, StorageRecord};
use trial::{ServedMemory, Storage};

use super::room::Room;
use super::{GLANCE, contents, end, find, last_words, leashed, scratch};

/// Time-out until nbdkit listens.
const PATIENCE: Nanos = Nanos::from_secs(5);
/// Number of concurrent operations per connection.
const THREADS: &str = "256";

/// Storage side of a flow.
pub struct StorageServer {
    server: Option<Serving>,
    disk: Option<String>,
}

/// A running nbdkit.
struct Serving {
    child: Child,
    port: u16,
    stats: File,
}

impl Side for StorageServer {
    type Flow = Storage;
    type Report = StorageRecord;

    /// Starts the server, and checks that the disk exists.
    fn open(spec: &End<Storage>, _halt: &Halt) -> Result<Self, FlowError> {
        if let Some(disk) = &spec.flow.disk {
            diskstats(disk)?;
        }
        if let Some(server) = spec.flow.server {
            let failed = |e| FlowError::kernel("read", "/proc/meminfo", e);
            let room = Room::of_memory().map_err(failed)?;
            room.admit(server.size.0, "a server", "this host's memory", "give a smaller `size`")?;
        }
        let server = spec.flow.server.map(|server| Serving::start(spec, server)).transpose()?;
        Ok(Self { server, disk: spec.flow.disk.clone() })
    }

    fn port(&self) -> u16 {
        self.server.as_ref().map_or(0, |server| server.port)
    }

    /// Serves until the window closes.
    fn run(self, window: Window, halt: &Halt) -> Result<StorageRecord, FlowError> {
        clock::rest_until(window.start, || halt.is_requested());
        let disk = self.disk.as_deref();
        let before = disk.map(diskstats).transpose()?;
        clock::rest_until(window.closed, || halt.is_requested());
        let after = disk.map(diskstats).transpose()?;
        let served = self.server.map(Serving::finish).transpose()?.flatten();
        let disk = before.zip(after).map(|(before, after)| ServiceTimes {
            reads: after.reads.saturating_sub(before.reads),
            reading: after.reading.saturating_sub(before.reading),
            writes: after.writes.saturating_sub(before.writes),
            writing: after.writing.saturating_sub(before.writing),
        });
        Ok(StorageRecord { server: ServerRecord { served, disk }, ..StorageRecord::default() })
    }
}

impl Serving {
    fn start(spec: &End<Storage>, server: ServedMemory) -> Result<Self, FlowError> {
        let program = find("nbdkit")?;
        let (stats, complaints) = (scratch()?, scratch()?);
        let pipe = |file: &File| {
            file.try_clone().map(Stdio::from).map_err(|e| FlowError::kernel("open", "a pipe", e))
        };
        let port = free_port(spec)?;
        let mut child = leashed(&program)
            .args(["--foreground", "--exit-with-parent", "--threads", THREADS])
            .args(["--ipaddr", &spec.local.to_string(), "--port", &port.to_string()])
            .args(["--filter=exportname", "--filter=stats", "--filter=delay", "memory"])
            .arg(server.size.0.to_string())
            .arg(format!("exportname={}", export_name(spec.identity)))
            .args(["exportname-strict=true", "exportname-list=error", "statsfile=/dev/stdout"])
            .arg(format!("rdelay={}ms", milliseconds(server.read)?))
            .arg(format!("wdelay={}ms", milliseconds(server.write)?))
            .stdin(Stdio::null())
            .stdout(pipe(&stats)?)
            .stderr(pipe(&complaints)?)
            .spawn()
            .map_err(|e| FlowError::kernel("start", "nbdkit", e))?;
        let address = SocketAddr::new(spec.local, port);
        let deadline = clock::monotonic() + PATIENCE;
        loop {
            if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok() {
                return Ok(Self { child, port, stats });
            }
            let ended = matches!(child.try_wait(), Ok(Some(_)));
            if ended || clock::monotonic() >= deadline {
                end(&mut child);
                let said = contents(&complaints)?.replace(&export_name(spec.identity), EXPORT);
                let said = last_words(&said);
                return Err(FlowError::Unsuitable(format!(
                    "nbdkit does not listen on {address}: {said}"
                )));
            }
            std::thread::park_timeout(GLANCE.as_duration());
        }
    }

    /// Ends the server. Returns the time that it spent on operations; `None` if there were none.
    fn finish(mut self) -> Result<Option<ServiceTimes>, FlowError> {
        end(&mut self.child);
        Ok(served(&contents(&self.stats)?))
    }
}

/// Ends the server even if its trial never ran.
impl Drop for Serving {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Placeholder for an export's name in anything that is kept.
pub(super) const EXPORT: &str = "trial";

/// Export name that a client must request; it contains the trial's token, which is secret.
pub(super) fn export_name(identity: Identity) -> String {
    format!("trial-{:08x}-{}", identity.token, identity.flow)
}

/// Converts a delay to milliseconds, the smallest unit of nbdkit's delay filter.
fn milliseconds(delay: Nanos) -> Result<u64, FlowError> {
    if delay.0.is_multiple_of(1_000_000) {
        return Ok(delay.0 / 1_000_000);
    }
    Err(FlowError::Unavailable {
        asked: format!("a disk that takes {delay}"),
        why: "nbdkit delays by whole milliseconds: serve 0ms, 1ms, 2ms… (a `sim:` testbed has any)"
            .into(),
    })
}

/// Finds a free port; nbdkit accepts no open socket except from systemd.
fn free_port(spec: &End<Storage>) -> Result<u16, FlowError> {
    let failed = |e| FlowError::kernel("bind tcp socket to", spec.local, e);
    let listener = TcpListener::bind(SocketAddr::new(spec.local, 0)).map_err(failed)?;
    Ok(listener.local_addr().map_err(failed)?.port())
}

/// Parses nbdkit's statistics: `read: 217 ops, 0.274211 s, 868.00 KiB, …`.
fn served(text: &str) -> Option<ServiceTimes> {
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let (count, rest) = line.trim().split_once(" ops, ")?;
        let (seconds, _) = rest.split_once(" s,")?;
        let seconds: f64 = seconds.parse().ok()?;
        Some((count.parse::<u64>().ok()?, Nanos((seconds * 1e9) as u64)))
    };
    let (read, write) = (of("read:"), of("write:"));
    if read.is_none() && write.is_none() {
        return None;
    }
    let (reads, reading) = read.unwrap_or_default();
    let (writes, writing) = write.unwrap_or_default();
    Some(ServiceTimes { reads, reading, writes, writing })
}

/// Reads the kernel's counts for a disk.
fn diskstats(disk: &str) -> Result<ServiceTimes, FlowError> {
    let path = "/proc/diskstats";
    let text = std::fs::read_to_string(path).map_err(|e| FlowError::kernel("read", path, e))?;
    of_disk(&text, disk).ok_or_else(|| FlowError::Unavailable {
        asked: format!("the disk `{disk}`"),
        why: "this host has none of that name; `lsblk` lists them".into(),
    })
}

/// Parses a disk's line (Documentation/admin-guide/iostats.rst): reads completed, merged, sectors,
/// ms; then the same for writes. Flushes have fields of their own.
fn of_disk(text: &str, disk: &str) -> Option<ServiceTimes> {
    let line = text.lines().find(|line| line.split_whitespace().nth(2) == Some(disk))?;
    let field = |at: usize| line.split_whitespace().nth(at)?.parse::<u64>().ok();
    Some(ServiceTimes {
        reads: field(3)?,
        reading: Nanos::from_millis(field(6)?),
        writes: field(7)?,
        writing: Nanos::from_millis(field(10)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nbdkit_and_the_kernel_print() {
        let printed = "total: 454 ops, 3.302098 s, 1.77 MiB, 549.95 KiB/s\n\
                       read: 217 ops, 0.274211 s, 868.00 KiB, 3.09 MiB/s op, 262.86 KiB/s total\n\
                       write: 237 ops, 0.547895 s, 948.00 KiB, 1.69 MiB/s op, 287.09 KiB/s total\n";
        let times = served(printed).unwrap();
        assert_eq!((times.reads, times.writes), (217, 237));
        assert_eq!((times.reading, times.writing), (Nanos(274_211_000), Nanos(547_895_000)));
        assert_eq!(served(""), None);
        let stats = " 259       0 nvme0n1 100 0 800 250 300 5 2400 900 0 700 1150 0 0 0 0 40 80\n";
        let times = of_disk(stats, "nvme0n1").unwrap();
        assert_eq!((times.read(), times.write()), (Some(2_500_000.0), Some(3_000_000.0)));
        assert_eq!(of_disk(stats, "sda"), None);
    }
}
