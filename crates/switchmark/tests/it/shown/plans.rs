//! Plans at random: one to three studies, some of one kind, with options of every study. Most
//! measure for as short as the simulator allows: what is shown of a figure is asked, not how good
//! it is.

use std::fmt::Write as _;

/// A plan as TOML.
pub fn draw(seed: u64) -> String {
    let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66);
    let testbed = chance.one(&[
        "sim:x450a-48t,hosts=4",
        "sim:x450a-48t,hosts=4,cabling=device",
        "sim:teg-s16g,hosts=4",
        "sim:trident2,hosts=4",
        "sim:x450a-48t,hosts=6,pps_limit=200000",
    ]);
    let hosts = if testbed.contains("hosts=6") { 6 } else { 4 };
    let mut plan = format!("testbed = \"{testbed}\"\nseed = {seed}\n");
    let studies = 1 + chance.below(3);
    let first = chance.below(KINDS.len() as u64) as usize;
    for nth in 0..studies {
        // Two of one kind are what a page can mix up.
        let again = nth > 0 && chance.percent(60);
        let kind = if again { first } else { (first + nth as usize * 3) % KINDS.len() };
        let (name, options) = KINDS[kind];
        let _ = write!(plan, "[[study]]\n[study.{name}]\n{}", options(&mut chance, hosts));
    }
    plan
}

/// Mostly too short for a steady state, sometimes long enough.
const SHORT: [&str; 4] = ["10ms", "10ms", "10ms", "40ms"];

type Options = fn(&mut Chance, u64) -> String;

const KINDS: [(&str, Options); 10] = [
    ("latency", latency),
    ("forwarding", forwarding),
    ("storage", storage),
    ("tcp", tcp),
    ("sessions", sessions),
    ("fabric", fabric),
    ("buffer", buffer),
    ("switching", switching),
    ("depth", depth),
    ("failover", failover),
];

fn latency(chance: &mut Chance, hosts: u64) -> String {
    let mut own = format!(
        "protocols = [{}]\nsizes = [{}]\nloads = [{}]\nduration = \"{}\"\nblocks = {}\n",
        chance.some(&["\"icmp\"", "\"udp\"", "\"tcp\""]),
        chance.some(&["64", "512", "1518"]),
        chance.some(&["\"idle\"", "\"udp:20kpps\"", "\"udp:5kpps@512\"", "\"tcp\"", "\"tcp:2\""]),
        chance.one(&SHORT),
        chance.one(&["3", "3", "6"]),
    );
    if chance.percent(40) {
        let _ = writeln!(own, "open_loop = \"{}\"", chance.one(&["2kpps", "10kpps"]));
    }
    own + &ports(chance, hosts)
}

fn forwarding(chance: &mut Chance, hosts: u64) -> String {
    let tests = [
        "\"flood\"",
        "\"throughput\"",
        "\"latency\"",
        "\"loss-curve\"",
        "\"back-to-back\"",
        "\"recovery\"",
        "\"reset\"",
    ];
    let duration = chance.one(&SHORT);
    let mut own = format!(
        "tests = [{}]\nsizes = [{}]\nduration = \"{duration}\"\nfinal_duration = \"{duration}\"\n\
         precision = 0.05\nlatency_duration = \"{duration}\"\nlatency_repeats = 3\n\
         burst_duration = \"{duration}\"\nburst_repeats = 3\noverload_duration = \"{duration}\"\n\
         reset_duration = \"50ms\"\nblocks = 3\n",
        chance.some(&tests),
        chance.some(&["64", "512", "1518"]),
    );
    if chance.percent(40) {
        let _ = writeln!(own, "search = [{}]", chance.some(&["\"rfc2544\"", "\"ndr\"", "\"pdr\""]));
    }
    let more = [
        "bidirectional = true",
        "vlan = 7",
        "ipv6 = true",
        "senders = 4",
        "mixes = [\"imix\"]",
        "source_ports = 16",
        "method = \"binary\"",
    ];
    for option in more {
        if chance.percent(30) {
            let _ = writeln!(own, "{option}");
        }
    }
    own + &ports(chance, hosts)
}

fn storage(chance: &mut Chance, hosts: u64) -> String {
    let mut own = format!(
        "rw = \"{}\"\nbs = [{}]\niodepth = [{}]\nnumjobs = {}\nduration = \"{}\"\nblocks = {}\n",
        chance.one(&["read", "randwrite", "randread", "randrw", "rw"]),
        chance.some(&["\"4k\"", "\"64k\""]),
        chance.some(&["1", "4", "16"]),
        chance.one(&["1", "2"]),
        chance.one(&["50ms", "50ms", "300ms"]),
        chance.one(&["3", "3", "6"]),
    );
    let is_mixed = own.contains("\"randrw\"") || own.contains("\"rw\"");
    if is_mixed {
        let _ = writeln!(own, "rwmixread = {}", chance.one(&["10", "70", "90"]));
    }
    if chance.percent(30) {
        own += "replicas = [\"h3/eth1\"]\n";
    }
    let _ = hosts;
    own
}

