//! Opening end of connections: begins them on schedule, and records what becomes of each.
//!
//! Owns the schedule, the time-outs and the last question to held connections. Never catches up
//! silently: connections begun late are counted.

use std::collections::VecDeque;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

use measure::{Histogram, Nanos};
use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage, bind, connect, getsockopt, send,
    setsockopt, socket, sockopt,
};
use trial::record::SessionsRecord;
use trial::{FASTEST_OPENING, Hold, MOST_SESSIONS, Opening, Sessions};

use super::table::Table;
use super::{Readiness, is_over};
use crate::hello::{self, Hello};
use crate::open_files;
use crate::socket::is_pause;
use crate::{End, FlowError, Halt, Side, Window, clock, stream};

/// Delay from which a connection counts as begun late.
const LATE: Nanos = Nanos::from_millis(1);

/// Most connections begun before answers are read.
const BATCH: u32 = 32;

/// Most connections of a paced flow without hold that are under way at once.
const MOST_UNDER_WAY: u64 = 200_000;

/// Opening end of a flow's connections, with its path learned.
#[derive(Debug)]
pub struct Opener {
    end: End<Sessions>,
    /// Most connections that may be open at once.
    room: u64,
}

/// Stage of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    Asked,
    Held,
    AskedAgain,
}

/// Connection that is open or under way.
struct Session {
    tcp: TcpStream,
    stage: Stage,
    serial: u64,
    since: Nanos,
    octets: usize,
}

/// Time at which a connection that is still under way has timed out.
struct Deadline {
    at: Nanos,
    socket: usize,
    serial: u64,
}

/// Reason why the kernel did not begin a connection.
enum NotBegun {
    /// The tester has no port, file or memory left.
    Tester,
    /// The connection failed at once.
    Failed(Errno),
}

impl Side for Opener {
    type Flow = Sessions;
    type Report = SessionsRecord;

    /// Learns the path by one connection, which is not counted.
    fn open(end: &End<Sessions>, _halt: &Halt) -> Result<Self, FlowError> {
        check(&end.flow)?;
        let room = room(&end.flow);
        let tcp = stream::open_as_found(end.local, end.remote)?;
        stream::abort(&tcp);
        drop(tcp);
        Ok(Self { end: end.clone(), room })
    }

    fn run(self, window: Window, halt: &Halt) -> Result<SessionsRecord, FlowError> {
        let mut run = Run::new(&self, window)?;
        clock::wait_until(window.start);
        run.carry_on(halt)
            .map_err(|e| FlowError::kernel("wait for connections to", self.end.remote, e.into()))?;
        Ok(run.finish())
    }
}

/// Refuses flows that no host should be asked for.
pub(super) fn check(flow: &Sessions) -> Result<(), FlowError> {
    let words = match (flow.opening, flow.most, flow.hold) {
        (_, Some(most), _) if most > MOST_SESSIONS => {
            format!("open {most} connections: {MOST_SESSIONS} is the limit")
        }
        (Opening::Paced(rate), ..) if !(rate.0 > 0.0 && rate <= FASTEST_OPENING) => {
            format!("open {} connections a second: above 0 and up to 1,000,000", rate.0)
        }
        (Opening::Greedy(0), ..) => "open connections with none under way".to_owned(),
        (_, None, Hold::UntilEnd) => "hold connections without a limit of their number".to_owned(),
        _ if flow.timeout == Nanos::ZERO => "give connections no time at all".to_owned(),
        _ => return Ok(()),
    };
    Err(FlowError::Unsuitable(words))
}

/// Makes room for the flow's connections; returns how many may be open at once. What does not fit
/// is not begun, which is the tester's limit.
pub(super) fn room(flow: &Sessions) -> u64 {
    let wanted = match (flow.hold, flow.most, flow.opening) {
        (Hold::UntilEnd, Some(most), _) => most,
        (_, _, Opening::Paced(rate)) => {
            let under_way = (rate.0 * 2.0 * flow.timeout.as_secs_f64()).ceil() as u64 + 64;
            under_way.min(MOST_UNDER_WAY)
        }
        (_, _, Opening::Greedy(under_way)) => under_way.into(),
    };
    open_files::make_room(wanted)
}

/// Connections of a running flow.
struct Run<'a> {
    end: &'a End<Sessions>,
    room: u64,
    window: Window,
    readiness: Readiness,
    hello: [u8; hello::OCTETS],
    open: Table<Session>,
    /// Connections whose handshake or first answer is awaited.
    under_way: u64,
    /// Held connections whose last answer is awaited.
    awaited: u64,
    asked_again: bool,
    deadlines: VecDeque<Deadline>,
    first: Option<Nanos>,
    last: Nanos,
    record: SessionsRecord,
}

