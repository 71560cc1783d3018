//! The verbs of one study each: `latency`, `fabric`, `storage` and their like.
//!
//! Owns what they have in common. Which options a study has is its request's to say.

use super::options::Measuring;
use super::session::{self, Request};
use super::{Failure, Outcome};
use crate::config::{ConfigError, hosts_name, testbed};
use crate::request::StudyRequest;

/// A testbed, and what is asked of the study.
#[derive(Debug, clap::Args)]
pub struct Args<R: clap::Args> {
    /// lab:bridge, lab:router… or sim:PROFILE.toml with options, or a testbed file
    #[arg(long, value_name = "T", required_unless_present_any = ["resume", "hosts"], conflicts_with = "resume")]
    testbed: Option<String>,
    /// Hosts and their ports without any file: root@a:eth1,root@b:eth1 through a device,
    /// root@a:eth1=root@b:eth1 over a direct cable
    #[arg(long, value_name = "H", conflicts_with_all = ["resume", "testbed"])]
    hosts: Option<String>,
    #[command(flatten)]
    request: R,
    #[command(flatten)]
    measuring: Measuring,
}

/// Measures.
pub fn run<R: clap::Args + StudyRequest>(args: &Args<R>) -> Result<Outcome, Failure> {
    session::run(&args.measuring, || {
        let testbed = match &args.hosts {
            Some(hosts) => {
                let name = format!("{}{hosts}", hosts_name::PREFIX);
                testbed::from_argument("--hosts", &name)?
            }
            None => testbed::from_argument("--testbed", args.testbed.as_deref().unwrap_or(""))?,
        };
        let study = args.request.resolve(&testbed).map_err(ConfigError::of_flags)?;
        Ok(Request {
            verb: study.name(),
            testbed,
            studies: vec![study],
            seed: None,
            claims: Vec::new(),
        })
    })
}
