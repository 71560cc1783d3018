//! `switchmark storage`: one storage study from flags.
//!
//! Owns its flags; what they leave open comes from the job and the profile.

use std::path::PathBuf;

use measure::{ByteCount, Nanos};
use trial::PortRef;

use super::options::{Measuring, Repeats, Under};
use super::session::{self, Request};
use super::{Failure, Outcome};
use crate::config::source::{Fault, SourceText};
use crate::config::storage::{self, StorageAsk};
use crate::config::{ConfigError, fio_job, testbed};

/// `storage`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// lab:bridge, lab:router… or sim:PROFILE.toml with options, or a testbed file
    #[arg(long, value_name = "T", required_unless_present = "resume", conflicts_with = "resume")]
    testbed: Option<String>,
    /// A job file of fio's, with one job in it; lab and sim have one of their own
    #[arg(long, value_name = "FILE")]
    fio: Option<PathBuf>,
    /// Have the storage host serve memory by nbdkit, behind a disk that takes so long: TIME, or
    /// READ/WRITE
    #[arg(long, value_name = "TIME", value_parser = storage::serve)]
    serve: Option<(Nanos, Nanos)>,
    /// The pattern: read, write, rw, randread, randwrite, randrw
    #[arg(long, value_name = "PATTERN")]
    rw: Option<String>,
    /// Of a mixed pattern, reads in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u8).range(0..=100))]
    rwmixread: u8,
    /// Sizes of one read or write: 4k,64k
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size)]
    bs: Vec<ByteCount>,
    /// Operations under way of each job
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=4096))]
    iodepth: Vec<u16>,
    /// Jobs at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    numjobs: Option<u16>,
    /// Ports of the hosts that the storage copies writes to before it answers
    #[arg(long = "replica", value_name = "LIST", value_delimiter = ',')]
    replicas: Vec<PortRef>,
    /// The storage host's block device, whose own times are read: nvme0n1
    #[arg(long, value_name = "NAME")]
    disk: Option<String>,
    /// Let the job write over what is there
    #[arg(long)]
    allow_destroy: bool,
    #[command(flatten)]
    under: Under,
    #[command(flatten)]
    repeats: Repeats,
    #[command(flatten)]
    measuring: Measuring,
}

/// Measures.
pub fn run(args: Args) -> Result<Outcome, Failure> {
    let measuring = args.measuring.clone();
    session::run(&measuring, || {
        let testbed = testbed::from_argument("--testbed", args.testbed.as_deref().unwrap_or(""))?;
        let job = args.fio.as_ref().map(|path| {
            let source = SourceText::read(path)?;
            fio_job::parse(&source.text).map_err(|fault| source.locate(fault))
        });
        let bare = |fault: Fault| ConfigError::bare(format!("--rw: {}", fault.message), fault.hint);
        let pattern =
            args.rw.as_deref().map(|text| fio_job::pattern(text, args.rwmixread, &(0..0)));
        let ask = StorageAsk {
            profile: args.repeats.profile(),
            job: job.transpose()?,
            serve: args.serve,
            pattern: pattern.transpose().map_err(bare)?,
            sizes: args.bs,
            depths: args.iodepth,
            numjobs: args.numjobs,
            replicas: args.replicas,
            disk: args.disk,
            allow_destroy: args.allow_destroy,
            subjects: args.under.subjects(&testbed)?,
            duration: args.repeats.time,
            blocks: args.repeats.blocks,
        };
        let resolved = ask.resolve(&testbed);
        let study = resolved.map_err(|(message, hint)| ConfigError::bare(message, hint))?;
        Ok(Request { verb: "storage", testbed, studies: vec![study], seed: None })
    })
}

fn size(text: &str) -> Result<ByteCount, String> {
    fio_job::octets(text, &(0..0)).map_err(|fault| fault.message)
}
