//! Opening end of connections: begins them on schedule, and records what becomes of each.
//!
//! Owns the schedule, the time-outs and the last question to held connections. Never catches up
//! silently: connections begun late are counted.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};

use measure::{Histogram, Nanos};
use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{MsgFlags, getsockopt, recv, send, sockopt};
use trial::record::SessionsRecord;
use trial::{Hold, Opening, SPEAKS_EVERY, Sessions, Transport};

use super::answerer::ASKED_A_SECOND;
use super::starting::{Begun, NotBegun, Sockets};
use super::table::Table;
use super::{FAR_ENDS, OPENERS, Readiness, demand, is_over};
use crate::hello::{self, Hello};
use crate::{End, FlowError, Halt, Side, Window, clock, stream};

/// Delay from which a connection counts as begun late.
const LATE: Nanos = Nanos::from_millis(1);

/// Most connections begun before answers are read.
const BATCH: u32 = 32;

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
    socket: OwnedFd,
    stage: Stage,
    serial: u64,
    /// Time of its begin; once it is open, of the last message from the far end.
    since: Nanos,
    said: [u8; hello::OCTETS],
    octets: usize,
}

/// Time at which a connection that is still under way has timed out, or at which a held one speaks.
struct Deadline {
    at: Nanos,
    socket: usize,
    serial: u64,
}

impl Side for Opener {
    type Flow = Sessions;
    type Report = SessionsRecord;

