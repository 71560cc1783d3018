//! Wording of condition codes, and translation of rows from earlier versions into codes.
//!
//! Owns the one table of both: pages write a code and its fields as `switchmark/2` wrote them in
//! rows. Never decides what a condition means.

use std::collections::BTreeMap;

use measure::Rate;

use crate::{Condition, Conditions, Key};

/// Condition with its wording and its code. The wording names other conditions in braces; with an
/// empty code only those fields remain. Pages use the first phrase whose fields are all present;
/// all are understood on reading.
struct Phrase(&'static str, &'static str, &'static str);

#[rustfmt::skip]
static PHRASES: &[Phrase] = &[
    Phrase("agrees", "not shown", "not-shown"),
    Phrase("arrangement", "direct cables", "direct-cables"),
    Phrase("bound", "at least", "at-least"),
    Phrase("bound", "at most", "at-most"),
    Phrase("bounded_by", "its ports", "own-ports"),
    Phrase("bounded_by", "the other groups' uplinks", "other-uplinks"),
    Phrase("bounded_by", "the narrower of the two groups' uplinks", "narrower-uplink"),
    Phrase("bounded_by", "the device, which had its senders pause", "pauses"),
    Phrase("carrier", "datagrams, {credits} credits", "datagrams"),
    Phrase("ceiling_of", "port limit", "port-limit"),
    Phrase("contradiction", "{contradiction_said} lost of {contradiction_counted}", "more-lost-than-sent"),
    Phrase("contradiction", "{contradiction_said} received of {contradiction_counted}", "negative-count"),
    Phrase("contradiction", "printed {contradiction_said} % lost, {_} of {_} are {contradiction_counted} %", "loss-percent"),
    Phrase("contradiction", "printed {contradiction_said} % lost, counted {contradiction_counted} %", "loss-percent"),
    Phrase("contradiction", "the sum says {contradiction_said} of {_} lost, its streams {contradiction_counted} of {_}", "lost-of-streams"),
    Phrase("contradiction", "the sum says {contradiction_said} lost, its streams {contradiction_counted}", "lost-of-streams"),
    Phrase("contradiction", "the sum says {contradiction_said} sent, its streams {contradiction_counted}", "sent-of-streams"),
    Phrase("contradiction", "the summary's mean is {contradiction_said} ms, the replies' {contradiction_counted} ms", "mean-ms-of-replies"),
    Phrase("contradiction", "the summary has {contradiction_said} replies, the lines {contradiction_counted}", "count-of-replies"),
    Phrase("contradiction", "the receiver's line counts {contradiction_said} octets, the sender's {contradiction_counted}", "octets-of-sender"),
    Phrase("contradiction", "{contradiction_counted} results are wrong", "wrong-results"),
    Phrase("contradiction", "the line says {contradiction_said} bit/s, its octets and its time {contradiction_counted}", "rate-of-octets"),
    Phrase("contradiction", "the sum says {contradiction_said} bit/s, its streams {contradiction_counted}", "rate-of-streams"),
    Phrase("contradiction", "the summary says {contradiction_said} octets, its intervals {contradiction_counted}", "octets-of-intervals"),
    Phrase("contradiction", "the summary says {contradiction_said} lost, its intervals {contradiction_counted}", "lost-of-intervals"),
    Phrase("contradiction", "the summary counts {contradiction_said}, where a counter ends, its intervals {contradiction_counted}", "stuck-counter"),
    Phrase("contradiction", "the end says {contradiction_said} lost, the server's own output {contradiction_counted}", "lost-of-server"),
    Phrase("contradiction", "{contradiction_said} stands where at most {contradiction_counted} can", "order-of-points"),
    Phrase("contradiction", "the mean is {contradiction_said} ns, the rate makes it {contradiction_counted} ns", "mean-of-rate"),
    Phrase("contradiction", "{contradiction_said} operations a second, their count and time make {contradiction_counted}", "rate-of-count"),
    Phrase("contradiction", "a mean of {contradiction_said} ns, where its points leave {contradiction_counted} ns", "mean-of-points"),
    Phrase("contradiction", "a deviation of {contradiction_said} ns, where its points leave {contradiction_counted} ns", "deviation-of-points"),
    Phrase("contradiction", "a latency of {contradiction_said} ns, its parts make {contradiction_counted} ns", "latency-of-parts"),
    Phrase("contradiction", "{contradiction_said} octets of payload, the packets have {contradiction_counted}", "payload-of-replies"),
    Phrase("contradiction", "{contradiction_said} lost, sent and received make {contradiction_counted}", "lost-of-counts"),
    Phrase("contradiction", "{contradiction_said} jobs report, {contradiction_counted} were started", "jobs-of-start"),
    Phrase("contradiction", "the job has a depth of {contradiction_said}, its group {contradiction_counted}", "depth-of-job"),
    Phrase("contradiction", "{contradiction_said} octets, their count and size make {contradiction_counted}", "octets-of-count"),
    Phrase("contradiction", "{contradiction_said} octets, their rate and time make {contradiction_counted}", "octets-of-rate"),
    Phrase("contradiction", "the result says {contradiction_said} bit/s, its intervals {contradiction_counted}", "rate-of-intervals"),
    Phrase("contradiction", "the summary says {contradiction_said} retransmits, its intervals {contradiction_counted}", "retransmits-of-intervals"),
    Phrase("contradiction", "the summary says {contradiction_said} sent, its intervals {contradiction_counted}", "sent-of-intervals"),
    Phrase("contradiction", "{contradiction_said} datagrams a second, their count and time make {contradiction_counted}", "datagrams-of-count"),
    Phrase("contradiction", "{contradiction_said} datagrams at the receiver, {contradiction_counted} were sent", "more-than-sent"),
    Phrase("contradiction", "a connection to port {contradiction_said}, the server's is {contradiction_counted}", "port-of-server"),
    Phrase("contradiction", "the bus carries {contradiction_said} times the algorithm's rate, and {contradiction_counted} times in place", "bus-of-algorithm"),
    Phrase("contradiction", "{contradiction_said} packets, where {contradiction_counted} fit into the time", "more-than-time"),
    Phrase("contradiction", "{contradiction_said} streams were asked for, {contradiction_counted} are listed", "streams-of-test"),
    Phrase("contradiction", "the sum says {contradiction_said} retransmits, its streams {contradiction_counted}", "retransmits-of-streams"),
    Phrase("contradiction", "{contradiction_said} operations, their bins have {contradiction_counted}", "count-of-bins"),
    Phrase("contradiction", "an average of {contradiction_said} bit/s, the rows make it {contradiction_counted}", "mean-of-rows"),
    Phrase("disagreement", "more went in than waited: something lets a part through at once (a token bucket), or frames waited that were not stamped", "more-in-than-waited"),
    Phrase("disagreement", "frames waited longer than the queue that drops them: another queue is on the way (a host's own port, or an uplink)", "another-queue"),
    Phrase("disagreement", "single frames were lost before the queue was full: the senders did not keep an even pace, or something else lost them", "lost-before-full"),
    Phrase("disagreement", "the longest burst that came through whole held more than an overflowing one: a sender paused, or was made to (PAUSE)", "sender-paused"),
    Phrase("egress", "uncongested (control)", "uncongested-control"),
    Phrase("estimate", "predicted from the round trips", "predicted"),
    Phrase("estimate", "observed less predicted", "observed-less-predicted"),
    Phrase("estimate", "under way / mean latency", "from-latency"),
    Phrase("estimate", "at most, with the same link without latency", "link-without-latency"),
    Phrase("estimate", "at most, with a faster link", "faster-link"),
    Phrase("estimate", "at most, with a device without latency", "device-without-latency"),
    Phrase("estimate", "what if", "what-if"),
    Phrase("estimate", "1 / transactions a second", "from-transaction-rate"),
    Phrase("estimator", "by class", "by-class"),
    Phrase("failed_by", "SYNs without an answer", "timed-out"),
    Phrase("failed_by", "refused by a reset", "refused"),
    Phrase("failed_by", "answered by an ICMP error", "unreachable"),
    Phrase("failed_by", "opened, then silent", "unanswered"),
    Phrase("failed_by", "reset later", "reset"),
    Phrase("feeding", "{feeding} to 1", ""),
    Phrase("host_limit", "receive window", "receive-window"),
    Phrase("host_limit", "send buffer", "send-buffer"),
    Phrase("interval", "search bracket", "search-bracket"),
    Phrase("interval", "1st and 99th percentile of repeats", "percentiles-1-99"),
    Phrase("interval", "minimum and maximum of searches", "range-of-searches"),
    Phrase("load", "udp {background_frames_per_s} frames/s of {background_frame_size}", "udp"),
    Phrase("load", "udp {background_link_share:percent} % of the link", "udp"),
    Phrase("load", "udp {background_link_share:percent} % of the link the other way", "udp"),
    Phrase("load", "udp {background_bits_per_s:rate}/s", "udp"),
    Phrase("load", "udp {background_bits_per_s:rate}/s the other way", "udp"),
    Phrase("load", "tcp {streams:1} stream {congestion_control}", "tcp"),
    Phrase("load", "tcp {streams} streams {congestion_control}", "tcp"),
    Phrase("load_reference", "link rate", "link-rate"),
    Phrase("load_reference", "highest rate the tester sends", "highest-sent"),
    Phrase("load_reference", "twice the throughput found", "twice-throughput"),
    Phrase("of", "all outputs", "all-outputs"),
    Phrase("of", "each DSCP class", "each-class"),
    Phrase("part", "storage node", "storage-node"),
    Phrase("pattern", "out of place", "out-of-place"),
    Phrase("pattern", "in place", "in-place"),
    Phrase("paused", "yes", "true"),
    Phrase("paused", "no", "false"),
    Phrase("ports_missing_for", "nothing it sent arrived", "sends-nothing"),
    Phrase("ports_missing_for", "nothing arrived at it", "receives-nothing"),
    Phrase("rate_convention", "bus bandwidth of nccl-tests", "bus-bandwidth"),
    Phrase("reason", "no DSCP classes are configured: all frames have the class 0", "no-classes"),
    Phrase("reason", "it needs {ports_needed} ports, and there are {ports}", "too-few-ports"),
    Phrase("reason", "a host's port keeps the standard's gap of 96 bits between frames", "gap-is-kept"),
    Phrase("reason", "a host's port pads short frames and ends each with a right check sequence", "frames-are-mended"),
    Phrase("reason", "a device can't be told to forget, and has learned these stations before", "not-forgotten"),
    Phrase("reasons", "below fair share", "below-fair-share"),
    Phrase("reasons", "busy hosts", "busy-hosts"),
    Phrase("reasons", "still growing", "still-growing"),
    Phrase("reasons", "nothing lost", "nothing-lost"),
    Phrase("round", "direct cables", "direct-cables"),
    Phrase("round", "slow ports send", "suspects-send"),
    Phrase("round", "slow ports receive", "suspects-receive"),
    Phrase("round", "slow ports, short messages", "suspects-short"),
    Phrase("round", "sweep {}", "sweep-{}"),
    Phrase("round", "bisection {}", "bisection-{}"),
    Phrase("round", "tournament {}", "tournament-{}"),
    Phrase("round", "halves {}", "halves-{}"),
    Phrase("rule", "rate x RTT", "rate-rtt"),
    Phrase("rule", "rate x RTT / sqrt(flows)", "rate-rtt-sqrt-flows"),
    Phrase("schedule", "closed loop", "closed-loop"),
    Phrase("schedule", "open loop {schedule_rate_per_s}/s", "open-loop"),
    Phrase("stamped", "{departure_stamped}/{arrival_stamped}", ""),
    Phrase("traffic", "tcp and datagrams", "tcp-and-datagrams"),
    Phrase("traffic", "tcp and a burst", "tcp-and-burst"),
    Phrase("waits", "before the device decides on them", "before-decision"),
    Phrase("waits", "before the device decides on them, and at the output", "before-decision-and-at-output"),
];

/// Conditions that earlier versions joined into one text, with their separators.
const JOINED: [(&str, &str); 4] =
    [("arrangements_missing", ", "), ("factors", " "), ("from", ", "), ("reasons", ", ")];

/// Wording of a condition for sentences and tables, including the fields that belong to it.
pub fn condition(conditions: &Conditions, key: &Key) -> Option<String> {
    let own = conditions.get(key)?;
    if let (Condition::List(codes), true) = (own, Phrase::all(key).next().is_some()) {
        let words: Vec<String> = codes.iter().map(|own| code(key, own)).collect();
        return Some(words.join(", "));
    }
    let phrase = Phrase::find(conditions, key);
    Some(phrase.and_then(|phrase| phrase.fill(conditions)).unwrap_or_else(|| own.to_words()))
}

/// Wording of a code without fields.
pub fn code(key: &Key, code: &str) -> String {
    condition(&Conditions::from([(key.clone(), code.into())]), key).unwrap_or_default()
}

/// Wording of all conditions for sentences and tables; fields appear within the condition that they
/// belong to.
pub fn conditions(all: &Conditions) -> BTreeMap<&Key, String> {
    let phrases = all.keys().filter_map(|key| Phrase::find(all, key));
    let told: Vec<&str> = phrases.flat_map(Phrase::fields).collect();
    let apart = all.keys().filter(|key| !told.contains(&key.as_str()));
    apart.filter_map(|key| Some((key, condition(all, key)?))).collect()
}

/// True for a condition that rows have, or had in an earlier version.
pub fn is_understood(key: &Key) -> bool {
    !matches!(key, Key::Named(_)) || Phrase::all(key).next().is_some()
}

/// Translates a row's conditions from any version: prose of earlier ones becomes codes and fields.
pub fn current(conditions: Conditions) -> Conditions {
    conditions.into_iter().flat_map(|(key, value)| current_of(key, value)).collect()
}

fn current_of(key: Key, value: Condition) -> Conditions {
    let Condition::Text(text) = &value else { return Conditions::from([(key, value)]) };
    let joined = JOINED.iter().find(|(name, _)| *name == key.as_str());
    // A single sending port is no list.
    if let Some((_, separator)) = joined.filter(|(_, by)| key != Key::From || text.contains(by)) {
        let of = if key == Key::ArrangementsMissing { Key::Round } else { key.clone() };
        let items = text.split(separator).map(|item| Phrase::code_of(&of, item));
        return Conditions::from([(key.clone(), Condition::List(items.collect()))]);
    }
    match key.as_str() {
        "ports_missing" => ports_missing(text),
        "worst_arrangement" => Conditions::from([(key, Phrase::code_of(&Key::Round, text).into())]),
        // Several contradictions were joined; the first represents all.
        "contradiction" => {
            let first = text.split("; ").next().unwrap_or_default();
            Phrase::read(&key, first).unwrap_or_else(|| Conditions::from([(key, value)]))
        }
        _ => Phrase::read(&key, text).unwrap_or_else(|| Conditions::from([(key, value)])),
    }
}

/// Parses `h3/eth1 (silent); h4/eth1 (nothing arrived at it)`.
fn ports_missing(text: &str) -> Conditions {
    let why = |why: &str| Phrase::code_of(&Key::PortsMissingFor, why.trim_end_matches(')'));
    let (ports, reasons) = text
        .split("; ")
        .map(|port| port.split_once(" (").unwrap_or((port, "")))
        .map(|(port, reason)| (port.to_owned(), why(reason)))
        .unzip();
    Conditions::from([
        (Key::PortsMissing, Condition::List(ports)),
        (Key::PortsMissingFor, Condition::List(reasons)),
    ])
}

impl Phrase {
    /// Phrase of a condition's code whose fields are all present; `None` without one.
    fn find(conditions: &Conditions, key: &Key) -> Option<&'static Self> {
        let Condition::Text(code) = conditions.get(key)? else { return None };
        let is_own = |own: &&Self| own.2 == code || own.number_in(code).is_some();
        Self::all(key).filter(is_own).find(|own| own.fill(conditions).is_some())
    }

    /// Number within such a code; `None` if it does not match.
    fn number_in<'a>(&self, code: &'a str) -> Option<&'a str> {
        code.strip_prefix(self.2.strip_suffix("{}")?)
    }

    fn all(key: &Key) -> impl Iterator<Item = &'static Self> {
        PHRASES.iter().filter(move |phrase| phrase.0 == key.as_str())
    }

    /// Parts of the wording: words and fields alternately.
    fn parts(&self) -> impl Iterator<Item = &'static str> {
        self.1.split(['{', '}'])
    }

    /// Names of the conditions in the wording.
    fn fields(&self) -> impl Iterator<Item = &'static str> {
        let fields = self.parts().skip(1).step_by(2);
        fields.map(|field| field.split_once(':').map_or(field, |(name, _)| name))
    }

    fn fill(&self, conditions: &Conditions) -> Option<String> {
        let said = |(at, part): (usize, &str)| {
            if at % 2 == 0 {
                return Some(part.to_owned());
            }
            let (name, form) = part.split_once(':').unwrap_or((part, ""));
            if let (true, Some(Condition::Text(code))) =
                (name.is_empty(), conditions.get(&Key::named(self.0)))
            {
                return self.number_in(code).map(str::to_owned);
            }
            let value = conditions.get(&Key::named(name))?;
            match (form, value) {
                ("percent", Condition::Number(share)) => Some(format!("{:.1}", share * 100.0)),
                ("rate", Condition::Integer(bits)) => Some(Rate(*bits).to_string()),
                ("1", Condition::Integer(1)) => Some("1".to_owned()),
                ("", value) => Some(value.to_string()),
                _ => None,
            }
        };
        self.parts().enumerate().map(said).collect()
    }

    /// Returns the code for this wording, or the wording itself.
    fn code_of(key: &Key, words: &str) -> String {
        match Self::read(key, words).and_then(|mut read| read.remove(key)) {
            Some(Condition::Text(code)) => code,
            _ => words.to_owned(),
        }
    }

    /// Returns the conditions for this wording; `None` if it is no phrase of the key.
    fn read(key: &Key, words: &str) -> Option<Conditions> {
        Self::all(key).find_map(|phrase| {
            let mut conditions = phrase.match_words(words)?;
            let number = conditions.remove(&Key::named(""));
            let number = number.map_or_else(String::new, |number| number.to_string());
            match phrase.2 {
                "" => {}
                "true" | "false" => {
                    conditions.insert(key.clone(), Condition::Flag(phrase.2 == "true"));
                }
                code => {
                    conditions.insert(key.clone(), code.replace("{}", &number).into());
                }
            }
            conditions.remove(&Key::named("_"));
            Some(conditions)
        })
    }

    /// Returns the fields in this wording; `None` if it differs.
    fn match_words(&self, words: &str) -> Option<Conditions> {
        let mut parts = self.parts();
        let mut rest = words.strip_prefix(parts.next()?)?;
        let mut conditions = Conditions::new();
        while let Some(field) = parts.next() {
            let behind = parts.next().unwrap_or_default();
            let end = if behind.is_empty() { rest.len() } else { rest.find(behind)? };
            let (name, form) = field.split_once(':').unwrap_or((field, ""));
            conditions.insert(Key::named(name), field_of(&rest[..end], form)?);
            rest = &rest[end + behind.len()..];
        }
        rest.is_empty().then_some(conditions)
    }
}

