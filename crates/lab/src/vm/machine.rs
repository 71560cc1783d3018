//! A running machine: its process, its console, and its two control channels.
//!
//! Owns qemu's process and ends it, by its id, when dropped. Every wait is bounded, and on a
//! time-out reports the machine's last output. Never restarts a machine that ended by itself.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::archive::Archive;
use super::console::Console;
use super::control::{Notice, Request};
use super::emulator::{self, Emulator, MAX_PORTS};
use super::orders::{ORDERS_FILE, Orders};
use super::{Cable, CableLosses, EMULATOR_NAME, Image, handover, modules, object};
use crate::{LabError, NodePlan};

/// Time-out for booting. An emulated kernel takes some seconds, and far more on a busy machine.
const BOOT: Duration = Duration::from_mins(2);
/// Time-out for an answer. It takes milliseconds; a machine that is flooded with frames processes
/// those first.
const ANSWER: Duration = Duration::from_secs(15);

/// A device in a virtual machine. Dropping it ends it, and removes its hosts' interfaces.
#[derive(Debug)]
pub struct Machine {
    name: String,
    image: Image,
    acceleration: super::Acceleration,
    child: Child,
    console: Console,
    line: Mutex<Line>,
    keeper: Option<JoinHandle<()>>,
    ports: Vec<String>,
    cables: Vec<Cable>,
}

/// Facts about a machine, for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Release of its kernel, as read from the image: `6.1.0-56-rt-amd64`.
    pub release: String,
    /// Complete banner of the kernel.
    pub banner: String,
    /// Command line of the kernel.
    pub kernel_arguments: String,
    /// Acceleration in use: `kvm` or `tcg`.
    pub acceleration: String,
}

/// Control socket, monitor, and received events.
#[derive(Debug)]
struct Line {
    control: UnixStream,
    monitor: BufReader<UnixStream>,
    events: Receiver<Event>,
    asked: u32,
}

#[derive(Debug)]
enum Event {
    Said(Notice),
    /// The kernel panicked, with its message.
    Panicked(String),
    Ended,
}

impl Machine {
    /// Boots `image` as `node`, at the far ends of `cables`, in the order of its interfaces.
    /// Returns at once, so that several boot at the same time; [`Self::wait_until_ready`] waits
    /// until it forwards.
    pub fn start(
        emulator: &Emulator,
        image: &Image,
        node: &NodePlan,
        mtu: u32,
        cables: Vec<Cable>,
    ) -> Result<Self, LabError> {
        let ports = node.interfaces.len();
        if ports != cables.len() || ports > MAX_PORTS {
            return Err(LabError::new(format!(
                "start {}: {ports} ports with {} cables; a machine has at most {MAX_PORTS}",
                node.name,
                cables.len()
            )));
        }
        let archive = file_system(&emulator.program, image, node, mtu)?;
        let kernel = File::open(image.kernel())
            .map_err(|e| LabError::file("read kernel image", image.kernel().display(), e))?;
        let arguments = emulator.arguments(&node.interfaces, archive.len());
        let archive = in_memory(&archive)?;
        let mut descriptors = vec![kernel.as_fd(), archive.as_fd()];
        descriptors.extend(cables.iter().map(AsFd::as_fd));

        let failed = |e: io::Error| LabError::file("start machine", &node.name, e);
        let (control, their_control) = UnixStream::pair().map_err(failed)?;
        let (monitor, their_monitor) = UnixStream::pair().map_err(failed)?;
        handover::give(&control, &descriptors).map_err(failed)?;
        let mut command = Command::new(&emulator.program);
        command
            .arg0(EMULATOR_NAME)
            .arg(std::process::id().to_string())
            .arg(Emulator::find()?)
            .args(arguments)
            .stdin(Stdio::from(OwnedFd::from(their_control)))
            .stdout(Stdio::from(OwnedFd::from(their_monitor)))
            .stderr(Stdio::piped());
        let console = Console::default();
        let (tell, events) = mpsc::channel();
        let (child, keeper) = keep(command, console.clone(), tell.clone()).map_err(failed)?;
        let machine = Self {
            name: node.name.clone(),
            image: image.clone(),
            acceleration: emulator.acceleration.resolved(),
            child,
            console,
            line: Mutex::new(Line {
                control: control.try_clone().map_err(failed)?,
                monitor: BufReader::new(monitor),
                events,
                asked: 0,
            }),
            keeper: Some(keeper),
            ports: node.interfaces.iter().map(|port| port.name.clone()).collect(),
            cables,
        };
        listen(control, tell).map_err(failed)?;
        Ok(machine)
    }

