//! The first process of a machine: the only one besides its kernel.
//!
//! Owns the part of a distribution's start-up that a device needs: the kernel's own file systems,
//! the drivers, the node, and the connection to the host. It starts no other process, so there is
//! none to wait for. Never ends: a kernel whose first process ends panics.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::thread;

use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::termios::{self, SetArg};

use super::control::{Notice, Request};
use super::orders::{CONTROL_DEVICE, ORDERS_FILE, Orders};
use crate::LabError;

/// Flag that makes the kernel unpack a compressed file. The `linux/module.h` of a kernel older than
/// 5.17 lacks it.
const MODULE_INIT_COMPRESSED_FILE: u32 = 4;
/// The kernel's own file systems and their mount points.
const FILE_SYSTEMS: [(&str, &str); 3] =
    [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")];

/// True if this process is the first one of a switchmark machine: only that one has orders.
pub fn is_first_process() -> bool {
    std::process::id() == 1 && Path::new(ORDERS_FILE).is_file()
}

/// Configures this kernel as the node in its orders, reports that to the host, and answers its
/// requests with `answer`: one line of text, or the reason for a failure.
pub fn serve(answer: impl Fn(&str) -> Result<String, String>) -> ! {
    for (kind, place) in FILE_SYSTEMS {
        // A kernel may have mounted /dev by itself; a missing mount shows with the first use.
        let _ = mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>);
    }
    let made = make();
    if let Err(words) = &made {
        eprintln!("first process: {words}");
    }
    let conversed = open_control().and_then(|control| converse(control, made, answer));
    // Without a connection, the console still reaches the host.
    eprintln!("first process: the line to the host is gone: {conversed:?}");
    loop {
        thread::park();
    }
}

/// Carries out the orders until the node forwards; describes any failure.
fn make() -> Result<(), String> {
    let text = fs::read_to_string(ORDERS_FILE).map_err(|e| format!("read {ORDERS_FILE}: {e}"))?;
    let orders = Orders::from_json(&text).map_err(|e| format!("read {ORDERS_FILE}: {e}"))?;
    for module in &orders.modules {
        load(Path::new(module)).map_err(|e| format!("load {module}: {e}"))?;
    }
    orders.carry_out().map_err(|e| format_with_causes(&e))
}

fn load(module: &Path) -> io::Result<()> {
    let packed = module.extension().is_some_and(|extension| extension != "ko");
    let flags = if packed { MODULE_INIT_COMPRESSED_FILE } else { 0 };
    let flags = ModuleInitFlags::from_bits_retain(flags);
    Ok(finit_module(File::open(module)?, c"", flags)?)
}

/// Formats the error with all its causes, in one line.
fn format_with_causes(error: &LabError) -> String {
    let mut words = error.to_string();
    let mut under = std::error::Error::source(error);
    while let Some(cause) = under {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        under = cause.source();
    }
    words
}

/// Opens the serial port in raw mode: no echo, no line editing.
fn open_control() -> io::Result<File> {
    let control = File::options().read(true).write(true).open(CONTROL_DEVICE)?;
    let mut settings = termios::tcgetattr(&control)?;
    termios::cfmakeraw(&mut settings);
    termios::tcsetattr(&control, SetArg::TCSANOW, &settings)?;
    Ok(control)
}

fn converse(
    control: File,
    made: Result<(), String>,
    answer: impl Fn(&str) -> Result<String, String>,
) -> io::Result<()> {
    let mut to = control.try_clone()?;
    let first = made.map_or_else(Notice::Failed, |()| Notice::Ready);
    to.write_all(first.to_line().as_bytes())?;
    let mut from = BufReader::new(control);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        let request = Request::from_line(&String::from_utf8_lossy(&line));
        line.clear();
        if let Some(Request { number, word }) = request {
            let notice = Notice::Answer { number, answer: answer(&word) };
            to.write_all(notice.to_line().as_bytes())?;
        }
    }
    Ok(())
}
