//! Ports that are slow with every partner: one sentence each, and their table.
//!
//! Owns the words for the ways of being slow, and the exchange of cables that tells more. Never
//! names the device as a cause: from outside a slow host, NIC, cable or switch port look the same.

use page::{Answer, Cell, Figure, Quantity, Reply, Table, words};

use super::super::finding::{Evenness, FabricFinding, How, Sign, SlowPort};
use super::super::scene::FEWEST_PORTS;

/// Answers, one for each slow port; or whether the ports are equally fast.
pub(super) fn answers(found: &FabricFinding) -> Vec<Answer> {
    let slow = found.scenes.iter().flat_map(|scene| &scene.slow);
    let slow = slow.filter_map(|port| Some(answer(port, port.signs.first()?)));
    slow.chain(found.scenes.iter().filter_map(|scene| scene.evenness.as_ref()).map(even)).collect()
}

fn even(evenness: &Evenness) -> Answer {
    let (text, reply) = match evenness {
        Evenness::Even { ports, margin } => (
            format!(
                "None of the {ports} ports is slower than the others by more than {}, whoever its \
                 partner is.",
                words::percent(*margin)
            ),
            Reply::Yes,
        ),
        Evenness::FewPorts => (
            format!("Which port is slow shows only among {FEWEST_PORTS} and more."),
            Reply::NotShown,
        ),
        Evenness::Open(ports) => (
            format!(
                "Open for {}: repeat it more often, with --blocks.",
                words::first_names(ports, 3)
            ),
            Reply::NotShown,
        ),
    };
    Answer::new(text).to("All ports equally fast?", reply)
}

fn answer(port: &SlowPort, first: &Sign) -> Answer {
    let clauses: Vec<String> = port.signs.iter().map(|sign| clause(port, sign)).collect();
    let mut text = format!("{} {}", port.port, clauses.join(", and "));
    text.push_str(match first.how {
        How::Link { .. } => {
            ". Its NIC, its cable or its switch port is set to that speed or settled for it: not \
             the switch's sharing."
        }
        How::SendsDamaged | How::ReceivesDamaged => {
            ": its NIC, its cable or its switch port, not the switch's sharing."
        }
        _ => ": its host, its NIC, its cable or its switch port, not the switch's sharing.",
    });
    if let Some(other) = &port.exchange {
        let exchange = format!(
            " To tell which, exchange the cables of {} and {other} at the hosts and run again: \
             what moves to {other} is the cable or the switch port.",
            port.port
        );
        text.push_str(&exchange);
    }
    let values = port.signs.iter().map(|sign| &sign.value);
    // A port's name keeps its small letter at the start of a sentence.
    Answer::new(text)
        .limited_by(first.value.verdict)
        .led_by(&first.value)
        .stating(values)
        .with_question(question(port, first.how))
}

/// Fault of a port, in the words that stand before its number.
fn question(port: &SlowPort, how: How) -> String {
    let what = match how {
        How::Link { .. } => "Slow link",
        How::Exchanges | How::Sends | How::Receives => "Slow port",
        How::Delay => "Delay",
        How::SendsDamaged | How::ReceivesDamaged => "Damaged frames",
        How::SendsLost | How::ReceivesLost => "Lost frames",
        How::Late => "Late messages",
    };
    format!("{what} at {}", port.port)
}

/// `sends at 80.6 % of what the other 15 do, whoever receives (95 % CI 80.0…80.8 %)`
fn clause(port: &SlowPort, sign: &Sign) -> String {
    let others = port.others;
    let value = &sign.value;
    let share = || words::percent(value.value.unwrap_or(0.0));
    let of_others = |verb: &str, partner: &str| {
        format!("{verb} at {} of what the other {others} do, {partner}{}", share(), interval(value))
    };
    match sign.how {
        How::Link { own, others: usual } => {
            let [own, usual] = [own, usual].map(|rate| words::bit_rate(rate.0 as f64));
            format!(
                "has a link of {own}, and the other {others} one of {usual}: it exchanges at {} of \
                 their rate",
                share()
            )
        }
        How::Exchanges => of_others("exchanges", "whoever its partner is"),
        How::Sends => of_others("sends", "whoever receives"),
        How::Receives => of_others("receives", "whoever sends"),
        How::Delay => format!(
            "takes {} longer for each short message{}, and its streams are as fast as the others'",
            words::time(value.value.unwrap_or(0.0)),
            interval(value)
        ),
        How::SendsDamaged => format!("sends {} of its frames damaged", share()),
        How::ReceivesDamaged => format!("receives {} of its frames damaged", share()),
        How::SendsLost => {
            format!("loses {} of the frames that it sends{}", share(), interval(value))
        }
        How::ReceivesLost => {
            format!("loses {} of the frames that are sent to it{}", share(), interval(value))
        }
        How::Late => format!(
            "has {} of its messages take half as long again as usual, whoever its partner is{}",
            share(),
            interval(value)
        ),
    }
}

