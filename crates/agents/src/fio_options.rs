//! Permitted options of a fio job and their form: an allow-list, each with the reason why it is
//! harmless.
//!
//! Owns the rule for a job file and for an agent's orders, which is the same. fio has options that
//! truncate, extend, replace and delete files, run programs and write logs, and every version adds
//! some: an option that is not listed here is refused. Never knows the effect of a permitted
//! option.

use measure::Refused;
use trial::fio_octets;

/// Form of an option's value. A permitted value means the same to every version of fio.
#[derive(Debug, Clone, Copy)]
enum Takes {
    /// Empty, or 0 or 1.
    Flag,
    /// A whole number, up to fio's own limit.
    Number(u64),
    /// Octets in units of 1024, at most [`MOST_OCTETS`], passed on in plain octets.
    Octets,
    /// Up to three octet counts, for reads, writes and trims.
    Rates,
    /// A time in microseconds, or with a unit.
    Time,
    /// One of these words, optionally with a number: `zipf:1.2`.
    Word(&'static [&'static str]),
    /// Numbers and ranges: `0-3,8`.
    List,
    /// A hexadecimal number.
    Pattern,
    /// A name in a cluster: letters, digits, `.`, `_` and `-`.
    Name,
}

/// Maximum number of octets, 1 PiB. A larger one is a typing error, and no sum of smaller sizes,
/// offsets and jobs overflows.
const MOST_OCTETS: u64 = 1 << 50;

/// Permitted options, by the reason why they are harmless.
const ALLOWED: &[(&str, &[(&str, Takes)])] = &[
    (
        "which part of the storage is read or written: what is written without being allowed is only \
         what this program made",
        &[
            ("size", Takes::Octets),
            ("offset", Takes::Octets),
            ("offset_increment", Takes::Octets),
            ("blockalign", Takes::Octets),
            ("ba", Takes::Octets),
            ("io_size", Takes::Octets),
            ("percentage_random", Takes::Number(100)),
            ("random_distribution", Takes::Word(&["random", "zipf", "pareto", "normal"])),
            ("random_generator", Takes::Word(&["tausworthe", "tausworthe64", "lfsr"])),
            ("norandommap", Takes::Flag),
            ("softrandommap", Takes::Flag),
            ("randrepeat", Takes::Flag),
            ("allrandrepeat", Takes::Flag),
            ("randseed", Takes::Number(u64::MAX)),
            ("bs_unaligned", Takes::Flag),
        ],
    ),
    (
        "how the kernel is asked: caches, and what is written for good",
        &[
            ("direct", Takes::Flag),
            ("buffered", Takes::Flag),
            ("invalidate", Takes::Flag),
            ("sync", Takes::Word(&["none", "sync", "dsync", "0", "1"])),
            ("fsync", Takes::Number(u32::MAX as u64)),
            ("fdatasync", Takes::Number(u32::MAX as u64)),
            ("end_fsync", Takes::Flag),
            ("fsync_on_close", Takes::Flag),
            ("fadvise_hint", Takes::Word(&["0", "1", "random", "sequential"])),
            ("pre_read", Takes::Flag),
        ],
    ),
    (
        "how many operations are given to the kernel at once",
        &[
            ("iodepth_batch", Takes::Number(4096)),
            ("iodepth_batch_submit", Takes::Number(4096)),
            ("iodepth_batch_complete", Takes::Number(4096)),
            ("iodepth_batch_complete_min", Takes::Number(4096)),
            ("iodepth_batch_complete_max", Takes::Number(4096)),
            ("iodepth_low", Takes::Number(4096)),
            ("io_submit_mode", Takes::Word(&["inline", "offload"])),
            ("serialize_overlap", Takes::Flag),
        ],
    ),
    (
        "ways of an engine's to hand over operations",
        &[
            ("hipri", Takes::Flag),
            ("hipri_percentage", Takes::Number(100)),
            ("fixedbufs", Takes::Flag),
            ("registerfiles", Takes::Flag),
            ("nonvectored", Takes::Flag),
            ("sqthread_poll", Takes::Flag),
            ("userspace_reap", Takes::Flag),
            ("force_async", Takes::Number(4096)),
            ("nowait", Takes::Flag),
            ("uncached", Takes::Flag),
            ("busy_poll", Takes::Flag),
        ],
    ),
    (
        "slower than it could be",
        &[
            ("rate", Takes::Rates),
            ("rate_iops", Takes::Rates),
            ("rate_process", Takes::Word(&["linear", "poisson"])),
            ("rate_ignore_thinktime", Takes::Flag),
            ("thinktime", Takes::Time),
            ("thinktime_spin", Takes::Time),
            ("thinktime_iotime", Takes::Time),
            ("thinktime_blocks", Takes::Number(u32::MAX as u64)),
            ("thinktime_blocks_type", Takes::Word(&["complete", "issue"])),
        ],
    ),
    (
        "what stands in the blocks that are written",
        &[
            ("zero_buffers", Takes::Flag),
            ("refill_buffers", Takes::Flag),
            ("scramble_buffers", Takes::Flag),
            ("buffer_pattern", Takes::Pattern),
            ("buffer_compress_percentage", Takes::Number(100)),
            ("buffer_compress_chunk", Takes::Octets),
            ("dedupe_percentage", Takes::Number(100)),
            ("dedupe_mode", Takes::Word(&["repeat", "working_set"])),
            ("dedupe_working_set_percentage", Takes::Number(100)),
        ],
    ),
    (
        "where fio's own threads run and what comes first: theirs alone, and over with them",
        &[
            ("cpus_allowed", Takes::List),
            ("cpus_allowed_policy", Takes::Word(&["shared", "split"])),
            ("numa_cpu_nodes", Takes::List),
            ("prio", Takes::Number(7)),
            ("prioclass", Takes::Number(3)),
            ("nice", Takes::Number(19)),
            ("mem", Takes::Word(&["malloc", "mmap"])),
            ("iomem", Takes::Word(&["malloc", "mmap"])),
        ],
    ),
    (
        "which image of a cluster's: read only, where nothing was allowed",
        &[
            ("clustername", Takes::Name),
            ("rbdname", Takes::Name),
            ("pool", Takes::Name),
            ("clientname", Takes::Name),
        ],
    ),
];

