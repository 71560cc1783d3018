//! Claims in words, as data sheets have them: `line rate at 64 octets`, `8192 MAC addresses`.
//!
//! Owns the forms that are known, and what each comes to. A text that is none of them is a fault
//! under the first word that fits none.

use std::ops::Range;

use measure::{ByteCount, FrameRate, FrameSize, Nanos, Rate, Refused};
use page::{Key, Metric};
use study::acceptance::{About, Keeps, Reading, SheetClaim};
use study::request::given::Value as _;

use crate::config::source::{Fault, Word};
use crate::config::suggest;
use crate::config::typed::Text;

/// A form: its words, with placeholders for values, and the claim that it makes.
struct Form {
    words: &'static str,
    makes: fn(&[f64]) -> (About, Keeps),
}

/// All forms. A form with `on all ports` is one more.
const FORMS: &[Form] = &[
    Form { words: "line rate at SIZE octets", makes: |v| (line(v[0], false), Keeps::AtLeast(1.0)) },
    Form {
        words: "line rate at SIZE octets on all ports",
        makes: |v| (line(v[0], true), Keeps::AtLeast(1.0)),
    },
    Form {
        words: "throughput at least SHARE of line rate at SIZE octets",
        makes: |v| (line(v[1], false), Keeps::AtLeast(v[0])),
    },
    Form {
        words: "throughput at least SHARE of line rate at SIZE octets on all ports",
        makes: |v| (line(v[1], true), Keeps::AtLeast(v[0])),
    },
    Form {
        words: "throughput at least FRAMES at SIZE octets",
        makes: |v| (throughput(v[1], false), Keeps::AtLeast(v[0])),
    },
    Form {
        words: "throughput at least FRAMES at SIZE octets on all ports",
        makes: |v| (throughput(v[1], true), Keeps::AtLeast(v[0])),
    },
    Form { words: "non-blocking", makes: |_| (About::new(Metric::Nonblocking), Keeps::Is(1.0)) },
    Form {
        words: "buffer at least BYTES",
        makes: |v| (About::new(Metric::Buffer).read(Reading::WholeBuffer), Keeps::AtLeast(v[0])),
    },
    Form {
        words: "packet buffer BYTES",
        makes: |v| (About::new(Metric::Buffer).read(Reading::WholeBuffer), Keeps::AtLeast(v[0])),
    },
    Form {
        words: "BYTES packet buffer",
        makes: |v| (About::new(Metric::Buffer).read(Reading::WholeBuffer), Keeps::AtLeast(v[0])),
    },
    Form { words: "switching capacity RATE", makes: |v| (capacity(), Keeps::AtLeast(v[0])) },
    Form {
        words: "forwarding rate FRAMES",
        makes: |v| (throughput(SMALLEST, true), Keeps::AtLeast(v[0])),
    },
    Form {
        words: "packet forwarding rate FRAMES",
        makes: |v| (throughput(SMALLEST, true), Keeps::AtLeast(v[0])),
    },
    Form { words: "FRAMES", makes: |v| (throughput(SMALLEST, true), Keeps::AtLeast(v[0])) },
    Form {
        words: "buffer at least BYTES at one port",
        makes: |v| (one_port(), Keeps::AtLeast(v[0])),
    },
    Form {
        words: "buffer at most BYTES at one port",
        makes: |v| (one_port(), Keeps::AtMost(v[0])),
    },
    Form {
        words: "COUNT MAC addresses",
        makes: |v| (About::new(Metric::AddressCapacity), Keeps::AtLeast(v[0])),
    },
    Form {
        words: "MAC address table COUNT",
        makes: |v| (About::new(Metric::AddressCapacity), Keeps::AtLeast(v[0])),
    },
    Form {
        words: "learns at least COUNT MAC addresses a second",
        makes: |v| (About::new(Metric::AddressLearningRate), Keeps::AtLeast(v[0])),
    },
    Form {
        words: "latency at most TIME at SIZE octets",
        makes: |v| (delay(v[1], Reading::OneWay), Keeps::AtMost(v[0])),
    },
    Form {
        words: "latency at most TIME at SIZE octets store-and-forward",
        makes: |v| (delay(v[1], Reading::FromLastBit), Keeps::AtMost(v[0])),
    },
    Form {
        words: "latency at most TIME at SIZE octets cut-through",
        makes: |v| (delay(v[1], Reading::FromFirstBit), Keeps::AtMost(v[0])),
    },
    Form {
        words: "uplinks at least RATE",
        makes: |v| (About::new(Metric::UplinkRate), Keeps::AtLeast(v[0])),
    },
    Form { words: "fails over within TIME", makes: |v| (outage(), Keeps::AtMost(v[0])) },
    Form {
        words: "no head-of-line blocking",
        makes: |_| (About::new(Metric::HeadOfLineBlocking), Keeps::Is(0.0)),
    },
];

