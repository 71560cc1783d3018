//! Request for a storage study.
//!
//! Owns its options, and the default job. Anything else left open follows from the job or the
//! profile.

use measure::{ByteCount, Nanos, Refused, UnitError};
use serde::Deserialize;
use trial::{Jobs, Pattern, PortRef, QueueDepth, ReadPercent, ServedMemory};

use super::StorageSpec;
use super::job::{self, JobFile};
use crate::request::given::{Given, RefusedAt, Value, ranged_values, set, set_all, value, values};
use crate::request::values::{Duration, seconds};
use crate::request::{StudyRequest, strict, subjects};
use crate::{Between, Blocks, Outline, Profile, StudySpec};

/// Default size of a server made for the trial.
const SERVED: ByteCount = ByteCount(64 << 20);
/// Default delays of its disk.
const DISK: (Nanos, Nanos) = (Nanos::from_millis(1), Nanos::from_millis(1));

ranged_values! { ReadPercent QueueDepth Jobs }

/// Flags of `storage`, keys of `[study.storage]`.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Storage {
    /// Job file for fio, with one job; lab and sim have one of their own [default: the model's or
    /// the lab's own job]
    #[arg(long, value_name = "FILE")]
    pub fio: Option<Given<JobFile>>,
    /// Let nbdkit on the storage host serve memory, with a delay that simulates a disk: TIME, or
    /// READ/WRITE [default: the testbed's storage]
    #[arg(long, value_name = "TIME")]
    #[serde(alias = "serve")]
    pub ramdisk: Option<Given<Ramdisk>>,
    /// Pattern: read, write, rw, randread, randwrite, randrw [default: the job's]
    #[arg(long, value_name = "PATTERN")]
    pub rw: Option<Given<String>>,
    /// Share of reads in a mixed pattern, in percent [default: 50]
    #[arg(long, value_name = "PERCENT")]
    pub rwmixread: Option<Given<ReadPercent>>,
    /// Sizes of one read or write: 4k,64k [default: the job's]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub bs: Vec<Given<OneSize>>,
    /// Operations in flight per job [default: the job's]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub iodepth: Vec<Given<QueueDepth>>,
    /// Number of parallel jobs [default: the job's]
    #[arg(long, value_name = "N")]
    pub numjobs: Option<Given<Jobs>>,
    /// Ports of the hosts that the storage copies writes to before it responds [default: no copies]
    #[arg(long = "replica", value_name = "LIST", value_delimiter = ',')]
    pub replicas: Vec<Given<PortRef>>,
    /// Block device of the storage host whose own times are read: nvme0n1 [default: no disk's
    /// times]
    #[arg(long, value_name = "NAME")]
    pub disk: Option<String>,
    /// Let the job overwrite existing data
    #[arg(long)]
    pub allow_destroy: bool,
    /// Port of the client [default: the first host's]
    #[arg(long, value_name = "HOST/PORT")]
    pub from: Option<Given<PortRef>>,
    /// Port of the storage host [default: the next host's]
    #[arg(long, value_name = "HOST/PORT")]
    pub to: Option<Given<PortRef>>,
    /// Devices under test, each NAME or NAME:VARIANT [default: the first, as it is found]
    #[arg(long = "device", value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<Given<String>>,
    /// Variants of the devices; as-found is an unchanged device [default: as each is found]
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<Given<String>>,
    /// Length of each trial, in seconds or with a unit [default: the job's, else 2 s; strict 60 s]
    #[arg(short = 't', long = "time", value_name = "S")]
    pub duration: Option<Given<Duration>>,
    /// Repetitions of everything, in random order [default: 10]
    #[arg(long, value_name = "N")]
    pub blocks: Option<Given<Blocks>>,
    /// Length of the phases around each trial [default: quick]
    #[arg(long)]
    pub profile: Option<Given<Profile>>,
}

impl StudyRequest for Storage {
    const FIRST: &'static [&'static str] = &["fio", "rw", "bs"];

    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let at_job = |misfit: Refused| match &self.fio {
            Some(fio) => fio.refused(misfit),
            None => misfit.into(),
        };
        let (mut job, runtime) = self.job(testbed).map_err(at_job)?;
        job.replicas = values(&self.replicas);
        if job.server.is_some() && !testbed.is_simulated {
            self.check_replicas()?;
        }
        job.disk.clone_from(&self.disk);
        job.allow_destroy = self.allow_destroy;
        if let Some(rw) = &self.rw {
            let mix = self.rwmixread.as_ref().map_or(job::HALF, |mix| mix.value);
            let pattern = job::pattern(&rw.value, mix);
            (job.pattern, job.rwmixread) = pattern.map_err(|misfit| rw.refused(misfit))?;
        }
        set(&mut job.numjobs, &self.numjobs);
        let mut spec =
            if strict(&self.profile) { StorageSpec::strict(job) } else { StorageSpec::quick(job) };
        set_all(&mut spec.sizes, &self.bs);
        set_all(&mut spec.depths, &self.iodepth);
        spec.subjects = subjects::resolve(&self.devices, &self.variants, testbed)?;
        spec.between = Between::one_pair(value(&self.from), value(&self.to));
        spec.duration = runtime.unwrap_or(spec.duration);
        set(&mut spec.duration, &self.duration);
        set(&mut spec.blocks, &self.blocks);
        Ok(StudySpec::Storage(Box::new(spec)))
    }

    fn job_file(&mut self) -> Option<&mut Given<JobFile>> {
        self.fio.as_mut()
    }
}

