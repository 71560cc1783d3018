//! The verbs of one study each: `latency`, `fabric`, `storage` and their like.
//!
//! Owns what they have in common. Which options a study has is its request's to say.

use clap::Subcommand as _;
use study::request::StudyRequest;
use study::study_verbs;

use super::hosts::{self, HostFlags, Looking};
use super::options::Measuring;
use super::run_request::Request;
use super::session;
use super::{Failure, Outcome};
use crate::config::request;

/// Testbed, and the request to the study.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("hosts", |arg| arg.conflicts_with("resume")),
    mut_group("ListFlags", |group| group.conflicts_with("resume"))
)]
pub struct Args<R: clap::Args> {
    /// lab:bridge, lab:router… or sim:PROFILE.toml with options, or a testbed file
    #[arg(long, value_name = "T", required_unless_present_any = ["resume", "hosts", "ListFlags"], conflicts_with_all = ["resume", "hosts", "ListFlags"])]
    testbed: Option<String>,
    #[command(flatten)]
    hosts: HostFlags,
    #[command(flatten)]
    request: R,
    #[command(flatten)]
    measuring: Measuring,
}

macro_rules! verb {
    ($($(#[$help:meta])* $study:ident($request:ty))+) => {
        /// The verbs of one study each.
        #[derive(Debug, clap::Subcommand)]
        pub enum Verb {
            $($(#[$help])* $study(Box<Args<$request>>),)+
        }

        /// Options that people use first, in the order of the verbs.
        const FIRST: &[&[&str]] = &[$(<$request as StudyRequest>::FIRST,)+];

        /// Measures.
        pub fn run_verb(verb: &Verb) -> Result<Outcome, Failure> {
            match verb {
                $(Verb::$study(args) => run(args),)+
            }
        }
    };
}
study_verbs!(verb);

/// Verbs of one study each, with the options that people use first.
pub fn first_options() -> Vec<(String, &'static [&'static str])> {
    let verbs = Verb::augment_subcommands(clap::Command::new(""));
    let names = verbs.get_subcommands().map(|verb| verb.get_name().to_owned());
    names.zip(FIRST.iter().copied()).collect()
}

fn run<R: clap::Args + StudyRequest + Clone>(args: &Args<R>) -> Result<Outcome, Failure> {
    session::run(&args.measuring, || {
        let looking = Looking::by(&args.measuring);
        let testbed = hosts::place(&args.hosts, args.testbed.as_deref(), looking)?;
        let study = request::from_flags(&args.request, &testbed)?;
        let (verb, claims) = (study.name(), Vec::new());
        Ok(Request { verb, testbed, studies: vec![study], seed: None, claims })
    })
}