/// Parses a field's value: a number if possible, otherwise a name.
fn field_of(text: &str, form: &str) -> Option<Condition> {
    let number = || text.parse::<f64>().ok().filter(|number| number.is_finite());
    match form {
        "percent" => Some(Condition::Number(number()? / 100.0)),
        "rate" => Some(Condition::Integer(text.parse::<Rate>().ok()?.0)),
        "1" => (text == "1").then_some(Condition::Integer(1)),
        _ if text.is_empty() => None,
        _ => Some(number().map_or_else(|| text.into(), Condition::from_number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of one phrase, with a value in each field's place.
    fn example(phrase: &Phrase) -> String {
        let value = |part: &str| match part {
            _ if part.ends_with(":percent") => "12.5",
            _ if part.ends_with(":rate") => "2Gbit",
            _ if part.ends_with(":1") => "1",
            "congestion_control" => "cubic",
            "departure_stamped" | "arrival_stamped" => "kernel",
            _ => "7",
        };
        let said = |(at, part): (usize, &'static str)| if at % 2 == 0 { part } else { value(part) };
        phrase.parts().enumerate().map(said).collect()
    }

    #[test]
    fn each_line_is_understood_and_leaves_code_words() {
        for phrase in PHRASES {
            let key = Key::named(phrase.0);
            let old = Conditions::from([(key.clone(), example(phrase).into())]);
            let new = current(old.clone());
            assert_ne!(new, old, "{} {}", phrase.0, phrase.1);
            for (key, value) in &new {
                assert!(!matches!(key, Key::Named(_)), "{key} of {} is no condition", phrase.1);
                if let Condition::Text(text) = value {
                    let is_code =
                        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                    assert!(text.chars().all(is_code), "{key} {text}");
                }
            }
            assert_eq!(current(new.clone()), new, "what is new stays");
            let expected = (!phrase.2.contains("{}")).then_some(phrase.2).filter(|c| !c.is_empty());
            let code = new.get(&key).map(ToString::to_string);
            assert!(expected.is_none() || code.as_deref() == expected, "{code:?} of {}", phrase.1);
        }
    }

    #[test]
    fn the_reference_has_each_line() {
        let reference = include_str!("../../../docs/reference/earlier-words.tsv");
        let row = |Phrase(key, words, code): &Phrase| format!("{key}\t{words}\t{code}");
        let table: Vec<String> = PHRASES.iter().map(row).collect();
        assert_eq!(reference.lines().skip(1).collect::<Vec<_>>(), table);
    }

    #[test]
    fn a_first_line_is_said_as_it_is_understood() {
        let is_said = |phrase: &&Phrase| {
            !matches!(phrase.2, "" | "true" | "false") && !phrase.1.contains("{_}")
        };
        for phrase in PHRASES.iter().filter(is_said) {
            let key = Key::named(phrase.0);
            let is_first = !phrase.1.ends_with(" the other way");
            if is_first {
                let old = Conditions::from([(key.clone(), example(phrase).into())]);
                let said = condition(&current(old), &key);
                assert_eq!(said.as_deref(), Some(&*example(phrase)));
            }
        }
    }

    #[test]
    fn fields_have_numbers_with_their_units() {
        let check = |key: &str, old: &str, new: &[(&str, Condition)]| {
            let old = Conditions::from([(Key::named(key), old.into())]);
            let pair = |(key, value): &(&str, Condition)| (Key::named(key), value.clone());
            assert_eq!(current(old), new.iter().map(pair).collect());
        };
        let list =
            |items: &[&str]| Condition::List(items.iter().map(|item| (*item).to_owned()).collect());
        check(
            "load",
            "udp 12500.5 frames/s of 512",
            &[
                ("load", "udp".into()),
                ("background_frames_per_s", 12_500.5.into()),
                ("background_frame_size", 512.into()),
            ],
        );
        check(
            "load",
            "udp 20.0 % of the link the other way",
            &[("load", "udp".into()), ("background_link_share", 0.2.into())],
        );
        check(
            "load",
            "udp 2Gbit/s",
            &[("load", "udp".into()), ("background_bits_per_s", 2_000_000_000.into())],
        );
        check(
            "load",
            "tcp 2 streams reno",
            &[("load", "tcp".into()), ("streams", 2.into()), ("congestion_control", "reno".into())],
        );
        check("load", "idle", &[("load", "idle".into())]);
        check(
            "schedule",
            "open loop 10000/s",
            &[("schedule", "open-loop".into()), ("schedule_rate_per_s", 10_000.into())],
        );
        check(
            "stamped",
            "intended/kernel",
            &[("departure_stamped", "intended".into()), ("arrival_stamped", "kernel".into())],
        );
        check("feeding", "2 to 1", &[("feeding", 2.into())]);
        check("worst_arrangement", "tournament 3", &[("worst_arrangement", "tournament-3".into())]);
        check(
            "reasons",
            "retransmits, below fair share",
            &[("reasons", list(&["retransmits", "below-fair-share"]))],
        );
        check("from", "h1/eth1, h3/eth1", &[("from", list(&["h1/eth1", "h3/eth1"]))]);
        check("from", "h1/eth1", &[("from", "h1/eth1".into())]);
        check("factors", "rack cable", &[("factors", list(&["rack", "cable"]))]);
        check(
            "ports_missing",
            "h3/eth1 (silent); h4/eth1 (nothing it sent arrived)",
            &[
                ("ports_missing", list(&["h3/eth1", "h4/eth1"])),
                ("ports_missing_for", list(&["silent", "sends-nothing"])),
            ],
        );
        check(
            "contradiction",
            "printed 3 % lost, 4 of 100 are 4.000 %; 5 lost of 4",
            &[
                ("contradiction", "loss-percent".into()),
                ("contradiction_said", 3.into()),
                ("contradiction_counted", 4.into()),
            ],
        );
        check("device", "at least", &[("device", "at least".into())]);
    }

    #[test]
    fn fields_stand_in_the_words_of_what_they_belong_to() {
        let all = Conditions::from([
            (Key::Load, "tcp".into()),
            (Key::Streams, 2_u64.into()),
            (Key::CongestionControl, "reno".into()),
            (Key::Bound, "at-least".into()),
            (Key::Device, "at-least".into()),
        ]);
        let said: Vec<_> = conditions(&all).into_iter().map(|(k, v)| format!("{k} {v}")).collect();
        assert_eq!(said, ["bound at least", "device at-least", "load tcp 2 streams reno"]);
        let without = Conditions::from([(Key::Load, "tcp".into()), (Key::Streams, 2_u64.into())]);
        assert_eq!(condition(&without, &Key::Load).as_deref(), Some("tcp"));
    }
}
