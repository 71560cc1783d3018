//! ping's text: of Linux, BSD, macOS, GNU and busybox, of Windows in eight languages, of Cisco IOS
//! and of MikroTik.
//!
//! Owns the reading of its summary and of its replies' lines. Never takes a mean for a median,
//! because only replies give quantiles. Never takes whole milliseconds for exact ones.

use page::{Caveat, Key, Metric, Unit};

use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::found::{Found, Row};
use crate::numbers::{Printed, begins, leading, nanoseconds, printed};
use crate::reader::Reader;
use crate::series::Series;
use crate::shapes::{Values, is_around};

const MS: f64 = 1e6;

/// Reader of one ping, with the results so far.
#[derive(Debug, Default)]
pub(crate) struct Ping {
    begun: bool,
    /// True if times are whole milliseconds.
    coarse: bool,
    ipv6: bool,
    /// Octets of the IP packet's payload, or of the packet.
    data_octets: Option<f64>,
    packet_octets: Option<f64>,
    /// Smallest and largest size that replies have.
    sizes: Option<(f64, f64)>,
    replies: Series,
    /// Further answers to one request, which BSD counts in its summary.
    duplicates: Series,
    /// Largest error of a reply's time, in nanoseconds.
    step: f64,
    /// Sent and received, as in the summary, and the lost share in percent.
    counts: Option<(f64, f64)>,
    percent: Option<Printed>,
    /// Minimum, mean and maximum, and the deviation if it is printed, in nanoseconds.
    summary: Option<[Printed; 3]>,
    deviation: Option<f64>,
    /// True if the summary counts duplicates too.
    has_duplicates: bool,
    /// Number of Cisco's marks for answers.
    marks: f64,
}

impl Reader for Ping {
    fn begins(&self, line: &str) -> bool {
        // MikroTik numbers the echoes of a run from 0.
        line.starts_with("0 ") && self.coarse && mikrotik(line).is_some()
    }

    fn line(&mut self, line: &str, _found: &mut Found) -> bool {
        self.reply(line)
            || self.header(line)
            || self.summed_up(line)
            || self.counted(line)
            || self.is_around(line)
    }

    /// Adds one ping's results; without a summary it was cut off.
    fn end(&mut self, found: &mut Found) {
        let received = self.counts.map_or(self.replies.count as f64, |(_, received)| received);
        let impossible = self.counts.filter(|(sent, received)| *sent < 0.0 || *received < 0.0);
        let row = self.row().samples(received.max(0.0) as u64);
        let row = row.doubting_if(self.counts.is_none(), Caveat::CutOff);
        let negative = |(sent, received)| Contradiction::new("negative-count", received, sent);
        let row = row.contradicted(impossible.map(negative).or_else(|| self.contradiction()));
        // The replies' lines are more precise, unless some are missing.
        let is_whole = self.summary.is_none() || self.replies.count as f64 >= received;
        let summary = self.summary.map(|all| all.map(|one| one.value));
        // MikroTik prints microseconds if it has them.
        let coarse =
            self.coarse && self.step.max(self.summary.map_or(0.0, |all| all[0].step)) >= MS;
        if !self.replies.is_empty() && is_whole && !coarse {
            found.samples(&row, Metric::Rtt, &self.replies, 1.0);
        } else if let Some(times) = summary {
            if coarse {
                found.coarse(&row, Metric::Rtt, times, MS);
            } else {
                let step = self.summary.map_or(0.0, |all| all[0].step);
                let described = Described::by_ends(times).with(self.deviation, step);
                let described = described.of_samples(self.has_duplicates.then_some(0));
                found.distribution(&row, Metric::Rtt, &described);
            }
        }
        let Some((sent, received)) = self.counts.filter(|_| impossible.is_none()) else { return };
        // Several hosts may answer a request; those are duplicates.
        if sent > 0.0 {
            let lost = (1.0 - received / sent).max(0.0);
            found.add(&row.samples(sent as u64), Metric::LossRatio, Unit::Ratio, lost);
        }
    }
}

/// Parses a reply of MikroTik's: its octets, and its time if it came.
fn mikrotik(line: &str) -> Option<(f64, Option<Printed>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.first()?.parse::<u64>().ok()?;
    match words[1..] {
        [_, octets, ttl, time] if printed(ttl).is_some() => {
            Some((printed(octets)?.value, Some(duration(time)?)))
        }
        [host, .., status] if host.contains(['.', ':']) => {
            matches!(status, "timeout" | "unreachable" | "exceeded").then_some((0.0, None))
        }
        _ => None,
    }
}