fn throughput(size: f64, all_ports: bool) -> About {
    let about = About::new(Metric::Throughput).at(Key::FrameSize, size as u64);
    if all_ports {
        about.at(Key::Study, "switching").at(Key::Test, "mesh")
    } else {
        about.at(Key::Study, "forwarding").at(Key::Goal, "rfc2544")
    }
}

fn line(size: f64, all_ports: bool) -> About {
    throughput(size, all_ports).read(Reading::ShareOfLine)
}

fn one_port() -> About {
    About::new(Metric::Buffer).at(Key::Estimator, "one-shot")
}

/// Frame sizes at which data sheets count most frames a second, and most bits.
const SMALLEST: f64 = 64.0;
const LARGEST: f64 = 1518.0;

/// Throughput of all ports in and out at once, in bits on the wire.
fn capacity() -> About {
    throughput(LARGEST, true).read(Reading::SwitchingCapacity)
}

/// Latency added to that of a direct cable, one way, at rest: the median of UDP.
fn delay(size: f64, reading: Reading) -> About {
    let about = About::new(Metric::RttAdded).at(Key::FrameSize, size as u64);
    let about = about.at(Key::Protocol, "udp").at(Key::Load, "idle").read(reading);
    About { quantile: Some(0.5), ..about }
}

/// Outage of the flow that is interrupted longest, whatever is done to the device.
fn outage() -> About {
    About::new(Metric::Outage).at(Key::Phase, "failure").at(Key::Statistic, "longest")
}

/// Parser of a placeholder's value.
type Read = fn(&str) -> Result<f64, Refused>;
const VALUES: [(&str, Read); 7] = [
    ("SIZE", |text| FrameSize::read(text).map(|size| f64::from(size.octets()))),
    ("COUNT", count),
    ("BYTES", bytes),
    ("TIME", |text| quantity(text, str::parse::<Nanos>, "5us").map(|time| time.0 as f64)),
    ("RATE", |text| quantity(text, rate, "10Gbit/s").map(Rate::bits_per_second)),
    ("FRAMES", |text| quantity(text, str::parse::<FrameRate>, "1.2Mpps").map(|rate| rate.0)),
    ("SHARE", share),
];

/// Placeholders whose unit is a word of the form.
const BARE: [&str; 2] = ["SIZE", "COUNT"];

/// Parses a rate with or without `/s`, which data sheets write.
pub(super) fn rate(text: &str) -> Result<Rate, measure::UnitError> {
    text.strip_suffix("/s").unwrap_or(text).parse()
}

/// Parses a size in octets, or in bits, which data sheets write.
fn bytes(text: &str) -> Result<f64, Refused> {
    let is_bits = ["bit", "Bit", "bits", "Bits"].iter().any(|unit| text.ends_with(unit));
    if is_bits {
        let bits = text.trim_end_matches('s').replace("Bit", "bit");
        return quantity(&bits, rate, "9MB or 72Mbit").map(|bits| bits.bits_per_second() / 8.0);
    }
    quantity(text, str::parse::<ByteCount>, "9MB or 72Mbit").map(|bytes| bytes.0 as f64)
}

/// Parses a count: `32,768`; `32K` is as much, as sheets count tables.
fn count(text: &str) -> Result<f64, Refused> {
    let plain = text.replace(',', "");
    let (digits, times) = plain.strip_suffix(['K', 'k']).map_or((&*plain, 1), |k| (k, 1024));
    let number = digits.parse::<u32>().ok().and_then(|number| number.checked_mul(times));
    let number = number.filter(|number| *number > 0);
    let wrong = || Refused::new(format!("`{text}` is no count"), "write it as 8192");
    number.map(f64::from).ok_or_else(wrong)
}

fn share(text: &str) -> Result<f64, Refused> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let wrong = || Refused::new(format!("`{text}` is no share"), "write it as 95%");
    number.filter(|n| *n > 0.0 && *n <= 100.0).map(|percent| percent / 100.0).ok_or_else(wrong)
}

fn quantity<T>(
    text: &str,
    read: impl Fn(&str) -> Result<T, measure::UnitError>,
    like: &str,
) -> Result<T, Refused> {
    read(text).map_err(|error| Refused::new(error.to_string(), format!("write it as {like}")))
}

