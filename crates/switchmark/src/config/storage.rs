//! What flags or a plan ask of a storage study, and the complete request that it comes to.
//!
//! Owns the defaults, and the job where nobody brought one. Never runs a study, and never says
//! where a text stood.

use measure::{ByteCount, Nanos};
use method::{Profile, StorageSpec, StudySpec};
use trial::PortRef;
use trial::{Pattern, ServedMemory, Storage, Subject};

use super::fio_job::{self, FioJob};
use super::fit::Misfit;
use super::resolved::{Source, Testbed};

/// What a server made for the trial holds where the job does not say how much.
const SERVED: ByteCount = ByteCount(64 << 20);
/// What its disk takes where nothing is said.
const DISK: (Nanos, Nanos) = (Nanos::from_millis(1), Nanos::from_millis(1));

/// A storage study with only what was said.
#[derive(Debug, Clone, Default)]
pub struct StorageAsk {
    /// Quick where nothing is said.
    pub profile: Option<Profile>,
    /// The user's own; none: random reads and writes of 4 KiB, half and half.
    pub job: Option<FioJob>,
    /// A server made for the trial: how long its disk takes to read, and to write.
    pub serve: Option<(Nanos, Nanos)>,
    /// Goes before the job's.
    pub pattern: Option<(Pattern, u8)>,
    /// Empty: the job's.
    pub sizes: Vec<ByteCount>,
    /// Empty: the job's.
    pub depths: Vec<u16>,
    /// Goes before the job's.
    pub numjobs: Option<u16>,
    /// Where writes are copied.
    pub replicas: Vec<PortRef>,
    /// The storage host's disk.
    pub disk: Option<String>,
    /// Whether what is there may be written over.
    pub allow_destroy: bool,
    /// Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// The load phase; goes before the job's.
    pub duration: Option<Nanos>,
    /// Repeats.
    pub blocks: Option<u32>,
}

impl StorageAsk {
    /// The complete request.
    pub fn resolve(self, testbed: &Testbed) -> Result<StudySpec, Misfit> {
        let own = matches!(testbed.source, Source::Lab(_) | Source::Virtual(_));
        let (job, runtime) = match self.job {
            Some(FioJob { job, runtime }) => (job, runtime),
            None if own || self.serve.is_some() => (standing_in(), None),
            None => {
                let hint = "name one by --fio FILE (in a plan: fio = \"FILE\"), or have a server made by \
                            --serve 1ms";
                return Err(("there is no job, and the hosts are real".into(), hint.into()));
            }
        };
        let mut job = Storage {
            replicas: self.replicas,
            disk: self.disk,
            allow_destroy: self.allow_destroy,
            ..job
        };
        // A job without a place to read and write gets one, where nobody's data can be meant.
        let nowhere = job.filename.is_empty() && job.ioengine == "nbd";
        let serve = self.serve.or((nowhere && own).then_some(DISK));
        if let Some((read, write)) = serve {
            served(&mut job, read, write)?;
        } else if job.filename.is_empty()
            && !["rbd", "rados", "null"].contains(&job.ioengine.as_str())
        {
            let hint = "say by `filename` (for nbd: `uri`) what is read and written";
            return Err(("the job has no storage".into(), hint.into()));
        }
        if let Some((pattern, rwmixread)) = self.pattern {
            (job.pattern, job.rwmixread) = (pattern, rwmixread);
        }
        job.numjobs = self.numjobs.unwrap_or(job.numjobs);
        let mut spec = match self.profile {
            Some(Profile::Strict) => StorageSpec::strict(job),
            _ => StorageSpec::quick(job),
        };
        super::study::replace(&mut spec.sizes, self.sizes);
        super::study::replace(&mut spec.depths, self.depths);
        spec.subjects = self.subjects;
        let runtime = runtime.as_deref().map(seconds).transpose()?;
        spec.duration = self.duration.or(runtime).unwrap_or(spec.duration);
        spec.blocks = self.blocks.unwrap_or(spec.blocks);
        Ok(StudySpec::Storage(Box::new(spec)))
    }
}

/// The job where nobody brought one: the write-ups' own, one operation at a time.
fn standing_in() -> Storage {
    Storage { ioengine: "nbd".into(), pattern: Pattern::Random, rwmixread: 50, ..fio_job::plain() }
}

fn served(job: &mut Storage, read: Nanos, write: Nanos) -> Result<(), Misfit> {
    if job.ioengine != "nbd" || !job.filename.is_empty() {
        let hint = "a server made for the trial is reached by nbd: write ioengine=nbd, and no filename or uri";
        return Err(("the job has a storage of its own".into(), hint.into()));
    }
    let said = job.options.remove("size").map(|text| fio_job::octets(&text, &(0..0)));
    let size = said.transpose().map_err(|fault| (fault.message, fault.hint))?.unwrap_or(SERVED);
    if !(1 << 20..=1 << 30).contains(&size.0) {
        let message = format!("a server of {size}: it holds what it serves in memory");
        return Err((message, "give `size` as 1m…1g".into()));
    }
    job.server = Some(ServedMemory { size, read, write });
    Ok(())
}

/// `600`, `10s`, `5m` as fio has them.
fn seconds(text: &str) -> Result<Nanos, Misfit> {
    let bare = text.bytes().all(|b| b.is_ascii_digit());
    let read = if bare { format!("{text}s") } else { text.to_owned() };
    let misfit = || (format!("`{text}` is no runtime"), "give seconds, or a unit: 10s".to_owned());
    let duration: Nanos = read.parse().map_err(|_| misfit())?;
    super::plan::check_duration(duration)?;
    Ok(duration)
}

/// `1ms`, or `1ms/2ms` where writes take another time than reads.
pub fn serve(text: &str) -> Result<(Nanos, Nanos), String> {
    let (read, write) = text.split_once('/').unwrap_or((text, text));
    let time = |text: &str| {
        let time: Nanos = text.trim().parse().map_err(|e: measure::UnitError| e.to_string())?;
        if time > Nanos::from_secs(10) {
            return Err(format!("{time} is more than 10s"));
        }
        Ok(time)
    };
    Ok((time(read)?, time(write)?))
}
