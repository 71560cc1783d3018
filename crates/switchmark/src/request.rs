//! What is asked of a study, by a verb's flags or by a plan's table: one struct a study, from which
//! both are read, and the complete request that it comes to.
//!
//! Owns the studies' options: to add one is to add a field. Never runs a study, and never decides
//! what nobody stated: that is the study's profile, or the testbed.

pub mod buffer;
pub mod depth;
pub mod fabric;
pub mod failover;
pub mod forwarding;
pub mod given;
pub mod latency;
pub mod storage;
pub mod switching;
pub mod tcp;
pub mod values;

use std::path::Path;

use method::{Profile, SpecProblem, StudySpec};

use crate::config::bounds;
use crate::config::resolved::Testbed;
use crate::config::source::Fault;
pub use buffer::Buffer;
pub use depth::Depth;
pub use fabric::Fabric;
pub use failover::Failover;
pub use forwarding::Forwarding;
use given::{Given, Place};
pub use latency::Latency;
pub use storage::Storage;
pub use switching::Switching;
pub use tcp::Tcp;

/// Each study that has a verb of its own, with the verb's help.
macro_rules! study_verbs {
    ($table:path) => {
        $table! {
            /// Round-trip times by size, protocol and load
            Latency
            /// Frames a second: flood, throughput without loss, the tests of RFC 2544
            Forwarding
            /// TCP each way and both ways at once: how much payload, and who was the limit?
            Tcp
            /// How long flows are interrupted when a link, path or router fails and comes back
            Failover
            /// Exchanges between pairs of ports: is it non-blocking, whichever ports talk?
            Fabric
            /// A switch with all its ports at work: the tests of RFC 2889 and RFC 8239
            Switching
            /// Reads and writes behind the network, by fio: whose is their time?
            Storage
        }
    };
}
pub(crate) use study_verbs;

/// One study's options, as they were stated.
pub trait StudyRequest {
    /// The complete request, with what was left open from the profile or the testbed.
    fn spec(&self, testbed: &Testbed) -> Result<StudySpec, Fault>;

    /// The place of what a problem is about, where it was stated.
    fn place_of(&self, _problem: &SpecProblem) -> Option<&Place> {
        None
    }

    /// The complete request on a testbed whose bounds it keeps; a fault names the flag, or has its
    /// place in the plan. A problem with what nobody stated has no place, and is told by whoever
    /// begins the run.
    fn resolve(&self, testbed: &Testbed) -> Result<StudySpec, Fault> {
        let spec = self.spec(testbed)?;
        let problem = bounds::of(testbed).check(&spec).err();
        let fault = problem.and_then(|found| Some(self.place_of(&found)?.fault(found.into())));
        fault.map_or(Ok(spec), Err)
    }

    /// Takes files that are named relative to a plan from the plan's folder.
    fn take_files_from(&mut self, _base: &Path) {}
}

/// Quick where nothing is stated.
#[expect(clippy::ref_option, reason = "a field of a request is an option")]
fn strict(profile: &Option<Given<Profile>>) -> bool {
    profile.as_ref().is_some_and(|profile| profile.value == Profile::Strict)
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction, Args, Command};

    use super::*;
    use crate::config::testbed;

    /// A study's options, with that of its verb which some of them require.
    fn options<R: Args>() -> Command {
        let flag = Arg::new("estimate").long("estimate").action(ArgAction::SetTrue);
        R::augment_args(Command::new("study").arg(flag))
    }

    fn spec_of<R: Args + StudyRequest>(flags: &[String]) -> StudySpec {
        let own = ["study".to_owned(), "--estimate".to_owned()];
        let read = options::<R>().try_get_matches_from(own.iter().chain(flags));
        let request = read.and_then(|read| R::from_arg_matches(&read));
        let request = request.unwrap_or_else(|refused| panic!("{flags:?}: {refused}"));
        let testbed = testbed::from_argument("--testbed", "sim:trident2").expect("a model");
        request.resolve(&testbed).unwrap_or_else(|fault| panic!("{flags:?}: {fault:?}"))
    }

    /// What an option's help says is so without it, for either profile; none of a mere switch, or
    /// of an option that is refused.
    fn told(option: &Arg) -> Option<[String; 2]> {
        if option.is_hide_set() || option.get_num_args().is_some_and(|it| it.max_values() == 0) {
            return None;
        }
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let whole = option.get_long_help().map_or(help, ToString::to_string);
        let default = whole.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
        let (default, _) = default.unwrap_or_else(|| panic!("no default in: {whole}"));
        let (quick, strict) = default.split_once("; strict ").unwrap_or((default, default));
        Some([quick.to_owned(), strict.to_owned()])
    }

    /// Whoever states what help tells asks for what is asked without it. What is told in words
    /// can't be stated.
    fn untrue_defaults<R: Args + StudyRequest>() -> Vec<String> {
        let mut untrue = Vec::new();
        let command = options::<R>();
        let named = |option: &Arg| option.get_long().expect("every option has a name").to_owned();
        let options = command.get_arguments().filter(|o| o.get_action().takes_values());
        for (flag, told) in options.filter_map(|o| Some((named(o), told(o)?))) {
            for (profile, value) in ["quick", "strict"].into_iter().zip(told) {
                if value.contains([' ', '\'']) || flag == "profile" {
                    continue;
                }
                // `buffer --estimate` has its profile from the verb.
                let has_profile = command.get_arguments().any(|o| o.get_id() == "profile");
                if !has_profile && profile == "strict" {
                    continue;
                }
                let unstated = has_profile.then(|| format!("--profile={profile}"));
                let unstated: Vec<String> = unstated.into_iter().collect();
                let stated = [&unstated[..], &[format!("--{flag}={value}")]].concat();
                if spec_of::<R>(&stated) != spec_of::<R>(&unstated) {
                    untrue.push(format!("--{flag} {value}, {profile}"));
                }
            }
        }
        untrue
    }

    macro_rules! untrue_of_verbs {
        ($($(#[$help:meta])* $study:ident)+) => {
            fn untrue_of_verbs() -> Vec<String> {
                [$(untrue_defaults::<$study>()),+].concat()
            }
        };
    }
    study_verbs!(untrue_of_verbs);

    #[test]
    fn help_tells_every_default_and_tells_it_right() {
        let untrue = [untrue_defaults::<Buffer>(), untrue_defaults::<Depth>(), untrue_of_verbs()];
        assert_eq!(untrue.concat(), Vec::<String>::new());
        assert_eq!(spec_of::<Latency>(&["--profile=quick".to_owned()]), spec_of::<Latency>(&[]));
    }
}
