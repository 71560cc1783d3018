//! `switchmark serve`: the journal's pages for browsers, until it is told to end.
//!
//! Owns the flags, the token's file and the signals. Never makes a page: `render` does, from the
//! journal alone, and `serve` hands it out.

mod beside;
mod deeds;
mod folder;
mod identity;
mod journal;
mod metrics;
mod monitoring;
mod series;
mod trouble;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use serve::{Deeds, Listen, Options, Server, Token};

use super::exit::Status;
use super::options::{Data, Tls};
use super::{Failure, Outcome, output, signals};
use crate::config::ConfigError;
use crate::config::source::plain;
use crate::files;
use crate::speak::{self, print_stderr};
pub use beside::{Bound, Guard};
use deeds::{Journals, RunDeeds};
use folder::Folder;
use journal::Journal;

/// `serve`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Place to listen at: an address and a port, a port of this machine, or a socket as unix:PATH
    /// [default: 127.0.0.1:8377]
    #[arg(long, value_name = "PLACE")]
    listen: Option<Listen>,
    /// A file with the token that readers have to know, on one line; needed where others than this
    /// machine can reach PLACE
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    tls: Tls,
    /// A name of this host by which browsers may ask for pages, beside its addresses and localhost;
    /// may be given again
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Print alert rules for Prometheus, or a dashboard for Grafana, and serve nothing
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["listen", "token_file", "tls_certificate", "tls_key", "name", "json", "allow_run"])]
    print: Option<monitoring::Printed>,
    /// Let pages stop a run under way on this machine, and go on with one that broke off; wants a
    /// token, or a socket
    #[arg(long)]
    allow_run: bool,
    #[command(flatten)]
    data: Data,
}

/// Serves until a signal comes.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(what) = args.print {
        return monitoring::print(what);
    }
    let path = output::store_path(&args.data)?;
    // Fails here with a clear message if the journal cannot be used at all.
    let journals = journals(&path, args.data.store.is_none())?;
    let mut deeds: Option<Arc<dyn Deeds>> = None;
    if args.allow_run {
        deeds = Some(Arc::new(RunDeeds::new(journals.clone())?));
    }
    let token = args.token_file.as_deref().map(token).transpose()?;
    let identity = args.tls.identity()?;
    let doubt = identity.as_ref().and_then(|own| args.tls.doubt(own, Timestamp::now()));
    let listen = args.listen.clone().unwrap_or_default();
    let names = args.name.clone();
    let options = Options { listen, identity, token, names, deeds, ..Options::default() };
    let bound = bind(options)?;
    let stopper = bound.stopper();
    signals::ending(Status::Done, move || stopper.stop()).map_err(Failure::unusable)?;
    announce(args, &bound, &path)?;
    if let Some(doubt) = doubt.filter(|_| !args.data.quiet) {
        print_stderr(&doubt);
    }
    bound.run(journals.source()).map_err(Failure::unusable)?;
    Ok(Outcome::Done)
}

fn bind(options: Options) -> Result<Server, Failure> {
    Server::bind(options).map_err(|error| match error.hint() {
        Some(hint) => Failure::unusable(error).hinted(hint),
        None => Failure::unusable(error),
    })
}

/// A journal, or a folder of them.
fn journals(path: &Path, is_default: bool) -> Result<Journals, Failure> {
    if !path.is_dir() {
        return Ok(Journals::One(Arc::new(Journal::open(path, is_default)?)));
    }
    let folder = Folder::open(path).map_err(|problem| {
        let hint = problem.hint.clone().unwrap_or_default();
        Failure::unusable(problem).hinted(hint)
    })?;
    Ok(Journals::Folder(folder))
}

fn announce(args: &Args, bound: &Server, path: &Path) -> Result<(), Failure> {
    let place = bound.place().to_string();
    if args.data.json {
        let schema = page::SCHEMA;
        speak::print_json(&json!({ "schema": schema, "verb": "serve", "listening": place }))?;
    }
    output::print_text(&args.data, &format!("{place} shows {}; Ctrl-C ends it\n", path.display()))?;
    let place = bound.place();
    if place.listen.is_open() && !place.is_secure && !args.data.quiet {
        print_stderr(
            "warning: pages and the token cross the network as plain text; where others can listen, name a certificate by --tls-certificate, or come by `ssh -L`\n",
        );
    }
    Ok(())
}

/// Reads the token's file, which nobody else may read. A token on the command line would be in
/// every list of processes.
fn token(path: &Path) -> Result<Token, ConfigError> {
    let failed = |why: String, hint: &str| {
        ConfigError::bare(format!("read the token in {}: {why}", path.display()), hint)
    };
    let found = std::fs::metadata(path).map_err(|cause| {
        failed(plain(&cause), "make one: head -c 24 /dev/urandom | base64 > FILE; chmod 600 FILE")
    })?;
    if found.permissions().mode() & 0o077 != 0 {
        let hint = format!("chmod 600 {}", path.display());
        return Err(failed("others than its owner may read it".to_owned(), &hint));
    }
    let text =
        files::text(path).map_err(|cause| failed(plain(&cause), "name a file of one line"))?;
    Token::new(text.trim_end_matches(['\n', '\r']))
        .map_err(|why| failed(why.to_string(), "head -c 24 /dev/urandom | base64 makes one"))
}
