//! `cargo xtask check | test | prove | attack | bench | docs | dist`: the same commands for people
//! and for CI.
//!
//! Owns what "clean" and "passing" mean and the installing of what tests need. Never holds product
//! code, and is never shipped.

#![allow(
    clippy::disallowed_methods,
    reason = "a developer's tool: it may read the clock and wait for children"
)]

mod again;
mod against;
mod apart;
mod attack;
mod bpf;
mod circles;
mod deny;
mod dist;
mod docs;
mod edges;
mod guards;
mod makers;
mod packages;
mod pages;
mod pictures;
mod shape;
mod site;
mod smoke;
mod steps;
mod threads;
mod tidy;
mod voice;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check          fmt, clippy, tidy (door signs, crate edges, file length, licences)
  test [--full]  install what the tests need where possible, then run every test;
                 --full runs the long statistical profile too
  prove [ARG…]   hold what the studies claim of a hundred simulated devices against what is true of them;
                 --full asks about two thousand, --devices N and --seed S say how many and which
  attack [ARG…]  throw changed files, bytes, signals and closed pipes at the program for a minute and print what came of
                 it; --full for an hour, --seconds N and --seed S say how long and which
  bpf            compile the programs that run inside the kernel (clang), where a source changed
  bench [NAME]   run us and the peers interleaved, print ratios (see docs/benchmarks.md)
  bench --against REF
                 run this tree and an earlier one (a tag, a commit) interleaved, print ratios: is a release slower?
  docs [PAGE…]   run the commands that docs/ shows, and write what they print
  docs --pictures
                 the README's pictures: what a run in a lab prints, and its page
  docs --site    the pages as a site in target/site/html: searchable, opens from a folder; installs mdBook where needed
  shape          lines of code by crate
  dist [PROCESSOR…]
                 what is given to people, into target/packages: static programs for x86_64 and aarch64, archives,
                 packages, images, sums and bills of materials
  dist --check   what dist made: installed and run in a bare Debian, beside nothing, in a container, on another processor;
                 --full runs unit tests on that processor too
  dist --again [PROCESSOR…]
                 that, made again in another folder, has the same octets";

fn main() -> ExitCode {
    match dispatch() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  {cause}");
            }
            ExitCode::FAILURE
        }
    }
}

fn dispatch() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => steps::check(),
        ["test"] => steps::test(false),
        ["test", "--full"] => steps::test(true),
        [threads::STARTS, program, args @ ..] => threads::start(program, args),
        ["prove", rest @ ..] => steps::prove(rest),
        ["attack", rest @ ..] => attack::attack(rest),
        ["bpf"] => bpf::build(&steps::root()),
        ["docs", "--site"] => site::build(),
        ["docs", "--pictures"] => pictures::make(),
        ["docs", pages @ ..] => docs::regenerate(pages),
        ["shape"] => shape::print(&steps::root()),
        ["dist", "--check"] => smoke::check(false),
        ["dist", "--check", "--full"] => smoke::check(true),
        ["dist", "--again", processors @ ..] => again::again(processors),
        ["dist", processors @ ..] => dist::dist(processors),
        ["bench", "--against", reference] => against::against(reference),
        ["bench", names @ ..] => steps::bench(names),
        _ => bail!("{USAGE}"),
    }
}
