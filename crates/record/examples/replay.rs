//! Rows and page of a journal's newest run, for checks while pages move.
use method::numbered;
use record::{ReportInput, Store, TrialTotals};
use trial::Recorded;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let store = Store::read(std::path::Path::new(&args[1]))?;
    let run = args.get(2).map_or("latest", String::as_str);
    let meta = store.load(run)?;
    let mut trials = TrialTotals::default();
    let mut hear = |trial: &trial::Trial, record: &trial::TrialRecord| trials.take(trial, record);
    let records = store.stored_records(&meta.id)?;
    let mut recorded = Recorded::in_order(&meta.topology, &records).hearing(&mut hear);
    let (mut figures, mut pages, mut asked) = (Vec::new(), Vec::new(), 0);
    for (place, study) in numbered(&meta.studies) {
        let mut finding = study.find_as(place, (&mut recorded, &mut asked), meta.seed)?;
        figures.extend(finding.rows());
        pages.push((place.number, finding.page()));
    }
    recorded.hear_rest().ok();
    drop(recorded);
    println!("{}", serde_json::json!({ "results": figures }));
    let input = ReportInput {
        meta: &meta,
        figures: &figures,
        pages: &pages,
        trials: &trials,
        comparable: None,
    };
    if let Some(stem) = args.get(3) {
        std::fs::write(format!("{stem}.html"), record::report::render(&[input], 0)?)?;
        std::fs::write(
            format!("{stem}.txt"),
            record::report::text(&input, record::text::Screen::PLAIN),
        )?;
    }
    Ok(())
}
