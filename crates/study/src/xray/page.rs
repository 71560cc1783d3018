//! Page that compares a twin with its device: the answer whether it is close enough, and every
//! quantity of both. Never compares: the differences are given.

use page::{Answer, Block, Cell, Listing, Page, Reply, Section, Unit, words};

use super::Difference;

/// Largest relative difference of an acceptable twin.
const BAR: f64 = 0.05;

/// True if each known quantity of the twin is close to the device's, and at least one is known.
pub fn is_near(differences: &[Difference]) -> bool {
    farthest(differences).is_some_and(|off| off <= BAR)
}

/// Largest relative difference among the known quantities; `None` without any.
fn farthest(differences: &[Difference]) -> Option<f64> {
    let known = differences.iter().filter(|one| one.told);
    known.map(|one| one.off().abs()).max_by(f64::total_cmp)
}

/// Page with the answer, and a row for each quantity.
pub fn twin_page(differences: &[Difference]) -> Page {
    let bar = words::percent(BAR);
    let (reply, text) = match farthest(differences) {
        Some(off) => (
            Reply::from(Some(is_near(differences))),
            format!(
                "No quantity may be more than {bar} off: the farthest is {} off.",
                percent(off)
            ),
        ),
        None => (Reply::NotShown, "Nothing is known well enough to be compared.".to_owned()),
    };
    let table = Listing::new("The twin beside its device", differences)
        .column("what", |one| Cell::text(&one.what))
        .column("of", |one| Cell::text(&one.of))
        .column("device", |one| Cell::quantity(one.unit, Some(one.device)))
        .column("twin", |one| Cell::quantity(one.unit, Some(one.twin)))
        .column("off", |one| Cell::quantity(Unit::Ratio, one.told.then(|| one.off())))
        .table();
    let section = Section {
        id: "twin".to_owned(),
        heading: "Twin and device".to_owned(),
        blocks: vec![Block::Table(table)],
    };
    Page {
        heading: "Twin".to_owned(),
        answers: vec![Answer::new(text).to("twin like its device?", reply)],
        sections: vec![section],
        ..Page::default()
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
