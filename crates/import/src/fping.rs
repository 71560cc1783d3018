//! fping's text: its loops, its summaries, its lists of round trips (`-C`).
//!
//! Distinguishes hosts only by the name that fping prints.

use std::collections::BTreeMap;

use page::{Caveat, Key, Metric};
use serde_json::Value;

use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{Printed, between, number, printed};
use crate::reader::Reader;
use crate::series::Series;
use crate::shapes::{Values, is_around};

const MS: f64 = 1e6;
/// Hosts from fping's `--json` output.
#[derive(Debug, Default)]
pub(crate) struct Hosts(BTreeMap<String, Host>);

impl Hosts {
    /// True if the value is one of fping's.
    pub(crate) fn has(value: &Value) -> bool {
        let kinds = ["resp", "summary", "vSum", "timeout", "intSum", "stats"];
        kinds.into_iter().any(|kind| value.get(kind).is_some())
    }

    /// Reads `{"resp": {"host": …, "rtt": …}}`, `{"summary": {…}}`, `{"vSum": {…, "values": […]}}`.
    pub(crate) fn take(&mut self, value: &Value) {
        for (kind, own) in value.as_object().into_iter().flatten() {
            let Some(name) = own["host"].as_str().filter(|_| self.0.len() < MOST_HOSTS) else {
                continue;
            };
            let number = |name: &str| own[name].as_f64();
            let told = match kind.as_str() {
                "resp" => number("size")
                    .zip(number("rtt"))
                    .map(|(size, ms)| Told::Reply(size, Printed::exact(ms), None)),
                "summary" => number("xmt").zip(number("rcv")).map(|(sent, received)| {
                    let times = number("rttMin").zip(number("rttAvg")).zip(number("rttMax"));
                    let times = times.map(|((least, mean), most)| [least, mean, most]);
                    Told::Summary { sent, received, percent: number("loss"), times }
                }),
                "vSum" => own["values"]
                    .as_array()
                    .map(|all| Told::List(all.iter().map(Value::as_f64).collect())),
                _ => None,
            };
            let host = self.0.entry(name.to_owned()).or_default();
            if let Some(told) = told {
                host.take(told);
            }
        }
    }

    pub(crate) fn add_to(self, found: &mut Found) {
        self.0.iter().for_each(|(name, host)| host.add_to(name, found));
    }
}

/// Maximum number of hosts in a run.
const MOST_HOSTS: usize = 65_536;

/// Reader of fping's text, with the hosts so far.
#[derive(Debug, Default)]
pub(crate) struct Fping {
    hosts: BTreeMap<String, Host>,
    /// Number of clock lines printed by `-Q`.
    clocks: u32,
}

#[derive(Debug, Default)]
struct Host {
    replies: Series,
    /// Minimum, mean and maximum; times are printed with three digits.
    least_mean_most: Option<[f64; 3]>,
    sent: Option<f64>,
    received: f64,
    octets: Option<f64>,
    /// Number of values in its list.
    listed: Option<usize>,
    /// Number of replies with lines, if a list repeats them.
    lines: Option<u64>,
    /// True if its last summary covers an interval, under the clock of that number, or its list is
    /// cut off.
    is_part: bool,
    clock: Option<u32>,
    /// First contradiction among its lines.
    broken: Option<Contradiction>,
}

impl Reader for Fping {
    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        let asked = line.contains(" is alive") || line.contains(" is unreachable");
        if asked && !line.contains(" : ") {
            return self.is_alive(line);
        }
        // Matches `[13:55:02]`, above each of `-Q`'s summaries.
        let is_clock = line.starts_with('[') && line.len() == 10 && line.ends_with(']');
        let is_clock = is_clock && line.matches(':').count() == 2;
        self.clocks += u32::from(is_clock);
        let around = is_around("fping", line) && !self.hosts.is_empty();
        if is_clock || around || line.starts_with("fping: ") {
            return true;
        }
        // An ICMP error is printed again as a line without times.
        if line.starts_with("ICMP ") && line.contains(" from ") {
            return true;
        }
        let Some((name, rest)) = line.split_once(" : ") else { return false };
        let (name, rest) = (name.trim(), rest.trim());
        if !is_host(name) || self.hosts.len() >= MOST_HOSTS {
            return false;
        }
        let Some(read) = Told::parse(rest) else { return false };
        let host = self.hosts.entry(name.to_owned()).or_default();
        // `-Q` prints summaries under a clock, and the last one, of the whole time, without one.
        if matches!(read, Told::Summary { .. }) {
            host.is_part = self.clocks > 0 && host.clock != Some(self.clocks);
            host.clock = Some(self.clocks);
        }
        host.take(read);
        true
    }

    fn end(&mut self, found: &mut Found) {
        let hosts = std::mem::take(&mut self.hosts);
        // Each host of a list is asked equally often.
        let most = hosts.values().filter_map(|host| host.listed).max();
        for (name, host) in hosts {
            let is_cut = host.listed.is_some() && host.listed < most;
            Host { is_part: host.is_part || is_cut, ..host }.add_to(&name, found);
        }
    }
}