    /// Name of the node.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Process id of the emulator.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Booted kernel and its start parameters.
    pub fn facts(&self) -> Facts {
        Facts {
            release: self.image.release().to_owned(),
            banner: self.image.banner().to_owned(),
            kernel_arguments: emulator::kernel_arguments().to_owned(),
            acceleration: self.acceleration.as_str().to_owned(),
        }
    }

    /// Cables of its ports, in the order of the node's interfaces.
    pub fn cables(&self) -> &[Cable] {
        &self.cables
    }

    /// Frames lost by each port's cable since it was laid, by the port's name; no counter in the
    /// machine shows them.
    pub fn losses(&self) -> Result<BTreeMap<String, CableLosses>, LabError> {
        let ports = self.ports.iter().zip(&self.cables);
        ports.map(|(name, cable)| Ok((name.clone(), cable.losses()?))).collect()
    }

    /// Waits until it forwards, at most two minutes. Use it after [`Self::start`] and after
    /// [`Self::reset`].
    pub fn wait_until_ready(&self) -> Result<(), LabError> {
        self.wait_until_booted()?;
        for cable in &self.cables {
            cable.settle()?;
        }
        Ok(())
    }

    fn wait_until_booted(&self) -> Result<(), LabError> {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        match self
            .await_notice(&line, "boot", BOOT, |notice| !matches!(notice, Notice::Answer { .. }))?
        {
            Notice::Failed(words) => Err(self.refused("boot", &words)),
            _ => Ok(()),
        }
    }

    /// Sends a request to the machine's first process; the answer is one line of text. The program
    /// that runs there defines the known words.
    pub fn ask(&self, word: &'static str) -> Result<String, LabError> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.asked += 1;
        let number = line.asked;
        let request = Request { number, word: word.to_owned() };
        let failed = |e| LabError::file("ask machine", &self.name, e);
        line.control.write_all(request.to_line().as_bytes()).map_err(failed)?;
        let ours = |notice: &Notice| matches!(notice, Notice::Answer { number: theirs, .. } if *theirs == number);
        match self.await_notice(&line, "ask machine", ANSWER, ours)? {
            Notice::Answer { answer, .. } => answer.map_err(|words| self.refused(word, &words)),
            _ => unreachable!("only answers are ours"),
        }
    }

