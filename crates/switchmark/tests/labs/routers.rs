//! Random routers between two hosts: translating or not, filtering or not, one or two in a row,
//! IPv4 or IPv6. Which ways open is known, and `latency`, `tcp` and `forwarding` say and measure
//! those.
//!
//! Needs root, iproute2 and nftables. `SWITCHMARK_SEED=n` draws one router alone.

use std::process::{Command, Output};
use std::time::Instant;

use rand::SeedableRng as _;
use rand::seq::IndexedRandom as _;
use rand::{Rng, RngExt as _};
use rand_pcg::Pcg64;
use serde_json::Value;

use crate::harness::spaces::{Spaces, cable, call, host_table, ip, space};
use crate::harness::{Scratch, alone, full, json, switchmark};

/// Longest run of one study that measures a few tenths of a second.
const LONGEST_S: f64 = 90.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nat {
    None,
    Masquerade,
    /// Another source port for every conversation.
    Random,
    /// Source ports of a short range.
    Ports,
}

/// What a filter does with conversations that begin outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filter {
    Open,
    Drops,
    Rejects,
}

/// What passes at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passes {
    All,
    Icmp,
    /// TCP to port 443.
    Https,
}

#[derive(Debug, Clone)]
struct Case {
    v6: bool,
    /// From the inside out.
    routers: Vec<(Nat, Filter)>,
    passes: Passes,
    /// True if the outside has a route to the inside.
    routed: bool,
    /// Seconds for which conntrack keeps an idle mapping: UDP, UDP answered, ICMP, TCP.
    timeouts_s: [u32; 4],
}

/// How `wan` sees `lan`.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    AsIs,
    As(String),
    Outside,
}

impl Case {
    fn draw(rng: &mut impl Rng) -> Self {
        let nats = [Nat::None, Nat::Masquerade, Nat::Random, Nat::Ports];
        let filters = [Filter::Open, Filter::Drops, Filter::Rejects];
        let count = rng.random_range(1..=2);
        let router = |rng: &mut _| (*nats.choose(rng).unwrap(), *filters.choose(rng).unwrap());
        Self {
            v6: rng.random(),
            routers: (0..count).map(|_| router(rng)).collect(),
            passes: *[Passes::All; 6]
                .iter()
                .chain(&[Passes::Icmp, Passes::Https])
                .collect::<Vec<_>>()
                .choose(rng)
                .copied()
                .unwrap(),
            routed: rng.random(),
            timeouts_s: [(2, 30), (2, 180), (2, 30), (10, 3600)]
                .map(|(least, most)| rng.random_range(least..=most)),
        }
    }

    fn translates(&self) -> bool {
        self.routers.iter().any(|(nat, _)| *nat != Nat::None)
    }

    fn seen(&self) -> Seen {
        match self.routers.as_slice() {
            [.., (nat, _)] if *nat != Nat::None => Seen::As(self.address(3, 1)),
            [(nat, _), _] if *nat != Nat::None => Seen::Outside,
            _ => Seen::AsIs,
        }
    }

    /// True if a conversation that begins outside reaches the inside.
    fn lets_in(&self) -> bool {
        let open = self.routers.iter().all(|(_, filter)| *filter == Filter::Open);
        open && (self.routed || !self.translates())
    }

    /// Address of a host in one of three subnets: inside, between, outside.
    fn address(&self, subnet: u8, host: u8) -> String {
        if self.v6 {
            return format!("2001:db8:{subnet}::{host}");
        }
        let prefix = match subnet {
            1 => "192.168.1",
            2 => "100.64.0",
            _ => "203.0.113",
        };
        format!("{prefix}.{host}")
    }

    fn with_prefix(&self, subnet: u8, host: u8) -> String {
        format!("{}/{}", self.address(subnet, host), if self.v6 { 64 } else { 24 })
    }

    fn subnet(&self, subnet: u8) -> String {
        if self.v6 { format!("2001:db8:{subnet}::/64") } else { self.with_prefix(subnet, 0) }
    }

    fn rules(&self, nat: Nat, filter: Filter, passes: Passes) -> Vec<String> {
        let family = if self.v6 { "ip6" } else { "ip" };
        let filters = filter != Filter::Open || passes != Passes::All;
        let mut all = Vec::new();
        if filters {
            all.push("add table inet f".to_owned());
            all.push(
                "add chain inet f fw { type filter hook forward priority 0; policy accept; }"
                    .to_owned(),
            );
            let icmp = "meta l4proto { icmp, ipv6-icmp }";
            match passes {
                Passes::All => {}
                Passes::Icmp => {
                    all.push(format!("add rule inet f fw {icmp} accept"));
                    all.push("add rule inet f fw drop".to_owned());
                }
                Passes::Https => {
                    all.push("add rule inet f fw tcp dport 443 accept".to_owned());
                    all.push("add rule inet f fw tcp sport 443 accept".to_owned());
                    all.push("add rule inet f fw drop".to_owned());
                }
            }
            all.push("insert rule inet f fw ct state established,related accept".to_owned());
            let inward = "insert rule inet f fw ct state new iifname out";
            match filter {
                Filter::Open => {}
                Filter::Drops => all.push(format!("{inward} drop")),
                Filter::Rejects => all.push(format!("{inward} reject")),
            }
        }
        if nat != Nat::None {
            all.push(format!("add table {family} n"));
            let hook = "{ type nat hook postrouting priority srcnat; }";
            all.push(format!("add chain {family} n post {hook}"));
            let rule = format!("add rule {family} n post oifname out");
            match nat {
                Nat::Random => all.push(format!("{rule} masquerade fully-random")),
                Nat::Ports => {
                    let ports = "meta l4proto { tcp, udp } masquerade to :20000-20999";
                    all.push(format!("{rule} {ports}"));
                    all.push(format!("{rule} masquerade"));
                }
                _ => all.push(format!("{rule} masquerade")),
            }
        }
        all
    }
}

