//! Stored outputs with one number replaced (kind 6 of faults): a figure that is another one says
//! so, unless its number stands in no relation to any other of its output. Those are listed here,
//! each with the reason, and there are no others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use import::read;
use page::Figure;

use crate::fixtures::{Fixture, Whole, wholes};
use crate::garbled::{is_among, is_marked};

/// Number that nothing else in its output contradicts.
struct Alone {
    tool: &'static str,
    /// Modes of the tool; all if there are none.
    modes: &'static [&'static str],
    /// Text before it in its line: with `#` for each number, single blanks, and `*` for any text.
    before: &'static str,
    /// Largest change of a figure that goes unnoticed, in the figure's unit.
    most: f64,
    why: &'static str,
}

const fn alone(
    tool: &'static str,
    modes: &'static [&'static str],
    before: &'static str,
    why: &'static str,
) -> Alone {
    Alone { tool, modes, before, most: f64::INFINITY, why }
}

const ALONE: &[Alone] = &[
    alone("busybox", &["quiet", "no-answer"], "PING # (#): ", NO_REPLY),
    alone("ping", &["quiet", "no-answer", "flood"], "PING # (#): ", NO_REPLY),
    alone("ping", &["normal", "no-answer"], "Sending #, ", "Cisco prints the packet's size once"),
    alone("ping", &["normal"], "*(#/#), round-trip min/avg/max = ", WHOLE),
    alone("ping", &["normal"], "*(#/#), round-trip min/avg/max = #/", WHOLE),
    alone("ping", &["normal"], "*(#/#), round-trip min/avg/max = #/#/", WHOLE),
    alone("ping", &["normal"], "*#ms avg-rtt=", WHOLE),
    alone("ping", &["normal"], "*#ms max-rtt=", WHOLE),
    alone("ping", &["flood"], "*min/avg/max/mdev = #/", LOOSE),
    alone("ping", &["flood"], "*min/avg/max/stddev = #/", LOOSE),
    Alone {
        most: 2_000.0,
        ..alone("ping", &[], "* time=", "the mean of all moves by less than its last digit")
    },
    alone("ethr", &["tcp-latency", "external-ping", "tcp-ping"], "*us ", POINT),
    alone("ethr", &["tcp-latency"], "*ms ", POINT),
    alone("ethr", &[], "* #-# sec ", "a second's rate, without a sum of all seconds"),
    alone(
        "ethr",
        &["udp-packets"],
        "*sec #M ",
        "a second's packets, of a size that is not printed",
    ),
    alone(
        "ethr",
        &["udp-bandwidth"],
        "*sec #G ",
        "a second's packets, of a size that is not printed",
    ),
    alone("fio", &[], "lat (*): min=", LEAST),
    alone("fio", &[], "lat (*): min=#, max=", LOOSE),
    alone("fio", &[], "| #th=[ ", POINT),
    alone("fio", &[], "| #th=[ #], #th=[ #], #th=[ ", POINT),
    alone("fio", &["no-header"], "*jobs=", "neither the jobs' headers nor their start are there"),
    alone("fio", &["terse", "terse-five"], "field 7", "operations of a size that is not printed"),
    alone("fio", &["terse"], "field 48", "operations of a size that is not printed"),
    alone("fio", &["terse-five"], "field 54", "operations of a size that is not printed"),
    alone("fio", &["terse"], "field 37", LEAST),
    alone("fio", &["terse"], "field 78", LEAST),
    alone("fio", &["terse-five"], "field 84", LEAST),
    Alone { most: 2_000.0, ..alone("fio", &["terse"], "field 39", LITTLE) },
    Alone { most: 2_200.0, ..alone("fio", &["terse"], "field 80", LITTLE) },
    alone("fio", &["terse"], "field 79", LOOSE),
    alone("fio", &["terse"], "field 70", POINT),
    alone("fio", &["terse"], "field 72", POINT),
    alone("fio", &["client-json", "json", "jobs-json", "jsonplus"], "\"min\" : ", LEAST),
    alone("fio", &["json", "jobs-json"], "\"max\" : ", LOOSE),
    alone("fio", &["client-json", "json", "jsonplus"], "\"#\" : ", POINT),
    alone("fio", &["json"], "\"iops\" : ", "operations of a size that is not printed"),
    alone("fio", &["jobs-json"], "\"bs\" : \"", "a job of another size is another measurement"),
    alone(
        "fio",
        &["jobs-json", "jsonplus"],
        "\"numjobs\" : \"",
        "a group's jobs are only counted here",
    ),
    alone("fping", &["json-vcount"], "*\"values\": [*", "a time of a list without its lines"),
    alone("fping", &["alive"], "# is alive (", "a single time"),
    alone("fping", &["count-quiet", "intervals"], "*min/avg/max = #/#/", LOOSE),
    alone("fping", &["vcount-quiet"], "# : ", "a time of a list without its lines"),
    alone("fping", &["vcount-quiet"], "# : # ", "a time of a list without its lines"),
    alone("fping", &["vcount-quiet"], "# : # # ", "a time of a list without its lines"),
    alone("fping", &["vcount-quiet"], "# : # # # ", "a time of a list without its lines"),
    alone("iperf", &["bounceback"], "*#=#/", LOOSE),
    alone("iperf", &["bounceback"], "*#=#/#/", LOOSE),
    alone("iperf", &["server-csv"], "*#-#,#,#,#,#,", "datagrams of a size that is not printed"),
    alone("iperf", &["server-udp-enhanced"], "* ms #/", "datagrams of a size that is not printed"),
    alone("iperf", &["tcp-csv-parallel", "tcp-csv-two-runs"], "#,#,#,#,#,", OTHER_RUN),
    alone("iperf", &["tcp-csv-parallel"], "", OTHER_RUN),
    alone("iperf", &[], "*bits/sec #/# # ", ONE_WINDOW),
    alone("iperf", &[], "*bits/sec #/# # #K(#)/", ONE_WINDOW),
    alone("iperf", &["two-digits"], "*bits/sec #/# ", "a sum without intervals"),
    alone("iperf3", &[], "*its/sec # ", ONE_WINDOW),
    alone("iperf3", &[], "*Bytes/sec # ", ONE_WINDOW),
    alone("iperf3", &[], "*\"max_snd_cwnd\":*", "the intervals' windows are not read"),
    alone("iperf3", &["bidir-json"], "\"num_streams\": ", "version 3.9 lists each stream twice"),
    alone("iperf3", &["tcp-reverse"], "*bits/sec ", FAR_SENDER),
    alone("iperf3", &["bidir", "bidir-parallel"], "*[RX-C]*bits/sec ", FAR_SENDER),
    alone("irtt", &[], "RTT ", "the least of both ways together is only bound from below"),
    alone("netperf", &[], "# # # # ", "the only result"),
    alone("netperf", &[], "# # # # # ", "the only result"),
    alone("netperf", &["omni-csv"], "#,#,#,#,", "the only result"),
    alone("netperf", &["omni-keyval", "omni-keyval-stream"], "THROUGHPUT=", "the only result"),
    alone("netperf", &["omni-latency"], "#,#,", POINT),
    alone("netperf", &["omni-latency"], "#,#,#,", POINT),
    alone("netperf", &["omni-latency"], "#,#,#,#,", LOOSE),
    alone("nuttcp", &[], "*%RX # retrans ", "the time of a connection's beginning"),
    alone("nuttcp", &["streams"], "*%RX ", "the time of a connection's beginning"),
    alone("nuttcp", &["udp"], "*%RX # / ", "datagrams of a size that is not printed"),
    alone("osu", &[], "", "a message's size is only in its row"),
    alone("osu", &["bandwidth", "bidirectional", "latency"], "# ", "the only result of its row"),
    alone("perftest", &[], "", "a message's size is only in its row"),
    alone("perftest", &[], "# # # # # # # # ", POINT),
    alone("qperf", &[], "bw = ", "the only result"),
    alone("qperf", &["udp-bw"], "recv_bw = ", "the only result"),
    alone("qperf", &[], "latency = ", "the only result"),
    alone("qperf", &["sweep", "verbose"], "msg_size = ", "the latency is that of any size"),
    alone("sockperf", &[], "*> percentile # = ", POINT),
    alone("sockperf", &["full-log"], "*avg-latency=", LOOSE),
    alone("sockperf", &[], "*<MIN> observation = ", POINT),
    alone("sockperf", &[], "*<MAX> observation = ", LOOSE),
];

