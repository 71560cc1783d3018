//! Debian's snmpd as the device, with the counters of this machine's own loopback.
//!
//! Owns the processes that it starts, and a folder for each. Skipped where snmpd is missing.

use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use management::snmp::{Access, Reader, Secret, Target};

const CONFIGURATION: &str = "\
rocommunity open-sesame 127.0.0.1
sysName sw1.example
createUser reader SHA \"authentic-1\" AES \"private-1\"
createUser signer SHA-256 \"authentic-2\"
rouser reader priv
rouser signer auth
";

/// An snmpd that ends with the test.
struct Device {
    child: Child,
    folder: PathBuf,
    udp_port: u16,
}

impl Device {
    /// `None` where there is no snmpd.
    fn start() -> Option<Self> {
        let udp_port =
            UdpSocket::bind("127.0.0.1:0").and_then(|s| s.local_addr()).expect("a port").port();
        let folder = std::env::temp_dir().join(format!("switchmark-snmpd-{udp_port}"));
        fs::create_dir_all(&folder).expect("a folder");
        let configuration = folder.join("snmpd.conf");
        fs::write(&configuration, CONFIGURATION).expect("a configuration");
        let mut command = Command::new("snmpd");
        command.args(["-f", "-Lo", "-I", "-smux", "-C", "-c"]).arg(&configuration);
        command
            .arg(format!("udp:127.0.0.1:{udp_port}"))
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("SNMP_PERSISTENT_DIR", &folder).env("SNMPCONFPATH", &folder).env("MIBS", "");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let Ok(child) = child else {
            fs::remove_dir_all(&folder).expect("remove the folder");
            println!("skipped: snmpd is not installed");
            return None;
        };
        let device = Self { child, folder, udp_port };
        device.wait();
        Some(device)
    }

    /// Until it answers, and has loaded its interfaces twice: what it says of ifHCInUcastPkts the
    /// first time is 0.
    fn wait(&self) {
        let began = Instant::now();
        let mut reader = self.reader(community("open-sesame"));
        loop {
            let account = reader.read_only(&["lo".to_owned()]);
            let counts = account.is_ok_and(|account| {
                account.ports["lo"].get("rx_packets").is_some_and(|counter| counter.value > 0)
            });
            if counts {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "snmpd does not count");
            sleep(Duration::from_millis(100));
        }
    }

    fn reader(&self, access: Access) -> Reader {
        let address = format!("127.0.0.1:{}", self.udp_port);
        let timeout = Duration::from_millis(500);
        Reader::new(Target { address, access, timeout, retries: 1 }, Vec::new())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn community(text: &str) -> Access {
    Access::V2c { community: Secret::new(text.to_owned()) }
}

#[test]
fn loopback_counts_what_is_sent_over_it() {
    let Some(device) = Device::start() else { return };
    let mut reader = device.reader(community("open-sesame"));
    let lo = ["lo".to_owned()];
    let before = reader.read_only(&lo).expect("an account");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let sink = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = sink.local_addr().expect("an address");
    for _ in 0..5000 {
        socket.send_to(&[0; 100], to).expect("a frame");
    }
    // The agent keeps what it read for three seconds.
    sleep(Duration::from_millis(3200));
    let after = reader.read_only(&lo).expect("an account");
    let changes = after.since(&before);
    assert_eq!(changes.doubts, []);
    for (counter, least) in
        [("rx_packets", 5000), ("tx_packets", 5000), ("rx_bytes", 640_000), ("tx_bytes", 640_000)]
    {
        let counted = changes.ports["lo"][counter];
        assert!(counted >= least, "{counter}: {counted}");
        assert!(!after.ports["lo"][counter].narrow);
    }
    assert_eq!(changes.ports["lo"]["rx_dropped"], 0);
    assert!(!after.ports["lo"].contains_key("rx_pause"), "a counter that the device does not have");
    assert!(after.uptime_cs > before.uptime_cs);
}
