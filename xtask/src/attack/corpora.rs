//! The good inputs that bad ones are made from.
//!
//! Owns where each comes from and what is left out: commands of the user's, and ways to other
//! machines. Never changes one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::steps::root;

/// A kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Corpus {
    Profile,
    Testbed,
    Plan,
    Name,
    Job,
    Import,
    Journal,
    AgentPipe,
}

/// All but the journals, which are measured.
pub fn gather() -> Result<BTreeMap<Corpus, Vec<Vec<u8>>>> {
    let root = root();
    let toml = |folder: &str, which: &dyn Fn(&str) -> bool| -> Result<Vec<Vec<u8>>> {
        let files = files(&root.join(folder))?;
        let texts = files.iter().filter(|f| which(&f.to_string_lossy())).map(fs::read_to_string);
        let texts: Vec<String> = texts.collect::<std::io::Result<_>>()?;
        Ok(texts.iter().map(|text| without_hooks(text)).collect())
    };
    let ends = |with: &'static str| move |name: &str| name.ends_with(with);
    let (is_toml, is_testbed, is_job) = (ends(".toml"), ends("testbed.toml"), ends(".fio"));
    let plans = toml("examples", &|n| is_toml(n) && !is_testbed(n))?;
    let plans = plans.into_iter().map(|text| in_a_model(&String::from_utf8_lossy(&text)));
    let mut jobs = toml("examples", &is_job)?;
    jobs.push(
        b"[global]\nioengine=psync\nrw=randread\nbs=4k\nfilename=f\n[j]\nsize=1m\niodepth=4\n"
            .to_vec(),
    );
    let profile = root.join("profiles/blocking-16.toml");
    let names = ["hosts=4", "hosts=2,mtu=1500", "hosts=16,queue=1MB"];
    let name = |rest: &&str| format!("sim:{},{rest}", profile.display()).into_bytes();
    let mut corpora = BTreeMap::from([
        (Corpus::Profile, toml("profiles", &is_toml)?),
        (Corpus::Testbed, toml("examples", &is_testbed)?),
        (Corpus::Plan, plans.collect()),
        (Corpus::Job, jobs),
        (Corpus::Name, names.iter().map(name).collect()),
    ]);
    for (corpus, folder) in [(Corpus::Import, "import"), (Corpus::AgentPipe, "agent_protocol")] {
        let files = files(&root.join("fuzz/corpus").join(folder))?;
        let read: std::io::Result<Vec<_>> = files.iter().map(fs::read).collect();
        corpora.insert(corpus, read?);
    }
    Ok(corpora)
}

/// A plan about a modelled device, so that the rest of it is read and done.
fn in_a_model(plan: &str) -> Vec<u8> {
    let profile = root().join("profiles/blocking-16.toml");
    let model = format!("testbed = \"sim:{},hosts=4\"", profile.display());
    let line = |line: &str| {
        let named = line.trim_start().starts_with("testbed");
        if named { model.clone() } else { line.to_owned() }
    };
    plan.lines().map(line).collect::<Vec<_>>().join("\n").into_bytes()
}

/// Removes the user's commands and the means to reach other machines and processes, which are not
/// tested.
fn without_hooks(text: &str) -> Vec<u8> {
    let hooks = ["apply", "reset", "probe", "ready"];
    let is_hook = |line: &&str| hooks.iter().any(|hook| line.trim_start().starts_with(hook));
    let kept: Vec<&str> = text.lines().filter(|line| !is_hook(line)).collect();
    let text = kept.join("\n");
    let ways = ["pid:", "ssh:", "srun:", "mpirun:"];
    ways.iter().fold(text, |text, way| text.replace(way, "netns:no")).into_bytes()
}

/// The files below a folder, in order.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
