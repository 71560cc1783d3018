//! A page as one HTML file: sections, tables and answers as the template takes them.
//!
//! Owns how a cell is written where there is room: a value in its column's unit, its interval
//! beneath; and the summary of several pages.
//! Draws any page and knows no study; the template escapes every text but finished SVG.

mod cards;

use std::collections::BTreeSet;

use askama::Template;
use page::{
    Answer, Block, Caveat, Cell, Column, Document, Gauges, Image, Limit, Page, Picture, Quantity,
    RowId, Samples, Section, Style, Table, Unit,
};

use cards::{CardView, cards};
use page::words::{self, Scaled};

/// The template could not be filled.
#[derive(Debug, thiserror::Error)]
#[error("render the report")]
pub struct RenderError(#[from] askama::Error);

#[derive(Template)]
#[template(path = "report.html")]
struct DocumentView {
    title: String,
    generated: String,
    /// Empty if there is only one page.
    summary: Vec<Summary>,
    preface: Vec<BlockView>,
    /// Page shown before the summary, to which the others belong; `None` without one.
    lead: Option<PageView>,
    pages: Vec<PageView>,
}

/// One page's first answers, for the summary of several.
struct Summary {
    id: String,
    heading: String,
    cards: Vec<CardView>,
    /// Number of further answers.
    more: usize,
}

/// Maximum answers per page in the summary of several pages.
const MOST_SUMMED_UP: usize = 3;

/// A page for the template.
struct PageView {
    id: String,
    heading: String,
    line: String,
    notes: Vec<String>,
    cards: Vec<CardView>,
    gauges: Vec<Image>,
    /// Picture of the testbed; `None` if there is none to show.
    picture: Option<Picture>,
    /// Sections, each with its heading: findings first, then the method.
    sections: Vec<SectionView>,
    /// True if the page opens as one line: it is one of several.
    folded: bool,
}

/// Renders one self-contained HTML file: the page that leads, the summary of several with its
/// preface, and the pages. `generated_unix_ns` is the caller's wall clock.
pub fn html(document: Document, generated_unix_ns: u64) -> Result<String, RenderError> {
    let Document { title, preface, lead, pages } = document;
    let several = pages.len() > 1;
    let summary = if several { pages.iter().map(summed_up).collect() } else { Vec::new() };
    let view = DocumentView {
        title,
        generated: words::moment(generated_unix_ns),
        summary,
        preface: preface.into_iter().filter_map(block).collect(),
        lead: lead.map(|lead| page(lead, false)),
        pages: pages.into_iter().map(|own| page(own, several)).collect(),
    };
    Ok(view.render()?)
}

/// Summarises a page by its first answers; those with a reply come first.
fn summed_up(page: &Page) -> Summary {
    let mut answers: Vec<&Answer> = page.answers.iter().collect();
    answers.sort_by_key(|answer| answer.reply.is_none());
    Summary {
        id: page.id.clone(),
        heading: page.heading.clone(),
        more: answers.len().saturating_sub(MOST_SUMMED_UP),
        cards: cards(&answers.into_iter().take(MOST_SUMMED_UP).cloned().collect::<Vec<_>>()),
    }
}

fn page(page: Page, folded: bool) -> PageView {
    let gauges = Gauges::from_answers(&page.answers);
    let all = page.sections.into_iter().chain(page.background);
    let mut sections: Vec<SectionView> = all.map(section).collect();
    // The first picture is seen at once, also beside a single bar; several bars take its place.
    let bars: usize = gauges.iter().map(|own| own.lines.len()).sum();
    if let Some(first) = sections.first_mut() {
        first.open = if bars == 0 { first.pictures > 0 } else { bars == 1 && first.pictures == 1 };
    }
    PageView {
        id: page.id,
        heading: page.heading,
        line: page.line,
        notes: page.notes,
        cards: cards(&page.answers),
        gauges: gauges.into_iter().map(Image::Gauges).collect(),
        picture: page.picture,
        sections,
        folded,
    }
}

/// A section for the template.
struct SectionView {
    id: String,
    heading: String,
    parts: Vec<PartView>,
    pictures: usize,
    /// `3 plots, 2 tables`
    contents: String,
    /// True if it is unfolded as the page opens.
    open: bool,
}

/// Blocks below one subheading.
struct PartView {
    /// Empty for what stands before the first subheading.
    heading: String,
    blocks: Vec<BlockView>,
    /// True if it is unfolded as its section opens: the first.
    open: bool,
}

/// A block for the template.
enum BlockView {
    Paragraph(String),
    Pictures(Vec<Picture>),
    Table(TableView),
    Folded { summary: String, table: TableView },
    FoldedText { summary: String, text: String },
    Glossary(Vec<(String, String)>),
}

/// A table for the template.
struct TableView {
    /// Title, on the line that opens the table.
    title: String,
    /// `48 rows`
    size: String,
    caption: String,
    head: Vec<CellView>,
    rows: Vec<Vec<CellView>>,
}

/// A text, a smaller one under it, and the class that sets it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct CellView {
    text: String,
    note: String,
    class: &'static str,
    /// The row whose value it shows, `1.3`.
    row: String,
    /// Rows whose samples or limit it states, `1.3 1.4`.
    of: String,
    /// Number by which it is sorted; empty for a text.
    number: String,
}

