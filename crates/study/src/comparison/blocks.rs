//! Figures of a run block by block: its studies are repeated over the records of each single block.
//!
//! Never runs a trial, never holds more than one record, and never splits what one block cannot
//! answer: a search has no blocks.

use crate::{StudyPlace, StudySpec, numbered};
use page::{Figure, Key};
use trial::{BlockIndex, Recorded, Records, TestbedError, Topology};

use super::Comparable;

/// Adds the figures of each block to a run's figures, in the blocks' order. Figures that need all
/// blocks at once, such as a search's, are not split.
pub fn per_block(
    studies: &[StudySpec],
    topology: &Topology,
    records: &dyn Records,
    figures: &[Figure],
    seed: u64,
) -> Result<Comparable, TestbedError> {
    let mut comparable = Comparable::of_figures(figures);
    let mut index = None;
    for (place, study) in numbered(studies) {
        let unread = |cause| TestbedError::NotReplayed { label: study.name().to_owned(), cause };
        if let StudySpec::Campaign(spec) = study {
            let first = comparable.count();
            let mut again = Recorded::in_order(topology, records);
            spec.per_block(&mut again, seed, &mut |block, figures| {
                comparable.add(first + block, figures);
            })?;
            continue;
        }
        if let StudySpec::Imported(spec) = study {
            let mut blocks = vec![Vec::new(); comparable.count()];
            spread(&mut blocks, &of_study(place, &spec.figures));
            for (block, figures) in blocks.iter().enumerate() {
                comparable.add(block, figures);
            }
            continue;
        }
        let Some((alone, count)) = study.in_one_block() else { continue };
        comparable.make_room(count as usize);
        let index = match &mut index {
            Some(index) => &*index,
            none => &*none.insert(BlockIndex::from_records(records).map_err(unread)?),
        };
        for block in 0..count {
            let mut recorded = Recorded::within_block(topology, records, index, block);
            comparable.add(block as usize, &alone.run_as(place, &mut recorded, &mut 0, seed)?);
        }
    }
    Ok(comparable)
}

fn of_study(place: StudyPlace, figures: &[Figure]) -> Vec<Figure> {
    let mut figures = figures.to_vec();
    for figure in &mut figures {
        place.mark(figure);
    }
    figures
}

/// Splits figures of other tools into blocks: each further output of the same quantity is another
/// block.
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
        let is_place = |name: &Key| {
            [Key::File, Key::Position].contains(name) || Key::OF_ONE_OUTPUT.contains(name)
        };
        let but_place = figure.conditions.iter().filter(|(name, _)| !is_place(name));
        but_place.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    (a.metric, a.unit, a.quantile) == (b.metric, b.unit, b.quantile) && of_case(a) == of_case(b)
}
