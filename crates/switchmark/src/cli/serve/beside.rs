//! The pages of a journal beside whoever measures into it, in the same process: `--serve`.
//!
//! Owns the server's thread, which ends with its guard. Never touches a run: it reads the journal's
//! file like any other process, and whoever measures does not wait for it.

use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serve::{Listen, Options, Server, Stopper};

use super::journal::Journal;
use super::{bind, token};
use crate::cli::Failure;
use crate::cli::options::Beside;

/// Pages that follow the run are told of its end within this time.
const LAST_LOOK: Duration = Duration::from_millis(600);

/// A place that is listened at, and nobody answers yet.
pub struct Bound(Server);

/// Pages are shown as long as it lives.
pub struct Guard {
    stopper: Stopper,
    place: Listen,
    server: Option<JoinHandle<()>>,
}

impl Bound {
    /// As the flags say; none where they don't ask for it.
    pub fn asked(flags: &Beside) -> Result<Option<Self>, Failure> {
        let listen = flags.serve.as_ref();
        listen.map(|listen| Self::new(listen, flags.token_file.as_deref())).transpose()
    }

    /// Listens, and starts no thread: whoever makes a lab may have to enter a namespace first, and
    /// would have another loopback there.
    pub fn new(listen: &Listen, token_file: Option<&Path>) -> Result<Self, Failure> {
        let token = token_file.map(token).transpose()?;
        let options = Options { listen: listen.clone(), token, ..Options::default() };
        bind(options).map(Self)
    }

    /// Answers from here on.
    pub fn begin(self, path: &Path) -> Result<Guard, Failure> {
        let journal = Arc::new(Journal::at(path));
        let (stopper, place) = (self.0.stopper(), self.0.place().clone());
        let thread = thread::Builder::new().name("serve".to_owned());
        let server = thread.spawn(move || {
            // What keeps pages from being shown is no reason to stop measuring.
            let _ = self.0.run(journal);
        })?;
        Ok(Guard { stopper, place, server: Some(server) })
    }
}

impl Guard {
    /// For whoever looks: `http://127.0.0.1:8377/live`.
    pub fn in_words(&self) -> String {
        match &self.place {
            Listen::Tcp(_) => format!("{}live shows the run while it lasts\n", self.place),
            Listen::Unix(_) => format!("{} shows the run while it lasts, at /live\n", self.place),
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