    /// Resets the machine: it stops forwarding at once and reboots. Returns without waiting.
    pub fn reset(&self) -> Result<(), LabError> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        for command in ["qmp_capabilities", "system_reset"] {
            line.command(command).map_err(|e| LabError::file("reset machine", &self.name, e))?;
        }
        Ok(())
    }

    /// Returns the next notice that `awaited` accepts; others are leftovers and ignored.
    fn await_notice(
        &self,
        line: &Line,
        deed: &'static str,
        within: Duration,
        awaited: impl Fn(&Notice) -> bool,
    ) -> Result<Notice, LabError> {
        let failed = |words: String| LabError::new(format!("{deed} {}: {words}", self.name));
        let last_words = || format!("its last words: {}", self.console.last_words());
        loop {
            match line.events.recv_timeout(within) {
                Ok(Event::Said(notice)) if awaited(&notice) => return Ok(notice),
                Ok(Event::Said(_)) => {}
                Ok(Event::Panicked(words)) => return Err(failed(words)),
                Ok(Event::Ended) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(failed(format!("it ended; {}", last_words())));
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(failed(format!("nothing within {within:?}; {}", last_words())));
                }
            }
        }
    }

    fn refused(&self, deed: &str, words: &str) -> LabError {
        LabError::new(format!("{deed} {}: {words}", self.name))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

impl Line {
    /// Sends the emulator a command in the QEMU Machine Protocol and waits for its confirmation.
    fn command(&mut self, name: &str) -> io::Result<()> {
        self.monitor.get_ref().set_read_timeout(Some(ANSWER))?;
        let command = format!("{{\"execute\": \"{name}\"}}\n");
        self.monitor.get_mut().write_all(command.as_bytes())?;
        let mut answer = String::new();
        loop {
            answer.clear();
            if self.monitor.read_line(&mut answer)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // Besides answers come a greeting and events.
            if answer.starts_with("{\"return\"") {
                return Ok(());
            }
            if answer.starts_with("{\"error\"") {
                return Err(io::Error::other(answer.trim().to_owned()));
            }
        }
    }
}

/// Starts the emulator on a thread that lives as long as it does. The signal that ends a child with
/// its parent is tied to the thread that forked. Meanwhile the thread reads the console.
fn keep(
    mut command: Command,
    console: Console,
    tell: Sender<Event>,
) -> io::Result<(Child, JoinHandle<()>)> {
    let (started, start) = mpsc::channel();
    let keeper = thread::Builder::new().name("machine".to_owned()).spawn(move || {
        let mut spawned = command.spawn();
        // Our copies of the machine's ends must not outlive it.
        drop(command);
        let errors = spawned.as_mut().ok().and_then(|child| child.stderr.take());
        let _ = started.send(spawned);
        if let Some(errors) = errors {
            console.listen(errors, |words| {
                // A failure means that there is no receiver any more.
                let _ = tell.send(Event::Panicked(words.to_owned()));
            });
        }
        // The console is closed, so the process is ending; a waiting thread may read its last
        // output.
        let _ = tell.send(Event::Ended);
    })?;
    let child = start.recv().unwrap_or_else(|_| Err(io::Error::other("its thread ended")))?;
    Ok((child, keeper))
}

/// Forwards the machine's lines as events until its end is closed.
fn listen(control: UnixStream, tell: Sender<Event>) -> io::Result<()> {
    thread::Builder::new().name("machine control".to_owned()).spawn(move || {
        let mut from = BufReader::new(control);
        let mut line = Vec::new();
        while matches!(from.read_until(b'\n', &mut line), Ok(1..)) {
            let notice = Notice::from_line(&String::from_utf8_lossy(&line));
            line.clear();
            if notice.is_some_and(|notice| tell.send(Event::Said(notice)).is_err()) {
                return;
            }
        }
    })?;
    Ok(())
}

/// Builds the machine's first file system: our program, its orders, and the modules.
fn file_system(
    program: &Path,
    image: &Image,
    node: &NodePlan,
    mtu: u32,
) -> Result<Vec<u8>, LabError> {
    let octets = emulator::read_program(program)?;
    let loaded = object::loaded_octets(&octets).map_err(|reason| {
        let what = format!("take {} for the machine's first process", program.display());
        LabError::new(format!("{what}: {reason}"))
    })?;
    let mut archive = Archive::default();
    for folder in ["dev", "proc", "sys", "modules"] {
        archive.folder(folder);
    }
    archive.device("dev/console", (5, 1));
    archive.device("dev/null", (1, 3));
    archive.program("init", &octets[..loaded]);
    let mut names = Vec::new();
    for file in modules::needed(image, &Orders::drivers(node))? {
        let module = std::fs::read(&file).map_err(|e| LabError::file("read", file.display(), e))?;
        let name = format!("modules/{}", file.file_name().unwrap_or_default().display());
        archive.file(&name, &module);
        names.push(format!("/{name}"));
    }
    let orders = Orders { node: node.clone(), mtu, modules: names };
    archive.file(ORDERS_FILE.trim_start_matches('/'), orders.to_json().as_bytes());
    Ok(archive.finish())
}

/// Creates a file without a name, which is freed with its last descriptor.
fn in_memory(contents: &[u8]) -> Result<OwnedFd, LabError> {
    let write = || -> io::Result<OwnedFd> {
        let mut file: File = memfd_create("switchmark-initramfs", MFdFlags::MFD_CLOEXEC)?.into();
        file.write_all(contents)?;
        Ok(file.into())
    };
    write().map_err(|e| LabError::file("keep in memory", "the machine's file system", e))
}