impl<'a> Run<'a> {
    fn new(opener: &'a Opener, window: Window) -> Result<Self, FlowError> {
        let hello = Hello { identity: opener.end.identity, stream: 0 }.emit();
        let record = SessionsRecord { handshakes: Histogram::new(), ..SessionsRecord::default() };
        Ok(Self {
            end: &opener.end,
            room: opener.room,
            window,
            readiness: Readiness::new()?,
            hello,
            open: Table::new(),
            under_way: 0,
            awaited: 0,
            asked_again: false,
            deadlines: VecDeque::new(),
            first: None,
            last: Nanos::ZERO,
            record,
        })
    }

    /// Opens, reads and times out until everything is decided or the window closes.
    fn carry_on(&mut self, halt: &Halt) -> nix::Result<()> {
        loop {
            let now = clock::monotonic();
            if halt.is_requested() || now >= self.window.closed {
                return Ok(());
            }
            let next = if now < self.window.stop {
                self.begin_due(now)
            } else {
                self.ask_again(now);
                if self.under_way + self.awaited == 0 {
                    return Ok(());
                }
                self.window.closed
            };
            self.time_out(now);
            let deadline = self.deadlines.front().map_or(self.window.closed, |it| it.at);
            let until = next.min(deadline).min(self.window.closed);
            for (socket, flags) in self.readiness.wait(clock::monotonic(), until)? {
                self.take_event(socket, flags, clock::monotonic());
            }
        }
    }

    /// Begins the connections that are due; returns when to look again.
    fn begin_due(&mut self, now: Nanos) -> Nanos {
        let most = self.end.flow.most.unwrap_or(u64::MAX);
        for _ in 0..BATCH {
            let number = self.record.begun + self.record.not_begun;
            if number >= most {
                return self.window.stop;
            }
            match self.end.flow.opening {
                Opening::Greedy(limit) if self.under_way >= u64::from(limit).min(self.room) => {
                    return self.window.stop;
                }
                Opening::Greedy(_) => self.begin(clock::monotonic()),
                Opening::Paced(rate) => {
                    let due = self.window.start + Nanos::from_secs_f64(number as f64 / rate.0);
                    if due > now {
                        return due.min(self.window.stop);
                    }
                    if self.open.count() >= self.room {
                        self.record.not_begun += 1;
                        continue;
                    }
                    let begun = clock::monotonic();
                    self.record.late += u64::from(begun.saturating_sub(due) > LATE);
                    self.begin(begun);
                }
            }
        }
        now
    }

    fn begin(&mut self, now: Nanos) {
        let ports = self.end.flow.ports();
        let number = self.record.begun + self.record.not_begun;
        let port = self.end.remote.port() + (number % u64::from(ports)) as u16;
        let remote = SocketAddr::new(self.end.remote.ip(), port);
        match start(SocketAddr::new(self.end.local, 0), remote) {
            Ok(socket) => {
                self.record.begun += 1;
                self.first = self.first.or(Some(now));
                self.last = now;
                let tcp = TcpStream::from(socket);
                let flags = EpollFlags::EPOLLIN
                    | EpollFlags::EPOLLOUT
                    | EpollFlags::EPOLLRDHUP
                    | EpollFlags::EPOLLET;
                if self.readiness.watch(&tcp, flags).is_err() {
                    self.record.begun -= 1;
                    self.record.not_begun += 1;
                    return;
                }
                self.under_way += 1;
                let serial = number;
                let at = now + self.end.flow.timeout;
                self.deadlines.push_back(Deadline { at, socket: tcp.as_raw_fd() as usize, serial });
                let stage = Stage::Connecting;
                let descriptor = tcp.as_raw_fd();
                self.open
                    .insert(&descriptor, Session { tcp, stage, serial, since: now, octets: 0 });
                self.record.most_held = self.record.most_held.max(self.open.count());
            }
            Err(NotBegun::Tester) => self.record.not_begun += 1,
            Err(NotBegun::Failed(errno)) => {
                self.record.begun += 1;
                self.fail_handshake(errno);
            }
        }
    }

    fn take_event(&mut self, socket: usize, flags: EpollFlags, now: Nanos) {
        let Some(session) = self.open.get(socket) else { return };
        if session.stage == Stage::Connecting {
            if is_over(flags) {
                let errno = getsockopt(&session.tcp, sockopt::SocketError).unwrap_or(0);
                self.close(socket);
                self.fail_handshake(Errno::from_raw(errno));
                return;
            }
            if !flags.contains(EpollFlags::EPOLLOUT) {
                return;
            }
            session.stage = Stage::Asked;
            self.record.handshakes.record(now.saturating_sub(session.since));
            let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
            if send(session.tcp.as_raw_fd(), &self.hello, flags).is_err() {
                self.close(socket);
                self.record.failed.reset += 1;
                return;
            }
        }
        if flags.contains(EpollFlags::EPOLLIN) || is_over(flags) {
            self.read(socket);
        }
    }

