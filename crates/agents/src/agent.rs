//! The agent on a host: takes orders on stdin, runs the trial's flows, answers on stdout.
//!
//! Owns a host's part of one trial at a time. Never listens on a control port, writes only the
//! protocol to stdout, never decides what to run, never sends beyond its terms, and never outlives
//! its controller. When stdin ends, or the controller's heartbeats do, it halts every flow,
//! restores what it changed, and exits.

mod bounds;
mod cancel;
mod change;
mod delays;
mod examine;
mod facts;
mod found;
mod hold;
mod interrupts;
mod launcher_connection;
mod leave;
mod nics;
mod offloads;
mod parent_death;
mod settings;
mod state;
mod storage;
mod sysfs;
mod trial;
mod watchdog;

use std::io::{self, Read, Write};
use std::sync::mpsc;
use std::thread;

use cancel::Cancel;
pub use facts::gather as gather_facts;
pub use found::{mend, unrestored_changes};
use launcher_connection::LauncherConnection;
pub use offloads::describe as describe_ports;
use state::AgentState;
use watchdog::Heard;

use crate::failed::Failed;
use crate::protocol::{
    self, Answer, Ask, Complaint, Hello, Message, MessageError, ProtocolError, Reply, Request,
    describe_error,
};

/// Serves the controller at stdin and stdout until it says goodbye or closes its end of the pipe.
/// `connection` is ssh's description of how this host was reached (ssh(1), `SSH_CONNECTION`).
pub fn main(connection: Option<&str>) -> ! {
    let cancel = Cancel::default();
    leave::leave_after(&cancel, || {
        parent_death::fasten()?;
        serve(&cancel, connection)
    })
}

/// Handles requests in order on this thread. Another one listens, so that the end of the pipe and
/// an abort are noticed while a request is being handled.
fn serve(cancel: &Cancel, connection: Option<&str>) -> Result<(), Failed> {
    let mut stdout = io::stdout().lock();
    if !greet(&mut io::stdin().lock(), &mut stdout)? {
        return Ok(());
    }
    let heard = Heard::default();
    watchdog::watch(cancel, heard.clone())?;
    let (orders, requests) = mpsc::channel();
    let listening = cancel.clone();
    // This thread may be inside a flow's set-up when the pipe ends: the process ends without asking
    // it.
    leave::tie("listener", cancel, move || {
        listen(&mut io::stdin().lock(), &orders, &listening, &heard)
    })?;

    let variable = |name: &str| std::env::var(name).ok();
    let connection = LauncherConnection::gather(connection, variable);
    let mut duty = AgentState::new(cancel.clone(), connection);
    loop {
        let Request { id, ask } = match requests.recv_timeout(duty.patience()) {
            Ok(request) => request,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                duty.abandon();
                continue;
            }
            // The listener ends the process itself: release the trial and wait for that.
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                drop(duty);
                loop {
                    thread::park();
                }
            }
        };
        let last = ask == Ask::Goodbye;
        let answer = duty.handle(ask).map_err(|fault| Complaint {
            words: describe_error(&fault),
            unavailable: fault.is_unavailable(),
            unanswered: fault.is_unanswered(),
        });
        protocol::write(&mut stdout, &Message::Reply(Reply { id, answer })).map_err(broken)?;
        if last {
            return Ok(());
        }
    }
}

/// Waits for the controller's greeting and answers it; returns false if none came. A peer of
/// another protocol version gets an answer too, because it needs our version to report the
/// mismatch.
fn greet(from: &mut impl Read, to: &mut impl Write) -> Result<bool, Failed> {
    match protocol::read(from).map_err(broken)? {
        None => Ok(false),
        Some(Message::Hello(theirs)) => {
            protocol::write(to, &Message::Hello(Hello::ours())).map_err(broken)?;
            theirs.check().map_err(|cause| broken(cause.into()))?;
            Ok(true)
        }
        Some(other) => Err(out_of_turn("hello", &other)),
    }
}

/// Passes requests on until the pipe ends; an abort takes effect at once.
fn listen(
    from: &mut impl Read,
    orders: &mpsc::Sender<Request>,
    cancel: &Cancel,
    heard: &Heard,
) -> Result<(), Failed> {
    loop {
        let message = protocol::read(from).map_err(broken)?;
        heard.note();
        match message {
            None => return Ok(()),
            Some(Message::Beat) => {}
            Some(Message::Request(request)) => {
                if request.ask == Ask::Abort {
                    cancel.halt();
                }
                if orders.send(request).is_err() {
                    return Ok(());
                }
            }
            Some(other) => return Err(out_of_turn("a request", &other)),
        }
    }
}

fn broken(cause: ProtocolError) -> Failed {
    Failed::because("talk to the controller", cause)
}

/// Builds the error for a message that is not allowed now.
fn out_of_turn(expected: &'static str, got: &Message) -> Failed {
    broken(MessageError::OutOfTurn { expected, got: got.name() }.into())
}

/// Result of a request.
type Handled = Result<Answer, Failed>;