/// Parses `1ms341us`, `0ms`, `341us` to nanoseconds.
fn duration(text: &str) -> Option<Printed> {
    let mut rest = text;
    let mut sum = Printed::default();
    while !rest.is_empty() {
        let (value, more) = leading(rest)?;
        let digits = more.find(|c: char| c.is_ascii_digit()).unwrap_or(more.len());
        let scale = nanoseconds(&more[..digits])?;
        (sum, rest) = (Printed { value: sum.value + value * scale, step: scale }, &more[digits..]);
    }
    Some(sum)
}

impl Ping {
    /// Reads `56(84) bytes of data` (Linux), `56 data bytes` (BSD, busybox), `32 bytes of data`
    /// (Windows), `Sending 5, 100-byte ICMP Echos` (Cisco).
    fn header(&mut self, line: &str) -> bool {
        let Some(values) = Values::read("ping.begin", line) else { return false };
        let mut words = line.split_whitespace().skip(1).take(2);
        self.begun = true;
        self.ipv6 = line.starts_with("PING6") || words.any(is_ipv6);
        self.coarse |= values.text("coarse").is_some();
        (self.data_octets, self.packet_octets) = (values.number("data"), values.number("packet"));
        true
    }

    fn sized(&mut self, octets: f64) {
        let (least, most) = self.sizes.unwrap_or((octets, octets));
        self.sizes = Some((least.min(octets), most.max(octets)));
    }

    fn push(&mut self, time: Printed) {
        self.step = self.step.max(time.step);
        self.replies.push(time.value);
    }

    fn reply(&mut self, line: &str) -> bool {
        let read = Values::read("ping.reply", line);
        if read.is_none()
            && let Some((octets, time)) = mikrotik(line)
        {
            (self.begun, self.coarse) = (true, true);
            if let Some(time) = time {
                self.packet_octets = Some(octets);
                self.sized(octets);
                self.push(time);
            }
            return true;
        }
        let Some(values) = read else { return false };
        self.coarse |= values.text("coarse").is_some();
        if let Some(octets) = values.number("octets") {
            self.sized(octets);
        }
        let unit = values.text("unit").and_then(nanoseconds).unwrap_or(MS);
        if let Some(time) = values.printed("time").map(|time| time.times(unit)) {
            // A second answer to one request is no round trip of its own.
            if line.ends_with("(DUP!)") {
                self.duplicates.push(time.value);
            } else {
                self.push(time);
            }
        }
        true
    }

    /// Reads `100 packets transmitted, 100 received, +2 duplicates, 0% packet loss, time 101357ms`,
    /// in any language; `Packets: Sent = 4, Received = 4, Lost = 0 (0% loss),`.
    fn counted(&mut self, line: &str) -> bool {
        let is_windows = self.coarse || line.starts_with("Packets: Sent");
        let windows = Values::read("ping.windows", line).filter(|_| is_windows);
        let told = windows.or_else(|| Values::read("ping.counts", line));
        // In Italian the lost have a line of their own.
        let is_told = |told: &Values| told.text("sent").is_some() || self.counts.is_some();
        if let Some(told) = told.filter(is_told) {
            self.counts = told.number("sent").zip(told.number("received")).or(self.counts);
            let share = |lost| Some(100.0 * lost / self.counts?.0);
            let percent = told.number("success").map(|success| 100.0 - success);
            let percent = percent.or(told.number("percent"));
            let (value, step) = percent.map_or_else(
                || (told.number("lost").and_then(share), 0.5),
                |percent| (Some(percent), 1.0),
            );
            self.percent = value.map(|value| Printed { value, step });
            return true;
        }
        let parts: Vec<&str> = line.split([',', '，', '、']).collect();
        let in_part = |part: &str| {
            let from = part.find(|c: char| c.is_ascii_digit() || c == '-')?;
            leading(&part[from..]).map(|(value, _)| value)
        };
        let percent = parts.iter().find(|part| part.contains('%') && !part.contains('/'));
        let is_own = self.begun || line.contains("packets transmitted");
        let is_own = is_own && !line.contains(['=', ':', '/']);
        let (3.., Some(percent), true) = (parts.len(), percent, is_own) else { return false };
        let Some(counts) = in_part(parts[0]).zip(in_part(parts[1])) else { return false };
        let share = percent.split('%').next().unwrap_or_default();
        let share = share.split_whitespace().last().and_then(printed);
        // Some versions truncate it to a whole number.
        self.percent = share.map(|share| Printed { step: share.step.max(0.1), ..share });
        self.has_duplicates = line.contains('+');
        self.counts = Some(counts);
        true
    }

