//! A device whose SNMP agent is slow, broken, or hostile.
//!
//! Owns the agent, on this thread's own loopback address, and two hosts in namespaces that are
//! tried over it. Its answers are well-formed as far as they go, then bent by dice. What must hold:
//! a run ends in its time or within three seconds of being asked to.

use std::fmt::Write as _;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Outcome;
use super::child::Watched;
use super::ground::{Ground, ip};
use super::mutate::{Dice, mutated};

const ADDRESS: &str = "127.0.0.1:161";
const HOSTS: [&str; 2] = ["attack-h1", "attack-h2"];
/// The column of the names of interfaces (IF-MIB, RFC 2863), in BER.
const IF_NAME: [u8; COLUMN] = [0x2b, 6, 1, 2, 1, 31, 1, 1, 1, 1];
/// The octets of a column's number there; a row's number follows.
const COLUMN: usize = 10;
/// Before it is asked to end: a walk of a few rows is done by then.
const PATIENCE: Duration = Duration::from_millis(2500);

/// Behaviour of the agent.
#[derive(Debug, Clone, Copy)]
enum Manner {
    Slow,
    Endless,
    Repeating,
    Backward,
    Long,
    Flood,
    Bent,
    Garbage,
    Silent,
    TooBig,
}

const MANNERS: [Manner; 10] = [
    Manner::Slow,
    Manner::Endless,
    Manner::Repeating,
    Manner::Backward,
    Manner::Long,
    Manner::Flood,
    Manner::Bent,
    Manner::Garbage,
    Manner::Silent,
    Manner::TooBig,
];

pub fn ask(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    let manner = *dice.one(&MANNERS);
    let testbed = testbed(ground)?;
    let socket = UdpSocket::bind(ADDRESS).with_context(|| format!("bind {ADDRESS}"))?;
    socket.set_read_timeout(Some(Duration::from_millis(20)))?;
    let over = AtomicBool::new(false);
    let end = thread::scope(|scope| {
        let agent = scope.spawn(|| answer_until(&over, &socket, manner, dice.clone()));
        let mut command = ground.command(&["forwarding", "--flood", "--size", "512", "--quiet"]);
        command.args(["-t", "50ms", "--blocks", "1", "--testbed"]).arg(&testbed);
        command.arg("--store").arg(ground.thrown_journal());
        let end = Watched::start(command).and_then(|run| run.end_within(PATIENCE));
        over.store(true, Ordering::Relaxed);
        agent.join().expect("an agent does not panic");
        end
    })?;
    remove_hosts();
    Ok(Outcome::new(end, format!("{manner:?}").into_bytes()))
}

/// Writes a testbed of two hosts and a cable, declared as a switch that answers SNMP.
fn testbed(ground: &Ground) -> Result<String> {
    remove_hosts();
    let [first, second] = HOSTS;
    for host in HOSTS {
        ip(&["netns", "add", host])?;
    }
    let ends = ["eth1", "netns", first, "type", "veth", "peer", "name", "eth1", "netns", second];
    ip(&[&["link", "add"][..], &ends].concat())?;
    let mut text = "[[device]]\nname = \"sw1\"\nkind = \"switch\"\n\
                    ports = { \"1\" = \"swp1\", \"2\" = \"swp2\" }\n\
                    [[device.counters]]\nsnmp = \"127.0.0.1\"\n\
                    credentials = { file = \"community\" }\n"
        .to_owned();
    for (number, host) in (1..).zip(HOSTS) {
        ip(&["-n", host, "address", "add", &format!("198.18.7.{number}/24"), "dev", "eth1"])?;
        ip(&["-n", host, "link", "set", "eth1", "up"])?;
        let _ = write!(
            text,
            "[[host]]\nname = \"h{number}\"\nreach = \"netns:{host}\"\n[[host.port]]\n\
             name = \"eth1\"\naddress = \"198.18.7.{number}/24\"\ncable = \"sw1/{number}\"\n"
        );
    }
    let file = ground.folder().join("snmp.toml");
    std::fs::write(&file, text)?;
    std::fs::write(ground.folder().join("community"), "sesame\n")?;
    Ok(file.display().to_string())
}

fn remove_hosts() {
    for host in HOSTS {
        if std::path::Path::new("/run/netns").join(host).exists() {
            let _ = ip(&["netns", "delete", host]);
        }
    }
}