/// Two hosts with the routers of a case between.
struct Bed {
    _spaces: Spaces,
    scratch: Scratch,
    v6: bool,
}

const ROUTERS: [&str; 2] = ["r1", "r2"];

impl Bed {
    fn new(case: &Case) -> Self {
        let spaces = Spaces::new(&["lan", "r1", "r2", "wan"]);
        for name in ["lan", "r1", "r2", "wan"] {
            let inside = ["netns", "exec", &space(name), "sysctl", "-qw"];
            let dad = ["net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0"];
            ip(&[&inside[..], &dad].concat());
        }
        let outer = ROUTERS[case.routers.len() - 1];
        cable(("lan", "eth1", &case.with_prefix(1, 10)), ("r1", "in", &case.with_prefix(1, 1)));
        if case.routers.len() == 2 {
            cable(("r1", "out", &case.with_prefix(2, 2)), ("r2", "in", &case.with_prefix(2, 1)));
        }
        cable((outer, "out", &case.with_prefix(3, 1)), ("wan", "eth1", &case.with_prefix(3, 10)));
        let route = |space_of: &str, to: &str, via: &str| {
            ip(&["-n", &space(space_of), "route", "add", to, "via", via]);
        };
        route("lan", "default", &case.address(1, 1));
        let inward = case.routed || !case.translates();
        if case.routers.len() == 2 {
            route("r1", "default", &case.address(2, 1));
            if case.routed || case.routers[0].0 == Nat::None {
                route("r2", &case.subnet(1), &case.address(2, 2));
            }
            // Answers to what only the inner one translates find their way.
            route("wan", &case.subnet(2), &case.address(3, 1));
        }
        if inward {
            route("wan", &case.subnet(1), &case.address(3, 1));
        }
        for (name, (nat, filter)) in ROUTERS.iter().zip(&case.routers) {
            let router = space(name);
            let inside = ["netns", "exec", &router];
            let [udp, answered, icmp, tcp] = case.timeouts_s;
            let settings = [
                "net.ipv4.ip_forward=1".to_owned(),
                "net.ipv6.conf.all.forwarding=1".to_owned(),
                format!("net.netfilter.nf_conntrack_udp_timeout={udp}"),
                format!("net.netfilter.nf_conntrack_udp_timeout_stream={answered}"),
                format!("net.netfilter.nf_conntrack_icmp_timeout={icmp}"),
                format!("net.netfilter.nf_conntrack_icmpv6_timeout={icmp}"),
                format!("net.netfilter.nf_conntrack_tcp_timeout_established={tcp}"),
            ];
            for setting in &settings {
                ip(&[&inside[..], &["sysctl", "-qw", setting]].concat());
            }
            for rule in case.rules(*nat, *filter, case.passes) {
                call("ip", &[&inside[..], &["nft", &rule]].concat());
            }
        }
        let scratch = Scratch::new("routers");
        let file = [
            host_table("lan", &case.with_prefix(1, 10), "router/lan"),
            host_table("wan", &case.with_prefix(3, 10), "router/wan"),
            "[[device]]\nname = \"router\"\nkind = \"router\"\n".to_owned(),
        ];
        std::fs::write(scratch.path("testbed.toml"), file.join("\n")).expect("writes");
        Self { _spaces: spaces, scratch, v6: case.v6 }
    }

    fn ask(&self, words: &[&str]) -> Said {
        let version = if self.v6 && words[0] == "forwarding" { &["--ipv6"][..] } else { &[] };
        let began = Instant::now();
        let output = Command::new(switchmark())
            .args([words, version].concat())
            .args(["--seed", "1", "--json", "--testbed"])
            .args([self.scratch.path("testbed.toml"), "--store".into()])
            .arg(self.scratch.path("journal.db"))
            .output()
            .expect("switchmark starts");
        let took_s = began.elapsed().as_secs_f64();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        println!("  {}: {:?} in {took_s:.1} s\n{text}", words.join(" "), output.status.code());
        Said { output, text, took_s }
    }
}

struct Said {
    output: Output,
    text: String,
    took_s: f64,
}

