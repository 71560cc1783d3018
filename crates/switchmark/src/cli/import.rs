//! `switchmark import FILE…`: what other tools measured, taken into the journal.
//!
//! Owns the files and the run that they become. Never reads a tool's output: that is `import`'s.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use import::Made;
use jiff::Timestamp;
use journal::Store;
use measure::name;
use page::{Figure, Key, UnreadLine};
use study::run::{RunMeta, RunStatus};
use study::{ImportedSpec, StudySpec};
use trial::Topology;
use trial::topology::{Device, DeviceKind};

use super::options::Data;
use super::{Failure, Outcome, lone};
use super::{output, report};
use crate::config::ConfigError;
use crate::config::source::plain;
use crate::terminal::screen::wrapped;
use crate::{files, speak};

/// Maximum lines quoted that were not understood; all are counted.
const MOST_QUOTED: usize = 3;

/// Standard input in the place of a file.
const PIPED: &str = "-";

/// `import`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Other tools' outputs, text or JSON; several of one measurement are repetitions; - is
    /// standard input
    #[arg(value_name = "FILE", required_unless_present = "formats")]
    files: Vec<PathBuf>,
    /// List the tools, versions and modes whose outputs are read
    #[arg(long, exclusive = true)]
    formats: bool,
    /// Device that they were measured through [default: the first file's name]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Outputs of the same over a direct cable
    #[arg(long, value_name = "FILE")]
    bypass: Vec<PathBuf>,
    /// Write an HTML report
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
}

/// Imports the files, or lists the formats.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if args.formats {
        speak::print(&formats())?;
        return Ok(Outcome::Done);
    }
    if let Some(path) = &args.report {
        output::check_report(path)?;
    }
    let named = args.files.iter().find(|path| *path != Path::new(PIPED));
    let stem = || Some(named?.file_stem()?.to_string_lossy().into_owned());
    if let Some(said) = args.device.as_ref().filter(|said| !name::is_name(said)) {
        return Err(
            ConfigError::bare(format!("`{said}` cannot be a device's name"), name::RULE).into()
        );
    }
    let stem = || stem().map(|stem| name::made_of(&stem));
    let device = args.device.clone().or_else(stem).unwrap_or_else(|| "device".to_owned());
    let mut taken = Taken::default();
    for path in &args.files {
        taken.file(path, &device, "device")?;
    }
    for path in &args.bypass {
        taken.file(path, "cable", "bypass")?;
    }
    let study = ImportedSpec::new(taken.files, taken.figures, taken.unread);
    let study = StudySpec::Imported(study);
    let meta = meta(&device, study, taken.notes);
    let store = Store::open(&output::store_path(&args.data)?)?;
    store.create_run(&meta)?;
    store.set_status(&meta.id, &RunStatus::Done)?;
    let finished = report::replay(&store, &meta.id)?;
    let outcome = output::show(&finished, &args.data)?;
    output::write_report(&args.data, &[finished], args.report.as_deref())?;
    Ok(outcome)
}

/// The tools that are read, one paragraph each.
fn formats() -> String {
    let formats = import::formats();
    let all: usize = formats.iter().map(|format| format.outputs).sum();
    let mut out = String::new();
    for format in formats {
        let made = match format.made {
            Made::Run => "made by running it",
            Made::Documented => "written after its documented format",
        };
        out += &wrapped("", &format!("{}: {} outputs, {made}", format.tool, format.outputs));
        out += &wrapped("  versions  ", format.versions);
        out += &wrapped("  modes     ", format.modes);
        out += &wrapped("  checked   ", format.checks());
    }
    let last = format!(
        "{all} stored outputs are read by a test. flent's files and switchmark's own rows are read too."
    );
    out + &wrapped("", &last)
}

/// Results read so far.
#[derive(Debug, Default)]
struct Taken {
    files: Vec<String>,
    figures: Vec<Figure>,
    unread: Vec<UnreadLine>,
    notes: Vec<String>,
}

impl Taken {
    fn file(&mut self, path: &Path, device: &str, way: &str) -> Result<(), ConfigError> {
        let is_piped = path == Path::new(PIPED);
        let named = if is_piped { "standard input".into() } else { path.display().to_string() };
        let file = if is_piped { files::standard_input() } else { files::output(path) };
        let file = file.map_err(|cause| {
            ConfigError::bare(format!("read {named}: {}", plain(&cause)), "name a tool's output")
        })?;
        let read = import::read_from(file).map_err(|problem| {
            let hint =
                "`switchmark import --formats` lists the tools, versions and modes that are read";
            ConfigError::bare(format!("import {named}: {problem}"), hint)
        })?;
        self.notes.extend(read.notes.iter().map(|note| format!("{named}: {note}")));
        for mut figure in read.figures {
            for (key, said) in [(Key::Device, device), (Key::Path, way), (Key::File, &named)] {
                figure.set(key, said);
            }
            self.figures.push(figure);
        }
        for line in read.unread.iter().take(MOST_QUOTED.min(read.unread_lines)) {
            let (number, text) = (line.line, &line.text);
            self.notes.push(format!("{named}, line {number}: not understood: `{text}`"));
        }
        if read.unread_lines > MOST_QUOTED {
            let more = read.unread_lines - MOST_QUOTED;
            self.notes.push(format!("{named}: {more} more lines are not understood"));
        }
        let of_file = |line: UnreadLine| UnreadLine { file: named.clone(), ..line };
        self.unread.extend(read.unread.into_iter().map(of_file));
        self.files.push(named);
        Ok(())
    }
}

fn meta(device: &str, study: StudySpec, notes: Vec<String>) -> RunMeta {
    let now = Timestamp::now();
    let under_test = Device::plain(device, DeviceKind::Switch);
    RunMeta {
        id: lone::run_id(now),
        created_unix_ns: lone::unix_ns(now),
        verb: "import".to_owned(),
        command_line: lone::command_line(),
        folder: PathBuf::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: 0,
        studies: vec![study],
        topology: Topology::new(format!("imported: {device}"), Vec::new(), vec![under_test]),
        facts: BTreeMap::new(),
        notes,
        sweep: None,
        claims: Vec::new(),
        watch: None,
    }
}
