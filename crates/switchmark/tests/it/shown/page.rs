//! A page read back: its tables, sentences and points, each with the ids of the rows that it shows.

/// Words of the column of limits.
pub const VERDICTS: [&str; 4] = ["device", "link", "tester", "undetermined"];

/// What a page shows.
#[derive(Debug, Default)]
pub struct Page {
    pub tables: Vec<Table>,
    pub answers: Vec<Said>,
    pub points: Vec<Said>,
}

/// One table.
#[derive(Debug, Default)]
pub struct Table {
    /// The id of the section that it is in.
    pub section: String,
    pub caption: String,
    pub heads: Vec<String>,
    pub lines: Vec<Vec<Cell>>,
}

/// One cell.
#[derive(Debug, Default)]
pub struct Cell {
    pub rows: Vec<String>,
    pub text: String,
    pub note: String,
    /// True of a value, not of samples or limits.
    pub is_value: bool,
}

/// A sentence, or a point's text.
#[derive(Debug)]
pub struct Said {
    pub rows: Vec<String>,
    pub text: String,
}

impl Page {
    pub fn read(html: &str) -> Self {
        let mut page = Self::default();
        let article = parts(html, "<article", "</article>").next().unwrap_or_default();
        for section in parts(article, "<section id=\"", "</section>") {
            let id = until(section, "\"").to_owned();
            page.tables
                .extend(parts(section, "<table>", "</table>").map(|table| Table::read(&id, table)));
        }
        let points = parts(article, "<g class=\"pt", "</g>");
        let points = points.filter(|g| until(g, ">").contains("data-rows"));
        let point = |g| Said { rows: rows(g), text: plain(inside(g, "<title>", "</title>")) };
        page.points = points.map(point).collect();
        let lists = parts(article, "<ul class=\"answers\">", "</ul>");
        page.answers = lists.flat_map(|list| parts(list, "<li", "</li>")).map(Said::read).collect();
        page
    }
}

impl Said {
    /// An answer: its number's interval has that number's unit.
    fn read(li: &str) -> Self {
        let head = until(li, ">");
        let unit = plain(inside(inside(li, "<span class=\"number\">", "</span>"), "<small>", "<"));
        let interval = inside(li, "<span class=\"interval\"", "</span>");
        let interval = interval.split_once('>').map_or("", |(_, text)| text);
        let ends = interval.trim_matches(['[', ']']).replace(", ", "…");
        let told = plain(&li[head.len()..].replacen(interval, &format!("{ends} {unit}"), 1));
        Self { rows: rows(head), text: told }
    }
}

impl Table {
    fn read(section: &str, html: &str) -> Self {
        // A column without a name has no head cell.
        let head = inside(html, "<thead>", "</thead>").replace("<td></td>", "<th ></th>");
        let heads: Vec<String> =
            parts(&head, "<th ", "</th>").map(|th| plain(&th[until(th, ">").len()..])).collect();
        let body = inside(html, "<tbody>", "</tbody>");
        let line = |tr: &str| parts(tr, "<td", "</td>").map(Cell::read).collect();
        Self {
            section: section.to_owned(),
            caption: plain(inside(html, "<caption>", "</caption>")),
            lines: parts(body, "<tr>", "</tr>").map(line).collect(),
            heads,
        }
    }
}

impl Cell {
    fn read(td: &str) -> Self {
        let head = until(td, ">");
        let inner = &td[head.len()..];
        let (text, note) = inner.split_once("<small>").unwrap_or((inner, ""));
        let [value, of] = ["data-rows=\"", "data-of=\""].map(|name| ids(inside(head, name, "\"")));
        Self {
            is_value: !value.is_empty(),
            rows: [value, of].concat(),
            text: plain(text),
            note: plain(note),
        }
    }
}

/// What stands between each `from` and the next `to`.
fn parts<'a>(text: &'a str, from: &'a str, to: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(from).skip(1).map(move |rest| until(rest, to))
}

fn inside<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    text.split_once(from).map_or("", |(_, rest)| until(rest, to))
}

fn until<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or(text, |(before, _)| before)
}

fn rows(element: &str) -> Vec<String> {
    ids(inside(element, "data-rows=\"", "\""))
}

fn ids(text: &str) -> Vec<String> {
    until(text, "\"").split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect()
}

/// Without elements and entities.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut is_in_element = false;
    for c in html.chars() {
        match c {
            '<' => is_in_element = true,
            '>' => is_in_element = false,
            c if !is_in_element => text.push(c),
            _ => {}
        }
    }
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#39;", "'"),
        ("&amp;", "&"),
        ("&#38;", "&"),
    ];
    entities.iter().fold(text.trim().to_owned(), |text, (entity, c)| text.replace(entity, c))
}
