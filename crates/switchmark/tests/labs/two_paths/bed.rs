//! Two hosts and two routers with several paths between them: h1 – r1 = r2 – h2.
//!
//! Owns the namespaces, the routes, and the lines that take a path away and give it back. Never
//! measures: what it writes is a testbed file for the program.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::super::harness::Scratch;
use super::super::harness::spaces::{Spaces, cable, call, host_table, ip, space};
use super::super::harness::{find, wait_for};
use super::frr::{Frr, Ospf};

/// How the routers find their way.
#[derive(Debug, Clone, Copy)]
pub enum Routing {
    /// Routes of the kernel, each with all paths as its next hops.
    Fixed,
    /// frr.
    Ospf(Ospf),
}

/// What is built.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// 1…8 of them, `p1`, `p2`…
    pub paths: u8,
    /// `net.ipv4.fib_multipath_hash_policy`: 0 chooses a path by addresses, 1 by ports too.
    pub hash_policy: u8,
    /// How paths are found.
    pub routing: Routing,
}

/// Something that is done to the bed, as lines for `sh -c`.
#[derive(Debug, Clone)]
pub struct Deed {
    /// `link-1-down`, `blackhole-1`… of each path; with frr also `kill-bfdd` and `kill-router`.
    pub name: String,
    /// What does it.
    pub run: String,
    /// What takes it back; it does no harm where nothing was done.
    pub undo: String,
}

/// The bed. Everything goes when it is dropped.
pub struct Bed {
    // Before the namespaces that they are in: fields are dropped in this order.
    routers: Vec<Frr>,
    deeds: Vec<Deed>,
    /// The testbed file: hosts `h1` and `h2` at the device `core`, with its deeds.
    pub file: PathBuf,
    plan: Plan,
    _spaces: Spaces,
}

const ROUTERS: [(&str, u8); 2] = [("r1", 1), ("r2", 2)];

impl Bed {
    /// Builds it, and waits until both routers know all their ways.
    pub fn new(scratch: &Scratch, plan: Plan) -> Self {
        let names = ["h1", "r1", "r2", "h2"];
        let spaces = Spaces::new(&names);
        for name in names {
            sysctl(
                name,
                &["net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"],
            );
        }
        // Before there are links: some of these are a link's own, from its beginning.
        for (router, _) in ROUTERS {
            let policy = format!("net.ipv4.fib_multipath_hash_policy={}", plan.hash_policy);
            // A path whose other end went down is no path.
            let dead = "net.ipv4.conf.default.ignore_routes_with_linkdown=1";
            let [any, each] = ["all", "default"].map(|s| format!("net.ipv4.conf.{s}.rp_filter=0"));
            sysctl(router, &["net.ipv4.ip_forward=1", &policy, dead, &any, &each]);
        }
        for (host, router, number) in [("h1", "r1", 1), ("h2", "r2", 2)] {
            let (own, gateway) = (format!("198.18.{number}.2/24"), format!("198.18.{number}.1"));
            cable((host, "eth1", &own), (router, "lan", &format!("{gateway}/24")));
            ip(&["-n", &space(host), "route", "add", "default", "via", &gateway]);
        }
        for path in 1..=plan.paths {
            let (port, [left, right]) = (format!("p{path}"), [1, 2].map(|end| address(path, end)));
            cable(("r1", &port, &format!("{left}/30")), ("r2", &port, &format!("{right}/30")));
        }
        let routers = match plan.routing {
            Routing::Fixed => Vec::new(),
            Routing::Ospf(how) => ROUTERS
                .map(|(name, number)| Frr::start(scratch.path(name), name, number, plan.paths, how))
                .into(),
        };
        let file = scratch.path("two-paths.toml");
        let mut bed = Self { deeds: Vec::new(), routers, file, plan, _spaces: spaces };
        match plan.routing {
            Routing::Fixed => bed.fix_routes(),
            Routing::Ospf(how) => {
                wait_for("both routers to know their ways", || bed.converged(how));
            }
        }
        bed.deeds = bed.all_deeds();
        std::fs::write(&bed.file, bed.text()).expect("a testbed file");
        bed
    }