/// Reasons of several.
const NO_REPLY: &str = "no reply is printed that has the payload's size";
const LEAST: &str = "the least is only bound from below, by its part's";
const LITTLE: &str = "of a mean of few microseconds the parts leave one";
const WHOLE: &str = "whole milliseconds of few replies leave the others room";
const LOOSE: &str = "the others and their number bind it loosely: one sample of many may be far";
const POINT: &str = "a point may be anywhere between its neighbours";
const OTHER_RUN: &str = "the number says which run or connection a line is of";
const ONE_WINDOW: &str = "a window is printed once, and each interval has its own";
const FAR_SENDER: &str = "the far sender's retransmits are in no interval of this side";

impl Alone {
    fn is(&self, fixture: &Fixture, before: &str, change: f64) -> bool {
        self.tool == fixture.tool
            && (self.modes.is_empty() || self.modes.contains(&fixture.mode.as_str()))
            && self.is_before(before)
            && change <= self.most
    }
}

impl Alone {
    /// True of a text with these parts in order; a `*` between them is any text.
    fn is_before(&self, text: &str) -> bool {
        let (begin, rest) = self.before.split_once('*').unwrap_or((self.before, ""));
        if begin.len() == self.before.len() {
            return text == begin;
        }
        let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
        text.strip_prefix(begin).is_some_and(|rest| rest.contains(middle) && rest.ends_with(end))
    }
}

/// Maximum number of outputs of one mode that are tried with the same number of the same line.
const TRIED: usize = 2;

