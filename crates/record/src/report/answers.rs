//! The first screen: one plain sentence for each question, with its verdict. Says no more than the
//! figure does, and nothing at all where there is none.

mod fabric;
mod forwarding;

use page::{Answer, Figure};

use super::reading;

pub(super) use forwarding::bound;

/// All answers for a study's figures, each with its topic's place in the order of a reader's
/// questions: is it non-blocking, does it do line rate, has it enough buffer, what does it add;
/// then RFC 2544's others and storage.
pub(super) fn answers(figures: &[Figure]) -> Vec<(usize, Answer)> {
    // Another tool's figures are no study's: nothing says which of them answer what.
    let figures = &reading::of_studies(figures)[..];
    let switching = super::switching::answers(figures);
    let storage = super::storage::answers(figures);
    let tcp = super::tcp::answers(figures);
    let failover = super::failover::answers(figures);
    let figures = &reading::without_own_pages(figures)[..];
    let topics = [
        fabric::nonblocking(figures),
        fabric::groups(figures),
        forwarding::throughput(figures),
        forwarding::flood(figures),
        tcp,
        failover,
        switching,
        super::buffer::answers(figures),
        super::buffer::depth::answers(figures),
        Vec::new(),
        forwarding::others(figures),
        storage,
    ];
    let placed = |(place, topic): (usize, Vec<Answer>)| topic.into_iter().map(move |a| (place, a));
    topics.into_iter().enumerate().flat_map(placed).collect()
}