    fn fix_routes(&self) {
        for (router, own) in ROUTERS {
            let other = 3 - own;
            let (space, net) = (space(router), format!("198.18.{other}.0/24"));
            let mut args = vec!["-n".to_owned(), space, "route".into(), "add".into(), net];
            for path in 1..=self.plan.paths {
                let (gateway, port) = (address(path, other), format!("p{path}"));
                args.extend(["nexthop".into(), "via".into(), gateway, "dev".into(), port]);
            }
            ip(&args.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    /// Whether each router has its way to the other's host over the paths that it should, and BFD
    /// watches all of them.
    fn converged(&self, how: Ospf) -> bool {
        let expected = if how.equal_cost { (1..=self.plan.paths).collect() } else { vec![1] };
        self.routers.iter().all(|router| router.sees() == usize::from(self.plan.paths))
            && ROUTERS.iter().all(|(router, _)| self.ways(router) == expected)
    }

    /// A line that succeeds while both routers use the paths that they should.
    fn ready(&self) -> String {
        let paths = match self.plan.routing {
            Routing::Ospf(Ospf { equal_cost: false, .. }) => 1,
            Routing::Fixed | Routing::Ospf(_) => self.plan.paths,
        };
        let used = |router: &str, other: u8| {
            let shown = format!("ip -n {} route show 198.18.{other}.0/24", space(router));
            let count = format!("{shown} | grep -v dead | grep -v linkdown | grep -c 'dev p'");
            format!("test $({count}) = {paths}")
        };
        format!("{} && {}", used("r1", 2), used("r2", 1))
    }

    /// Over which paths a router sends to the other's host.
    pub fn ways(&self, router: &str) -> Vec<u8> {
        let other = if router == "r1" { 2 } else { 1 };
        let net = format!("198.18.{other}.0/24");
        let text = told(&["-n", &space(router), "route", "show", &net]);
        let has = |path: &u8| {
            text.lines().any(|line| {
                let dead = line.contains(" dead") || line.contains(" linkdown");
                line.contains(&format!(" dev p{path} ")) && !dead
            })
        };
        (1..=self.plan.paths).filter(has).collect()
    }

    fn all_deeds(&self) -> Vec<Deed> {
        let r1 = space("r1");
        let mut deeds = Vec::new();
        for path in 1..=self.plan.paths {
            let link = |to: &str| format!("ip -n {r1} link set p{path} {to}");
            deeds.push(Deed {
                name: format!("link-{path}-down"),
                run: link("down"),
                undo: link("up"),
            });
            // Both directions at one end, in one transaction: none is gone before the other. The
            // carrier stays.
            let chain = |hook: &str| {
                format!(
                    "chain {hook} {{ type filter hook {hook} device p{path} priority 0; drop; }};"
                )
            };
            let nft = format!("ip netns exec {r1} nft");
            deeds.push(Deed {
                name: format!("blackhole-{path}"),
                run: format!(
                    "{nft} 'table netdev hole{path} {{ {} {} }}'",
                    chain("ingress"),
                    chain("egress")
                ),
                // Also where there is none: whoever undoes it cannot always tell.
                undo: format!(
                    "{nft} 'add table netdev hole{path}; delete table netdev hole{path}'"
                ),
            });
        }
        if let [_, r2] = &self.routers[..] {
            for (name, daemon) in [("kill-bfdd", "bfdd"), ("kill-router", "ospfd")] {
                let (run, undo) = (r2.killing(daemon), r2.starting(daemon));
                deeds.push(Deed { name: name.to_owned(), run, undo });
            }
        }
        deeds
    }

    /// A testbed file for it.
    fn text(&self) -> String {
        let mut text = "[[device]]\nname = \"core\"\nkind = \"router\"\n".to_owned();
        let ready = self.ready();
        for Deed { name, run, undo } in &self.deeds {
            let _ = write!(
                text,
                "[[device.deed]]\nname = \"{name}\"\nrun = '''{run}'''\nundo = '''{undo}'''\n\
                 ready = {{ command = '''{ready}''', timeout = \"60s\" }}\n"
            );
        }
        for (host, number) in [("h1", 1), ("h2", 2)] {
            text += &host_table(host, &format!("198.18.{number}.2/24"), &format!("core/{number}"));
        }
        text
    }

    /// All its deeds.
    pub fn deeds(&self) -> &[Deed] {
        &self.deeds
    }

    /// One of its deeds.
    pub fn deed(&self, name: &str) -> &Deed {
        self.deeds.iter().find(|deed| deed.name == name).expect("a deed of this bed")
    }

    /// Frames that r1 has sent into each path so far.
    pub fn sent(&self) -> Vec<u64> {
        let text = told(&["-n", &space("r1"), "-s", "-j", "link"]);
        let links: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let links = links.as_array().expect("a list");
        let of = |path: u8| {
            let link = links.iter().find(|link| link["ifname"] == format!("p{path}"));
            link.and_then(|link| link["stats64"]["tx"]["packets"].as_u64()).expect("a counter")
        };
        (1..=self.plan.paths).map(of).collect()
    }
}

impl Deed {
    /// Does it.
    pub fn run(&self) {
        call("sh", &["-c", &self.run]);
    }

    /// Takes it back.
    pub fn undo(&self) {
        call("sh", &["-c", &self.undo]);
    }
}

/// Of a path's end: 1 at r1, 2 at r2.
fn address(path: u8, end: u8) -> String {
    format!("198.18.{}.{end}", 10 + path)
}

fn sysctl(name: &str, settings: &[&str]) {
    let space = space(name);
    for setting in settings {
        ip(&["netns", "exec", &space, "sysctl", "-qw", setting]);
    }
}

fn told(args: &[&str]) -> String {
    let mut command = Command::new(find("ip").expect("looked for before"));
    let output = command.args(args).stdin(Stdio::null()).output().expect("starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
