//! Pages as their reader has them: small enough to be sent, the answer first, and nothing said
//! against what stands below. Needs no root: nothing is sent.

use std::process::{Command, Output, Stdio};

use crate::program::{Scratch, switchmark};

/// What a page may take at most.
const MOST_OCTETS: usize = 1_000_000;

fn run(scratch: &Scratch, args: &[&str]) -> Output {
    let output = Command::new(switchmark())
        .args(args)
        .args(["--store", "j.db"])
        .current_dir(scratch.folder())
        .stdin(Stdio::null())
        .output()
        .expect("switchmark starts");
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
    let asked = ["buffer", "--testbed", "sim:tengig-36mb", "--seed", "1", "--blocks", "1"];
    let html = page(&scratch, &[&asked[..], &["--time", "12s"]].concat());
    assert!(html.len() < MOST_OCTETS, "{} octets", html.len());
    let first = first_screen(&html);
    assert!(first.contains("<strong>Enough buffer?</strong>"), "{first}");
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
        "<strong>Line rate?</strong>",
        "= 100.0\u{a0}% of line rate",
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
    assert!(first_screen(&html).contains("figures by ping"), "{}", first_screen(&html));
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