/// Options that the study sets itself or does not use, whatever the file says: its times, its
/// output, and the order of jobs, of which there is one.
const OURS: [&str; 23] = [
    "clat_percentiles",
    "description",
    "disk_util",
    "exitall",
    "group_reporting",
    "lat_percentiles",
    "log_avg_msec",
    "loops",
    "name",
    "new_group",
    "output",
    "output-format",
    "per_job_logs",
    "percentile_list",
    "ramp_time",
    "significant_figures",
    "slat_percentiles",
    "startdelay",
    "stonewall",
    "thread",
    "time_based",
    "unified_rw_reporting",
    "unit_base",
];

/// Decision on an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admitted {
    /// Passed to fio with this value.
    Passed(String),
    /// Set by the study itself.
    Ours,
}

/// Checks the option `name` with its `value`.
pub fn admit(name: &str, value: &str) -> Result<Admitted, Refused> {
    if OURS.contains(&name) {
        return Ok(Admitted::Ours);
    }
    let mut known = ALLOWED.iter().flat_map(|(_, options)| *options);
    let Some((_, takes)) = known.find(|(known, _)| *known == name) else {
        return Err(Refused::new(format!("a job may not have `{name}`"), why_not(name)));
    };
    let refused = |hint| Refused::new(format!("`{value}` is not what `{name}` takes here"), hint);
    takes.read(value).map(Admitted::Passed).map_err(refused)
}