impl Said {
    /// Values of a metric, each with a condition's value.
    fn values(&self, metric: &str, by: &str) -> Vec<(String, f64)> {
        let document = json(&self.output);
        let rows = document["figures"].as_array().expect("figures").iter();
        let value = |row: &Value| {
            let by = row["where"][by].as_str().unwrap_or_default().to_owned();
            Some((by, row["value"].as_f64()?))
        };
        rows.filter(|row| row["metric"] == metric).filter_map(value).collect()
    }
}

const LATENCY: &[&str] = &["latency", "--blocks", "2", "--size", "128", "-t", "0.1"];
const TCP: &[&str] = &["tcp", "--blocks", "2", "-t", "0.3", "-O", "0.1"];
const FLOOD: &[&str] = &["forwarding", "--flood", "--blocks", "2", "--size", "256", "-t", "0.2"];
const UDP: &str = "UDP datagrams to a free port do not pass";
const OPENS: &str = "lan/eth1 to wan/eth1 opens and is answered";

/// What is wrong with what the studies say and measure; empty if nothing is.
fn faults(case: &Case, bed: &Bed) -> Vec<String> {
    let mut all = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            all.push(what);
        }
    };
    let latency = bed.ask(LATENCY);
    let tcp = bed.ask(TCP);
    let floods =
        ["forward", "reverse"].map(|way| bed.ask(&[FLOOD, &["--direction", way]].concat()));
    let all_of_them = [&latency, &tcp, &floods[0], &floods[1]];
    for said in all_of_them {
        must(said.took_s < LONGEST_S, format!("took {:.0} s", said.took_s));
        must(!said.text.contains("hint: nft list ruleset on wan,"), "a host is blamed".to_owned());
    }
    let outside = "under an address outside the testbed";
    let refusals = match (case.passes, case.seen()) {
        (Passes::All, Seen::Outside) if !case.lets_in() => Some([outside; 4]),
        (Passes::All, _) => None,
        (Passes::Icmp, _) => Some([UDP, "TCP connections to a free port do not open", UDP, UDP]),
        (Passes::Https, _) => Some(["nor do UDP and TCP"; 4]),
    };
    if let Some(refusals) = refusals {
        for (said, refusal) in all_of_them.into_iter().zip(refusals) {
            must(!said.output.status.success(), "not refused".to_owned());
            must(said.text.contains(refusal), format!("does not say: {refusal}"));
        }
        if case.passes == Passes::Icmp {
            let pings = bed.ask(&[LATENCY, &["--protocol", "icmp"]].concat());
            must(!pings.values("rtt", "protocol").is_empty(), "no RTT by icmp alone".to_owned());
        }
        return all;
    }
    if !case.lets_in() {
        let words = format!("{OPENS}; wan/eth1 to lan/eth1 is not let in: a NAT or firewall");
        must(latency.text.contains(&words), format!("does not say: {words}"));
    }
    match case.seen() {
        Seen::As(address) => {
            let words = format!("wan/eth1 sees lan/eth1 as {address}");
            must(latency.text.contains(&words), format!("does not say: {words}"));
        }
        _ => must(!latency.text.contains("sees lan/eth1 as"), "translated?".to_owned()),
    }
    if case.seen() == Seen::AsIs && case.lets_in() {
        must(!latency.text.contains("opens and is answered"), "a way is shut?".to_owned());
    }
    let round_trips = latency.values("rtt", "protocol");
    for protocol in ["icmp", "udp", "tcp"] {
        let has = round_trips.iter().any(|(of, rtt)| of == protocol && *rtt > 0.0);
        must(has, format!("no RTT by {protocol}"));
    }
    let goodputs = tcp.values("goodput", "from");
    for (flood, from) in floods.iter().zip(["lan/eth1", "wan/eth1"]) {
        let sends = |(of, rate): &(String, f64)| of == from && *rate > 1e6;
        must(goodputs.iter().any(sends), format!("no goodput from {from}"));
        let received = flood.values("received", "from");
        let arrives = |(of, rate): &(String, f64)| of == from && *rate > 1e3;
        must(received.iter().any(arrives), format!("no frames from {from}"));
    }
    all
}

#[test]
fn which_ways_open_through_random_routers() {
    let Some(_alone) = alone("random_routers", &["ip", "nft", "sysctl"]) else { return };
    let only: Option<u64> = std::env::var("SWITCHMARK_SEED").ok().map(|n| n.parse().expect("n"));
    let seeds = match only {
        Some(seed) => seed..seed + 1,
        None => 1..if full() { 41 } else { 2 },
    };
    let mut wrong = Vec::new();
    for seed in seeds {
        let case = Case::draw(&mut Pcg64::seed_from_u64(seed));
        println!("seed {seed}: {case:?}");
        let faults = faults(&case, &Bed::new(&case));
        println!("seed {seed}: {}", if faults.is_empty() { "right" } else { "WRONG" });
        if !faults.is_empty() {
            wrong.push(format!("seed {seed}: {case:?}: {faults:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