fn answer_until(over: &AtomicBool, socket: &UdpSocket, manner: Manner, mut dice: Dice) {
    let mut octets = vec![0; 65_535];
    let mut row = 0;
    while !over.load(Ordering::Relaxed) {
        let Ok((length, asker)) = socket.recv_from(&mut octets) else { continue };
        let Some(ask) = Request::parse(&octets[..length]) else { continue };
        let pause = if matches!(manner, Manner::Slow) { 1_900 } else { 0 };
        // In small steps: nobody waits for the agent.
        for _ in 0..pause / 20 {
            if over.load(Ordering::Relaxed) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        for answer in answers(manner, &ask, &mut row, &mut dice) {
            let _ = socket.send_to(&answer, asker);
        }
    }
}

fn answers(manner: Manner, ask: &Request<'_>, row: &mut u32, dice: &mut Dice) -> Vec<Vec<u8>> {
    let good = |row: u32| ask.response(0, row, b"swp1");
    match manner {
        Manner::Slow | Manner::Endless => {
            *row += 1;
            vec![good(*row)]
        }
        Manner::Repeating => vec![good(1)],
        Manner::Backward => {
            *row = row.checked_sub(1).unwrap_or(1_000);
            vec![good(*row)]
        }
        Manner::Long => {
            *row += 1;
            vec![ask.response(0, *row, &vec![b'x'; 60_000])]
        }
        Manner::Flood => vec![good(1); 200],
        Manner::Bent => {
            *row += 1;
            let corpus = [good(*row), octets_of_noise(dice)];
            vec![mutated(dice, &corpus)]
        }
        Manner::Garbage => vec![octets_of_noise(dice)],
        Manner::Silent => Vec::new(),
        // RFC 3416 §4.2.3: tooBig, which asks for fewer rows at once.
        Manner::TooBig => vec![ask.response(1, 1, b"")],
    }
}

fn octets_of_noise(dice: &mut Dice) -> Vec<u8> {
    let length = dice.below(2_000);
    (0..length).map(|_| dice.below(256) as u8).collect()
}

/// Request in a message with a community (RFC 1157 §4, in BER).
struct Request<'a> {
    id: &'a [u8],
    /// The first object, as it was encoded.
    object: &'a [u8],
    /// True if it asks for the rows behind the object, not for the object itself.
    is_walk: bool,
}

impl<'a> Request<'a> {
    fn parse(octets: &'a [u8]) -> Option<Self> {
        let (message, _) = value(octets, 0x30)?;
        let (_version, rest) = value(message, 2)?;
        let (_community, rest) = value(rest, 4)?;
        let kind = *rest.first()?;
        let (request, _) = value(rest, kind)?;
        let (id, rest) = value(request, 2)?;
        let (_status, rest) = value(rest, 2)?;
        let (_index, rest) = value(rest, 2)?;
        let (list, _) = value(rest, 0x30)?;
        let (binding, _) = value(list, 0x30)?;
        let (object, _) = value(binding, 6)?;
        Some(Self { id, object, is_walk: kind != 0xa0 })
    }

    /// An answer with one row: a name where names are asked for, else a counter of 64 bits.
    fn response(&self, status: u8, row: u32, name: &[u8]) -> Vec<u8> {
        let mut object = self.object.to_vec();
        if self.is_walk {
            object.truncate(COLUMN);
            // Base 128, the last digit alone without its highest bit.
            let digits = [21, 14, 7, 0].map(|shift| (row >> shift) as u8 & 0x7f);
            let from = digits.iter().position(|digit| *digit > 0).unwrap_or(3);
            object.extend(digits[from..3].iter().map(|digit| digit | 0x80));
            object.push(digits[3]);
        }
        let held = if object.starts_with(&IF_NAME) {
            encoded(4, name)
        } else {
            encoded(0x46, &u64::from(row).to_be_bytes())
        };
        let binding = encoded(0x30, &[encoded(6, &object), held].concat());
        let list = encoded(0x30, &binding);
        let parts = [encoded(2, self.id), encoded(2, &[status]), encoded(2, &[0]), list].concat();
        let message = [encoded(2, &[1]), encoded(4, b"sesame"), encoded(0xa2, &parts)].concat();
        encoded(0x30, &message)
    }
}

/// The content of a value of that tag, and what follows it.
fn value(octets: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = octets.split_first()?;
    let (&short, rest) = rest.split_first()?;
    let (length, rest) = if short < 0x80 {
        (usize::from(short), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(short & 0x7f))?;
        (digits.iter().fold(0, |sum, digit| (sum << 8) | usize::from(*digit)), rest)
    };
    (found == tag).then(|| rest.split_at_checked(length)).flatten()
}

fn encoded(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag, 0x83];
    out.extend(&(content.len() as u32).to_be_bytes()[1..]);
    out.extend(content);
    out
}