/// Share of the changed figures that say so, in percent, by tool and form.
const CAUGHT: &[(&str, usize)] = &[
    ("busybox", 90),
    ("ethr", 67),
    ("fio", 92),
    ("fping", 70),
    ("iperf", 93),
    ("iperf3", 91),
    ("irtt", 98),
    ("mtr", 100),
    ("nccl-tests", 100),
    ("netperf", 50),
    ("nuttcp", 73),
    ("osu", 26),
    ("perftest", 56),
    ("ping", 94),
    ("qperf", 20),
    ("sockperf", 82),
    ("trex", 100),
    ("uperf", 100),
    ("fio json", 70),
    ("fping json", 38),
    ("iperf3 json", 94),
    ("irtt json", 100),
    ("mtr json", 100),
];

/// Line with one of its numbers doubled, and the text before that number.
struct Replaced {
    line: String,
    before: String,
}

/// Returns the line once for each of its numbers, which is doubled.
fn replaced(line: &str) -> Vec<Replaced> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(begin) = line[at..].find(|c: char| c.is_ascii_digit()).map(|next| at + next) {
        let rest = &line[begin..];
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let own = &rest[..end];
        if let Ok(value) = own.parse::<f64>() {
            let digits = own.split_once('.').map_or(0, |(_, behind)| behind.len());
            let before = &line[..begin];
            let line = format!("{before}{:.digits$}{}", 2.0 * value, &rest[end..]);
            out.push(Replaced { before: place(before), line });
        }
        at = begin + end;
    }
    out
}

/// The shape of a text before a number, or the number of the field in a long row of fields.
fn place(before: &str) -> String {
    match before.matches(';').count() {
        0..=4 => shape(before),
        field => format!("field {field}"),
    }
}

/// Returns a text with a `#` for each number, and single blanks.
fn shape(text: &str) -> String {
    let mut out = String::new();
    for c in text.trim_start().chars() {
        let (c, is_number) = match c {
            c if c.is_ascii_digit() => ('#', true),
            '.' if out.ends_with('#') => ('#', true),
            c if c.is_whitespace() => (' ', false),
            c => (c, false),
        };
        let again = (is_number || c == ' ') && out.ends_with(c);
        if !again {
            out.push(c);
        }
    }
    out
}

/// Difference of a figure from the nearest of its kind in the untouched output.
fn change(figure: &Figure, whole: &[Figure]) -> f64 {
    let same = |of: &&Figure| (of.metric, of.quantile) == (figure.metric, figure.quantile);
    let value = |of: &Figure| of.value.unwrap_or(f64::NAN);
    let away = whole.iter().filter(same).map(|of| (value(of) - value(figure)).abs());
    away.fold(f64::INFINITY, f64::min)
}

#[test]
fn a_replaced_number_is_found_out_unless_it_stands_alone() {
    let mut found: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut tried: BTreeMap<String, usize> = BTreeMap::new();
    let mut used: BTreeSet<usize> = BTreeSet::new();
    let mut believed: BTreeMap<String, String> = BTreeMap::new();
    for Whole { fixture, text, read: whole } in wholes() {
        let lines: Vec<&str> = text.lines().collect();
        for at in 0..lines.len() {
            for (nth, Replaced { line, before }) in replaced(lines[at]).into_iter().enumerate() {
                let kind = format!("{} {} {nth} {}", fixture.tool, fixture.mode, shape(lines[at]));
                let times = tried.entry(kind).or_default();
                *times += 1;
                // The members of a JSON value have the same names in many places.
                if *times > if fixture.is("json") { 8 * TRIED } else { TRIED } {
                    continue;
                }
                let mut all = lines.clone();
                all[at] = &line;
                let Ok(read) = read(all.join("\n").as_bytes()) else { continue };
                for figure in read.figures.iter().filter(|f| !is_among(f, &whole.figures)) {
                    let form = if fixture.is("json") { " json" } else { "" };
                    let count = found.entry(format!("{}{form}", fixture.tool)).or_default();
                    count.1 += 1;
                    if is_marked(figure, &whole.figures) {
                        count.0 += 1;
                        continue;
                    }
                    let change = change(figure, &whole.figures);
                    let reason = ALONE.iter().position(|of| of.is(fixture, &before, change));
                    used.extend(reason);
                    if reason.is_none() {
                        let name = format!("{} {} `{before}`", fixture.tool, fixture.mode);
                        let (metric, value) = (figure.metric, figure.value);
                        let told = format!("{}:{} {metric:?} {value:?}", fixture.file, at + 1);
                        believed.entry(name).or_insert_with(|| format!("{told}: {line}"));
                    }
                }
            }
        }
    }
    eprintln!("replaced numbers found out, and figures changed, by tool: {found:?}");
    let mut report = String::new();
    for (name, told) in believed {
        let _ = writeln!(report, "{name}: {told}");
    }
    for (at, of) in ALONE.iter().enumerate().filter(|(at, _)| !used.contains(at)) {
        let _ = writeln!(report, "{at}: {} `{}` is found out: not {}", of.tool, of.before, of.why);
    }
    for (tool, least) in CAUGHT {
        let (marked, changed) = found[*tool];
        if 100 * marked < least * changed {
            let _ = writeln!(report, "{tool}: {marked} of {changed}");
        }
    }
    assert!(report.is_empty(), "{report}");
}