    /// Learns the path by one connection, or one empty datagram, which is not counted.
    fn open(end: &End<Sessions>, _halt: &Halt) -> Result<Self, FlowError> {
        demand::check(&end.flow)?;
        let room = demand::room(&end.flow);
        match end.flow.transport {
            Transport::Tcp => stream::abort(&stream::open_as_found(end.local, end.remote)?),
            Transport::Udp => {
                let failed = |e| FlowError::kernel("send udp to", end.remote, e);
                let udp = UdpSocket::bind(SocketAddr::new(end.local, 0)).map_err(failed)?;
                udp.send_to(&[], end.remote).map_err(failed)?;
            }
        }
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

/// Connections of a running flow.
struct Run<'a> {
    end: &'a End<Sessions>,
    room: u64,
    window: Window,
    readiness: Readiness,
    hello: [u8; hello::OCTETS],
    sockets: Sockets,
    open: Table<Session>,
    /// Connections whose handshake or first answer is awaited.
    under_way: u64,
    /// Held connections whose last answer is awaited.
    awaited: u64,
    asked_again: bool,
    deadlines: VecDeque<Deadline>,
    /// Turns of held connections to speak.
    turns: VecDeque<Deadline>,
    first: Option<Nanos>,
    last: Nanos,
    record: SessionsRecord,
}

impl<'a> Run<'a> {
    fn new(opener: &'a Opener, window: Window) -> Result<Self, FlowError> {
        let identity = opener.end.identity;
        let hello = Hello { identity, stream: OPENERS }.emit();
        // Flows that are held are the same in each trial; others are new ones.
        let held = opener.end.flow.hold == Hold::UntilEnd;
        let first = if held { 0 } else { u64::from(identity.token) };
        let record = SessionsRecord { handshakes: Histogram::new(), ..SessionsRecord::default() };
        Ok(Self {
            end: &opener.end,
            room: opener.room,
            window,
            readiness: Readiness::new()?,
            hello,
            sockets: Sockets::new(opener.end.flow.ports(), first),
            open: Table::new(),
            under_way: 0,
            awaited: 0,
            asked_again: false,
            deadlines: VecDeque::new(),
            turns: VecDeque::new(),
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
            self.speak(now);
            let soonest = [&self.deadlines, &self.turns].map(VecDeque::front);
            let soonest = soonest.into_iter().flatten().map(|it| it.at);
            let until = soonest.fold(next.min(self.window.closed), Nanos::min);
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
        let number = self.record.begun + self.record.not_begun;
        let (local, remote) = (SocketAddr::new(self.end.local, 0), self.end.remote);
        let begun = match self.end.flow.transport {
            Transport::Udp => self.sockets.udp(local, remote, &self.hello),
            Transport::Tcp => self.sockets.tcp(local, remote, number),
        };
        let Begun { socket, is_watched } = match begun {
            Ok(begun) => begun,
            Err(NotBegun::Tester) => {
                self.record.not_begun += 1;
                return;
            }
            Err(NotBegun::Failed(errno)) => {
                self.record.begun += 1;
                self.fail_handshake(errno);
                return;
            }
        };
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        let (stage, flags) = match self.end.flow.transport {
            Transport::Tcp => (Stage::Connecting, flags | EpollFlags::EPOLLOUT),
            Transport::Udp => (Stage::Asked, flags),
        };
        if !is_watched && self.readiness.watch(&socket, flags).is_err() {
            self.record.not_begun += 1;
            return;
        }
        self.record.begun += 1;
        self.first = self.first.or(Some(now));
        self.last = now;
        self.under_way += 1;
        let at = now + self.end.flow.timeout;
        let descriptor = socket.as_raw_fd();
        self.deadlines.push_back(Deadline { at, socket: descriptor as usize, serial: number });
        let said = [0; hello::OCTETS];
        let session = Session { socket, stage, serial: number, since: now, said, octets: 0 };
        self.open.insert(&descriptor, session);
        self.record.most_held = self.record.most_held.max(self.open.count());
    }

    fn take_event(&mut self, socket: usize, flags: EpollFlags, now: Nanos) {
        let Some(session) = self.open.get(socket) else { return };
        if session.stage == Stage::Connecting {
            if is_over(flags) {
                let errno = getsockopt(&session.socket, sockopt::SocketError).unwrap_or(0);
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
            if send(session.socket.as_raw_fd(), &self.hello, flags).is_err() {
                self.close(socket);
                self.record.failed.reset += 1;
                return;
            }
        }
        if flags.contains(EpollFlags::EPOLLIN) || is_over(flags) {
            while self.read(socket, now) {}
        }
    }

    /// Reads a message, or the connection's end. False if there is nothing more to read.
    fn read(&mut self, socket: usize, now: Nanos) -> bool {
        let Some(session) = self.open.get(socket) else { return false };
        match recv(
            session.socket.as_raw_fd(),
            &mut session.said[session.octets..],
            MsgFlags::MSG_DONTWAIT,
        ) {
            Ok(octets) if octets > 0 => session.octets += octets,
            Err(Errno::EAGAIN | Errno::EINTR) => return false,
            Ok(_) => {
                self.broken(socket, Errno::ECONNRESET, now);
                return false;
            }
            Err(errno) => {
                self.broken(socket, errno, now);
                return false;
            }
        }
        let whole = session.octets == hello::OCTETS;
        if whole || self.end.flow.transport == Transport::Udp {
            session.octets = 0;
        }
        let said = Hello::parse(&session.said).filter(|_| whole);
        if let Some(said) = said.filter(|said| said.identity == self.end.identity) {
            self.take_message(socket, said.stream == FAR_ENDS, now);
        }
        true
    }

    /// Counts a connection that was reset or closed by another, or whose packet an ICMP error
    /// answered.
    fn broken(&mut self, socket: usize, errno: Errno, now: Nanos) {
        let Some(session) = self.open.get(socket) else { return };
        let (stage, silent) = (session.stage, now.saturating_sub(session.since));
        self.close(socket);
        match (stage, self.end.flow.hold, self.end.flow.transport) {
            // An idle connection that is torn down is none that failed to open.
            (Stage::Held | Stage::AskedAgain, Hold::Idle, _) => self.silent_after(silent),
            // It was counted as opened; that it no longer answers is counted at the end.
            (Stage::Held | Stage::AskedAgain, ..) => {
                self.record.opened -= 1;
                self.record.failed.reset += 1;
            }
            (Stage::Asked | Stage::Connecting, _, Transport::Udp) => self.fail_handshake(errno),
            (Stage::Asked | Stage::Connecting, ..) => self.record.failed.reset += 1,
        }
    }

    fn silent_after(&mut self, silent: Nanos) {
        let youngest = &mut self.record.youngest_silent;
        *youngest = Some(youngest.map_or(silent, |other| other.min(silent)));
    }

    /// Takes an answer, or the far end's question.
    fn take_message(&mut self, socket: usize, by_far_end: bool, now: Nanos) {
        let Some(session) = self.open.get(socket) else { return };
        let (stage, hold, udp) =
            (session.stage, self.end.flow.hold, self.end.flow.transport == Transport::Udp);
        match stage {
            Stage::Asked => {
                let took = now.saturating_sub(session.since);
                session.since = now;
                self.record.opened += 1;
                if udp {
                    self.record.handshakes.record(took);
                }
                if hold == Hold::Answered {
                    self.end_answered(socket);
                    return;
                }
                session.stage = Stage::Held;
                self.under_way -= 1;
                let pause = match hold {
                    Hold::UntilEnd => udp.then_some(SPEAKS_EVERY),
                    Hold::Idle => self.end.flow.active,
                    Hold::Answered => None,
                };
                if let Some(pause) = pause {
                    let serial = session.serial;
                    self.turns.push_back(Deadline { at: now + pause, socket, serial });
                }
            }
            Stage::Held | Stage::AskedAgain if self.end.flow.far_end_asks() => {
                if !by_far_end {
                    session.since = now;
                    return;
                }
                let silent = now.saturating_sub(session.since);
                if stage == Stage::Held {
                    self.record.asked_again += 1;
                }
                if hold == Hold::Idle {
                    let oldest = &mut self.record.oldest_alive;
                    *oldest = Some(oldest.map_or(silent, |other| other.max(silent)));
                }
                self.close(socket);
                self.record.still_answering += 1;
            }
            Stage::AskedAgain => {
                self.close(socket);
                self.record.still_answering += 1;
            }
            Stage::Connecting | Stage::Held => {}
        }
    }

    /// Lets held connections speak whose turn has come, until the load's end.
    fn speak(&mut self, now: Nanos) {
        if now >= self.window.stop {
            self.turns.clear();
        }
        while self.turns.front().is_some_and(|it| it.at <= now) {
            let Some(turn) = self.turns.pop_front() else { return };
            let Some(session) = self.open.get(turn.socket) else { continue };
            if session.serial != turn.serial || session.stage != Stage::Held {
                continue;
            }
            let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
            // An error shows at the load's end.
            let _ = send(session.socket.as_raw_fd(), &self.hello, flags);
            if self.end.flow.hold == Hold::UntilEnd {
                self.turns.push_back(Deadline { at: now + SPEAKS_EVERY, ..turn });
            }
        }
    }

    /// Asks every held connection once more, at the load's end, or awaits the far end's question.
    fn ask_again(&mut self, now: Nanos) {
        if self.asked_again {
            return;
        }
        self.asked_again = true;
        let far_end_asks = self.end.flow.far_end_asks();
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        for socket in self.open.in_use() {
            let Some(session) = self.open.get(socket) else { continue };
            if session.stage != Stage::Held {
                continue;
            }
            self.record.asked_again += 1;
            session.stage = Stage::AskedAgain;
            self.awaited += 1;
            if far_end_asks {
                continue;
            }
            session.since = now;
            if send(session.socket.as_raw_fd(), &self.hello, flags).is_err() {
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
                Stage::Asked => self.unanswered(),
                Stage::Held | Stage::AskedAgain => continue,
            }
            self.close(deadline.socket);
        }
    }

    /// Counts a connection whose message nobody answered: a UDP flow's is its first packet.
    const fn unanswered(&mut self) {
        match self.end.flow.transport {
            Transport::Tcp => self.record.failed.unanswered += 1,
            Transport::Udp => self.record.failed.timed_out += 1,
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

    fn close(&mut self, socket: usize) -> Option<OwnedFd> {
        let session = self.open.take(socket)?;
        match session.stage {
            Stage::Connecting | Stage::Asked => self.under_way -= 1,
            Stage::AskedAgain => self.awaited -= 1,
            Stage::Held => {}
        }
        Some(session.socket)
    }

    /// Ends a connection whose message was answered; the next one may take TCP's socket.
    fn end_answered(&mut self, socket: usize) {
        let socket = self.close(socket);
        if let Some(socket) = socket.filter(|_| self.end.flow.transport == Transport::Tcp) {
            self.sockets.reset(socket);
        }
    }

    /// Counts what was still under way when the window closed.
    fn finish(mut self) -> SessionsRecord {
        // The last of the far end's questions is that much later than the load's end.
        let asking = Nanos::from_secs_f64(self.record.asked_again as f64 / ASKED_A_SECOND);
        for socket in self.open.in_use() {
            let Some(session) = self.open.get(socket) else { continue };
            let (stage, since) = (session.stage, session.since);
            match stage {
                Stage::Connecting => self.record.failed.timed_out += 1,
                Stage::Asked => self.unanswered(),
                Stage::AskedAgain if self.end.flow.hold == Hold::Idle => {
                    self.silent_after((self.window.stop + asking).saturating_sub(since));
                }
                Stage::AskedAgain => {
                    self.record.opened -= 1;
                    self.record.failed.unanswered += 1;
                }
                Stage::Held => {}
            }
        }
        let first = self.first.unwrap_or(self.last);
        let beginning = self.last.saturating_sub(first);
        let handshakes = self.record.handshakes.compact();
        SessionsRecord { beginning, handshakes, ..self.record }
    }
}