/// `1.3 1.4`
fn join_ids(rows: &[RowId]) -> String {
    rows.iter().map(RowId::to_string).collect::<Vec<_>>().join(" ")
}

/// `1 row`, `48 rows`
fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn section(section: Section) -> SectionView {
    let count = |of: &dyn Fn(&Block) -> usize| section.blocks.iter().map(of).sum::<usize>();
    let pictures = count(&|block| match block {
        Block::Pictures(all) => all.len(),
        _ => 0,
    });
    let is_table = |block: &Block| matches!(block, Block::Table(_) | Block::Folded { .. });
    let tables = count(&|block| usize::from(is_table(block)));
    let counts = [(pictures, "picture"), (tables, "table")].into_iter();
    let told = counts.filter(|(n, _)| *n > 0).map(|(n, what)| counted(n, what));
    SectionView {
        contents: told.collect::<Vec<_>>().join(", "),
        id: section.id,
        heading: section.heading,
        parts: parts(section.blocks),
        pictures,
        open: false,
    }
}

/// Divides blocks at their subheadings.
fn parts(blocks: Vec<Block>) -> Vec<PartView> {
    let mut parts = Vec::new();
    let mut own = PartView { heading: String::new(), blocks: Vec::new(), open: true };
    for next in blocks {
        match next {
            Block::Subheading(heading) => {
                let open = own.heading.is_empty();
                let next = PartView { heading, blocks: Vec::new(), open };
                parts.push(std::mem::replace(&mut own, next));
            }
            other => own.blocks.extend(block(other)),
        }
    }
    parts.push(own);
    parts
}

/// A block for the template; `None` for a subheading, at which a section is divided.
fn block(block: Block) -> Option<BlockView> {
    Some(match block {
        Block::Subheading(_) => return None,
        Block::Paragraph(text) => BlockView::Paragraph(text),
        Block::Pictures(pictures) => BlockView::Pictures(pictures),
        Block::Table(own) => BlockView::Table(table(&own)),
        Block::Folded { summary, table: own } => BlockView::Folded { summary, table: table(&own) },
        Block::FoldedText { summary, text } => BlockView::FoldedText { summary, text },
        Block::Glossary(terms) => BlockView::Glossary(terms),
    })
}

const fn class(style: Style) -> &'static str {
    match style {
        Style::Plain => "",
        Style::Number => "number",
        Style::Path => "path",
        Style::Small => "small",
        Style::Long => "long",
        Style::Good => "good",
        Style::Bad => "bad",
        Style::Device => "device",
        Style::Link => "link",
        Style::Tester => "tester",
        Style::Open => "open",
    }
}

/// Lays out a table. A column of limits takes two: the verdict and the caveats. Caveats of every
/// row appear once, below the title.
fn table(table: &Table) -> TableView {
    let shared = shared(table);
    let mut caption = sentence(&table.title);
    for part in [table.note.clone(), of_every_row(&shared)] {
        if !part.is_empty() {
            caption = format!("{caption} {part}");
        }
    }
    let limits: Vec<bool> = (0..table.columns.len())
        .map(|at| table.rows.iter().any(|row| matches!(row[at], Cell::Limit(_))))
        .collect();
    let scales: Vec<Option<Scaled>> = (0..table.columns.len()).map(|at| scale(table, at)).collect();
    let mut head = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        head.push(head_of(column, table, at, scales[at]));
        if limits[at] {
            head.push(CellView { text: "caveats".to_owned(), ..CellView::default() });
        }
    }
    let rows = table.rows.iter().map(|row| {
        let confidence = row_confidence(row);
        let mut cells = Vec::new();
        for (at, cell) in row.iter().enumerate() {
            if let Cell::Limit(limit) = cell {
                cells.extend([verdict(limit), caveats(limit, &shared)]);
                continue;
            }
            cells.push(drawn(cell, table, confidence.as_deref(), scales[at]));
            if limits[at] {
                cells.push(CellView::default());
            }
        }
        cells
    });
    let size = counted(table.rows.len(), "row");
    TableView { title: table.title.clone(), size, caption, rows: rows.collect(), head }
}