/// ` (95 % CI 80.0…80.8 %)`; empty without an interval.
fn interval(value: &Figure) -> String {
    let ends = words::interval(&Quantity::from_figure(value));
    ends.map_or_else(String::new, |ends| format!(" ({ends})"))
}

/// Table of the slow ports.
pub(super) fn table(found: &FabricFinding) -> Option<Table> {
    let rows = found.devices().into_iter().flat_map(|scene| {
        scene.slow.iter().flat_map(|port| {
            port.signs.iter().map(|sign| {
                vec![
                    Cell::path(scene.who.name()),
                    Cell::text(port.port.to_string()),
                    Cell::number(port.partners.to_string()),
                    Cell::text(words_of(sign.how)),
                    Cell::value(&sign.value),
                ]
            })
        })
    });
    Table::new("Slow ports", ["device", "port", "partners", "what", "value"])
        .with_rows(rows)
        .unless_empty()
}

/// Quantity of a sign.
const fn words_of(how: How) -> &'static str {
    match how {
        How::Link { .. } => "share of the others' rate, by the link's speed",
        How::Exchanges => "share of the others' exchanges",
        How::Sends => "share of what the others send",
        How::Receives => "share of what the others receive",
        How::Delay => "time longer for a short message",
        How::SendsDamaged => "damaged frames sent",
        How::ReceivesDamaged => "damaged frames received",
        How::SendsLost => "lost frames sent",
        How::ReceivesLost => "lost frames received",
        How::Late => "late messages",
    }
}

#[cfg(test)]
mod tests {
    use measure::{Interval, Rate};
    use page::{Metric, Unit};

    use super::*;

    fn share(value: f64, half: f64) -> Figure {
        let mut figure = Figure::new(Metric::PortShare, Unit::Ratio, Some(value));
        let (low, high) = (value - half, value + half);
        figure.set_interval(Some(Interval { low, high, confidence: 0.95 }));
        figure
    }

    fn text(signs: Vec<Sign>) -> String {
        let name = |text: &str| text.parse().expect("a port's name");
        let port = SlowPort {
            port: name("h4/eth1"),
            partners: 15,
            others: 15,
            signs,
            exchange: Some(name("h5/eth1")),
        };
        answer(&port, &port.signs[0]).text.replace('\u{a0}', " ")
    }

    #[test]
    fn a_sentence_names_the_port_and_what_it_may_be() {
        let sign = |how| Sign { how, value: share(0.8, 0.01) };
        assert_eq!(
            text(vec![sign(How::Sends)]),
            "h4/eth1 sends at 80.0 % of what the other 15 do, whoever receives (95 % CI \
             79.0…81.0 %): its host, its NIC, its cable or its switch port, not the switch's \
             sharing. To tell which, exchange the cables of h4/eth1 and h5/eth1 at the hosts and \
             run again: what moves to h5/eth1 is the cable or the switch port."
        );
        let link = How::Link { own: Rate(1_000_000_000), others: Rate(10_000_000_000) };
        let said = text(vec![sign(link)]);
        assert!(
            said.contains("has a link of 1.00 Gbit/s, and the other 15 one of 10.0 Gbit/s"),
            "{said}"
        );
        let said = text(vec![sign(How::Receives), sign(How::SendsDamaged)]);
        assert!(said.contains("receives at 80.0 %"), "{said}");
        assert!(said.contains(", and sends 80.0 % of its frames damaged: its host"), "{said}");
        for how in [How::Exchanges, How::Delay, How::ReceivesDamaged, How::SendsLost, How::Late] {
            let said = text(vec![sign(how)]);
            assert!(said.contains("not the switch's sharing"), "{how:?}: {said}");
        }
    }
}
