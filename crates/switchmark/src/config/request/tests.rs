//! Requests on testbeds that have names: what help tells of defaults, and plans key by key.

mod fabric;
mod switching;

use clap::{Arg, ArgAction, Args, Command};
use study::buffer::Buffer;
use study::depth::Depth;
use study::latency::Latency;
use study::study_verbs;

use super::*;
use crate::config::testbed;

/// A study's options, with that of its verb which some of them require.
fn options<R: Args>() -> Command {
    let flag = Arg::new("estimate").long("estimate").action(ArgAction::SetTrue);
    R::augment_args(Command::new("study").arg(flag))
}

fn spec_of<R: Args + StudyRequest + Clone>(flags: &[String]) -> StudySpec {
    let own = ["study".to_owned(), "--estimate".to_owned()];
    let read = options::<R>().try_get_matches_from(own.iter().chain(flags));
    let request = read.and_then(|read| R::from_arg_matches(&read));
    let request = request.unwrap_or_else(|refused| panic!("{flags:?}: {refused}"));
    let testbed = testbed::from_argument("--testbed", "sim:trident2").expect("a model");
    from_flags(&request, &testbed).unwrap_or_else(|fault| panic!("{flags:?}: {fault:?}"))
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

/// Whoever states what help tells asks for what is asked without it. What is told in words cannot
/// be stated.
fn untrue_defaults<R: Args + StudyRequest + Clone>() -> Vec<String> {
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
    ($($(#[$help:meta])* $study:ident($request:ty))+) => {
        fn untrue_of_verbs() -> Vec<String> {
            [$(untrue_defaults::<$request>()),+].concat()
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