/// The one magnitude of a column's times, octets or bit rates, which its head names unless all the
/// table's are in it.
fn scale(table: &Table, at: usize) -> Option<Scaled> {
    let quantities: Vec<&Quantity> = table
        .rows
        .iter()
        .filter_map(|row| match &row[at] {
            Cell::Value { quantity, .. } => Some(quantity),
            _ => None,
        })
        .collect();
    let unit = quantities.first()?.unit;
    let scaled = matches!(unit, Unit::Nanoseconds | Unit::Bytes | Unit::BitsPerSecond);
    if !scaled || quantities.iter().any(|other| other.unit != unit) {
        return None;
    }
    if table.scale.is_some() {
        return table.scale;
    }
    words::one_scale(unit, quantities.iter().filter_map(|q| q.value.or(q.high).or(q.low)))
}

fn head_of(column: &Column, table: &Table, at: usize, scale: Option<Scaled>) -> CellView {
    let is_number = |row: &Vec<Cell>| match &row[at] {
        Cell::Text { style, .. } => *style == Style::Number,
        Cell::Blank | Cell::Limit(_) => false,
        Cell::Missing | Cell::Value { .. } | Cell::Samples(_) => true,
    };
    let text = match scale {
        Some((_, unit)) if table.scale.is_none() && !column.name.contains(unit) => {
            format!("{}, {unit}", column.name)
        }
        _ => column.name.clone(),
    };
    let class = if table.rows.iter().any(is_number) { "number" } else { "" };
    CellView { text, class, ..CellView::default() }
}

/// Ends a title that a sentence follows with a full stop, unless it ends in punctuation.
fn sentence(title: &str) -> String {
    let ended = title.ends_with(['.', ':', '?']);
    if ended { title.to_owned() } else { format!("{title}.") }
}

/// Returns the caveats that all rows with a limit share; empty for a table of one row.
fn shared(table: &Table) -> BTreeSet<Caveat> {
    let of_all = |limit: &Limit| {
        let said = limit.caveats.iter().filter(|(_, quantiles)| quantiles.is_empty());
        said.map(|(caveat, _)| *caveat).collect::<BTreeSet<Caveat>>()
    };
    let sets = table.rows.iter().flatten().filter_map(|cell| match cell {
        Cell::Limit(limit) => Some(of_all(limit)),
        _ => None,
    });
    let sets: Vec<BTreeSet<Caveat>> = sets.collect();
    let [first, others @ ..] = &sets[..] else { return BTreeSet::new() };
    if others.is_empty() {
        return BTreeSet::new();
    }
    others.iter().fold(first.clone(), |shared, set| &shared & set)
}

fn of_every_row(shared: &BTreeSet<Caveat>) -> String {
    if shared.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = shared.iter().map(|caveat| caveat.as_str()).collect();
    format!("Caveats of every row: {}.", names.join(", "))
}