    /// Reads an answer, or the connection's end.
    fn read(&mut self, socket: usize) {
        let Some(session) = self.open.get(socket) else { return };
        let mut said = [0; hello::OCTETS];
        let broken = match session.tcp.read(&mut said[session.octets..]) {
            Ok(0) => true,
            Ok(octets) => {
                session.octets += octets;
                false
            }
            Err(e) => !is_pause(&e),
        };
        let stage = session.stage;
        if broken {
            self.close(socket);
            match stage {
                // It was counted as opened; that it no longer answers is counted at the end.
                Stage::Held | Stage::AskedAgain => {
                    self.record.opened -= 1;
                    self.record.failed.reset += 1;
                }
                Stage::Asked | Stage::Connecting => self.record.failed.reset += 1,
            }
            return;
        }
        if session.octets < hello::OCTETS {
            return;
        }
        session.octets = 0;
        match stage {
            Stage::Asked if self.end.flow.hold == Hold::UntilEnd => {
                session.stage = Stage::Held;
                self.record.opened += 1;
                self.under_way -= 1;
            }
            Stage::Asked => {
                self.close(socket);
                self.record.opened += 1;
            }
            Stage::AskedAgain => {
                self.close(socket);
                self.record.still_answering += 1;
            }
            Stage::Connecting | Stage::Held => {}
        }
    }

    /// Asks every held connection once more, at the load's end.
    fn ask_again(&mut self, now: Nanos) {
        if self.asked_again {
            return;
        }
        self.asked_again = true;
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        for socket in self.open.in_use() {
            let Some(session) = self.open.get(socket) else { continue };
            if session.stage != Stage::Held {
                continue;
            }
            self.record.asked_again += 1;
            session.since = now;
            session.stage = Stage::AskedAgain;
            let sent = send(session.tcp.as_raw_fd(), &self.hello, flags);
            self.awaited += 1;
            if sent.is_err() {
                self.close(socket);
                self.record.opened -= 1;
                self.record.failed.reset += 1;
            }
        }
    }

    /// Gives up the connections whose time is over.
    fn time_out(&mut self, now: Nanos) {
        while self.deadlines.front().is_some_and(|it| it.at <= now) {
            let Some(deadline) = self.deadlines.pop_front() else { return };
            let Some(session) = self.open.get(deadline.socket) else { continue };
            if session.serial != deadline.serial {
                continue;
            }
            match session.stage {
                Stage::Connecting => self.record.failed.timed_out += 1,
                Stage::Asked => self.record.failed.unanswered += 1,
                Stage::Held | Stage::AskedAgain => continue,
            }
            self.close(deadline.socket);
        }
    }

    fn fail_handshake(&mut self, errno: Errno) {
        let failed = &mut self.record.failed;
        match errno {
            Errno::ECONNREFUSED | Errno::ECONNRESET => failed.refused += 1,
            Errno::ETIMEDOUT => failed.timed_out += 1,
            _ => failed.unreachable += 1,
        }
    }

    fn close(&mut self, socket: usize) {
        let Some(session) = self.open.take(socket) else { return };
        match session.stage {
            Stage::Connecting | Stage::Asked => self.under_way -= 1,
            Stage::AskedAgain => self.awaited -= 1,
            Stage::Held => {}
        }
    }

    /// Counts what was still under way when the window closed.
    fn finish(mut self) -> SessionsRecord {
        for socket in self.open.in_use() {
            match self.open.get(socket).map(|session| session.stage) {
                Some(Stage::Connecting) => self.record.failed.timed_out += 1,
                Some(Stage::Asked) => self.record.failed.unanswered += 1,
                Some(Stage::AskedAgain) => {
                    self.record.opened -= 1;
                    self.record.failed.unanswered += 1;
                }
                Some(Stage::Held) | None => {}
            }
        }
        let first = self.first.unwrap_or(self.last);
        let beginning = self.last.saturating_sub(first);
        let handshakes = self.record.handshakes.compact();
        SessionsRecord { beginning, handshakes, ..self.record }
    }
}

/// Begins a connection that is reset when it is closed.
fn start(local: SocketAddr, remote: SocketAddr) -> Result<OwnedFd, NotBegun> {
    let failed = |errno| match errno {
        Errno::ECONNREFUSED
        | Errno::EHOSTUNREACH
        | Errno::ENETUNREACH
        | Errno::EACCES
        | Errno::EPERM => NotBegun::Failed(errno),
        _ => NotBegun::Tester,
    };
    let family = if remote.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(family, SockType::Stream, flags, None).map_err(|_| NotBegun::Tester)?;
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    setsockopt(&fd, sockopt::Linger, &at_once).map_err(|_| NotBegun::Tester)?;
    // The port is chosen when the peer is known: one port then serves several of its ports.
    setsockopt(&fd, sockopt::IpBindAddressNoPort, &true).map_err(|_| NotBegun::Tester)?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(local)).map_err(|_| NotBegun::Tester)?;
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(remote)) {
        Ok(()) | Err(Errno::EINPROGRESS | Errno::EINTR) => Ok(fd),
        Err(errno) => Err(failed(errno)),
    }
}