fn tcp(chance: &mut Chance, hosts: u64) -> String {
    let mut own = format!(
        "streams = {}\nduration = \"{}\"\nomit = \"100ms\"\nblocks = 3\n",
        chance.one(&["1", "3"]),
        chance.one(&["300ms", "300ms", "1s"]),
    );
    own += chance.one(&["", "", "reverse = true\n", "bidir = true\n"]);
    own + &ports(chance, hosts)
}

fn sessions(chance: &mut Chance, hosts: u64) -> String {
    let own = format!(
        "tests = [{}]\nduration = \"100ms\"\nfinal_duration = \"200ms\"\nhold = \"100ms\"\n\
         most = {}\nblocks = 3\n",
        chance.some(&["\"rate\"", "\"concurrent\"", "\"handshake\""]),
        chance.one(&["300", "2000"]),
    );
    own + &ports(chance, hosts)
}

fn fabric(chance: &mut Chance, _: u64) -> String {
    let mut own =
        format!("duration = \"{}\"\nblocks = 3\n", chance.one(&["30ms", "30ms", "100ms"]));
    if chance.below(3) == 0 {
        own += "infer = true\n";
    } else {
        let _ = write!(
            own,
            "arrangements = [{}]\nmessages = [{}]\n",
            chance.some(&["\"neighbours\"", "\"sweep\"", "\"bisections=4\"", "\"tournament\""]),
            chance.some(&["\"16KiB\"", "\"64KiB\"", "\"1KiB\""]),
        );
        if chance.percent(30) {
            own += "carrier = \"datagrams\"\n";
        }
    }
    own
}

fn buffer(chance: &mut Chance, _: u64) -> String {
    let mut own = format!(
        "streams = [{}]\nduration = \"{}\"\nomit = \"200ms\"\nblocks = 3\n",
        chance.some(&["1", "4"]),
        chance.one(&["500ms", "500ms", "500ms", "2s"]),
    );
    own += chance.one(&["", "backgrounds = []\n", "backgrounds = [\"20%\"]\n"]);
    own + chance.one(&["", "congestion_controls = [\"reno\"]\n"])
}

fn switching(chance: &mut Chance, _: u64) -> String {
    let tests = [
        "\"congestion\"",
        "\"broadcast\"",
        "\"incast\"",
        "\"microburst\"",
        "\"line-rate\"",
        "\"address-caching\"",
        "\"address-learning\"",
        "\"head-of-line\"",
    ];
    let duration = chance.one(&SHORT);
    format!(
        "tests = [{}]\nsizes = [{}]\nduration = \"{duration}\"\nfinal_duration = \"{duration}\"\n",
        chance.some(&tests),
        chance.some(&["64", "512"])
    )
}

fn depth(chance: &mut Chance, _: u64) -> String {
    format!("frame_size = {}\nblocks = 3\n", chance.one(&["256", "1518"]))
}

fn failover(chance: &mut Chance, _: u64) -> String {
    format!(
        "flows = {}\nrate = \"{}\"\nbefore = \"100ms\"\naway = \"200ms\"\nafter = \"200ms\"\nblocks = 3\n{}",
        chance.one(&["1", "4"]),
        chance.one(&["1kpps", "5kpps"]),
        chance.one(&["", "bidir = true\n"]),
    )
}

/// Some other pair of hosts, or none.
fn ports(chance: &mut Chance, hosts: u64) -> String {
    if chance.percent(60) {
        return String::new();
    }
    let from = 1 + chance.below(hosts);
    let to = 1 + (from + chance.below(hosts - 1)) % hosts;
    format!("from = \"h{from}/eth1\"\nto = \"h{to}/eth1\"\n")
}

/// Steele and others' SplitMix64.
pub struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    /// One or two of them, in their order.
    fn some(&mut self, of: &[&str]) -> String {
        let wanted = 1 + self.below(2);
        let mut chosen: Vec<usize> = Vec::new();
        while (chosen.len() as u64) < wanted {
            let at = self.below(of.len() as u64) as usize;
            if !chosen.contains(&at) {
                chosen.push(at);
            }
        }
        chosen.sort_unstable();
        chosen.into_iter().map(|at| of[at]).collect::<Vec<_>>().join(", ")
    }
}