impl Storage {
    /// Refuses replicas, as nbdkit serves one host's memory and copies nothing.
    fn check_replicas(&self) -> Result<(), RefusedAt> {
        let Some(replica) = self.replicas.first() else { return Ok(()) };
        let message = "the server made for the trial keeps no replicas";
        let hint = "leave out --replica, or name the storage that replicates by --fio FILE; a model's \
                    server (sim:) replicates";
        Err(replica.refused(Refused::new(message, hint)))
    }

    /// Job with its storage, and its run time.
    fn job(&self, testbed: &Outline) -> Result<(trial::Storage, Option<Nanos>), Refused> {
        // The job of a lab or a model is built in.
        let own = testbed.hosts.is_empty();
        let (mut job, runtime) = match value(&self.fio) {
            Some(JobFile::Read(file)) => (file.job, file.runtime),
            Some(JobFile::Named(path)) => {
                let message = format!("the job file {} was not read", path.display());
                return Err(Refused::new(message, "name one that can be read"));
            }
            None if own || self.ramdisk.is_some() => (standing_in(), None),
            None => {
                let hint = "name one by --fio FILE (in a plan: fio = \"FILE\"), or have a server made by \
                            --ramdisk 1ms";
                return Err(Refused::new("there is no job, and the hosts are real", hint));
            }
        };
        // A job without a target gets a server's memory, so that no data is overwritten.
        let nowhere = job.filename.is_empty() && job.ioengine == "nbd";
        let serve =
            self.ramdisk.as_ref().map(|disk| disk.value).or((nowhere && own).then_some(DISK));
        if let Some((read, write)) = serve {
            served(&mut job, read, write)?;
        } else if job.filename.is_empty()
            && !["rbd", "rados", "null"].contains(&job.ioengine.as_str())
        {
            let hint = "say by `filename` (for nbd: `uri`) what is read and written";
            return Err(Refused::new("the job has no storage", hint));
        }
        Ok((job, runtime.as_deref().map(run_time).transpose()?))
    }
}

/// Default job: that of the write-ups, one operation at a time.
fn standing_in() -> trial::Storage {
    trial::Storage {
        ioengine: "nbd".into(),
        pattern: Pattern::Random,
        rwmixread: job::HALF,
        ..job::plain()
    }
}

fn served(job: &mut trial::Storage, read: Nanos, write: Nanos) -> Result<(), Refused> {
    if job.ioengine != "nbd" || !job.filename.is_empty() {
        let hint = "a server made for the trial is reached by nbd: write ioengine=nbd, and no filename or uri";
        return Err(Refused::new("the job has a storage of its own", hint));
    }
    let said = job.options.remove("size").map(|text| job::octets(&text));
    let size = said.transpose()?.unwrap_or(SERVED);
    if !(1 << 20..=1 << 30).contains(&size.0) {
        let message = format!("a server of {size}: it holds what it serves in memory");
        return Err(Refused::new(message, "give `size` as 1m…1g"));
    }
    job.server = Some(ServedMemory { size, read, write });
    Ok(())
}

/// Parses `600`, `10s`, `5m` as fio does.
fn run_time(text: &str) -> Result<Nanos, Refused> {
    if seconds(text).parse::<Nanos>().is_err() {
        let message = format!("`{text}` is no runtime");
        return Err(Refused::new(message, "give seconds, or a unit: 10s"));
    }
    Duration::typed(text)
}

/// Path of a job file that is still to be read.
impl Value for JobFile {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Refused> {
        Ok(Self::Named(text.into()))
    }
}

/// Delay of a disk: `1ms`, or `1ms/2ms` if writes and reads differ.
#[derive(Debug, Clone)]
pub struct Ramdisk;

impl Value for Ramdisk {
    type Is = (Nanos, Nanos);

    fn read(text: &str) -> Result<(Nanos, Nanos), Refused> {
        let hint = "write \"1ms\", or \"1ms/2ms\"";
        let (read, write) = text.split_once('/').unwrap_or((text, text));
        let time = |text: &str| {
            let time = text.trim().parse::<Nanos>();
            let time = time.map_err(|error: UnitError| Refused::new(error.to_string(), hint))?;
            if time > Nanos::from_secs(10) {
                return Err(Refused::new(format!("{time} is more than 10s"), hint));
            }
            Ok(time)
        };
        Ok((time(read)?, time(write)?))
    }
}

/// Size of an operation: `4k`.
#[derive(Debug, Clone)]
pub struct OneSize;

impl Value for OneSize {
    type Is = ByteCount;

    fn read(text: &str) -> Result<ByteCount, Refused> {
        job::octets(text)
    }
}
