//! A job file of fio's as a storage flow's job.
//!
//! Owns the file's form. The options that are the study's own words for a job are the study's, and
//! which others a job may have is [`agents::fio_options`]'s. Never reads a file that the job file
//! names.

use std::ops::Range;
use std::path::Path;

use agents::fio_options::{self, Admitted};
use measure::{Ranged as _, Refused};
use study::storage::JobFile;
use study::storage::job::{FioJob, READS, WRITES, octets, pattern, plain};
use trial::{Jobs, QueueDepth, ReadPercent};

use super::source::{Fault, SourceText};

/// One option as it stands in the file.
struct Line<'a> {
    name: &'a str,
    value: &'a str,
    span: Range<usize>,
}

/// Puts the job in the place of its file's name, which is relative to `base`.
pub fn read(file: &mut JobFile, base: &Path) -> Result<(), Fault> {
    let JobFile::Named(path) = &*file else { return Ok(()) };
    let source = SourceText::read(&base.join(path)).map_err(Fault::elsewhere)?;
    let job = parse(&source.text).map_err(|fault| Fault::elsewhere(source.locate(fault)))?;
    *file = JobFile::Read(Box::new(job));
    Ok(())
}

/// Reads a job file: `[global]` and one more section.
pub fn parse(text: &str) -> Result<FioJob, Fault> {
    let mut sections: Vec<(&str, Range<usize>)> = Vec::new();
    let mut options: Vec<Line<'_>> = Vec::new();
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let begin = at;
        at += whole.len();
        let line = whole.trim();
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        let begin = begin + (whole.len() - whole.trim_start().len());
        let span = begin..begin + line.len();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            sections.push((name, span));
            continue;
        }
        let (name, value) = line.split_once('=').map_or((line, "1"), |(n, v)| (n.trim(), v.trim()));
        options.push(Line { name, value, span });
    }
    let jobs: Vec<_> = sections.iter().filter(|(name, _)| *name != "global").collect();
    match jobs.as_slice() {
        [_] => {}
        [] => return Err(Fault::new(0..0, "the file has no job", "begin one by a line `[name]`")),
        [_, second, ..] => {
            let hint = "one job tells what an operation takes: give each a file of its own";
            return Err(Fault::new(second.1.clone(), "the file has more than one job", hint));
        }
    }
    resolve(&options)
}

fn resolve(lines: &[Line<'_>]) -> Result<FioJob, Fault> {
    let mut file = FioJob { job: plain(), runtime: None };
    for line in lines {
        let Line { name, value, span } = line;
        let fault = |message: String, hint: &str| Fault::new(span.clone(), message, hint);
        let misfit = |refused: Refused| Fault::refused(span.clone(), refused);
        let percent = || ReadPercent::from_text(value).map_err(misfit);
        let job = &mut file.job;
        match *name {
            "ioengine" => (*value).clone_into(&mut job.ioengine),
            "filename" | "uri" => (*value).clone_into(&mut job.filename),
            "rw" | "readwrite" => {
                (job.pattern, job.rwmixread) = pattern(value, job.rwmixread).map_err(misfit)?;
            }
            "rwmixread" => job.rwmixread = mixed(job.rwmixread, percent()?),
            "rwmixwrite" => {
                let reads = ReadPercent::known(100 - percent()?.get());
                job.rwmixread = mixed(job.rwmixread, reads);
            }
            "bs" | "blocksize" => job.bs = octets(value).map_err(misfit)?,
            "numjobs" => job.numjobs = Jobs::from_text(value).map_err(misfit)?,
            "iodepth" => job.iodepth = QueueDepth::from_text(value).map_err(misfit)?,
            "runtime" => file.runtime = Some((*value).to_owned()),
            "include" => {
                return Err(fault("a job may not name another file".into(), "put its lines here"));
            }
            _ => match fio_options::admit(name, value) {
                Ok(Admitted::Passed(value)) => {
                    job.options.insert((*name).to_owned(), value);
                }
                Ok(Admitted::Ours) => {}
                Err(refused) => return Err(misfit(refused)),
            },
        }
    }
    Ok(file)
}

/// A mix changes only what both reads and writes.
fn mixed(now: ReadPercent, asked: ReadPercent) -> ReadPercent {
    if now == WRITES || now == READS { now } else { asked }
}

#[cfg(test)]
mod tests {
    use measure::ByteCount;
    use trial::Pattern;

    use super::*;

    #[test]
    fn a_job_as_people_have_it() {
        let text = "; a comment\n[global]\nioengine=libaio\ndirect=1\nrw=randrw\nrwmixread=70\n\
                    time_based\nruntime=600\n[mine]\nfilename=/mnt/ceph/f\nbs=4k\nnumjobs=8\nsize=4GB\n";
        let FioJob { job, runtime } = parse(text).unwrap();
        assert_eq!((job.ioengine.as_str(), job.filename.as_str()), ("libaio", "/mnt/ceph/f"));
        assert_eq!(
            (job.pattern, job.rwmixread.get(), job.bs),
            (Pattern::Random, 70, ByteCount(4096))
        );
        assert_eq!((job.numjobs.get(), job.iodepth.get()), (8, 1));
        assert_eq!(runtime.as_deref(), Some("600"));
        let kept: Vec<_> = job.options.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(kept, ["direct=1", "size=4294967296"]);
    }

    #[test]
    fn what_no_measured_job_may_have_is_refused() {
        for (text, why) in [
            ("rw=read\n", "no job"),
            ("[a]\nrw=read\n[b]\nrw=write\n", "more than one job"),
            ("[a]\nexec_prerun=rm -rf /\n", "may not have `exec_prerun`"),
            ("[a]\nwrite_bw_log=x\n", "may not have `write_bw_log`"),
            ("[a]\ninclude other\n", "may not name another file"),
            ("[a]\nrw=trim\n", "not a pattern"),
            ("[a]\nbs=4k,8k\n", "no size"),
            ("[a]\nnumjobs=0\n", "outside the range of numbers of jobs"),
            ("[a]\ndirectory=/mnt\n", "may not have `directory`"),
            ("[a]\nsize=200%\n", "not what `size` takes"),
            ("[a]\nunlink=1\n", "may not have `unlink`"),
        ] {
            let text = text.replace("include other", "include=other");
            let fault = parse(&text).unwrap_err();
            assert!(fault.message.contains(why), "{text}: {fault:?}");
        }
    }
}