/// Reads a claim; a fault points to the words that it is about.
pub(super) fn read(text: &Text) -> Result<SheetClaim, Fault> {
    let said = text.get_ref();
    let (about, keeps) = parse(said).map_err(|mut fault| {
        let quoted = text.span();
        // A text with escapes is not as long as it is written.
        fault.span = if quoted.len() == said.len() + 2 {
            quoted.start + 1 + fault.span.start..quoted.start + 1 + fault.span.end
        } else {
            quoted
        };
        fault
    })?;
    let text = said.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(SheetClaim { text, about, keeps, margin: 0.0, source: None })
}

/// Match of a form with the beginning of a text.
struct Tried {
    form: &'static Form,
    /// Number of words of the text that fitted.
    fitted: usize,
    /// Next word that the form wants, and what was wrong with a value there.
    wants: Option<&'static str>,
    wrong: Option<(Range<usize>, Refused)>,
    values: Vec<f64>,
}

fn parse(text: &str) -> Result<(About, Keeps), Fault> {
    let words = words_of(text);
    let tried: Vec<Tried> = FORMS.iter().map(|form| form.along(text, &words)).collect();
    if let Some(whole) = tried.iter().find(|one| one.wants.is_none() && one.fitted == words.len()) {
        return Ok((whole.form.makes)(&whole.values));
    }
    let furthest = tried.iter().map(|one| one.fitted).max().unwrap_or(0);
    let best: Vec<&Tried> = tried.iter().filter(|one| one.fitted == furthest).collect();
    // A value beside known words is what is wrong.
    if let Some((span, refused)) =
        best.iter().filter(|_| furthest > 0).find_map(|one| one.wrong.clone())
    {
        return Err(Fault::refused(span, refused));
    }
    let known: Vec<&str> = best.iter().filter_map(|one| one.wants).collect();
    let Some(word) = words.get(furthest) else {
        let message = "the claim ends here too early".to_owned();
        return Err(Fault::new(text.len()..text.len(), message, forms(&best)));
    };
    let hint = suggest::nearest(&word.text.to_lowercase(), &known);
    let hint = hint.map_or_else(|| forms(&best), |near| format!("did you mean `{near}`?"));
    Err(Fault::new(word.span.clone(), format!("no claim has `{}` here", word.text), hint))
}

/// The forms that might be meant.
fn forms(of: &[&Tried]) -> String {
    let all: Vec<&str> = of.iter().map(|one| one.form.words).collect();
    format!("known are {}", suggest::list(&all))
}

fn words_of(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    for part in text.split(char::is_whitespace) {
        if !part.is_empty() {
            words.push(Word { text: part, span: at..at + part.len() });
        }
        at += part.len() + 1;
    }
    words
}

impl Form {
    fn along(&'static self, text: &str, words: &[Word<'_>]) -> Tried {
        let mut tried =
            Tried { form: self, fitted: 0, wants: None, wrong: None, values: Vec::new() };
        for want in self.words.split(' ') {
            let fits = match (words.get(tried.fitted), value_of(want)) {
                (None, _) => 0,
                (Some(word), None) => usize::from(alike(word.text, want)),
                (Some(_), Some(read)) => tried.value(text, words, want, read),
            };
            if fits == 0 {
                tried.wants = Some(want);
                return tried;
            }
            tried.fitted += fits;
        }
        tried
    }
}

impl Tried {
    /// Returns the number of words that the value takes, 2 for `9 MB`; 0 if it is no such value.
    fn value(&mut self, text: &str, words: &[Word<'_>], want: &str, read: Read) -> usize {
        let first = &words[self.fitted];
        let number = first.text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let has_unit = number && !BARE.contains(&want);
        let unit = words.get(self.fitted + 1).filter(|_| has_unit);
        let span = first.span.start..unit.unwrap_or(first).span.end;
        match read(&text[span.clone()].split_whitespace().collect::<String>()) {
            Ok(value) => {
                self.values.push(value);
                self.wrong = None;
                1 + usize::from(unit.is_some())
            }
            Err(misfit) => {
                self.wrong = Some((span, misfit));
                0
            }
        }
    }
}

fn value_of(want: &str) -> Option<Read> {
    VALUES.iter().find(|(name, _)| *name == want).map(|(_, read)| *read)
}

/// Compares a word with a form's. Ignores capitals, commas, colons and brackets about a word, and
/// accepts the usual other names of octets.
fn alike(word: &str, want: &str) -> bool {
    let word = word.trim_matches([',', ':', '(', ')']).to_lowercase();
    let want = want.to_lowercase();
    word == want
        || (want == "octets" && matches!(word.as_str(), "octet" | "byte" | "bytes"))
        || (want == "non-blocking" && word == "nonblocking")
}