    /// Reads `rtt min/avg/max/mdev = 0.029/0.042/0.068/0.013 ms`; `Minimum = 0ms, Maximum = 1ms,
    /// …`.
    fn summed_up(&mut self, line: &str) -> bool {
        let is_own = self.begun || begins(&["rtt ", "round-trip ", "Success rate"], line);
        let values = Values::read("ping.summary", line);
        let Some(values) = values.filter(|_| is_own && !line.contains("xmt/")) else {
            return false;
        };
        let of = |name| match values.printed(name) {
            Some(ms) => Some(ms.times(MS)),
            None => duration(values.text(name)?),
        };
        let (Some(least), Some(mean), Some(most)) = (of("least"), of("mean"), of("most")) else {
            return false;
        };
        let summary = [least, mean, most];
        // mdev is the population's deviation; it is not imported. Some versions print none of few
        // replies.
        self.deviation = of("deviation").map(|own| own.value).filter(|ns| *ns > 0.0);
        self.summary = Some(summary);
        // MikroTik and Cisco sum up in the line of their counts.
        self.counted(line);
        true
    }

    fn is_around(&mut self, line: &str) -> bool {
        // Flooding continues in the line of its dots, and Cisco writes a mark for each request.
        let marks = |c: char| matches!(c, '.' | ' ' | '!' | '\u{8}' | 'E' | 'U' | 'Q' | 'M' | '?');
        let dots = line.split("---").next().unwrap_or_default();
        if self.begun && !dots.is_empty() && dots.chars().all(marks) {
            self.marks += line.matches('!').count() as f64;
            return dots.len() == line.len() || line.ends_with("---");
        }
        let unreachable = (line.contains("icmp_seq=") && begins(&["From ", "Von ", "De "], line))
            || (self.begun && !line.contains("seq=") && is_around("ping.other", line));
        (line.starts_with("---") && line.ends_with("---") && line.len() > 8)
            || unreachable
            || is_around("ping", line)
    }

    fn row(&self) -> Row {
        let header = if self.ipv6 { 40.0 } else { 20.0 };
        // ICMP and IP headers, MAC header and FCS; a frame is at least 64.
        let packet = self.data_octets.map(|data| data + 8.0 + header).or(self.packet_octets);
        Row::new("ping")
            .with(Key::Protocol, "icmp")
            .with_frame(packet, 18)
            .with_known(Key::IpVersion, self.ipv6.then_some("ipv6"))
            .doubting(Caveat::SoftwareTimestamps)
    }

    /// Contradiction of the summary with its own share, or with the replies' lines.
    fn contradiction(&self) -> Option<Contradiction> {
        let (sent, received) = self.counts?;
        let lost = 100.0 * (1.0 - received / sent).max(0.0);
        let share = self.percent.filter(|_| sent > 0.0);
        let share = Contradiction::unless_same("loss-percent", share, lost);
        let lines = self.marks.max(self.replies.count as f64);
        let count = (lines > 0.0 && (lines - received).abs() >= 1.0)
            .then(|| Contradiction::new("count-of-replies", received, lines));
        share.or(count).or_else(|| self.size()).or_else(|| self.times())
    }

    /// Contradiction of the payload with the packet, or with the replies' sizes.
    fn size(&self) -> Option<Contradiction> {
        let said = self.data_octets.or(self.packet_octets)?;
        let counted = match (self.data_octets, self.packet_octets, self.sizes) {
            // The headers of ICMP and IP, and up to 40 octets of IP options.
            (Some(data), Some(packet), _) => packet - (packet - data).clamp(28.0, 68.0),
            (Some(data), None, Some((least, most))) => {
                // Windows counts the payload alone.
                let header = if self.coarse { 0.0 } else { 8.0 };
                (data + header).clamp(least, most) - header
            }
            (None, _, Some((least, most))) => least + most - said,
            _ => return None,
        };
        Contradiction::unless_same("payload-of-replies", said, counted)
    }

    fn times(&self) -> Option<Contradiction> {
        let [least, mean, most] = self.summary?;
        let (own, again) = (&self.replies, &self.duplicates);
        let of = |value: f64| Printed { value: value / MS, step: self.step / MS };
        let differs = |least_of: f64, most_of: f64, mean_of: f64| {
            [(least, least_of), (most, most_of), (mean, mean_of)].into_iter().find_map(
                |(said, counted)| {
                    let said = said.times(1.0 / MS);
                    Contradiction::unless_same("mean-ms-of-replies", said, of(counted))
                },
            )
        };
        let alone = differs(own.min, own.max, own.mean()?)?;
        let count = (own.count + again.count) as f64;
        let together = || {
            let mean = (own.sum + again.sum) / count;
            differs(own.min.min(again.min), own.max.max(again.max), mean)
        };
        if again.is_empty() { Some(alone) } else { together() }
    }
}

fn is_ipv6(word: &str) -> bool {
    word.trim_matches(['(', ')', ':']).contains(':') || word.contains("::")
}
