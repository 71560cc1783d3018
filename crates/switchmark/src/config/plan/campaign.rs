//! `[campaign]`: the table's typed form, and the campaign that it makes of the plan's studies.
//!
//! Owns its keys and what a factor's name means. Never decides an order: that is the campaign's
//! own.

use std::collections::BTreeMap;

use measure::{FrameSize, Nanos, Refused};
use serde::Deserialize;
use study::campaign::{
    AS_FOUND, CampaignSpec, Factor, Level, Limits, Means, Repetitions, StopRule, allowed,
};
use study::request::given::{self, Given, Kind};
use study::request::subjects;
use study::request::values::unit;
use study::{Blocks, StudySpec};
use toml::{Spanned, Value};

use crate::config::resolved::{Source, Testbed};
use crate::config::source::Fault;
use crate::config::typed::Text;
use crate::config::{outline, suggest};

/// Maximum cells, and maximum repetitions of each in a block.
const MOST_CELLS: usize = 1000;

/// Names that figures use for something else.
const TAKEN: [&str; 16] = [
    "from",
    "to",
    "path",
    "protocol",
    "load",
    "frame_size",
    "test",
    "goal",
    "schedule",
    "cell",
    "control",
    "factors",
    "of",
    "decision",
    "block",
    "repetition",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CampaignFile {
    factors: BTreeMap<Spanned<String>, Spanned<Value>>,
    #[serde(default)]
    only: Vec<Spanned<BTreeMap<String, Value>>>,
    #[serde(default)]
    except: Vec<Spanned<BTreeMap<String, Value>>>,
    blocks: Option<Given<Blocks>>,
    repetitions: Option<Given<Repetitions>>,
    #[serde(default)]
    stop: StopFile,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StopFile {
    ci_width: Option<Given<Width>>,
    budget: Option<Given<Budget>>,
}

impl CampaignFile {
    pub(super) fn resolve(
        file: &Spanned<Self>,
        studies: Vec<StudySpec>,
        testbed: &Testbed,
    ) -> Result<StudySpec, Fault> {
        let own = file.get_ref();
        let mut written: Vec<_> = own.factors.iter().collect();
        written.sort_by_key(|(name, _)| name.span().start);
        let factor = |(name, levels): &(&Text, &Spanned<Value>)| factor(name, levels, testbed);
        let factors: Vec<Factor> = written.iter().map(factor).collect::<Result<_, _>>()?;
        let limits = Limits {
            only: own.only.iter().map(|one| named(one, &factors)).collect::<Result<_, _>>()?,
            except: own.except.iter().map(|one| named(one, &factors)).collect::<Result<_, _>>()?,
        };
        let cells = allowed(&factors, &limits);
        if cells.is_empty() || cells.len() > MOST_CELLS {
            let message = format!("{} combinations of levels are allowed", cells.len());
            let hint = format!("1…{MOST_CELLS}: look at `only` and `except`");
            return Err(Fault::new(file.span(), message, hint));
        }
        let span = file.span();
        for (factor, (name, _)) in factors.iter().zip(&written) {
            if factor.is_size()
                && let Some(other) = studies.iter().find(|study| !study.has_size())
            {
                let message = format!("the study `{}` has no frame size to vary", other.name());
                return Err(Fault::new(name.span(), message, "take the factor `size` out"));
            }
        }
        check_subjects(&factors, &cells, testbed)
            .map_err(|refused| Fault::refused(span, refused))?;
        Ok(StudySpec::Campaign(Box::new(CampaignSpec {
            factors,
            cells,
            blocks: own.blocks.as_ref().map_or(study::BLOCKS, |blocks| blocks.value),
            repetitions: own
                .repetitions
                .as_ref()
                .map_or(Repetitions::known(1), |repetitions| repetitions.value),
            stop: StopRule {
                ci_width: own.stop.ci_width.as_ref().map(|width| width.value),
                budget: own.stop.budget.as_ref().map(|budget| budget.value),
            },
            studies,
        })))
    }
}

/// Relative width of an interval.
#[derive(Debug, Clone)]
struct Width;

impl given::Value for Width {
    type Is = f64;
    const KIND: Kind = Kind::Number;

    fn read(text: &str) -> Result<f64, Refused> {
        let width = text.parse().ok().filter(|width: &f64| *width > 0.0 && *width < 1.0);
        let message = || format!("{text} is no width of an interval");
        width.ok_or_else(|| Refused::new(message(), "a share: 0.02 for two per cent"))
    }
}

/// Time limit.
#[derive(Debug, Clone)]
struct Budget;

impl given::Value for Budget {
    type Is = Nanos;

    fn read(text: &str) -> Result<Nanos, Refused> {
        match unit(text, "\"4h\"")? {
            Nanos::ZERO => Err(Refused::new("a budget of no time", "write it as \"4h\"")),
            budget => Ok(budget),
        }
    }
}

/// A word of a list: a text or a number.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

fn factor(name: &Text, levels: &Spanned<Value>, testbed: &Testbed) -> Result<Factor, Fault> {
    let called = name.get_ref();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if called.is_empty() || !called.chars().all(plain) || TAKEN.contains(&called.as_str()) {
        let message = format!("`{called}` is no name for a factor");
        let hint = "small letters, such as `nic`, `cable` or `hosts`; some words are figures' own";
        return Err(Fault::new(name.span(), message, hint));
    }
    let hint =
        "a list of levels, or for ports { x722 = \"eth1\", cx3 = [\"h1/eth2\", \"h2/eth2\"] }";
    let wrong = || Fault::new(levels.span(), format!("no levels of `{called}`"), hint);
    let level = |name: String, means| Level { name, means };
    let levels_of: Option<Vec<Level>> = match levels.get_ref() {
        Value::Array(list) => {
            let words: Option<Vec<String>> = list.iter().map(word).collect();
            let means = |name: String| {
                let means = meaning(called, &name, levels.span(), testbed)?;
                Ok(level(name, means))
            };
            let listed = words.map(|words| words.into_iter().map(means).collect());
            listed.transpose()?
        }
        Value::Table(table) if !["device", "variant", "size"].contains(&called.as_str()) => {
            let ports = |value: &Value| match value {
                Value::Array(list) => list.iter().map(word).collect::<Option<Vec<_>>>(),
                one => Some(vec![word(one)?]),
            };
            let one = |(name, value): (&String, &Value)| {
                Some(level(name.clone(), Means::Ports(ports(value)?)))
            };
            table.iter().map(one).collect()
        }
        _ => None,
    };
    let found = levels_of.filter(|found| !found.is_empty()).ok_or_else(wrong)?;
    let again = |(at, one): &(usize, &Level)| found[..*at].iter().any(|old| old.name == one.name);
    if let Some((_, twice)) = found.iter().enumerate().find(again) {
        let message = format!("level `{}` of `{called}` is there twice", twice.name);
        return Err(Fault::new(levels.span(), message, "the control is added by itself"));
    }
    Ok(Factor { name: called.clone(), levels: found })
}

/// Returns the meaning of a level in a list.
fn meaning(
    factor: &str,
    name: &str,
    span: std::ops::Range<usize>,
    testbed: &Testbed,
) -> Result<Means, Fault> {
    match factor {
        "device" => Ok(Means::Device(name.to_owned())),
        "variant" => Ok(Means::Variant((name != AS_FOUND).then(|| name.to_owned()))),
        "size" => {
            let wrong = |message: String| {
                let hint = "frame sizes count from the MAC address through the FCS";
                Fault::new(span.clone(), message, hint)
            };
            let octets = name.parse().map_err(|_| wrong(format!("`{name}` is no frame size")))?;
            let size = FrameSize::new(octets).map_err(|error| wrong(error.to_string()))?;
            outline::from_testbed(testbed)
                .check_size(size)
                .map_err(|problem| Fault::refused(span, problem.into()))?;
            Ok(Means::Size(size))
        }
        _ if matches!(testbed.source, Source::Virtual(_)) => Err(Fault::new(
            span,
            format!("nobody can set `{factor}` of a model"),
            format!("say which ports each level has: {factor} = {{ one = \"h1\", two = \"h2\" }}"),
        )),
        _ => Ok(Means::Hands),
    }
}

/// Reads a combination of levels, each of which has to exist.
fn named(
    file: &Spanned<BTreeMap<String, Value>>,
    factors: &[Factor],
) -> Result<BTreeMap<String, String>, Fault> {
    let mut all = BTreeMap::new();
    for (name, value) in file.get_ref() {
        let fault = |message: String, hint: String| Fault::new(file.span(), message, hint);
        let Some(factor) = factors.iter().find(|factor| factor.name == *name) else {
            let known: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
            return Err(fault(format!("there is no factor `{name}`"), suggest::hint(name, &known)));
        };
        let level = word(value).unwrap_or_default();
        let known: Vec<&str> = factor.levels.iter().map(|level| level.name.as_str()).collect();
        if !known.contains(&level.as_str()) {
            let message = format!("factor `{name}` has no level `{level}`");
            return Err(fault(message, suggest::hint(&level, &known)));
        }
        all.insert(name.clone(), level);
    }
    Ok(all)
}

/// Checks every device that a cell names, in its variant.
fn check_subjects(
    factors: &[Factor],
    cells: &[Vec<usize>],
    testbed: &Testbed,
) -> Result<(), Refused> {
    let outline = outline::from_testbed(testbed);
    for cell in cells {
        let (mut device, mut variant) = (Vec::new(), Vec::new());
        let put = |list: &mut Vec<_>, name: &String| list.push(Given::new(name.clone()));
        for (factor, level) in factors.iter().zip(cell) {
            match &factor.levels[*level].means {
                Means::Device(name) => put(&mut device, name),
                Means::Variant(_) => put(&mut variant, &factor.levels[*level].name),
                _ => {}
            }
        }
        if !variant.is_empty() && device.is_empty() {
            let hint = "add the factor: device = [\"sw1\"]";
            return Err(Refused::new("variants of which device?", hint));
        }
        subjects::resolve(&device, &variant, &outline).map_err(|at| at.refused)?;
    }
    Ok(())
}
