//! Validity of a flow of connections. Pure.
//!
//! Owns which shortfalls are the tester's: connections that it began too slowly, too late or not
//! at all, and those that its own kernel dropped at the far end.

use measure::Nanos;

use super::OFFERED_LOAD_TOLERANCE;
use crate::record::{Defect, SessionsRecord};
use crate::{Hold, Opening, Sessions, Transport};

/// Defects of a flow of connections, under any gate: what the tester did not offer, no device lost.
pub(super) fn defects(
    flow: u16,
    asked: &Sessions,
    record: &SessionsRecord,
    load: Nanos,
) -> Vec<Defect> {
    if record.opened + record.failed.refused + record.failed.reset == 0 {
        return vec![Defect::NothingReceived { flow }];
    }
    let mut defects = Vec::new();
    let mut moved = |counter: &str, by: u64| {
        let (place, counter) = ("host".to_owned(), counter.to_owned());
        defects.extend((by > 0).then_some(Defect::TesterCounter { place, counter, by }));
    };
    let drops = match asked.transport {
        Transport::Tcp => "listen_drops",
        Transport::Udp => "socket_drops",
    };
    moved(drops, record.listen_drops);
    moved("connections_not_begun", record.not_begun);
    if let Opening::Paced(rate) = asked.opening {
        let most = asked.most.map_or(f64::INFINITY, |most| most as f64);
        let due = (rate.0 * load.as_secs_f64()).min(most);
        let short = due - record.begun as f64;
        if short > (OFFERED_LOAD_TOLERANCE * due).max(1.0) {
            let sent = record.begun as f64 / load.as_secs_f64().max(f64::MIN_POSITIVE);
            defects.push(Defect::OfferedLoad { flow, asked: rate.0, sent });
        }
        // After a pause the opener catches up, and a limit of the rate sees a burst.
        let (late, lost) = (record.late, record.failed.total());
        if asked.hold == Hold::Answered && lost > 0 && lost <= late {
            defects.push(Defect::Late { flow, late, lost });
        }
    }
    defects
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionRate;
    use crate::record::Failures;

    fn judged(record: &SessionsRecord) -> Vec<Defect> {
        let asked = Sessions {
            transport: Transport::Tcp,
            opening: Opening::Paced(SessionRate(1000.0)),
            most: None,
            hold: Hold::Answered,
            active: None,
            timeout: Nanos::from_millis(900),
        };
        defects(1, &asked, record, Nanos::from_secs(2))
    }

    #[test]
    fn only_what_the_tester_did_not_offer_is_a_defect() {
        let whole = SessionsRecord { begun: 2000, opened: 2000, ..SessionsRecord::default() };
        assert_eq!(judged(&whole), []);
        let timed_out = Failures { timed_out: 900, ..Failures::default() };
        let lost = SessionsRecord { opened: 1100, failed: timed_out, late: 3, ..whole.clone() };
        assert_eq!(judged(&lost), [], "the device's");
        let late = SessionsRecord { late: 900, ..lost };
        assert_eq!(judged(&late), [Defect::Late { flow: 1, late: 900, lost: 900 }]);
        let slow = SessionsRecord { begun: 1500, opened: 1500, ..whole.clone() };
        assert_eq!(judged(&slow), [Defect::OfferedLoad { flow: 1, asked: 1000.0, sent: 750.0 }]);
        let full = SessionsRecord { listen_drops: 4, ..whole };
        assert!(matches!(judged(&full)[..], [Defect::TesterCounter { by: 4, .. }]));
        let none = SessionsRecord { begun: 2000, ..SessionsRecord::default() };
        assert_eq!(judged(&none), [Defect::NothingReceived { flow: 1 }]);
    }
}
