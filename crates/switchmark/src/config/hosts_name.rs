//! Two or more hosts named on the command line: `root@a:eth1,root@b:eth1` through a device,
//! `root@a:eth1=root@b:eth1` over a direct cable.
//!
//! Owns the short form of a host and the testbed file that it stands for. Never reads a file.

use std::fmt::Write as _;

use measure::name;

use super::source::{ConfigError, Fault, SourceText};

/// Prefix of such a testbed's name.
pub const PREFIX: &str = "hosts:";
/// Name of the device between the hosts.
const DEVICE: &str = "dut";
/// Means to reach a host other than ssh.
const WAYS: [&str; 10] = [
    "local", "netns:", "pid:", "ssh:", "srun:", "mpirun:", "docker:", "podman:", "kubectl:",
    "iperf3:",
];

/// Returns the `reach` of a host: `root@a` is by ssh; a testbed file's `reach` stays as it is.
pub fn reach(word: &str) -> String {
    let whole = WAYS.iter().any(|way| match way.strip_suffix(':') {
        Some(_) => word.starts_with(way),
        None => word == *way,
    });
    if whole { word.to_owned() } else { format!("ssh://{word}") }
}

/// Names a host after its address: `a` of `ssh://root@a:2222`. The name is none of `taken`.
pub fn host_name(reach: &str, taken: &[String]) -> String {
    let place = reach.rsplit_once("//").map_or(reach, |(_, place)| place);
    let place = place.rsplit_once('@').map_or(place, |(_, host)| host);
    let place = match reach.split_once(':') {
        Some(("ssh", _)) if !place.starts_with('[') => place.split(':').next().unwrap_or(place),
        Some((way, name)) if way != "ssh" => name,
        Some(_) | None => place,
    };
    let plain = name::made_of(place.trim_matches(['[', ']']));
    let mut unique = plain.clone();
    let mut number = 2;
    while taken.contains(&unique) {
        unique = format!("{plain}-{number}");
        number += 1;
    }
    unique
}

/// The testbed file that the text behind [`PREFIX`] stands for.
pub fn written(flag: &str, text: &str) -> Result<SourceText, ConfigError> {
    let written = file(text).map_err(|fault| SourceText::argument(flag, text).locate(fault))?;
    Ok(SourceText::argument(flag, written))
}

/// Returns the file's text.
fn file(text: &str) -> Result<String, Fault> {
    const LIKE: &str = "name hosts with their ports: root@a:eth1,root@b:eth1, or with `=` between \
                        the two ends of a direct cable";
    let fault = |message: String| Fault::new(0..text.len(), message, LIKE);
    let hosts = text.strip_prefix(PREFIX).unwrap_or(text);
    let direct = hosts.contains('=');
    let words: Vec<&str> = hosts.split([',', '=']).collect();
    if words.len() < 2 || (direct && words.len() > 2) {
        return Err(fault(format!("`{hosts}` names {} host(s)", words.len())));
    }
    let mut ends: Vec<End> = Vec::new();
    for word in words {
        let Some((host, port)) = word.rsplit_once(':').filter(|(host, _)| !host.is_empty()) else {
            return Err(fault(format!("`{word}` names no port of a host")));
        };
        let reach = reach(host);
        let taken: Vec<String> = ends.iter().map(|end| end.name.clone()).collect();
        ends.push(End { name: host_name(&reach, &taken), reach, port: port.to_owned() });
    }
    let mut out = String::new();
    for (number, end) in ends.iter().enumerate() {
        let cable = if direct {
            let far = &ends[1 - number];
            format!("{}/{}", far.name, far.port)
        } else {
            format!("{DEVICE}/{}", number + 1)
        };
        let End { name, reach, port } = end;
        let _ = write!(
            out,
            "[[host]]\nname = \"{name}\"\nreach = \"{reach}\"\n[[host.port]]\nname = \"{port}\"\n\
             address = \"auto\"\ncable = \"{cable}\"\n\n"
        );
    }
    if !direct {
        let _ = write!(out, "[[device]]\nname = \"{DEVICE}\"\nkind = \"switch\"\n");
    }
    Ok(out)
}

/// A port of a host.
struct End {
    name: String,
    reach: String,
    port: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::resolved::Source;
    use crate::config::testbed;

    #[test]
    fn hosts_have_names_of_their_own() {
        let check = |word: &str, expected: &str| {
            assert_eq!(host_name(&reach(word), &["b".to_owned()]), expected, "{word}");
        };
        check("root@a", "a");
        check("ssh://root@a:2222", "a");
        check("root@b", "b-2");
        check("root@192.0.2.7", "192.0.2.7");
        check("netns:left", "left");
        check("local", "local");
    }

    #[test]
    fn two_hosts_are_a_testbed() {
        let check = |text: &str, cable: &str| {
            let testbed = testbed::from_argument("--hosts", text).expect(text);
            let Source::Hosts(hosts) = testbed.source else { panic!("{text}") };
            let far = serde_json::to_value(&hosts.hosts[0].ports[0].cable).expect("text");
            assert_eq!(far, cable, "{text}");
            assert_eq!(hosts.own_addresses.len(), hosts.hosts.len());
        };
        check("hosts:root@a:eth1,root@b:eth1", "device:dut/1");
        check("hosts:root@a:eth1=root@b:eth2", "host:b/eth2");
        check("hosts:netns:x:eth1,netns:y:eth1,local:eth3", "device:dut/1");
        for bad in ["hosts:a:eth1", "hosts:a,b", "hosts:a:e=b:e=c:e", "hosts:"] {
            assert!(testbed::from_argument("--hosts", bad).is_err(), "{bad}");
        }
    }
}
