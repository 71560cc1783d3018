//! Debian's snmpd as the device, with the counters of this machine's own loopback.
//!
//! Owns the processes that it starts, and a folder for each. Skipped where snmpd is missing.

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use management::Doubt;
use management::snmp::{
    Access, AuthProtocol, Cipher, Reader, Refusal, Secret, SnmpError, Suspect, Target,
};

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
        fs::write(folder.join("snmpd.conf"), CONFIGURATION).expect("a configuration");
        let child = Self::command(&folder, udp_port).spawn();
        let Ok(child) = child else {
            fs::remove_dir_all(&folder).expect("remove the folder");
            println!("skipped: snmpd is not installed");
            return None;
        };
        let device = Self { child, folder, udp_port };
        device.wait();
        Some(device)
    }

    fn command(folder: &Path, udp_port: u16) -> Command {
        let mut command = Command::new("snmpd");
        command.args(["-f", "-Lo", "-I", "-smux", "-C", "-c"]).arg(folder.join("snmpd.conf"));
        command.arg(format!("udp:127.0.0.1:{udp_port}"));
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
            .env("SNMP_PERSISTENT_DIR", folder.join("state"))
            .env("SNMPCONFPATH", folder)
            .env("MIBS", "");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Restarts the device as after a power cut: with the same engine, one boot later.
    fn restart(&mut self) {
        self.child.kill().expect("an end");
        self.child.wait().expect("an end");
        self.child = Self::command(&self.folder, self.udp_port).spawn().expect("snmpd");
    }

    /// Waits until it answers, and has loaded its interfaces twice: at first it reports 0 for
    /// ifHCInUcastPkts.
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
        let timeout = Duration::from_secs(1);
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

fn user(user: &str, auth: Option<(AuthProtocol, &str)>, privacy: Option<(Cipher, &str)>) -> Access {
    let secret = |text: &str| Secret::new(text.to_owned());
    Access::V3 {
        user: user.to_owned(),
        auth: auth.map(|(protocol, password)| (protocol, secret(password))),
        privacy: privacy.map(|(cipher, password)| (cipher, secret(password))),
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
    // The agent caches its values for three seconds.
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

#[test]
fn a_user_reads_what_a_community_reads() {
    let Some(mut device) = Device::start() else { return };
    let access = |device: &Device| {
        let secret = (AuthProtocol::Sha1, "authentic-1");
        device.reader(user("reader", Some(secret), Some((Cipher::Aes128, "private-1"))))
    };
    let mut reader = access(&device);
    let account = reader.read().expect("an account");
    let mut by_community = device.reader(community("open-sesame"));
    let ports = by_community.read().expect("an account").ports;
    assert!(account.ports.contains_key("lo"));
    assert!(account.ports.keys().eq(ports.keys()), "{account:?}");
    assert_eq!(reader.facts().expect("facts")["sysName"], "sw1.example");
    assert_eq!(reader.neighbours().expect("none"), []);
    let signed = user("signer", Some((AuthProtocol::Sha256, "authentic-2")), None);
    device.reader(signed).read_only(&["lo".to_owned()]).expect("an account");

    // The same engine with one boot more: the reader continues, and the account shows it.
    sleep(Duration::from_millis(1100));
    device.restart();
    let began = Instant::now();
    let later = loop {
        match reader.read_only(&["lo".to_owned()]) {
            Ok(later) => break later,
            Err(SnmpError::Closed { .. } | SnmpError::Silence { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        assert!(began.elapsed() < Duration::from_secs(20), "snmpd does not answer");
    };
    assert_eq!(later.since(&account).doubts, [Doubt::Restarted]);
}

#[test]
fn credentials_that_are_not_the_device_s_are_told_apart() {
    let Some(device) = Device::start() else { return };
    let right = Some((AuthProtocol::Sha1, "authentic-1"));
    let aes = Some((Cipher::Aes128, "private-1"));
    for (access, why) in [
        (user("nobody", right, aes), Refusal::UnknownUser),
        (user("reader", Some((AuthProtocol::Sha1, "authentic-9")), aes), Refusal::WrongDigest),
        (user("reader", Some((AuthProtocol::Md5, "authentic-1")), aes), Refusal::WrongDigest),
        (user("signer", Some((AuthProtocol::Sha256, "authentic-2")), aes), Refusal::Level),
    ] {
        let error = device.reader(access.clone()).read().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("authentic-"), "{error:?}");
        let SnmpError::Refused { why: said, .. } = &error else { panic!("{access:?}: {error}") };
        assert_eq!(*said, why, "{access:?}");
    }
    // net-snmp drops a message that decrypts to nothing valid.
    let other = Some((Cipher::Aes128, "private-9"));
    let error = device.reader(user("reader", right, other)).read().unwrap_err();
    assert!(matches!(error, SnmpError::Silence { suspect: Some(Suspect::Privacy), .. }), "{error}");
    // A user with encrypted access only is refused without encryption.
    let error = device.reader(user("reader", right, None)).read().unwrap_err();
    assert!(error.to_string().ends_with("the device says authorizationError"), "{error}");
    let error = device.reader(user("reader", None, aes)).read().unwrap_err();
    assert!(matches!(error, SnmpError::Credentials { .. }), "{error}");
    let short = user("reader", Some((AuthProtocol::Sha1, "short")), None);
    let error = device.reader(short).read().unwrap_err();
    assert!(matches!(error, SnmpError::Credentials { .. }), "{error}");

    let error = device.reader(community("wrong")).read().unwrap_err();
    assert!(
        matches!(error, SnmpError::Silence { suspect: Some(Suspect::Community), .. }),
        "{error}"
    );
    let unknown = device.reader(community("open-sesame")).read_only(&["swp1".to_owned()]);
    let error = unknown.unwrap_err().to_string();
    assert!(
        error.contains("find port swp1 of 127.0.0.1:") && error.contains("it has lo"),
        "{error}"
    );
}