/// The confidence that all intervals of a row share, where its number of samples can say it for
/// all: `95 % CI`.
fn row_confidence(row: &[Cell]) -> Option<String> {
    row.iter().find(|cell| matches!(cell, Cell::Samples(_)))?;
    let mut all = row.iter().filter_map(|cell| match cell {
        Cell::Value { quantity, .. } if quantity.low.is_some() => Some(words::ends(&quantity.ends)),
        _ => None,
    });
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

fn drawn(cell: &Cell, table: &Table, confidence: Option<&str>, scale: Option<Scaled>) -> CellView {
    let number = |text: String, note: String| CellView {
        text,
        note,
        class: "number",
        ..CellView::default()
    };
    match cell {
        Cell::Blank => CellView::default(),
        Cell::Missing => number("–".to_owned(), String::new()),
        Cell::Text { text, note, style } => {
            let (text, note, class) = (text.clone(), note.clone(), class(*style));
            CellView { text, note, class, ..CellView::default() }
        }
        Cell::Value { quantity, note } => {
            let stated = table.stated == Some(quantity.unit);
            let (text, interval) = match scale {
                Some(scale) => value_in(quantity, scale, confidence),
                None => value(quantity, stated, confidence),
            };
            let parts = [note.clone(), interval];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let known = quantity.value.or(quantity.low).or(quantity.high);
            CellView {
                row: join_ids(quantity.row.as_slice()),
                number: known.map(|known| known.to_string()).unwrap_or_default(),
                ..number(text, parts.join("; "))
            }
        }
        Cell::Samples(samples) => CellView {
            of: join_ids(&samples.rows),
            number: samples.n.to_string(),
            ..number(words::count(samples.n), behind(samples, confidence))
        },
        Cell::Limit(limit) => verdict(limit),
    }
}

/// A value, or the bound that is known; `write` writes a number.
fn value_or_bound(quantity: &Quantity, write: impl Fn(f64) -> String) -> String {
    match (quantity.value, quantity.low, quantity.high) {
        (Some(value), ..) if quantity.at_least => format!("≥ {}", write(value)),
        (Some(value), ..) => write(value),
        (None, None, Some(high)) => format!("below {}", write(high)),
        (None, Some(low), None) => format!("above {}", write(low)),
        (None, ..) => "–".to_owned(),
    }
}

/// A value and its interval in the magnitude of their column.
fn value_in(quantity: &Quantity, scale: Scaled, confidence: Option<&str>) -> (String, String) {
    let text = value_or_bound(quantity, |value| words::value_in(quantity.unit, value, scale));
    let interval = words::interval_in(quantity, scale).unwrap_or_default();
    let bare = confidence.and_then(|known| interval.strip_prefix(known)).unwrap_or(&interval);
    let suffix = format!("\u{a0}{}", scale.1);
    let interval = bare.trim_start().strip_suffix(&suffix).unwrap_or(bare.trim_start()).to_owned();
    (text, interval)
}

/// A value and its interval; the unit only where nothing states it, and the confidence only where
/// the row's samples do not.
fn value(quantity: &Quantity, stated: bool, confidence: Option<&str>) -> (String, String) {
    let mut text = value_or_bound(quantity, |value| words::value(quantity.unit, value));
    let suffix = text.rfind('\u{a0}').map_or_else(String::new, |at| text[at..].to_owned());
    let mut interval = words::interval(quantity).unwrap_or_default();
    if let Some(bare) = confidence.and_then(|known| interval.strip_prefix(known)) {
        // The value above has the unit already.
        let bare = bare.trim_start();
        interval = bare.strip_suffix(&suffix).unwrap_or(bare).to_owned();
    }
    if stated && !suffix.is_empty() {
        for part in [&mut text, &mut interval] {
            *part = part.replace(&suffix, "");
        }
    }
    (text, interval)
}

/// Formats the number of blocks behind a row and the confidence of its intervals.
fn behind(samples: &Samples, confidence: Option<&str>) -> String {
    let blocks = match samples.blocks {
        1 => "1 block".to_owned(),
        more => format!("{more} blocks"),
    };
    confidence.map_or_else(|| blocks.clone(), |confidence| format!("{blocks}, {confidence}"))
}

fn verdict(limit: &Limit) -> CellView {
    let others: Vec<String> =
        limit.others.iter().map(|(other, of)| with_names(other.as_str(), of)).collect();
    CellView {
        text: limit.verdict.as_str().to_owned(),
        note: others.join(", "),
        class: class(limit.verdict.into()),
        of: join_ids(&limit.rows),
        ..CellView::default()
    }
}

fn caveats(limit: &Limit, shared: &BTreeSet<Caveat>) -> CellView {
    let own = limit.caveats.iter().filter(|(caveat, _)| !shared.contains(caveat));
    let names: Vec<String> = own.map(|(caveat, of)| said_of(caveat.as_str(), of)).collect();
    CellView { text: names.join(", "), class: "small", ..CellView::default() }
}

/// `few-samples (p99.9, max)`, or the name alone if it applies to every figure.
fn said_of(name: &str, quantiles: &[f64]) -> String {
    if quantiles.is_empty() {
        return name.to_owned();
    }
    let quantiles: Vec<String> = quantiles.iter().map(|q| words::quantile(*q)).collect();
    with_names(name, &quantiles)
}

/// `tester (retransmits)`
fn with_names(name: &str, names: &[String]) -> String {
    if names.is_empty() { name.to_owned() } else { format!("{name} ({})", names.join(", ")) }
}
