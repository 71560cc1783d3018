//! What runs on a host: takes orders on stdin, runs the trial's flows, answers on stdout.
//!
//! Owns a host's part of one trial at a time. Never listens on a control port, never writes anything
//! but protocol to stdout, never decides what to run, and never outlives its controller: when stdin
//! ends it halts every flow, restores the offloads it changed, and exits.

mod duty;
mod facts;
mod fault;
mod leash;
mod offloads;
mod sides;
mod trial;

use std::io::{self, Read};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use duty::{Duty, Reins};
use fault::AgentFault;
pub(crate) use offloads::describe as describe_ports;

use crate::protocol::{self, Answer, Ask, Hello, Message, Reply, Request, in_words};

/// Serves the controller at stdin and stdout until it says goodbye or its end of the pipe closes.
pub fn main() -> ExitCode {
    if let Err(fault) = leash::fasten() {
        eprintln!("agent: {}", in_words(&fault));
        return ExitCode::FAILURE;
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("agent: {}", in_words(&fault));
            ExitCode::FAILURE
        }
    }
}

/// Requests are handled in order on this thread. Another one listens, so that the end of the pipe
/// and an abort are noticed while a request is being handled.
fn serve() -> Result<(), AgentFault> {
    let reins = Reins::default();
    let (orders, requests) = mpsc::channel();
    let listening = reins.clone();
    thread::Builder::new()
        .name("listener".into())
        .spawn(move || {
            let end = listen(&mut io::stdin().lock(), &orders, &listening);
            listening.let_go();
            if let Err(fault) = &end {
                eprintln!("agent: {}", in_words(fault));
            }
            // The main thread may be inside a flow's set-up: it is not asked, the process ends.
            std::process::exit(i32::from(end.is_err()));
        })
        .map_err(|cause| AgentFault::Thread { name: "listener".into(), cause })?;

    let mut duty = Duty::new(reins);
    let mut stdout = io::stdout().lock();
    loop {
        let request = match requests.recv_timeout(duty.patience()) {
            Ok(request) => request,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                duty.abandon();
                continue;
            }
            // The listener ends the process itself: wait for that.
            Err(mpsc::RecvTimeoutError::Disconnected) => loop {
                thread::park();
            },
        };
        match request {
            Heard::Hello => protocol::write(&mut stdout, &Message::Hello(Hello::ours()))?,
            Heard::Request(Request { id, ask }) => {
                let last = ask == Ask::Goodbye;
                let answer = duty.handle(ask).map_err(|fault| in_words(&fault));
                protocol::write(&mut stdout, &Message::Reply(Reply { id, answer }))?;
                if last {
                    return Ok(());
                }
            }
        }
    }
}

/// What the listener passes on.
enum Heard {
    Hello,
    Request(Request),
}

/// Reads until the pipe ends. Greets back first, whatever the peer's protocol: it needs our number
/// to say what is wrong.
fn listen(
    from: &mut impl Read,
    orders: &mpsc::Sender<Heard>,
    reins: &Reins,
) -> Result<(), AgentFault> {
    match protocol::read(from)? {
        None => return Ok(()),
        Some(Message::Hello(theirs)) => {
            if let Err(refusal) = theirs.check() {
                let _ = protocol::write(&mut io::stdout(), &Message::Hello(Hello::ours()));
                return Err(protocol::ProtocolError::from(refusal).into());
            }
            let _ = orders.send(Heard::Hello);
        }
        Some(other) => return Err(AgentFault::out_of_turn("hello", &other)),
    }
    loop {
        match protocol::read(from)? {
            None => return Ok(()),
            Some(Message::Request(request)) => {
                if request.ask == Ask::Abort {
                    reins.halt();
                }
                if orders.send(Heard::Request(request)).is_err() {
                    return Ok(());
                }
            }
            Some(other) => return Err(AgentFault::out_of_turn("a request", &other)),
        }
    }
}

/// Not every request yields something.
type Handled = Result<Answer, AgentFault>;