/// Explains why an option is refused: known dangers by name, the rest as unknown.
fn why_not(name: &str) -> String {
    let starts = |with: &[&str]| with.iter().any(|with| name.starts_with(with));
    if starts(&["exec_", "write_", "verify", "log_", "read_iolog", "replay", "merge_blktrace"]) {
        "leave it out: a measured job runs no commands, replays nothing and writes nothing but its \
         storage"
            .into()
    } else if starts(&["directory", "opendir", "filename_format", "unique_filename", "nrfiles"]) {
        "name one file by `filename`, so that it can be looked at first".into()
    } else if starts(&["bsrange", "bssplit", "blocksize_range"]) {
        "an operation has one size: give `bs`, or several by --bs".into()
    } else if starts(&["gtod_reduce", "disable_", "number_ios", "latency_", "steadystate"]) {
        "leave it out: every operation's time is what is measured, for as long as the trial says"
            .into()
    } else {
        "leave it out: it is not among the options that are known to do no harm".into()
    }
}

impl Takes {
    /// Returns the value for fio, or an explanation of the expected form.
    fn read(self, value: &str) -> Result<String, String> {
        let plain = |good: bool, hint: &str| {
            if good { Ok(value.to_owned()) } else { Err(hint.to_owned()) }
        };
        match self {
            Self::Flag => plain(["0", "1"].contains(&value), "give 0 or 1"),
            Self::Number(most) => number(value, most)
                .map(|number| number.to_string())
                .ok_or_else(|| format!("give a whole number, 0…{most}")),
            Self::Octets => {
                bounded_octets(value).map(|octets| octets.to_string()).ok_or_else(|| {
                    "give octets, at most 1 PiB (1024t): 4096, 64k, 4GiB; not a share of something"
                        .into()
                })
            }
            Self::Rates => {
                let parts: Option<Vec<u64>> = value.split(',').map(bounded_octets).collect();
                let parts = parts.filter(|parts| parts.len() <= 3);
                let told = parts.map(|parts| parts.iter().map(u64::to_string).collect::<Vec<_>>());
                let hint = "give one to three numbers, each at most 1 PiB (1024t)";
                told.map(|parts| parts.join(",")).ok_or_else(|| hint.into())
            }
            Self::Time => plain(time(value), "give a number and us, ms or s: 200us"),
            Self::Word(known) => {
                let (word, rest) =
                    value.split_once(':').map_or((value, None), |(w, r)| (w, Some(r)));
                let fits =
                    rest.is_none_or(|rest| rest.split(',').all(|r| r.parse::<f64>().is_ok()));
                plain(known.contains(&word) && fits, &format!("give one of {}", known.join(", ")))
            }
            Self::List => {
                let good = !value.is_empty()
                    && value.bytes().all(|b| b.is_ascii_digit() || b == b',' || b == b'-');
                plain(good, "give numbers and ranges: 0-3,8")
            }
            Self::Pattern => {
                let digits = value.strip_prefix("0x").unwrap_or_default();
                let good = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
                plain(good, "give a hexadecimal number: 0xdeadbeef")
            }
            Self::Name => {
                let fits = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
                plain(
                    !value.is_empty() && value.bytes().all(fits),
                    "give letters, digits, `.`, `_`, `-`",
                )
            }
        }
    }
}

fn number(text: &str, most: u64) -> Option<u64> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= most)
}

fn time(text: &str) -> bool {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    number(digits, u64::from(u32::MAX)).is_some() && ["", "us", "ms", "s"].contains(&unit)
}

fn bounded_octets(text: &str) -> Option<u64> {
    fio_octets(text).map(|octets| octets.0).filter(|octets| *octets <= MOST_OCTETS)
}

