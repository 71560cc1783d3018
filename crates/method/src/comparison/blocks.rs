//! A run's figures block by block: its studies asked again, for one block, over what that block
//! recorded.
//!
//! Never runs a trial, and never splits what one block can't answer: a search has no blocks.

use std::collections::BTreeMap;

use crate::study::StudySpec;
use page::{Figure, Key};
use trial::{Recorded, TestbedError, Topology, Trial, TrialRecord};

/// The figures of each block of a run, in the blocks' order; those that need all blocks at once,
/// such as a search's, are in none.
pub fn per_block(
    studies: &[StudySpec],
    topology: &Topology,
    records: &[(Trial, TrialRecord)],
    seed: u64,
) -> Result<Vec<Vec<Figure>>, TestbedError> {
    let mut by_block: BTreeMap<u32, Vec<(Trial, &TrialRecord)>> = BTreeMap::new();
    for (trial, record) in records {
        let first = Trial { block: 0, ..trial.clone() };
        by_block.entry(trial.block).or_default().push((first, record));
    }
    let mut blocks: Vec<Vec<Figure>> = Vec::new();
    for study in studies {
        if let StudySpec::Campaign(spec) = study {
            let mut again = Recorded::in_order(topology, records);
            blocks.extend(spec.per_block(&mut again, seed)?);
            continue;
        }
        if let StudySpec::Imported(spec) = study {
            spread(&mut blocks, &spec.figures);
            continue;
        }
        let Some((alone, count)) = study.in_one_block() else { continue };
        blocks.resize_with(blocks.len().max(count as usize), Vec::new);
        for (block, figures) in blocks.iter_mut().enumerate().take(count as usize) {
            let recorded = by_block.get(&(block as u32)).map_or(&[][..], Vec::as_slice);
            figures.extend(alone.run(&mut Recorded::any_order(topology, recorded), seed)?);
        }
    }
    Ok(blocks)
}

/// What other tools measured: each output that tells the same thing again is another block of it.
fn spread(blocks: &mut Vec<Vec<Figure>>, figures: &[Figure]) {
    for figure in figures {
        let told = |block: &Vec<Figure>| block.iter().any(|other| is_same(other, figure));
        match blocks.iter_mut().find(|block| !told(block)) {
            Some(block) => block.push(figure.clone()),
            None => blocks.push(vec![figure.clone()]),
        }
    }
}

fn is_same(a: &Figure, b: &Figure) -> bool {
    let of_case = |figure: &Figure| {
        let place = [Key::File, Key::Position, Key::Contradiction];
        let but_place = figure.conditions.iter().filter(move |(name, _)| !place.contains(name));
        but_place.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    (a.metric, a.unit, a.quantile) == (b.metric, b.unit, b.quantile) && of_case(a) == of_case(b)
}