/// True for a name or an address.
fn is_host(name: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | ':' | '_' | '%');
    !name.is_empty() && name.chars().all(of_name)
}

/// Contents of one line about its host.
enum Told {
    /// Octets, milliseconds, and the mean so far.
    Reply(f64, Printed, Option<Printed>),
    None,
    Summary {
        sent: f64,
        received: f64,
        percent: Option<f64>,
        times: Option<[f64; 3]>,
    },
    List(Vec<Option<f64>>),
}

impl Told {
    fn parse(rest: &str) -> Option<Self> {
        if let Some(values) = Values::read("fping.host", rest) {
            let of = |name| values.number(name);
            let (Some(sent), Some(received)) = (of("sent"), of("received")) else {
                let time = values.printed("time");
                return Some(time.zip(of("octets")).map_or(Self::None, |(time, octets)| {
                    Self::Reply(octets, time, values.printed("mean"))
                }));
            };
            // With duplicates fping prints the share returned.
            let percent = of("percent").filter(|_| rest.starts_with("xmt/rcv/%loss"));
            let times = of("least").zip(of("mean")).zip(of("most"));
            let times = times.map(|((least, mean), most)| [least, mean, most]);
            return Some(Self::Summary { sent, received, percent, times });
        }
        let all: Option<Vec<Option<f64>>> = rest
            .split_whitespace()
            .map(|word| if word == "-" { Some(None) } else { three_digits(word).map(Some) })
            .collect();
        all.filter(|all| !all.is_empty()).map(Self::List)
    }
}

/// Parses a time as fping prints it: `0.033`, `1.23`, `12.3`, `123`; one that was cut off has fewer
/// digits.
fn three_digits(word: &str) -> Option<f64> {
    let time = printed(word)?;
    let step = match time.value {
        ..1.0 => 0.001,
        ..10.0 => 0.01,
        ..100.0 => 0.1,
        _ => 1.0,
    };
    (time.step < 2.0 * step).then_some(time.value)
}

impl Fping {
    /// Reads `127.0.0.1 is alive (0.05 ms)`.
    fn is_alive(&mut self, line: &str) -> bool {
        let Some((name, rest)) = line.split_once(" is ") else { return false };
        if !is_host(name) || self.hosts.len() >= MOST_HOSTS {
            return false;
        }
        let time = between(rest, "(", " ms").and_then(number);
        let host = self.hosts.entry(name.to_owned()).or_default();
        host.sent = Some(1.0);
        host.received = if rest.starts_with("alive") { 1.0 } else { 0.0 };
        if let Some(ms) = time {
            host.replies.push(ms);
        }
        true
    }
}

