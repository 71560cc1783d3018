//! Pages as their reader has them: small enough to be sent, the answer first, and nothing said
//! against what stands below. Needs no root: nothing is sent.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::axe;
use crate::program::browser::{self, laid_out};
use crate::program::{Scratch, switchmark};

/// What a page may take at most.
const MOST_OCTETS: usize = 1_000_000;

/// What a page of one run may take at most of a laptop's screen as it opens.
const MOST_SCREENS: f64 = 3.0;

/// What a page of one run may take at most of paper.
const MOST_SHEETS: usize = 4;

fn ended(scratch: &Scratch, args: &[&str]) -> Output {
    Command::new(switchmark())
        .args(args)
        .args(["--store", "j.db"])
        .current_dir(scratch.folder())
        .stdin(Stdio::null())
        .output()
        .expect("switchmark starts")
}

fn run(scratch: &Scratch, args: &[&str]) -> Output {
    let output = ended(scratch, args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
    output
}

fn page(scratch: &Scratch, args: &[&str]) -> String {
    run(scratch, &[args, &["--report", "page.html", "--quiet"]].concat());
    std::fs::read_to_string(scratch.path("page.html")).expect("a page")
}

/// What stands before the first section: the first screen.
fn first_screen(html: &str) -> &str {
    let article = &html[html.find("<article").expect("an article")..];
    &article[..article.find("<nav").expect("its sections")]
}

#[test]
fn a_buffer_run_is_small_and_its_answer_stands_first() {
    let scratch = Scratch::new("page-buffer");
    let asked = ["buffer", "--testbed", "sim:x450a-48t,hosts=4", "--seed", "1", "--blocks", "1"];
    let html = page(&scratch, &[&asked[..], &["--time", "2s"]].concat());
    assert!(html.len() < MOST_OCTETS, "{} octets", html.len());
    let first = first_screen(&html);
    assert!(first.contains("<h2>Enough buffer?</h2>"), "{first}");
    assert!(first.contains(r#"class="reply "#), "{first}");
    // All cases in one plot: a legend with several lines.
    let plot = html.split("<svg").find(|svg| svg.contains("Goodput at the receiver"));
    let lines = plot.expect("a plot").split("</svg>").next().unwrap_or_default();
    assert!(lines.matches("<polyline").count() >= 2, "cases stand beside each other");
}

#[test]
fn a_switch_at_line_rate_is_green_and_its_verdict_has_no_colour() {
    let scratch = Scratch::new("page-line");
    let asked = ["forwarding", "--testbed", "sim:trident2", "--seed", "1", "--flood"];
    let html =
        page(&scratch, &[&asked[..], &["--size", "64", "-t", "20ms", "--blocks", "6"]].concat());
    let first = first_screen(&html);
    for words in [
        r#"<span class="reply good">yes</span>"#,
        "<h2>Line rate?</h2>",
        "Line rate is 99.9\u{a0}% or more.",
        r#"<span class="verdict link">"#,
    ] {
        assert!(first.contains(words), "{words} in {first}");
    }
    let style = html.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next());
    let coloured = |line: &&str| line.contains("verdict") && line.contains("var(--good)");
    assert_eq!(style.expect("a style").lines().find(coloured), None);
}

#[test]
fn an_import_does_not_deny_its_own_figures_and_has_no_testbed() {
    let scratch = Scratch::new("page-import");
    let ping = "4 packets transmitted, 4 received, 0% packet loss, time 3004ms\n\
                rtt min/avg/max/mdev = 0.150/0.174/0.199/0.020 ms\n";
    std::fs::write(scratch.path("ping.txt"), ping).expect("a file");
    let html = page(&scratch, &["import", "ping.txt"]);
    assert!(!html.contains("There is no figure to state"));
    assert!(!html.contains(r#"class="topology""#), "no empty testbed");
    assert!(first_screen(&html).contains("Imported by ping"), "{}", first_screen(&html));
}

#[test]
fn what_people_wrote_about_a_run_stands_on_its_page() {
    let scratch = Scratch::new("page-note");
    let flood = ["--flood", "--size", "64", "-t", "20ms", "--blocks", "1", "--label", "rack 4"];
    run(&scratch, &[&["forwarding", "--testbed", "sim:trident2", "-q"][..], &flood].concat());
    run(&scratch, &["runs", "note", "latest", "after the new firmware"]);
    run(&scratch, &["report", "latest", "--out", "page.html"]);
    let html = std::fs::read_to_string(scratch.path("page.html")).expect("a page");
    for words in ["Label: rack 4", "Note: after the new firmware"] {
        assert!(first_screen(&html).contains(words), "{words}");
    }
}

const CAMPAIGN: &str = r#"
testbed = "sim:teg-s16g,hosts=4"
[[study]]
[study.latency]
protocols = ["udp"]
duration = "20ms"
[campaign]
blocks = 6
[campaign.factors]
hosts = { near = ["h1", "h2"], far = ["h3", "h4"] }
size = [64, 512]
"#;

/// One of each kind, each by its words, as little of it as makes all its sections.
const KINDS: [(&str, &str); 18] = [
    ("latency", "latency --testbed sim:teg-s16g --load idle,tcp --size 64 -t 20ms --blocks 6"),
    ("flood", "forwarding --testbed sim:trident2 --flood --size 64,1518 -t 10ms --blocks 2"),
    ("search", "forwarding --testbed sim:teg-s16g --search rfc2544 --size 1518 -t 10ms --blocks 1"),
    ("curve", "forwarding --testbed sim:teg-s16g --loss-curve --size 64 -t 10ms --blocks 1"),
    ("buffer", "buffer --testbed sim:teg-s16g,hosts=4 --blocks 1 -t 1"),
    ("depth", "buffer --estimate --testbed sim:teg-s16g,hosts=4 --blocks 1"),
    ("fabric", "fabric --testbed sim:blocking-16,hosts=8 --arrangement neighbours --blocks 1"),
    ("tcp", "tcp --testbed sim:teg-s16g -t 0.3 -O 0.1 --blocks 2"),
    ("sessions", "sessions --testbed sim:teg-s16g --most 2000 -t 0.1 --final-time 0.2 --blocks 6"),
    ("failover", "failover --testbed sim:teg-s16g --away 200ms --after 300ms --blocks 2"),
    ("switching", "switching --testbed sim:teg-s16g,hosts=4 --test incast -t 10ms"),
    ("storage", "storage --testbed sim:teg-s16g,hosts=3 --ramdisk 1ms -t 0.2 --label one"),
    ("other", "storage --testbed sim:software-bridge,hosts=3 --ramdisk 1ms -t 0.2 --label other"),
    ("campaign", "run plan.toml"),
    ("compare", "compare one other"),
    ("trend", "trend one other"),
    ("sweep", "sim teg-s16g swept.toml --sweep rate=100Mbit,1Gbit"),
    ("watch", "watch sim:teg-s16g,hosts=2 -t 100ms --for 1h"),
];

#[test]
fn each_kind_of_page_is_short_accessible_and_not_moved_sideways() {
    if !browser::is_there("each_kind_of_page_is_short_accessible_and_not_moved_sideways") {
        return;
    }
    let scratch = Scratch::new("page-kinds");
    let (swept, _) = CAMPAIGN.split_once("[campaign]").expect("a plan");
    for (name, text) in [("plan.toml", CAMPAIGN), ("swept.toml", swept)] {
        std::fs::write(scratch.path(name), text).expect("writes");
    }
    for (name, words) in KINDS {
        let words: Vec<&str> = words.split(' ').collect();
        let is_measured = !["compare", "trend"].contains(&words[0]);
        let seed: &[&str] = if is_measured { &["--seed", "1"] } else { &[] };
        let report = format!("{name}.html");
        let ended =
            ended(&scratch, &[&words[..], seed, &["--quiet", "--report", &report]].concat());
        // 3: too short a look for some figure, which its page says.
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(matches!(ended.status.code(), Some(0 | 3)), "{words:?}: {said}");
    }
    // The probe of the probe: what is a pixel wider than the smaller screen, and what is not.
    for (name, width) in [("wide", 391), ("narrow", 390)] {
        let page = format!(
            r#"<!doctype html><body style="margin:0"><div style="width:{width}px">x</div>"#
        );
        std::fs::write(scratch.path(&format!("{name}.html")), page).expect("writes");
    }
    let names = KINDS.iter().map(|(name, _)| *name).chain(["wide", "narrow"]);
    let pages: Vec<String> = names.map(|name| format!("{name}.html")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let seen = laid_out(&scratch, &pages);
    let sizes: Vec<(u32, u32)> = seen.iter().map(|one| (one.width, one.height)).collect();
    assert_eq!(sizes, browser::SCREENS.repeat(pages.len()), "each on each screen");
    let sideways: Vec<String> = seen
        .iter()
        .filter(|one| one.content > one.width)
        .map(|one| format!("{} is {} wide at {}", one.page, one.content, one.width))
        .collect();
    assert_eq!(sideways, ["wide.html is 391 wide at 390"]);
    for one in seen.iter().filter(|one| !one.answer.is_empty()) {
        one.assert_within(MOST_SCREENS);
        let height = f64::from(one.height);
        assert!(one.answered < height, "{}: answered at {} of {height}", one.page, one.answered);
        assert!(one.letters >= 14.0, "{}: letters of {}", one.page, one.letters);
    }
    for (page, broken) in axe::broken_rules(&scratch, &pages).unwrap_or_default() {
        let grave = |one: &String| one.starts_with("serious") || one.starts_with("critical");
        // The probes have neither a title nor a language.
        let is_probe = ["wide.html", "narrow.html"].contains(&&*page);
        assert_eq!(broken.iter().any(grave), is_probe, "{page}: {broken:#?}");
    }
}

#[test]
fn a_study_s_report_is_printed_on_few_sheets() {
    if !browser::is_there("a_study_s_report_is_printed_on_few_sheets") {
        return;
    }
    let scratch = Scratch::new("page-printed");
    let printed_kinds = ["latency", "flood", "curve", "fabric", "tcp", "failover", "storage"];
    for (name, words) in KINDS.iter().filter(|(name, _)| printed_kinds.contains(name)) {
        let words: Vec<&str> = words.split(' ').collect();
        let report = format!("{name}.html");
        let ended =
            ended(&scratch, &[&words[..], &["--seed", "1", "-q", "--report", &report]].concat());
        assert!(matches!(ended.status.code(), Some(0 | 3)), "{words:?}");
        let sheets = sheets_of(&scratch.path(&report), &scratch);
        assert!((1..=MOST_SHEETS).contains(&sheets), "{name} takes {sheets} sheets");
    }
    // The probe of the probe: what does not fit on four sheets.
    let lines = "<p>a line</p>".repeat(400);
    std::fs::write(scratch.path("long.html"), format!("<!doctype html>{lines}")).expect("writes");
    let sheets = sheets_of(&scratch.path("long.html"), &scratch);
    assert!(sheets > MOST_SHEETS, "{sheets} sheets");
}

/// What a page's tables do when they are used: whether each column of numbers is in order after a
/// click on its head, and each table's rows as they are copied.
const USED: &str = r#"(frame) => {
    const window = frame.contentWindow, copied = [];
    const clipboard = { writeText: async (text) => { copied.push(text); } };
    Object.defineProperty(window.navigator, "clipboard", { value: clipboard });
    const tables = [...frame.contentDocument.querySelectorAll("table")];
    let unordered = 0, columns = 0;
    for (const table of tables) {
      for (const head of table.querySelectorAll("th.number")) {
        head.querySelector("button").click();
        const rows = [...table.tBodies[0].rows], at = head.cellIndex;
        const values = rows.map((row) => row.cells[at].dataset.value).filter((v) => v !== undefined);
        columns += 1;
        unordered += values.some((value, n) => n > 0 && +values[n - 1] > +value);
      }
      table.querySelector("button.copy").click();
    }
    const rows = tables.map((table) => table.rows.length);
    const lines = copied.map((text) => text.trimEnd().split("\n").length);
    return { columns, unordered, rows, lines, first: copied[0].split("\n")[0] };
}"#;

#[derive(serde::Deserialize)]
struct Used {
    columns: u32,
    unordered: u32,
    rows: Vec<u32>,
    lines: Vec<u32>,
    first: String,
}

#[test]
fn tables_sort_and_are_copied_as_csv() {
    if !browser::is_there("tables_sort_and_are_copied_as_csv") {
        return;
    }
    let scratch = Scratch::new("page-used");
    let asked = ["forwarding", "--testbed", "sim:trident2", "--seed", "1", "--flood"];
    page(&scratch, &[&asked[..], &["--size", "64,1518", "-t", "10ms", "--blocks", "2"]].concat());
    let frames = [("page.html".to_owned(), browser::SCREENS[0])];
    let used: Vec<Used> = browser::looked_at(&scratch, &frames, "() => true", USED);
    let [used] = &used[..] else { panic!("one page") };
    assert!(used.columns > 3, "{} columns of numbers", used.columns);
    assert_eq!(used.unordered, 0, "columns out of order");
    assert_eq!(used.lines, used.rows, "a line for each row and the head");
    assert!(used.first.contains(','), "{}", used.first);
}

/// Number of sheets of paper that a page takes as it is printed.
fn sheets_of(page: &Path, scratch: &Scratch) -> usize {
    let pdf = scratch.path("printed.pdf");
    let ended = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", scratch.path("profile").display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(page)
        .output()
        .expect("chromium starts");
    let octets = std::fs::read(&pdf);
    let said = String::from_utf8_lossy(&ended.stderr);
    let octets = octets.unwrap_or_else(|error| panic!("{}: {error}: {said}", page.display()));
    let _ = std::fs::remove_file(&pdf);
    // Each page is an object of this type; the tree of them is of the type `Pages`.
    let kind = b"/Type /Page";
    let is_page = |rest: &[u8]| {
        rest.strip_prefix(kind)
            .is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphabetic))
    };
    (0..octets.len()).filter(|at| is_page(&octets[*at..])).count()
}

/// Plan of `docs/start/home-router.md`, in virtual time and short.
const HOME_ROUTER: &str = r#"
testbed = "sim:software-bridge,hosts=2,rate=100Mbit,cabling=device"
seed = 1
[[study]]
tcp = { duration = "1s", blocks = 4 }
[[study]]
latency = { protocols = ["udp"], sizes = [128], duration = "20ms", blocks = 4 }
[[study]]
sessions = { tests = ["rate", "concurrent"], most = 2000, duration = "100ms", final_duration = "100ms" }
"#;

/// Cards of a page, in a browser.
const CARDS: &str = r#"(frame) => [...frame.contentDocument.querySelectorAll(".card")].map((card) => ({
    question: card.querySelector("h2").innerText,
    value: card.querySelector(".first .number").innerText,
    bottom: card.querySelector(".first").getBoundingClientRect().bottom,
}))"#;

/// One card of a page.
#[derive(Debug, serde::Deserialize)]
struct Card {
    question: String,
    value: String,
    /// Where its first answer ends, in pixels from the page's top.
    bottom: f64,
}

#[test]
fn the_answers_about_a_home_router_are_seen_on_one_screen() {
    if !browser::is_there("the answers about a home router") {
        return;
    }
    let scratch = Scratch::new("page-home-router");
    std::fs::write(scratch.path("plan.toml"), HOME_ROUTER).expect("a plan");
    page(&scratch, &["run", "plan.toml"]);
    let frames = [("page.html".to_owned(), browser::SCREENS[0])];
    let cards: Vec<Vec<Card>> = browser::looked_at(&scratch, &frames, "() => true", CARDS);
    let questions: Vec<&str> = cards[0].iter().map(|card| card.question.as_str()).collect();
    let expected =
        ["Line rate by TCP?", "RTT under TCP", "RTT", "New connections", "Connections at once"];
    assert_eq!(questions, expected);
    let screen = f64::from(browser::SCREENS[0].1);
    let is_seen = |card: &&Card| !card.value.is_empty() && card.bottom < screen;
    assert_eq!(cards[0].iter().filter(is_seen).count(), expected.len(), "{cards:?}");
}
