//! Streams that the receiver of the payload connects, because a NAT or a firewall lets only its end
//! begin.
//!
//! The sender accepts its own flow's connections only, and has no bytes of its own before the load.

use std::net::TcpStream;

use measure::Nanos;
use trial::Bulk;

use super::sink::read_all;
use super::source::check;
use super::{SinkReport, Source, SourceReport};
use crate::hello::Hello;
use crate::newcomers::Newcomers;
use crate::stream::{control_congestion, open_as_found};
use crate::{End, FlowError, Halt, Side, Window, clock};

/// Longest wait for the receiver's connections once the load has begun.
const PATIENCE: Nanos = Nanos::from_secs(1);

/// Receiver that connects every stream itself.
#[derive(Debug)]
pub struct CallingSink {
    streams: Vec<TcpStream>,
    interval: Nanos,
}

/// Listening sender.
#[derive(Debug)]
pub struct CalledSource {
    newcomers: Newcomers,
    end: End<Bulk>,
    congestion_control: String,
}

impl Side for CallingSink {
    type Flow = Bulk;
    type Report = SinkReport;

    /// Connects every stream to the sender, and says which it is.
    fn open(end: &End<Bulk>, _halt: &Halt) -> Result<Self, FlowError> {
        check(&end.flow)?;
        let connect = |stream| {
            let tcp = open_as_found(end.local, end.remote)?;
            Hello { identity: end.identity, stream }.send(&tcp, end.remote)?;
            Ok(tcp)
        };
        let streams: Result<Vec<TcpStream>, FlowError> =
            (0..end.flow.streams).map(connect).collect();
        Ok(Self { streams: streams?, interval: end.flow.interval })
    }

    /// Reads until every stream has ended or the window closes.
    fn run(self, window: Window, halt: &Halt) -> Result<SinkReport, FlowError> {
        Ok(read_all(&self.streams, window, self.interval, halt))
    }
}

impl Side for CalledSource {
    type Flow = Bulk;
    type Report = SourceReport;

    /// Listens. An unavailable congestion control is unsuitable.
    fn open(end: &End<Bulk>, _halt: &Halt) -> Result<Self, FlowError> {
        check(&end.flow)?;
        let newcomers = Newcomers::listen(end.local, end.seen_peer())?;
        // A connection inherits its listener's.
        let asked = &end.flow.congestion_control;
        let congestion_control = control_congestion(newcomers.listener(), asked)?;
        Ok(Self { newcomers, end: end.clone(), congestion_control })
    }

    fn port(&self) -> u16 {
        self.newcomers.port()
    }

    /// Takes the connections that the receiver has opened, and sends over them.
    fn run(mut self, window: Window, halt: &Halt) -> Result<SourceReport, FlowError> {
        let streams = self.streams(window.start + PATIENCE, halt)?;
        let (remote, interval) = (self.end.remote, self.end.flow.interval);
        // The receiver's greeting is not among the octets that a sender counts.
        Source::over(streams, 0, remote, interval, self.congestion_control).run(window, halt)
    }
}

impl CalledSource {
    /// Accepts one connection for each stream.
    fn streams(&mut self, until: Nanos, halt: &Halt) -> Result<Vec<TcpStream>, FlowError> {
        let mut places: Vec<Option<TcpStream>> = Vec::new();
        places.resize_with(usize::from(self.end.flow.streams), || None);
        while places.iter().any(Option::is_none) && !halt.is_requested() {
            if clock::monotonic() >= until {
                return Err(FlowError::NoAnswer { peer: self.end.remote, waited: PATIENCE });
            }
            let greeted = self.newcomers.greeted(until);
            let failed = |e| FlowError::kernel("accept streams at port", self.port(), e);
            for (tcp, hello) in greeted.map_err(failed)? {
                let known = hello.identity == self.end.identity;
                match places.get_mut(usize::from(hello.stream)) {
                    // A stream that is there already is a replay.
                    Some(place) if known && place.is_none() => *place = Some(tcp),
                    _ => self.newcomers.turn_away(),
                }
            }
        }
        Ok(places.into_iter().flatten().collect())
    }
}