impl Host {
    fn take(&mut self, told: Told) {
        match told {
            Told::Reply(octets, ms, mean) => {
                let before = self.octets.replace(octets).unwrap_or(octets);
                let size = Contradiction::unless_same("payload-of-replies", octets, before);
                self.replies.push(ms.value);
                let own = self.replies.mean().map(|value| Printed { value, step: ms.step });
                let mean = Contradiction::unless_same("mean-ms-of-replies", mean, own);
                self.broken = self.broken.or(size).or(mean);
            }
            Told::None => {}
            // Of several summaries, as `-Q` prints them, the last covers the whole time.
            Told::Summary { sent, received, percent, times } => {
                let lost = Printed { value: 100.0 * (1.0 - received / sent), step: 1.0 };
                let percent = percent.filter(|_| sent > 0.0);
                let percent = Contradiction::unless_same("loss-percent", percent, lost);
                // Several summaries are each of an interval, but the last.
                self.broken = self.broken.or(percent);
                self.sent = Some(sent);
                self.received = received;
                self.least_mean_most = times;
            }
            Told::List(all) => {
                self.sent = Some(all.len() as f64);
                self.listed = Some(all.len());
                let answered: Vec<f64> = all.into_iter().flatten().collect();
                self.received = answered.len() as f64;
                // With `-C` each reply has its line too, unless it is quiet.
                self.lines = Some(self.replies.count).filter(|lines| *lines > 0);
                // The list repeats the lines above it.
                let lines = std::mem::take(&mut self.replies);
                for ms in answered {
                    self.replies.push(ms);
                }
                let (said, own) = (self.replies.mean(), lines.mean());
                let differs = Contradiction::unless_same("mean-ms-of-replies", said, own);
                self.broken = self.broken.or(differs);
            }
        }
    }

    /// Contradiction between the summary's counts and times and those of the replies' lines.
    fn contradiction(&self) -> Option<Contradiction> {
        if self.broken.is_some() {
            return self.broken;
        }
        let lines = self.lines.unwrap_or(self.replies.count);
        if self.sent.is_none() || lines == 0 {
            return None;
        }
        if (lines as f64 - self.received).abs() >= 1.0 {
            let (said, counted) = (self.received, lines as f64);
            return Some(Contradiction { code: "count-of-replies", said, counted });
        }
        let [_, printed, _] = self.least_mean_most?;
        let counted = self.replies.mean()?;
        // A time is printed with three digits.
        let agree = (printed - counted).abs() <= 0.05 * counted.max(printed) + 0.002;
        let counted = (counted * 1e3).round() / 1e3;
        (!agree).then_some(Contradiction { code: "mean-ms-of-replies", said: printed, counted })
    }

    fn add_to(&self, name: &str, found: &mut Found) {
        // fping includes ICMP's header in the size of an answer.
        let row = Row::new("fping")
            .with(Key::Protocol, "icmp")
            .with(Key::To, name)
            .with_frame(self.octets.filter(|octets| *octets >= 8.0), 38)
            .doubting(Caveat::SoftwareTimestamps)
            .doubting_if(self.sent.is_none() || self.is_part, Caveat::CutOff)
            .contradicted(self.contradiction());
        let row = row.samples(self.received.max(0.0) as u64);
        if !self.replies.is_empty() {
            found.samples(&row, Metric::Rtt, &self.replies, MS);
        } else if let Some(times) = self.least_mean_most {
            // Times have three digits.
            let described = Described::by_ends(times.map(|ms| ms * MS));
            let described = described.with(None, times[2] * MS / 100.0 + 1e3);
            found.distribution(&row, Metric::Rtt, &described);
        }
        found.loss(&row, self.sent.unwrap_or(0.0), self.received);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_that_is_of_other_replies_is_a_contradiction() {
        let said = |lines: &[&str]| {
            let mut host = Host::default();
            for line in lines {
                host.take(Told::parse(line).expect("a line of fping"));
            }
            let mut found = Found::default();
            host.add_to("127.0.0.1", &mut found);
            let doubts = |caveat| found.figures.iter().all(|f| f.caveats.contains(&caveat));
            (!found.figures.is_empty() && doubts(Caveat::SelfContradictory), host.contradiction())
        };
        let two = [
            "[0], 64 bytes, 6.46 ms (6.46 avg, 0% loss)",
            "[1], 64 bytes, 9.67 ms (8.06 avg, 0% loss)",
        ];
        let (doubted, both) =
            said(&[two[0], two[1], "xmt/rcv/%loss = 4/4/0%, min/avg/max = 0.50/0.51/0.52"]);
        assert!(doubted && both.is_some_and(|both| (both.said, both.counted) == (4.0, 2.0)));
        let (doubted, both) =
            said(&[two[0], two[1], "xmt/rcv/%loss = 2/2/0%, min/avg/max = 0.50/0.51/0.52"]);
        assert!(doubted && both.is_some_and(|both| (both.said, both.counted) == (0.51, 8.065)));
        let (doubted, both) =
            said(&[two[0], two[1], "xmt/rcv/%loss = 2/2/0%, min/avg/max = 6.46/8.06/9.67"]);
        assert!(!doubted && both.is_none());
    }
}
