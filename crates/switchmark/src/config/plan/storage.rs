//! `[study.storage]`: the table's typed form, and the study that it asks for.
//!
//! Owns its keys; a job file's path is relative to the plan. Never decides a default.

use std::path::Path;

use method::StudySpec;
use serde::Deserialize;
use toml::Spanned;

use super::buffer::port;
use super::values::{self, ProfileFile, placed};
use crate::config::fio_job;
use crate::config::resolved::Testbed;
use crate::config::source::{Fault, SourceText};
use crate::config::storage::{self, StorageAsk};
use crate::config::typed::Text;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StorageFile {
    profile: Option<ProfileFile>,
    fio: Option<Text>,
    serve: Option<Text>,
    rw: Option<Text>,
    rwmixread: Option<Spanned<i64>>,
    #[serde(default)]
    bs: Vec<Text>,
    #[serde(default)]
    iodepth: Vec<Spanned<i64>>,
    numjobs: Option<Spanned<i64>>,
    #[serde(default)]
    replicas: Vec<Text>,
    disk: Option<String>,
    allow_destroy: Option<bool>,
    #[serde(default)]
    devices: Vec<Text>,
    #[serde(default)]
    variants: Vec<Text>,
    duration: Option<Text>,
    blocks: Option<Spanned<i64>>,
}

impl StorageFile {
    pub(super) fn resolve(&self, testbed: &Testbed, base: &Path) -> Result<StudySpec, Fault> {
        let job = self.fio.as_ref().map(|path| {
            let source = SourceText::read(&base.join(path.get_ref())).map_err(Fault::elsewhere)?;
            fio_job::parse(&source.text).map_err(|fault| Fault::elsewhere(source.locate(fault)))
        });
        let mix = self.rwmixread.as_ref().map(|value| {
            values::count(value, 0..=100, "shares of reads in percent", "100 only reads")
        });
        let mix: u8 = mix.transpose()?.unwrap_or(50);
        let pattern =
            self.rw.as_ref().map(|text| fio_job::pattern(text.get_ref(), mix, &text.span()));
        let serve = self.serve.as_ref().map(|text| {
            storage::serve(text.get_ref())
                .map_err(|e| Fault::new(text.span(), e, "write \"1ms\", or \"1ms/2ms\""))
        });
        let depth = |value: &Spanned<i64>| {
            values::count(value, 1..=4096, "operations under way", "1 does one after the other")
        };
        let size = |text: &Text| fio_job::octets(text.get_ref(), &text.span());
        let jobs = |value| values::count(value, 1..=1024, "numbers of jobs", "1 is one client");
        let ask = StorageAsk {
            profile: self.profile.map(Into::into),
            job: job.transpose()?,
            serve: serve.transpose()?,
            pattern: pattern.transpose()?,
            sizes: self.bs.iter().map(size).collect::<Result<_, _>>()?,
            depths: self.iodepth.iter().map(depth).collect::<Result<_, _>>()?,
            numjobs: self.numjobs.as_ref().map(jobs).transpose()?,
            replicas: self.replicas.iter().map(port).collect::<Result<_, _>>()?,
            disk: self.disk.clone(),
            allow_destroy: self.allow_destroy.unwrap_or(false),
            subjects: values::subjects(&self.devices, &self.variants, testbed)?,
            duration: self.duration.as_ref().map(values::duration).transpose()?,
            blocks: self.blocks.as_ref().map(values::blocks).transpose()?,
        };
        let span = self.fio.as_ref().map_or(0..0, Spanned::span);
        ask.resolve(testbed).map_err(|misfit| placed(span, misfit))
    }
}
