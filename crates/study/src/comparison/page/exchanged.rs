//! Sentences about a slow port after an exchange of cables.
//!
//! Never says that cables were exchanged: only what follows if they were.

use page::Answer;

use crate::comparison::{Compared, Exchanged, Slowness};

impl Compared {
    /// One answer for each port that was slow in the reference.
    pub(super) fn exchanges(&self) -> impl Iterator<Item = Answer> {
        self.exchanged.iter().map(|found| {
            Answer::new(found.sentence()).with_question(format!("Slow port at {}", found.port))
        })
    }
}

impl Exchanged {
    /// Sentence on a port that was slow in the first run, by the second.
    pub fn sentence(&self) -> String {
        let Self { port, with, now } = self;
        let after =
            format!("if its cable and that of {with} were exchanged at the hosts in between");
        match now {
            Slowness::Stayed => format!(
                "{port} was slow and still is: {after}, the slowness stayed with the host: its NIC \
                 or the host itself."
            ),
            Slowness::Moved => format!(
                "{port} was slow, and now {with} is: {after}, the slowness went with the cable or \
                 the switch port that {port} had. To tell which, exchange the two cables at the \
                 switch too and run again: if {with} stays slow it is the cable, if {port} is slow \
                 again the switch port."
            ),
            Slowness::Both => format!(
                "{port} was slow, and now {with} is too: {after}, both a host and a cable or switch \
                 port are slow."
            ),
            Slowness::Gone => format!(
                "{port} was slow, and now neither it nor {with} is: {after}, a plug sat badly, or \
                 something that has ended held the port up."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_what_is_left() {
        let said =
            |now| Exchanged { port: "h4/eth1".into(), with: "h5/eth1".into(), now }.sentence();
        assert!(
            said(Slowness::Stayed).contains("stayed with the host"),
            "{}",
            said(Slowness::Stayed)
        );
        let moved = said(Slowness::Moved);
        assert!(moved.contains("the cable or the switch port that h4/eth1 had"), "{moved}");
        for now in [Slowness::Stayed, Slowness::Moved, Slowness::Both, Slowness::Gone] {
            assert!(said(now).contains("if its cable and that of h5/eth1 were exchanged"));
        }
    }
}