/// True if fio reads this path literally: no characters that end a line, begin a comment, separate
/// two files or are expanded (`$HOME`, `\:`).
pub fn is_plain_path(text: &str) -> bool {
    let special = |c: char| c.is_control() || ";#$\\:\"'`".contains(c);
    text == text.trim() && !text.contains(special)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_harms_is_refused_and_sizes_are_octets() {
        for (name, value) in [
            ("size", "200%"),
            ("size", "1m-2m"),
            ("size", "9223372036854775807"),
            ("io_size", "1025t"),
            ("rate", "1m,18446744073709551615"),
            ("unlink", "1"),
            ("filesize", "8m"),
            ("mem", "mmap:/etc/passwd"),
            ("mem", "shm"),
            ("read_iolog", "log"),
            ("opendir", "/"),
            ("exec_prerun", "rm"),
            ("ioscheduler", "none"),
            ("random_distribution", "zoned:50/5"),
            ("buffer_pattern", "'/etc/passwd'"),
            ("pool", "a;b"),
            ("nice", "-20"),
            ("an_option_of_next_year", "1"),
        ] {
            assert!(admit(name, value).is_err(), "{name}={value}");
        }
        let passed = |value: &str| Ok(Admitted::Passed(value.to_owned()));
        assert_eq!(admit("size", "4GB"), passed("4294967296"));
        assert_eq!(admit("rate", "1m,512k"), passed("1048576,524288"));
        assert_eq!(admit("random_distribution", "zipf:1.2"), passed("zipf:1.2"));
        assert_eq!(admit("direct", "1"), passed("1"));
        assert_eq!(admit("ramp_time", "5"), Ok(Admitted::Ours));
    }

    /// Every option with every extreme value is read or refused; sizes that pass are bounded.
    #[test]
    fn extreme_numbers_are_refused_or_bounded() {
        let numbers =
            [0, 1, u64::from(u32::MAX), 1 << 50, (1 << 50) + 1, 1 << 62, u64::MAX >> 1, u64::MAX];
        let units = ["", "b", "k", "m", "g", "t", "T", "PiB", "us", "ms", "s", "%"];
        for (name, takes) in ALLOWED.iter().flat_map(|(_, options)| *options) {
            for (number, unit) in numbers.iter().flat_map(|n| units.map(|unit| (n, unit))) {
                let Ok(Admitted::Passed(value)) = admit(name, &format!("{number}{unit}")) else {
                    continue;
                };
                if matches!(takes, Takes::Octets | Takes::Rates) {
                    let octets: u64 = value.parse().expect("plain octets");
                    assert!(octets <= MOST_OCTETS, "{name}={number}{unit}");
                }
                assert_eq!(admit(name, &value), Ok(Admitted::Passed(value.clone())), "{name}");
            }
        }
    }

    /// A permitted option passes the second check, at the agent, unchanged.
    #[test]
    fn what_passed_once_passes_as_it_is() {
        for (name, value) in
            [("size", "64k"), ("rate", "1m,2m"), ("thinktime", "5ms"), ("fsync", "007")]
        {
            let Ok(Admitted::Passed(first)) = admit(name, value) else { panic!("{name}") };
            assert_eq!(admit(name, &first), Ok(Admitted::Passed(first.clone())));
        }
    }

    #[test]
    fn sizes_as_fio_has_them() {
        for (text, told) in [
            ("4GB", Some(4 << 30)),
            ("64k", Some(65_536)),
            ("1MiB", Some(1 << 20)),
            ("7", Some(7)),
            ("99999999999t", None),
            ("x", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(fio_octets(text).map(|octets| octets.0), told, "{text}");
        }
    }

    #[test]
    fn paths_that_fio_reads_as_they_stand() {
        for path in ["/mnt/a b", "/dev/nvme0n1", "/mnt/ü"] {
            assert!(is_plain_path(path), "{path}");
        }
        for path in ["/a:/b", "/a#b", "/a;b", "$HOME/a", "/a\\b", "/a ", "/a\nb"] {
            assert!(!is_plain_path(path), "{path:?}");
        }
    }
}
