//! Pages of a journal during a measurement, in the same process: `--serve`.
//!
//! Owns the server's thread, which ends with its guard. Never touches a run: it reads the journal's
//! file like any other process, and the measurement does not wait for it.

use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;
use serve::{Listen, Options, Place, Server, Stopper};

use super::journal::Journal;
use super::{bind, token};
use crate::cli::Failure;
use crate::cli::options::Beside;

/// Time for pages that follow the run to learn of its end.
const LAST_LOOK: Duration = Duration::from_millis(600);

/// Server that listens, and answers nobody yet.
pub struct Bound {
    server: Server,
    doubt: Option<String>,
}

/// Shows the pages as long as it lives.
pub struct Guard {
    stopper: Stopper,
    place: Place,
    doubt: Option<String>,
    server: Option<JoinHandle<()>>,
}

impl Bound {
    /// Listens as the flags ask for; `None` if they do not. Starts no thread: a lab may have to
    /// enter a namespace first, whose loopback is another one.
    pub fn from_flags(flags: &Beside) -> Result<Option<Self>, Failure> {
        let Some(listen) = flags.serve.clone() else { return Ok(None) };
        let token = flags.token_file.as_deref().map(token).transpose()?;
        let identity = flags.tls.identity()?;
        let doubt = identity.as_ref().and_then(|own| flags.tls.doubt(own, Timestamp::now()));
        let server = bind(Options { listen, identity, token, ..Options::default() })?;
        Ok(Some(Self { server, doubt }))
    }

    /// Answers from here on.
    pub fn begin(self, path: &Path) -> Result<Guard, Failure> {
        let journal = Arc::new(Journal::at(path));
        let Self { server, doubt } = self;
        let (stopper, place) = (server.stopper(), server.place().clone());
        let thread = thread::Builder::new().name("serve".to_owned());
        let server = thread.spawn(move || {
            // A failure to show pages is no reason to stop measuring.
            let _ = server.run(journal);
        })?;
        Ok(Guard { stopper, place, doubt, server: Some(server) })
    }
}

impl Guard {
    /// States where to look: `http://127.0.0.1:8377/live`.
    pub fn announcement(&self) -> String {
        let Self { place, .. } = self;
        let doubt = self.doubt.as_deref().unwrap_or_default();
        match &place.listen {
            Listen::Tcp(_) => format!("{doubt}{place}live shows the run while it lasts\n"),
            Listen::Unix(_) => format!("{place} shows the run while it lasts, at /live\n"),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.stopper.stop_after(LAST_LOOK);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}
